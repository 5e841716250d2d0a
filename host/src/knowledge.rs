//! The knowledge base: documents of users, found by words and by meaning.
//!
//! Invariants:
//! - a document belongs to one user and one source, both taken from the verified [`Origin`] and never
//!   from a document; every statement names the user;
//! - what was ingested is durable before [`Knowledge::ingest`] returns; everything after that is a job
//!   that survives a crash;
//! - of each batch all documents are stored, or none.

mod bm25;
mod document;
mod embedding;
mod error;
mod fusion;
mod index;
mod passages;
mod search;
mod snippet;
mod words;

use std::sync::Arc;

use crate::database::Database;
use crate::egress::Egress;
pub use document::{
    Artifact, Change, DEFAULT_RESULTS, Document, Feed, Found, Hit, Ingested, Listing, MAX_RESULTS, Mode,
    NewDocument, NewFeed, Origin, Page, Query, State, StateName, Summary, USER_SOURCE,
};
pub use embedding::{EmbedError, Embedder, Endpoint, ModelError};
pub use error::KnowledgeError;

/// The knowledge base of all users; a clone shares everything.
#[derive(Clone)]
pub struct Knowledge(Arc<Parts>);

struct Parts {
    database: Database,
    egress: Egress,
}

impl Knowledge {
    /// Opens the knowledge base in `database`, and takes up the jobs that are left.
    pub async fn open(database: Database, egress: Egress) -> Result<Self, KnowledgeError> {
        Ok(Self(Arc::new(Parts { database, egress })))
    }

    /// Stores documents, all or none, and returns once they are durable.
    pub async fn ingest(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// Searches the user's documents.
    pub async fn search(&self, user_id: &str, query: &Query) -> Result<Found, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// One document of the user.
    pub async fn document(&self, user_id: &str, id: &str) -> Result<Document, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// Some of the user's documents, newest first.
    pub async fn documents(&self, user_id: &str, listing: &Listing) -> Result<Page, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// The user's feeds, by source and name, each with the number of its documents.
    pub async fn feeds(&self, user_id: &str) -> Result<Vec<(Feed, u64)>, KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// Removes one document of the user, whatever its source.
    pub async fn delete(&self, user_id: &str, id: &str) -> Result<(), KnowledgeError> {
        Err(KnowledgeError::Unavailable("not yet"))
    }

    /// What search goes by.
    pub fn mode(&self) -> Mode {
        Mode::FullText
    }
}
