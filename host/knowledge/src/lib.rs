//! The knowledge base: documents of users, found by words and by meaning.
//!
//! Invariants:
//! - a document belongs to one user and one source, both taken from the verified [`Origin`] and never
//!   from a document; every statement names the user;
//! - what was ingested is durable before [`Knowledge::ingest`] returns; everything after that is a job
//!   that survives a crash;
//! - of each batch all documents are stored, or none.
//!
//! # Modules
//!
//! - `ingest`, `store`: checks documents, and finds out which are the same; all SQL about them, each
//!   statement with its user
//! - `jobs`: the jobs after an ingest: `capture → index → embed`, retried on failure and resumed after a
//!   crash; each taken by one process
//! - `quota`: how much each user may store, and how often; database triggers count what is stored
//! - `passages`, `words`, `embedding`: text → passages → counted stems, by the rules of the document's
//!   language (docs/decisions/0046), and a vector each
//! - `brief`: search over texts that are no documents and that the caller keeps: descriptions of tools
//! - `index`, `search`: a user's passages; BM25 and cosine, fused; snippets
//! - `index/keeper`, `files`, `file`: indexes as files, which are searched where they are: which have
//!   one, where it is, its bytes (docs/decisions/0053, docs/decisions/0049)
//! - `model`: models by name (docs/decisions/0048): fetches one, checks its hashes, and writes how it is
//!   used as sentence-transformers would; the server only ever reads a folder
//! - `capture`: a file's URL → a kept file → text: fetch, type from the bytes, extract, decode or
//!   transcribe

mod bm25;
pub mod brief;
mod capture;
mod document;
mod embedding;
mod error;
mod fusion;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod ingest;
mod jobs;
pub mod model;
mod passages;
mod quota;
mod search;
mod snippet;
mod store;
mod words;

use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_base::disk::{Disk, DiskFull};
use kitbag_base::tasks::{off_thread, run_on, to_its_end};
use kitbag_database::Database;
use kitbag_database::peers::{Hints, Process};
use kitbag_manifest::Problems;
use serde_json::json;
use tokio::runtime::Handle;
use tracing::error;

#[doc(hidden)]
pub use capture::fuzzing as capture_fuzzing;
pub use capture::{
    Capture, CaptureFailure, CaptureSettings, Extract, ExtractError, Extracted, FailureKind, FileKind, Kept,
    MAX_FILES_IN_MEMORY, MAX_TEXT_BYTES, Markup, TranscriptionSettings,
};
pub use document::{
    Artifact, Change, Counts, DEFAULT_RESULTS, Document, DocumentPart, Feed, Found, Hit, Ingested, Listing,
    MAX_RESULTS, Mode, NewDocument, NewFeed, Origin, Page, Query, State, StateName, Summary, TOOLS,
    TitleOrigin, USER_SOURCE,
};
pub use embedding::{EmbedError, Embedder, Endpoint, ModelError};
pub use error::KnowledgeError;
use index::keeper::Keeper;
pub use index::keeper::SearchFiles;
use ingest::{Batch, validate, validate_upload};
pub use jobs::JobLimits;
use jobs::Jobs;
use quota::Uploads;
pub use quota::{Quota, QuotaExceeded, TooManyUploads, Usage};
use search::{Search, find_previous, models};
use store::{Revision, Store, Stored};
pub use words::language_of;

/// The file that came with a document could not be stored.
const STORAGE_FAILED: KnowledgeError =
    KnowledgeError::Unavailable("the file cannot be stored now; try again in a minute");

/// How often a file is put again that was dropped before its document referred to it.
const MAX_PUTS: usize = 10;

/// More text than this, in bytes, is checked off the threads that serve requests.
const MIN_BYTES_OFF_THREAD: usize = 64 << 10;

/// The knowledge base of all users; a clone shares everything.
#[derive(Clone)]
pub struct Knowledge(Arc<Parts>);

struct Parts {
    capture: Capture,
    embedder: Option<Embedder>,
    store: Store,
    search: Search,
    jobs: Jobs,
    uploads: Uploads,
    disk: Disk,
    /// The server's own. Guests ask from threads that may have to wait long for a processor: no connection of
    /// the database waits with them.
    runtime: Handle,
}

/// What a knowledge base may have, beside its database.
#[derive(Clone)]
pub struct Options {
    /// The model; without one, search goes by words alone.
    pub embedder: Option<Embedder>,
    /// Folders of models that may have read documents before. The vectors of one of them serve until `embedder` has
    /// read everything.
    pub previous_models: Vec<PathBuf>,
    /// Bytes that the indexes of users who search may take.
    pub search_memory: usize,
    /// Where first searches find what they would read from the database.
    pub search_files: Option<SearchFiles>,
    /// How often what follows an ingest is tried.
    pub jobs: JobLimits,
    /// What each user may have.
    pub quota: Quota,
    /// Batches and files that each user may bring in a minute.
    pub uploads_per_minute: NonZeroU32,
    /// The disk with the data directory.
    pub disk: Disk,
    /// What tells other processes of jobs.
    pub hints: Hints,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            embedder: None,
            previous_models: Vec::new(),
            search_memory: 512 << 20,
            search_files: None,
            jobs: JobLimits::default(),
            quota: Quota::default(),
            uploads_per_minute: NonZeroU32::MAX,
            disk: Disk::unwatched(),
            hints: Hints::off(),
        }
    }
}

/// The state of a user's documents: another one once any of them can be found, has changed or has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentsState(Revision);

impl Parts {
    /// Stores a batch, and the file that came with it. Returns the file too.
    async fn store_with(
        &self,
        origin: &Origin,
        batch: &Batch,
        mut file: Option<Kept>,
    ) -> (Result<Stored, KnowledgeError>, Option<Kept>) {
        for _ in 0..MAX_PUTS {
            match self.store.ingest(origin, batch, file.as_ref().and_then(Kept::held)).await {
                Ok(Some(stored)) => return (Ok(stored), file),
                Ok(None) => {}
                Err(error) => return (Err(error), file),
            }
            let Some(file) = &mut file else { break };
            if let Err(cause) = file.put_again(self.capture.artifacts()).await {
                error!(%cause, "a file that came with a document could not be stored");
                break;
            }
        }
        (Err(STORAGE_FAILED), file)
    }
}

impl Knowledge {
    /// What jobs are done with, as processes compare it: see [`Process::register`].
    pub fn job_settings(capture: &Capture, options: &Options) -> String {
        let model = options.embedder.as_ref().map(Embedder::model);
        json!({ "model": model, "transcribes": capture.can_transcribe() }).to_string()
    }

    /// Opens the knowledge base in `database` for this process, and takes up the jobs that are left.
    pub async fn open(
        database: Database,
        process: Process,
        capture: Capture,
        options: Options,
    ) -> Result<Self, KnowledgeError> {
        let Options {
            embedder,
            previous_models,
            search_memory,
            search_files,
            jobs,
            quota,
            uploads_per_minute,
            disk,
            hints,
        } = options;
        let store = Store::new(database).with_quota(quota);
        let previous = match &embedder {
            Some(current) => find_previous(&store, current, &previous_models).await?,
            None => None,
        };
        // Before the first job changes anything.
        let keeper = match search_files {
            Some(files) => {
                let models = models(embedder.as_ref(), previous.as_ref());
                Box::pin(Keeper::open(store.clone(), models, files, search_memory, disk.clone())).await?
            }
            None => None,
        };
        let search = Search::new(store.clone(), embedder.clone(), previous, search_memory, keeper);
        let jobs =
            Jobs::start(store.clone(), process, embedder.clone(), capture.clone(), disk.clone(), jobs, hints);
        let jobs = Box::pin(jobs).await?;
        let uploads = Uploads::new(uploads_per_minute);
        let runtime = Handle::current();
        Ok(Self(Arc::new(Parts { capture, embedder, store, search, jobs, uploads, disk, runtime })))
    }

    /// Stops what follows an ingest; it goes on after the next start.
    pub async fn close(&self) {
        self.0.jobs.stop().await;
        self.0.search.close().await;
    }

    /// Stores documents, all or none, and returns once they are durable.
    pub async fn ingest(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        let (knowledge, origin) = (self.clone(), origin.clone());
        let ingest = async move { knowledge.ingest_here(&origin, documents).await };
        run_on(&self.0.runtime, ingest).await?
    }

    async fn ingest_here(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        self.0.uploads.admit(&origin.user_id)?;
        let size: usize = documents.iter().filter_map(|it| it.text.as_ref()).map(String::len).sum();
        let _room = self.0.disk.reserve(size as u64)?;
        let check = move || validate(documents).map(Batch::new);
        let batch = if size > MIN_BYTES_OFF_THREAD { off_thread(check).await } else { check() };
        self.store(origin, batch.map_err(KnowledgeError::Invalid)?, None).await
    }

    /// Stores one document whose file the caller has: its bytes come as a stream, which is read no
    /// further than the largest file that is kept. `name` and `length` are what the sender says of it.
    pub async fn ingest_file(
        &self,
        origin: &Origin,
        document: NewDocument,
        name: Option<&str>,
        file: BoxStream<'static, io::Result<Bytes>>,
        length: Option<u64>,
    ) -> Result<Ingested, KnowledgeError> {
        let Parts { capture, uploads, disk, .. } = &*self.0;
        uploads.admit(&origin.user_id)?;
        let _on_its_way = uploads.begin(&origin.user_id)?;
        // One that does not say how long it is may be as long as any.
        let _room = disk.reserve(length.unwrap_or(u64::MAX).min(capture.max_size()))?;
        // First the rules: a file that comes for nothing is not read.
        let valid = validate_upload(document).map_err(KnowledgeError::Invalid)?;
        let keeping = capture.keep(file, valid.claimed_type.as_deref(), name.or(Some(&valid.title)));
        let kept = disk.while_there_is_room(keeping).await?;
        let kept = kept.map_err(|failure| {
            if disk.has_reserve().is_err() {
                return KnowledgeError::DiskFull(DiskFull);
            }
            if failure.kind == FailureKind::Storage {
                return STORAGE_FAILED;
            }
            let mut problems = Problems::default();
            problems.add("file", failure.reason);
            KnowledgeError::Invalid(problems)
        })?;
        let batch = Batch::new(vec![valid.with_upload(kept.artifact().clone())]);
        let mut ingested = self.store(origin, batch, Some(kept)).await?;
        Ok(ingested.pop().expect("one for each document"))
    }

    /// Stores a batch, and the file that came with it.
    async fn store(
        &self,
        origin: &Origin,
        batch: Batch,
        file: Option<Kept>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        // Whoever asked may go away: the jobs of what was stored are begun all the same.
        let (parts, origin) = (self.0.clone(), origin.clone());
        to_its_end(async move {
            let (stored, file) = parts.store_with(&origin, &batch, file).await;
            let artifacts = parts.capture.artifacts();
            if let (Err(_), Some(file)) = (&stored, file) {
                file.give_up(artifacts).await;
            }
            let stored = stored?;
            artifacts.end(&stored.let_go).await;
            parts.jobs.wake(&stored.jobs);
            Ok(stored.ingested)
        })
        .await?
    }

    /// How many documents of all users wait for each kind of job.
    pub async fn waiting_jobs(&self) -> Result<Vec<(&'static str, u64)>, KnowledgeError> {
        Ok(self.0.store.waiting_jobs().await?)
    }

    /// What the documents of all users are together.
    pub async fn usage_of_all(&self) -> kitbag_database::Result<Usage> {
        self.0.store.usage_of_all().await
    }

    /// Searches the user's documents.
    pub async fn search(&self, user_id: &str, query: &Query) -> Result<Found, KnowledgeError> {
        let (parts, user_id, query) = (self.0.clone(), user_id.to_owned(), query.clone());
        run_on(&self.0.runtime, async move { parts.search.search(&user_id, &query).await }).await?
    }

    /// The vector of what a user looks for; `None` without a model, or where it fails.
    pub async fn query_vector(&self, user_id: &str, text: &str) -> Option<Vec<f32>> {
        self.0.search.embed(user_id, text).await
    }

    /// The vectors of texts that are no documents, in their order; `None` without a model. They take their turn among those
    /// of documents.
    pub async fn text_vectors(&self, texts: Vec<String>) -> Option<Result<Vec<Vec<f32>>, EmbedError>> {
        Some(self.0.embedder.as_ref()?.documents(texts).await)
    }

    /// What the user's documents are now, to be compared with what they are later.
    pub async fn state(&self, user_id: &str) -> Result<DocumentsState, KnowledgeError> {
        Ok(DocumentsState(self.0.store.revision(user_id).await?))
    }

    /// Forgets what is kept in memory of all users, because another database may have taken the place of this one.
    pub fn forget_indexes(&self) {
        self.0.search.forget_indexes();
    }

    /// One document of the user.
    pub async fn document(&self, user_id: &str, id: &str) -> Result<Document, KnowledgeError> {
        let (parts, user_id, id) = (self.0.clone(), user_id.to_owned(), id.to_owned());
        let document =
            run_on(&self.0.runtime, async move { parts.store.document(&user_id, &id).await }).await?;
        document?.ok_or(KnowledgeError::NotFound)
    }

    /// One document of the user, with so many characters of its text from an offset on.
    pub async fn document_part(
        &self,
        user_id: &str,
        id: &str,
        offset: u32,
        count: u32,
    ) -> Result<DocumentPart, KnowledgeError> {
        let part = self.0.store.document_part(user_id, id, (offset, count)).await?;
        part.ok_or(KnowledgeError::NotFound)
    }

    /// One document of the user without its text, which is not even read.
    pub async fn summary(&self, user_id: &str, id: &str) -> Result<Summary, KnowledgeError> {
        self.0.store.summary(user_id, id).await?.ok_or(KnowledgeError::NotFound)
    }

    /// How many documents the user has in each state.
    pub async fn counts(&self, user_id: &str) -> Result<Counts, KnowledgeError> {
        Ok(self.0.store.counts(user_id).await?)
    }

    /// What the user's documents are, and what they may be.
    pub async fn usage(&self, user_id: &str) -> Result<(Usage, Quota), KnowledgeError> {
        Ok((self.0.store.usage(user_id).await?, self.0.store.quota()))
    }

    /// Some of the user's documents, newest first.
    pub async fn documents(&self, user_id: &str, listing: &Listing) -> Result<Page, KnowledgeError> {
        Ok(self.0.store.documents(user_id, listing).await?)
    }

    /// Some of the user's feeds, by source and name: `limit` of them after the first `offset`.
    pub async fn feeds(&self, user_id: &str, offset: u32, limit: u32) -> Result<Vec<Feed>, KnowledgeError> {
        Ok(self.0.store.feeds(user_id, offset, limit).await?)
    }

    /// How many documents one feed of the user has.
    pub async fn feed_size(&self, user_id: &str, feed: &Feed) -> Result<u64, KnowledgeError> {
        Ok(self.0.store.feed_size(user_id, &feed.source, &feed.key).await?)
    }

    /// Removes one document of the user, whatever its source.
    pub async fn delete(&self, user_id: &str, id: &str) -> Result<(), KnowledgeError> {
        let (parts, user_id, id) = (self.0.clone(), user_id.to_owned(), id.to_owned());
        to_its_end(async move {
            let deleted = parts.store.delete(&user_id, &id).await?.ok_or(KnowledgeError::NotFound)?;
            parts.capture.artifacts().end(deleted.artifact.as_slice()).await;
            Ok(())
        })
        .await?
    }

    /// The captured file of one document of the user, and its bytes.
    pub async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        let artifact = self.0.store.artifact(user_id, id).await?.ok_or(KnowledgeError::NotFound)?;
        match self.0.capture.artifacts().open(&artifact.digest).await {
            Ok(Some(opened)) => Ok((artifact, opened.bytes)),
            // Its document has gone in the meantime.
            Ok(None) => Err(KnowledgeError::NotFound),
            Err(cause) => {
                error!(%cause, digest = artifact.digest, "a captured file cannot be read");
                Err(KnowledgeError::Unavailable("the file cannot be read now; try again later"))
            }
        }
    }

    /// What search goes by.
    pub fn mode(&self) -> Mode {
        self.0.search.mode()
    }
}
