//! Knowledge base: users' documents, with full-text and semantic search.
//!
//! Invariants:
//! - a document belongs to one user and one source, both taken from the verified [`Origin`] and never
//!   from a document; every statement names the user;
//! - ingested documents are durable before [`Knowledge::ingest`] returns; every later step is a job that
//!   survives a crash;
//! - each batch is atomic: all of its documents are stored, or none.
//!
//! # Modules
//!
//! - `ingest`, `store`: validation and deduplication of documents; all SQL about them, each statement with
//!   its user
//! - `jobs`: the jobs after an ingest: `capture → index → embed`, retried on failure and resumed after a
//!   crash; each job is claimed by one process
//! - `quota`: storage and rate limits per user; database triggers count what is stored
//! - `passages`, `words`, `embedding`: text → passages → counted stems, by the rules of the document's
//!   language (docs/decisions/0046), and one vector per passage
//! - `brief`: search over short texts that are not documents and that the caller stores: descriptions of
//!   tools
//! - `index`, `search`: a user's passages; BM25 and cosine similarity, fused; snippets
//! - `feedback`: documents compared once more with a query that is moved towards the best (docs/decisions/0082)
//! - `index/keeper`, `files`, `file`: memory-mapped index files: which indexes have one, its path, its format
//!   (docs/decisions/0053, docs/decisions/0049)
//! - `model`: models by name (docs/decisions/0048): downloads a model, verifies its hashes, and writes its
//!   settings as sentence-transformers would; the server itself only reads a folder
//! - `document_file`: the stored file of a document, and the lease that keeps it until the document refers to it
//! - `capture`: a file's URL → a stored file → text: fetch, type from the bytes, extract, decode or
//!   transcribe

mod bm25;
pub mod brief;
mod capture;
mod document;
mod document_file;
mod embedding;
mod error;
mod feedback;
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
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_base::disk::{Disk, DiskFull};
use kitbag_base::tasks::{run_on, to_its_end};
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::peers::{Hints, Process};
use kitbag_manifest::Problems;
use serde_json::json;
use tokio::runtime::Handle;
use tracing::error;

#[doc(hidden)]
pub use capture::fuzzing as capture_fuzzing;
pub use capture::{
    Capture, CaptureFailure, CaptureSettings, Extract, ExtractError, Extracted, FailureKind, FileKind,
    FrontMatter, MAX_FILES_IN_MEMORY, MAX_TEXT_BYTES, Markup, TranscriptionSettings,
};
pub use document::{
    Artifact, Change, Counts, Coverage, DEFAULT_RESULTS, Document, DocumentPart, Feed, Found, Hit, Ingested,
    Listing, MAX_RESULTS, Mode, NO_GOOD_MATCH, NewDocument, NewFeed, Origin, Page, Query, State, StateName,
    Summary, TOOLS, TitleOrigin, USER_SOURCE,
};
pub use document_file::DocumentFile;
pub use embedding::{EmbedError, Embedder, Endpoint, ModelError};
pub use error::KnowledgeError;
use index::keeper::Keeper;
pub use index::keeper::SearchFiles;
use ingest::{Batch, validate, validate_upload};
pub use jobs::JobLimits;
use jobs::Jobs;
use quota::Uploads;
pub use quota::{Quota, QuotaExceeded, TooManyUploads, Usage};
use search::Search;
use store::{Revision, Store, Stored};
pub use words::language_of;

/// Error for a file that came with a document and could not be stored.
const STORAGE_FAILED: KnowledgeError =
    KnowledgeError::Unavailable("the file cannot be stored now; try again in a minute");

/// Largest number of attempts to store a batch whose file was deleted before its document referred to it.
const MAX_PUTS: usize = 10;

/// Knowledge base of all users. Clones share their state.
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
    workers: Workers,
    /// Runtime of the server. Guests call from threads that may wait long for a processor; running database
    /// work here keeps connections from waiting with them.
    runtime: Handle,
}

/// Settings of a knowledge base, besides its database.
#[derive(Clone)]
pub struct Options {
    /// Embedding model; `None`: full-text search only.
    pub embedder: Option<Embedder>,
    /// Memory limit of all users' search indexes together, in bytes.
    pub search_memory: usize,
    /// Index files, which spare first searches from loading indexes from the database; `None`: no files.
    pub search_files: Option<SearchFiles>,
    /// Retry limits of the jobs after an ingest.
    pub jobs: JobLimits,
    /// Storage limits per user.
    pub quota: Quota,
    /// Largest number of batches and files that each user may upload per minute.
    pub uploads_per_minute: NonZeroU32,
    /// Disk of the data directory.
    pub disk: Disk,
    /// Channel that tells other processes about new jobs.
    pub hints: Hints,
    /// The threads that process a user's large data.
    pub workers: Workers,
}

impl Options {
    /// Returns the default settings, with `workers`.
    pub fn with_workers(workers: Workers) -> Self {
        Self {
            embedder: None,
            search_memory: 512 << 20,
            search_files: None,
            jobs: JobLimits::default(),
            quota: Quota::default(),
            uploads_per_minute: NonZeroU32::MAX,
            disk: Disk::unwatched(),
            hints: Hints::off(),
            workers,
        }
    }
}

/// Snapshot of the state of a user's documents: differs once any document becomes searchable, changes or is
/// deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentsState(Revision);

impl Parts {
    /// Stores a batch and the file that came with it. Also returns the file.
    async fn store_with(
        &self,
        origin: &Origin,
        batch: &Batch,
        mut file: Option<DocumentFile>,
    ) -> (Result<Stored, KnowledgeError>, Option<DocumentFile>) {
        for _ in 0..MAX_PUTS {
            match self.store.ingest(origin, batch, file.as_ref().and_then(DocumentFile::held)).await {
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
    /// Job settings as text, which processes compare; see [`Process::register`].
    pub fn job_settings(capture: &Capture, options: &Options) -> String {
        let model = options.embedder.as_ref().map(Embedder::model);
        json!({ "model": model, "transcribes": capture.can_transcribe() }).to_string()
    }

    /// Opens the knowledge base in `database` for this process, and resumes unfinished jobs.
    pub async fn open(
        database: Database,
        process: Process,
        capture: Capture,
        options: Options,
    ) -> Result<Self, KnowledgeError> {
        let Options {
            embedder,
            search_memory,
            search_files,
            jobs,
            quota,
            uploads_per_minute,
            disk,
            hints,
            workers,
        } = options;
        let store = Store::new(database).with_quota(quota);
        // Before the first job changes anything.
        let keeper = match search_files {
            Some(files) => {
                let model = embedder.as_ref().map(|embedder| embedder.model().to_owned());
                Box::pin(Keeper::open(store.clone(), model, files, search_memory, disk.clone())).await?
            }
            None => None,
        };
        let search = Search::new(store.clone(), embedder.clone(), search_memory, keeper);
        let jobs =
            Jobs::start(store.clone(), process, embedder.clone(), capture.clone(), disk.clone(), jobs, hints);
        let jobs = Box::pin(jobs).await?;
        let uploads = Uploads::new(uploads_per_minute);
        let runtime = Handle::current();
        Ok(Self(Arc::new(Parts { capture, embedder, store, search, jobs, uploads, disk, workers, runtime })))
    }

    /// Stops background jobs; they resume at the next start.
    pub async fn close(&self) {
        self.0.jobs.stop().await;
        self.0.search.close().await;
    }

    /// The threads that process a user's large data.
    pub fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// Stores documents, all or none, and returns once they are durable.
    pub async fn ingest(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        let knowledge = self.clone();
        let origin = origin.clone();
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
        let batch = self.0.workers.run(&origin.user_id, size, check).await;
        self.store(origin, batch.map_err(KnowledgeError::Invalid)?, None).await
    }

    /// Stores one document with an uploaded file, read from a stream up to the largest allowed size. `name`
    /// and `length` are claims of the sender.
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
        // Without a declared length, reserves space for the largest allowed file.
        let _room = disk.reserve(length.unwrap_or(u64::MAX).min(capture.max_size()))?;
        // Validates first: the file of an invalid document is not read.
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

    /// Stores a batch and the file that came with it.
    async fn store(
        &self,
        origin: &Origin,
        batch: Batch,
        file: Option<DocumentFile>,
    ) -> Result<Vec<Ingested>, KnowledgeError> {
        // Runs to completion even if the caller goes away, so that the jobs of stored documents start.
        let parts = self.0.clone();
        let origin = origin.clone();
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

    /// Number of waiting jobs of each kind, over all users.
    pub async fn waiting_jobs(&self) -> Result<Vec<(&'static str, u64)>, KnowledgeError> {
        Ok(self.0.store.waiting_jobs().await?)
    }

    /// Total number and size of the documents of all users.
    pub async fn usage_of_all(&self) -> kitbag_database::Result<Usage> {
        self.0.store.usage_of_all().await
    }

    /// Searches the user's documents.
    pub async fn search(&self, user_id: &str, query: &Query) -> Result<Found, KnowledgeError> {
        let parts = self.0.clone();
        let user_id = user_id.to_owned();
        let query = query.clone();
        run_on(&self.0.runtime, async move { parts.search.search(&user_id, &query).await }).await?
    }

    /// Embeds a search query of a user; `None` without a model, or if it fails.
    pub async fn query_vector(&self, user_id: &str, text: &str) -> Option<Vec<f32>> {
        self.0.search.embed(user_id, text).await
    }

    /// Embeds texts that are not documents, in order; `None` without a model. They share a queue with
    /// documents.
    pub async fn text_vectors(&self, texts: Vec<String>) -> Option<Result<Vec<Vec<f32>>, EmbedError>> {
        Some(self.0.embedder.as_ref()?.documents(texts).await)
    }

    /// Current state of the user's documents, for comparison with a later one.
    pub async fn state(&self, user_id: &str) -> Result<DocumentsState, KnowledgeError> {
        Ok(DocumentsState(self.0.store.revision(user_id).await?))
    }

    /// Discards the in-memory indexes of all users, after the database may have been replaced.
    pub fn forget_indexes(&self) {
        self.0.search.forget_indexes();
    }

    /// Returns one document of the user.
    pub async fn document(&self, user_id: &str, id: &str) -> Result<Document, KnowledgeError> {
        let parts = self.0.clone();
        let user_id = user_id.to_owned();
        let id = id.to_owned();
        let document =
            run_on(&self.0.runtime, async move { parts.store.document(&user_id, &id).await }).await?;
        document?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns one document of the user with at most `count` characters of its text from `offset` on.
    pub async fn document_part(
        &self,
        user_id: &str,
        id: &str,
        offset: u32,
        count: u32,
    ) -> Result<DocumentPart, KnowledgeError> {
        let part = self.0.store.document_part(user_id, id, offset, count).await?;
        part.ok_or(KnowledgeError::NotFound)
    }

    /// Returns one document of the user without its text, which is not read.
    pub async fn summary(&self, user_id: &str, id: &str) -> Result<Summary, KnowledgeError> {
        self.0.store.summary(user_id, id).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Number of the user's documents in each state.
    pub async fn counts(&self, user_id: &str) -> Result<Counts, KnowledgeError> {
        Ok(self.0.store.counts(user_id).await?)
    }

    /// Storage usage and quota of the user.
    pub async fn usage(&self, user_id: &str) -> Result<(Usage, Quota), KnowledgeError> {
        Ok((self.0.store.usage(user_id).await?, self.0.store.quota()))
    }

    /// Returns one page of the user's documents, newest first.
    pub async fn documents(&self, user_id: &str, listing: &Listing) -> Result<Page, KnowledgeError> {
        Ok(self.0.store.documents(user_id, listing).await?)
    }

    /// Returns one page of the user's feeds, sorted by source and name: at most `limit`, after the first
    /// `offset`.
    pub async fn feeds(&self, user_id: &str, offset: u32, limit: u32) -> Result<Vec<Feed>, KnowledgeError> {
        Ok(self.0.store.feeds(user_id, offset, limit).await?)
    }

    /// Number of documents in one feed of the user.
    pub async fn feed_size(&self, user_id: &str, feed: &Feed) -> Result<u64, KnowledgeError> {
        Ok(self.0.store.feed_size(user_id, &feed.source, &feed.key).await?)
    }

    /// Deletes one document of the user, whatever its source.
    pub async fn delete(&self, user_id: &str, id: &str) -> Result<(), KnowledgeError> {
        let parts = self.0.clone();
        let user_id = user_id.to_owned();
        let id = id.to_owned();
        to_its_end(async move {
            let deleted = parts.store.delete(&user_id, &id).await?.ok_or(KnowledgeError::NotFound)?;
            parts.capture.artifacts().end(deleted.artifact.as_slice()).await;
            Ok(())
        })
        .await?
    }

    /// Returns the captured file of one document of the user, and a stream of its bytes.
    pub async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        let artifact = self.0.store.artifact(user_id, id).await?.ok_or(KnowledgeError::NotFound)?;
        match self.0.capture.artifacts().open(&artifact.digest).await {
            Ok(Some(opened)) => Ok((artifact, opened.bytes)),
            // The document was deleted meanwhile.
            Ok(None) => Err(KnowledgeError::NotFound),
            Err(cause) => {
                error!(%cause, digest = artifact.digest, "a captured file cannot be read");
                Err(KnowledgeError::Unavailable("the file cannot be read now; try again later"))
            }
        }
    }

    /// Retrieval method of searches.
    pub fn mode(&self) -> Mode {
        self.0.search.mode()
    }
}
