//! Knowledge base: documents of users and of collections, with full-text and semantic search.
//!
//! Invariants:
//! - a document belongs to one holder and one source, both taken from the verified [`Origin`] and never
//!   from a document; every statement names the holder, or those that its caller may read;
//! - ingested documents are durable before [`Knowledge::ingest`] returns; every later step is a job that
//!   survives a crash;
//! - each batch is atomic: all of its documents are stored, or none.
//!
//! # Modules
//!
//! - `collections`: documents that a team keeps: who may read them, and who keeps them
//! - `ingest`, `store`: validation and deduplication of documents; all SQL about them, each statement with
//!   its holder
//! - `jobs`: the jobs after an ingest: `capture → index → embed`, retried on failure and resumed after a
//!   crash; each job is claimed by one process
//! - `store/moves`, `janitor`: documents change their holder: into the bin and back; bins are emptied
//! - `store/versions`: earlier texts of documents
//! - `quota`: storage limits of holders and rate limits of users; database triggers count what is stored
//! - `passages`, `words`, `embedding`: text → passages → counted stems, by the rules of the document's
//!   language (docs/decisions/0046), and one vector per passage
//! - `brief`: search over short texts that are not documents and that the caller stores: descriptions of
//!   tools
//! - `index`, `search`: a holder's passages, and those of several as one (`index/union`); BM25 and cosine similarity, fused; snippets
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
pub mod collections;
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
mod janitor;
mod jobs;
pub mod model;
mod passages;
mod quota;
mod search;
mod snippet;
mod store;
mod words;

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_base::disk::{Disk, DiskFull};
use kitbag_base::tasks::{run_on, to_its_end};
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::audit::Actor;
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
    Artifact, Change, Chosen, Conflict, Counts, Coverage, DEFAULT_RESULTS, Deletion, Document, DocumentPart,
    Feed, Found, Hit, Ingested, Listing, MAX_CONFLICTS, MAX_RESULTS, Mode, Moved, NO_GOOD_MATCH, NewDocument,
    NewFeed, Origin, Page, Query, State, StateName, Summary, TOOLS, TitleOrigin, USER_SOURCE, Version,
};
pub use document_file::DocumentFile;
pub use embedding::{EmbedError, Embedder, Endpoint, ModelError};
pub use error::KnowledgeError;
use index::keeper::Keeper;
pub use index::keeper::SearchFiles;
use ingest::{Batch, validate, validate_upload};
pub use jobs::JobLimits;
use jobs::Jobs;
pub use kitbag_database::Holder;
use quota::Uploads;
pub use quota::{HolderKind, Quota, QuotaExceeded, Quotas, TooManyUploads, Usage};
use search::Search;
pub use search::operators::MINE;
use store::{Kind, Move, Revision, Store, Stored};
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
    /// Storage limits.
    pub quotas: Quotas,
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
            quotas: Quotas::default(),
            uploads_per_minute: NonZeroU32::MAX,
            disk: Disk::unwatched(),
            hints: Hints::off(),
            workers,
        }
    }
}

/// What was done of an act on many documents until its time was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partly<T> {
    /// What was done.
    pub done: T,
    /// Whether nothing is left to do.
    pub is_all: bool,
}

fn is_past(time: Option<Instant>) -> bool {
    time.is_some_and(|time| Instant::now() >= time)
}

/// Snapshot of the state of some holders' documents: differs once any document becomes searchable, changes or is
/// deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentsState(HashMap<Holder, Revision>);

impl Parts {
    async fn relocate(
        &self,
        from: &Holder,
        to: &Holder,
        chosen: &Chosen,
        by: &str,
        until: Option<Instant>,
    ) -> Result<Partly<Moved>, KnowledgeError> {
        if from == to {
            return Ok(Partly { done: Moved::default(), is_all: true });
        }
        let model = self.embedder.as_ref().map(Embedder::model);
        let mut moved = Moved::default();
        let mut after = 0;
        loop {
            let batch = self.store.move_batch(Move { from, to, by, model }, chosen, after).await?;
            self.jobs.wake(&batch.jobs);
            moved.count += batch.count;
            let room = MAX_CONFLICTS.saturating_sub(moved.conflicts.len());
            moved.conflicts.extend(batch.conflicts.into_iter().take(room));
            match batch.last {
                Some(_) if is_past(until) => return Ok(Partly { done: moved, is_all: false }),
                Some(last) => after = last,
                None => return Ok(Partly { done: moved, is_all: true }),
            }
        }
    }

    async fn purge(
        &self,
        holder: &Holder,
        chosen: &Chosen,
        by: &str,
        until: Option<Instant>,
    ) -> Result<Partly<u64>, KnowledgeError> {
        let mut done = 0;
        loop {
            let purged = self.store.purge_batch(holder, chosen, by).await?;
            self.capture.artifacts().end(&purged.let_go).await;
            done += purged.count;
            if purged.count == 0 || is_past(until) {
                return Ok(Partly { done, is_all: purged.count == 0 });
            }
        }
    }

    async fn anonymise(&self, user: &str, until: Instant) -> Result<Partly<u64>, KnowledgeError> {
        let mut done = 0;
        let mut after = 0;
        loop {
            let batch = self.store.anonymise_documents(user, after).await?;
            done += batch.count;
            let Some(last) = batch.last else { break };
            if is_past(Some(until)) {
                return Ok(Partly { done, is_all: false });
            }
            after = last;
        }
        after = 0;
        loop {
            let batch = self.store.anonymise_versions(user, after).await?;
            done += batch.count;
            let Some(last) = batch.last else { return Ok(Partly { done, is_all: true }) };
            if is_past(Some(until)) {
                return Ok(Partly { done, is_all: false });
            }
            after = last;
        }
    }

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
            quotas,
            uploads_per_minute,
            disk,
            hints,
            workers,
        } = options;
        let store = Store::new(database).with_quotas(quotas);
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

    /// Searches the documents of these holders, for a user, who may read them.
    pub async fn search(
        &self,
        user_id: &str,
        holders: Vec<Holder>,
        query: &Query,
    ) -> Result<Found, KnowledgeError> {
        let parts = self.0.clone();
        let user_id = user_id.to_owned();
        let query = query.clone();
        let search = async move { parts.search.search(&user_id, &holders, &query).await };
        run_on(&self.0.runtime, search).await?
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

    /// Current state of these holders' documents, for comparison with a later one.
    pub async fn state(&self, holders: &[Holder]) -> Result<DocumentsState, KnowledgeError> {
        Ok(DocumentsState(self.0.store.revisions(holders).await?))
    }

    /// Discards the in-memory indexes of all users, after the database may have been replaced.
    pub fn forget_indexes(&self) {
        self.0.search.forget_indexes();
    }

    /// Returns one document of these holders.
    pub async fn document(&self, holders: Vec<Holder>, id: &str) -> Result<Document, KnowledgeError> {
        let parts = self.0.clone();
        let id = id.to_owned();
        let document =
            run_on(&self.0.runtime, async move { parts.store.document(&holders, &id).await }).await?;
        document?.ok_or(KnowledgeError::NotFound)
    }

    /// Returns one document of these holders with at most `count` characters of its text from `offset` on.
    pub async fn document_part(
        &self,
        holders: &[Holder],
        id: &str,
        offset: u32,
        count: u32,
    ) -> Result<DocumentPart, KnowledgeError> {
        let part = self.0.store.document_part(holders, id, offset, count).await?;
        part.ok_or(KnowledgeError::NotFound)
    }

    /// Returns one document of these holders without its text, which is not read.
    pub async fn summary(&self, holders: &[Holder], id: &str) -> Result<Summary, KnowledgeError> {
        self.0.store.summary(holders, id).await?.ok_or(KnowledgeError::NotFound)
    }

    /// Number of the holder's documents in each state.
    pub async fn counts(&self, holder: &Holder) -> Result<Counts, KnowledgeError> {
        Ok(self.0.store.counts(holder).await?)
    }

    /// Storage usage and quota of the holder.
    pub async fn usage(&self, holder: &Holder) -> Result<(Usage, Quota), KnowledgeError> {
        Ok((self.0.store.usage(holder).await?, self.0.store.quota(holder)))
    }

    /// Storage usage of each of these holders that has documents.
    pub async fn usages(&self, holders: &[Holder]) -> Result<HashMap<Holder, Usage>, KnowledgeError> {
        Ok(self.0.store.usages(holders).await?)
    }

    /// Returns one page of the holder's documents, newest first.
    pub async fn documents(&self, holder: &Holder, listing: &Listing) -> Result<Page, KnowledgeError> {
        Ok(self.0.store.documents(holder, listing).await?)
    }

    /// Returns one page of the holder's feeds, sorted by source and name: at most `limit`, after the first
    /// `offset`.
    pub async fn feeds(&self, holder: &Holder, offset: u32, limit: u32) -> Result<Vec<Feed>, KnowledgeError> {
        Ok(self.0.store.feeds(holder, offset, limit).await?)
    }

    /// Number of documents in one feed of the holder.
    pub async fn feed_size(&self, holder: &Holder, feed: &Feed) -> Result<u64, KnowledgeError> {
        Ok(self.0.store.feed_size(holder, &feed.source, &feed.key).await?)
    }

    /// Puts chosen documents of a holder into its bin, for the user `by`. Returns their number.
    pub async fn delete(&self, holder: &Holder, chosen: Chosen, by: &str) -> Result<u64, KnowledgeError> {
        Ok(self.relocate(holder, &holder.bin(), chosen, by).await?.count)
    }

    /// Gets chosen documents of a holder back from its bin, for the user `by`.
    pub async fn restore(&self, holder: &Holder, chosen: Chosen, by: &str) -> Result<Moved, KnowledgeError> {
        self.relocate(&holder.bin(), &holder.without_bin(), chosen, by).await
    }

    /// Moves chosen documents to another holder, for the user `by`.
    pub async fn relocate(
        &self,
        from: &Holder,
        to: &Holder,
        chosen: Chosen,
        by: &str,
    ) -> Result<Moved, KnowledgeError> {
        let parts = self.0.clone();
        let from = from.clone();
        let to = to.clone();
        let by = by.to_owned();
        to_its_end(async move { Ok(parts.relocate(&from, &to, &chosen, &by, None).await?.done) }).await?
    }

    /// Moves all documents of a holder to another one, for the user `by`: as many as are moved until `until`. The same
    /// again goes on.
    pub async fn relocate_until(
        &self,
        until: Instant,
        from: &Holder,
        to: &Holder,
        by: &str,
    ) -> Result<Partly<Moved>, KnowledgeError> {
        let parts = self.0.clone();
        let from = from.clone();
        let to = to.clone();
        let by = by.to_owned();
        to_its_end(async move { parts.relocate(&from, &to, &Chosen::All, &by, Some(until)).await }).await?
    }

    /// Deletes all documents of a holder for good, for the user `by`: as many as are deleted until `until`. The same again
    /// goes on.
    pub async fn purge_until(
        &self,
        until: Instant,
        holder: &Holder,
        by: &str,
    ) -> Result<Partly<u64>, KnowledgeError> {
        let parts = self.0.clone();
        let holder = holder.clone();
        let by = by.to_owned();
        to_its_end(async move { parts.purge(&holder, &Chosen::All, &by, Some(until)).await }).await?
    }

    /// Replaces the name of a user who added, changed or deleted documents, of all holders: as many as are changed until
    /// `until`. The same again goes on. Returns the number of changed documents and earlier texts.
    pub async fn anonymise_until(&self, until: Instant, user: &str) -> Result<Partly<u64>, KnowledgeError> {
        let parts = self.0.clone();
        let user = user.to_owned();
        to_its_end(async move { parts.anonymise(&user, until).await }).await?
    }

    /// Deletes chosen documents of a holder for good, for the user `by`, empty for the server itself; those of a bin, if it
    /// is one. Returns their number.
    pub async fn purge(&self, holder: &Holder, chosen: Chosen, by: &str) -> Result<u64, KnowledgeError> {
        let parts = self.0.clone();
        let holder = holder.clone();
        let by = by.to_owned();
        to_its_end(async move { Ok(parts.purge(&holder, &chosen, &by, None).await?.done) }).await?
    }

    /// Deletes for good what has been in a bin for longer than `age`, and earlier texts that are too old. Returns the
    /// number of documents.
    pub async fn purge_bins(&self, age: Duration) -> Result<u64, KnowledgeError> {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let time = store::now().saturating_sub(age);
        let mut count = 0;
        for bin in self.0.store.bins_before(time).await? {
            count += self.purge(&bin, Chosen::DeletedBefore(time), Actor::server().user()).await?;
        }
        self.0.store.remove_old_versions().await?;
        Ok(count)
    }

    /// Earlier texts of one document of these holders, newest first.
    pub async fn versions(&self, holders: &[Holder], id: &str) -> Result<Vec<Version>, KnowledgeError> {
        self.summary(holders, id).await?;
        Ok(self.0.store.versions(holders, id).await?)
    }

    /// An earlier text of one document of these holders: at most `count` characters from `offset` on.
    pub async fn version_part(
        &self,
        holders: &[Holder],
        id: &str,
        number: u32,
        part: Range<u32>,
    ) -> Result<(Version, String), KnowledgeError> {
        let count = part.end.saturating_sub(part.start);
        let found = self.0.store.version_part(holders, id, number, part.start, count).await?;
        found.ok_or(KnowledgeError::NotFound)
    }

    /// Makes an earlier text the text of a document again, for the user `by`.
    pub async fn restore_version(
        &self,
        holder: &Holder,
        id: &str,
        number: u32,
        by: &str,
    ) -> Result<(), KnowledgeError> {
        if !self.0.store.restore_version(holder, id, number, by).await? {
            return Err(KnowledgeError::NotFound);
        }
        self.0.jobs.wake(&[Kind::Index]);
        Ok(())
    }

    /// Returns the captured file of one document of these holders, and a stream of its bytes.
    pub async fn artifact(
        &self,
        holders: &[Holder],
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        let artifact = self.0.store.artifact(holders, id).await?.ok_or(KnowledgeError::NotFound)?;
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
