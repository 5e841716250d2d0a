//! Knowledge base with a database of its own, into which tests really ingest documents.

use std::path::Path;

use kitbag_base::tasks::take_a_share;
use kitbag_base::workers::Workers;
use kitbag_database::peers::{Process, Profile};
use kitbag_database::{Database, sql};
use kitbag_files::objects::Objects;
use kitbag_net::egress::{Egress, EgressSettings};
use tempfile::TempDir;
use tokio::time::sleep;

use super::super::*;
use crate::embedding::tiny_model;
use crate::{
    Capture, CaptureSettings, Chosen, Extract, Knowledge, Listing, NewDocument, Options, Origin, SearchFiles,
    StateName,
};

pub(super) struct Library {
    pub(super) knowledge: Knowledge,
    process: Process,
    pub(super) database: Database,
    pub(super) embedder: Option<Embedder>,
    folder: TempDir,
    min_chunks: Option<usize>,
}

pub(super) const MEMORY: usize = 256 << 20;

impl Library {
    /// Opens a library with full-text search only.
    pub(super) async fn without_model() -> Self {
        Self::new(None, MEMORY).await
    }

    /// Opens a library with the tiny model.
    pub(super) async fn with_model() -> Self {
        Self::new(Some(tiny_embedder().await), MEMORY).await
    }

    pub(super) async fn new(embedder: Option<Embedder>, memory: usize) -> Self {
        Self::open(TempDir::new().expect("a scratch folder"), embedder, memory, None).await
    }

    /// Opens a library with files for indexes of at least three chunks.
    pub(super) async fn with_files(embedder: Option<Embedder>) -> Self {
        Self::with_files_in(TempDir::new().expect("a scratch folder"), embedder).await
    }

    /// Opens a library with files in a given data directory.
    pub(super) async fn with_files_in(folder: TempDir, embedder: Option<Embedder>) -> Self {
        Self::open(folder, embedder, MEMORY, Some(3)).await
    }

    async fn open(
        folder: TempDir,
        embedder: Option<Embedder>,
        memory: usize,
        min_chunks: Option<usize>,
    ) -> Self {
        let database = Database::of_test(folder.path()).await;
        let data = folder.path().to_owned();
        let files = |min_chunks| SearchFiles { data, min_chunks, interval: Duration::ZERO };
        let options = Options {
            embedder: embedder.clone(),
            search_memory: memory,
            search_files: min_chunks.map(files),
            ..Options::with_workers(Workers::start("worker", take_a_share).expect("there are threads"))
        };
        let egress = Egress::new(EgressSettings::default());
        let settings = CaptureSettings { size: 1 << 20, time: Duration::from_secs(10), transcription: None };
        let extract: Extract = Arc::new(|_, _| Box::pin(std::future::pending()));
        let artifacts = Objects::of_test(folder.path(), &database).await.artifacts();
        let capture =
            Capture::open(folder.path(), artifacts, egress, settings, extract).await.expect("it opens");
        let settings = Knowledge::job_settings(&capture, &options);
        let process = Process::register(&database, Profile::of_this_program(&settings), folder.path())
            .await
            .expect("it is registered");
        let knowledge = Knowledge::open(database.clone(), process.clone(), capture, options).await;
        Self { knowledge: knowledge.expect("it opens"), process, database, embedder, folder, min_chunks }
    }

    /// Reopens the library with the same documents, as after a restart.
    pub(super) async fn restarted(self, embedder: Option<Embedder>, memory: usize) -> Self {
        self.knowledge.close().await;
        self.process.leave().await;
        let library = Self::open(self.folder, embedder, memory, self.min_chunks).await;
        library.settled("ana").await;
        library
    }

    /// Closes the library. Returns its data directory.
    pub(super) async fn stopped(self) -> TempDir {
        self.knowledge.close().await;
        self.process.leave().await;
        self.database.close().await;
        self.folder
    }

    /// Data directory.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ingests documents as the user, and waits until they are ready. Returns their ids.
    pub(super) async fn add<const N: usize>(
        &self,
        user_id: &str,
        documents: [NewDocument; N],
    ) -> [String; N] {
        self.add_from("user", user_id, documents.to_vec()).await.try_into().expect("one for each document")
    }

    pub(super) async fn add_from(
        &self,
        source: &str,
        user_id: &str,
        documents: Vec<NewDocument>,
    ) -> Vec<String> {
        let origin = Origin::own(user_id, source);
        let ingested = self.knowledge.ingest(&origin, documents).await.expect("they keep the rules");
        self.settled(user_id).await;
        ingested.into_iter().map(|document| document.id).collect()
    }

    async fn settled(&self, user_id: &str) {
        self.settled_holder(&Holder::user(user_id)).await;
    }

    /// Makes the collection that is this holder, unless it is there, or a user.
    pub(super) async fn make(&self, holder: &Holder) {
        let Some(id) = holder.collection_id() else { return };
        let statement = sql("INSERT INTO collections (id, name, description, created_by, created_at)
             VALUES ($1, $1, '', 'ana', 0) ON CONFLICT (id) DO NOTHING");
        self.database.write(statement.bind(id)).await;
    }

    /// Waits until the documents of a holder are ready.
    pub(super) async fn settled_holder(&self, holder: &Holder) {
        let pending = Listing { state: Some(StateName::Pending), limit: 1, ..Listing::default() };
        while self.knowledge.documents(holder, &pending).await.expect("it can be read").total > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Titles of the user's search results, best first.
    pub(super) async fn find(&self, user_id: &str, text: &str) -> Vec<String> {
        titles(&self.found(user_id, &query(text)).await)
    }

    pub(super) async fn found(&self, user_id: &str, query: &Query) -> Found {
        self.knowledge.search(user_id, vec![Holder::user(user_id)], query).await.expect("a valid query")
    }

    /// Puts a document of the user into the bin.
    pub(super) async fn remove(&self, user_id: &str, id: &str) {
        let chosen = Chosen::Ids(vec![id.to_owned()]);
        let removed = self.knowledge.delete(&Holder::user(user_id), chosen, user_id).await;
        assert_eq!(removed.expect("it can be removed"), 1);
    }

    pub(super) fn search(&self) -> &Search {
        &self.knowledge.0.search
    }

    /// Runs an SQL statement that the program itself never runs.
    pub(super) async fn execute(&self, sql: &'static str) {
        self.database.execute(sql).await;
    }
}

pub(super) async fn tiny_embedder() -> Embedder {
    let model = TempDir::new().expect("a scratch folder");
    tiny_model::write(model.path());
    Embedder::open(model.path()).await.expect("the model is whole")
}

pub(super) fn note(title: &str, text: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(text.to_owned()), ..NewDocument::default() }
}

pub(super) fn query(text: &str) -> Query {
    Query { text: text.to_owned(), has_operators: true, limit: 10, offset: 0, source: None, author: None }
}

pub(super) fn titles(found: &Found) -> Vec<String> {
    found.hits.iter().map(|hit| hit.document.title.clone()).collect()
}
