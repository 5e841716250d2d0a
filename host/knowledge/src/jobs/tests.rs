//! Jobs from ingest to the end, each test with a database of its own. Downloads and embeddings are replaced
//! by functions, because these tests are about their failures.

mod captures;
mod models;
mod processes;

use std::sync::atomic::{AtomicUsize, Ordering};

use kitbag_database::peers::Profile;
use kitbag_files::objects::Objects;
use tempfile::TempDir;

use super::retry::Failure;
use super::*;
use crate::document::{NewDocument, State};
use crate::store::tests::{note, origin, page, store};

const MODEL: &str = "model-a";

/// Retry limits without pauses, so that tests do not wait.
const WITHOUT_PAUSES: JobLimits =
    JobLimits { tries: 3, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };

async fn context() -> (Context, TempDir) {
    let (store, data) = store().await;
    let artifacts = Objects::of_test(data.path(), store.database()).await.artifacts();
    let process = Process::register(store.database(), Profile::of_this_program(""), data.path())
        .await
        .expect("it is registered");
    let me = process.id().borrow().clone();
    let wakes = Arc::new(Wakes::new(Hints::off()));
    let disk = Disk::unwatched();
    (Context { store, process, me, artifacts, wakes, limits: WITHOUT_PAUSES, disk }, data)
}

impl Context {
    /// Ingests notes. Returns their ids.
    async fn ingest(&self, user: &str, documents: Vec<NewDocument>) -> Vec<String> {
        let ingested = self.store.put(&origin(user, "user"), documents).await;
        ingested.into_iter().map(|it| it.id).collect()
    }

    async fn index(&self, next: Option<Kind>) -> usize {
        let splitter = Splitter::new(None);
        indexing::round(self, &splitter, next, &mut String::new()).await.expect("the database works")
    }

    async fn embed_again(&self, old: Option<&str>, after: i64, limit: usize) -> Option<i64> {
        self.store.embed_again(old, after, limit).await.expect("the database works")
    }

    /// Runs all `index` jobs.
    async fn index_all(&self, next: Option<Kind>) {
        while self.index(next).await > 0 {}
    }

    async fn embed<F>(&self, model: &str, embed: impl Fn(Vec<String>) -> F) -> usize
    where
        F: Future<Output = Result<Vec<Vec<f32>>, Failure>>,
    {
        embedding::round(self, model, &embed, &mut String::new()).await.expect("the database works")
    }
}

/// Embeds each text as the same vector.
async fn vectors(texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure> {
    Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
}

fn notes(name: &str, count: usize) -> Vec<NewDocument> {
    (0..count).map(|number| note(&format!("{name}{number}"), &format!("{name} text {number}"))).collect()
}

#[tokio::test]
async fn without_a_model_a_document_is_ready_once_it_is_indexed() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", notes("a", 1)).await[0];
    assert_eq!(context.store.state("ana", id).await, State::Pending);

    context.index_all(None).await;

    assert_eq!(context.store.state("ana", id).await, State::Ready);
    assert_eq!((context.store.job(id).await, context.store.count("chunk_texts").await), (None, 1));
}

#[tokio::test]
async fn chunks_are_replaced_when_the_text_changes_and_go_with_their_document() {
    let (context, _data) = context().await;
    let revisions = "knowledge_revisions WHERE holder = 'user:ana' AND";
    let ids = context.ingest("ana", vec![page("A", "https://a.example/", "one"), note("B", "b")]).await;
    context.index_all(None).await;
    assert_eq!(context.store.count("knowledge_revisions WHERE revision = 1 AND removals = 0").await, 1);

    context.ingest("ana", vec![page("A", "https://a.example/", "two")]).await;
    context.index_all(None).await;
    assert_eq!(context.store.count("chunk_texts WHERE text = 'one'").await, 0, "{revisions}");
    assert_eq!(context.store.count("chunk_texts WHERE text = 'two'").await, 1);
    assert_eq!(context.store.count("knowledge_revisions WHERE revision = 2 AND removals = 1").await, 1);
    assert_eq!(context.store.count("chunks WHERE revision = 2").await, 1);

    context.store.remove("ana", &ids[0]).await.expect("it was there");
    assert_eq!((context.store.count("chunks").await, context.store.count("chunk_texts").await), (1, 1));
    assert_eq!(context.store.count("knowledge_revisions WHERE revision = 3 AND removals = 2").await, 1);
}

#[tokio::test]
async fn one_user_with_many_documents_does_not_keep_another_waiting() {
    let (context, _data) = context().await;
    context.ingest("ana", notes("a", 500)).await;
    let ben = &context.ingest("ben", notes("b", 1)).await[0];
    let eve = &context.ingest("eve", notes("e", 1)).await[0];

    context.index(Some(Kind::Embed)).await;
    assert_eq!(context.store.count("chunks WHERE holder = 'user:ben'").await, 1);
    assert_eq!(context.store.count("chunks WHERE holder = 'user:eve'").await, 1);
    context.embed(MODEL, vectors).await;

    assert_eq!(context.store.state("ben", ben).await, State::Ready);
    assert_eq!(context.store.state("eve", eve).await, State::Ready);
}

#[tokio::test]
async fn of_more_users_than_fit_into_a_round_each_has_its_turn() {
    let (context, _data) = context().await;
    for user in 0..100 {
        context.ingest(&format!("user{user:03}"), notes("n", 3)).await;
    }
    let splitter = Splitter::new(None);
    let mut last_user = String::new();

    for _ in 0..2 {
        indexing::round(&context, &splitter, None, &mut last_user).await.expect("the database works");
    }

    let served = "(SELECT DISTINCT holder FROM chunks)";
    assert_eq!(context.store.count(served).await, 100);
}

#[tokio::test]
async fn work_that_was_begun_before_an_update_is_thrown_away() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", vec![page("A", "https://a.example/", "old")]).await[0];
    let old = context.take(Kind::Index, "", 1).await.expect("the database works");

    context.ingest("ana", vec![page("A", "https://a.example/", "new")]).await;
    let stale = vec![(old[0].clone(), Vec::new())];
    context.store.put_chunks(&stale, None).await.expect("the database works");
    let failed = crate::store::Failed::default();
    let gave_up = context.store.give_up(Kind::Index, &old[0], failed).await.expect("the database works");

    assert!(!gave_up);
    assert_eq!(context.store.state("ana", id).await, State::Pending);
    assert_eq!(context.store.job(id).await, Some(("index".to_owned(), 0)));
    context.index_all(None).await;
    assert_eq!(context.store.count("chunk_texts WHERE text = 'new'").await, 1);
}
