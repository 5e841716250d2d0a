//! The knowledge base: documents of users, found by words and by meaning.
//!
//! Invariants:
//! - a document belongs to one user and one source, both taken from the verified [`Origin`] and never
//!   from a document; every statement names the user;
//! - what was ingested is durable before [`Knowledge::ingest`] returns; everything after that is a job
//!   that survives a crash;
//! - of each batch all documents are stored, or none.

mod bm25;
mod capture;
mod document;
mod embedding;
mod error;
mod fusion;
mod index;
mod ingest;
mod jobs;
pub mod model;
mod passages;
mod search;
mod snippet;
mod store;
mod words;

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;

use crate::database::Database;
use crate::egress::Egress;
use crate::tasks::{off_thread, to_its_end};
use capture::CaptureParts;
pub use document::{
    Artifact, Change, DEFAULT_RESULTS, Document, Feed, Found, Hit, Ingested, Listing, MAX_RESULTS, Mode,
    NewDocument, NewFeed, Origin, Page, Query, State, StateName, Summary, USER_SOURCE,
};
pub use embedding::{EmbedError, Embedder, Endpoint, ModelError};
pub use error::KnowledgeError;
use ingest::{Batch, validate};
pub use jobs::JobLimits;
use jobs::Jobs;
use search::Search;
use store::Store;

/// More text than this, in bytes, is checked off the threads that serve requests.
const LARGE: usize = 64 << 10;

/// The knowledge base of all users; a clone shares everything.
#[derive(Clone)]
pub struct Knowledge(Arc<Parts>);

struct Parts {
    egress: Egress,
    store: Store,
    search: Search,
    jobs: Jobs,
}

/// What a knowledge base may have, beside its database.
#[derive(Clone)]
pub struct Options {
    /// The model; without one, search goes by words alone.
    pub embedder: Option<Embedder>,
    /// Bytes that the indexes of users who search may take.
    pub search_memory: usize,
    /// How often what follows an ingest is tried.
    pub jobs: JobLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self { embedder: None, search_memory: 512 << 20, jobs: JobLimits::default() }
    }
}

impl Knowledge {
    /// Opens the knowledge base in `database`, and takes up the jobs that are left.
    pub async fn open(database: Database, egress: Egress, options: Options) -> Result<Self, KnowledgeError> {
        let Options { embedder, search_memory, jobs } = options;
        let store = Store::new(database.clone());
        let search = Search::new(database, store.clone(), embedder.clone(), search_memory);
        let jobs = Jobs::start(store.clone(), embedder, CaptureParts, jobs).await?;
        Ok(Self(Arc::new(Parts { egress, store, search, jobs })))
    }

    /// Stops what follows an ingest; it goes on after the next start.
    pub async fn close(&self) {
        self.0.jobs.stop().await;
    }

    /// Stores documents, all or none, and returns once they are durable.
    pub async fn ingest(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        let size: usize = documents.iter().filter_map(|it| it.text.as_ref()).map(String::len).sum();
        let check = move || validate(documents).map(Batch::new);
        let batch = if size > LARGE { off_thread(check).await } else { check() };
        let batch = batch.map_err(KnowledgeError::Invalid)?;
        // Whoever asked may go away: the jobs of what was stored are begun all the same.
        let (parts, origin) = (self.0.clone(), origin.clone());
        to_its_end(async move {
            let stored = parts.store.ingest(&origin, &batch).await?;
            parts.jobs.wake(&stored.jobs);
            Ok(stored.ingested)
        })
        .await?
    }

    /// Searches the user's documents.
    pub async fn search(&self, user_id: &str, query: &Query) -> Result<Found, KnowledgeError> {
        self.0.search.search(user_id, query).await
    }

    /// One document of the user.
    pub async fn document(&self, user_id: &str, id: &str) -> Result<Document, KnowledgeError> {
        self.0.store.document(user_id, id).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Some of the user's documents, newest first.
    pub async fn documents(&self, user_id: &str, listing: &Listing) -> Result<Page, KnowledgeError> {
        Ok(self.0.store.documents(user_id, listing).await?)
    }

    /// The user's feeds, by source and name, each with the number of its documents.
    pub async fn feeds(&self, user_id: &str) -> Result<Vec<(Feed, u64)>, KnowledgeError> {
        Ok(self.0.store.feeds(user_id).await?)
    }

    /// Removes one document of the user, whatever its source.
    pub async fn delete(&self, user_id: &str, id: &str) -> Result<(), KnowledgeError> {
        let (parts, user_id, id) = (self.0.clone(), user_id.to_owned(), id.to_owned());
        to_its_end(async move { parts.store.delete(&user_id, &id).await })
            .await??
            .map(drop)
            .ok_or(KnowledgeError::NotFound)
    }

    /// The captured file of one document of the user, and its bytes.
    pub async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// Stores one document whose file the caller has: its bytes come as a stream, which is read no
    /// further than the largest file that is kept.
    pub async fn ingest_file(
        &self,
        origin: &Origin,
        document: NewDocument,
        file: BoxStream<'static, io::Result<Bytes>>,
    ) -> Result<Ingested, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// What search goes by.
    pub fn mode(&self) -> Mode {
        self.0.search.mode()
    }
}
