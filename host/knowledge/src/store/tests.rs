//! Storing, reading and deleting batches, each test with a database of its own.

mod files;
mod reading;
mod versions;

use std::time::Instant;

use kitbag_database::sql;
use tempfile::TempDir;

use super::*;
use crate::document::{
    Artifact, Change, Chosen, Counts, Ingested, Listing, NewDocument, NewFeed, Origin, Page, State,
};
use crate::ingest::{Batch, validate, validate_upload};

pub(crate) async fn store() -> (Store, TempDir) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    (Store::new(database), data)
}

pub(crate) fn origin(user: &str, source: &str) -> Origin {
    Origin::own(user, source)
}

pub(crate) fn note(title: &str, text: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(text.to_owned()), ..NewDocument::default() }
}

pub(crate) fn page(title: &str, url: &str, text: &str) -> NewDocument {
    NewDocument { url: Some(url.to_owned()), ..note(title, text) }
}

pub(crate) fn file(title: &str, url: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), file_url: Some(url.to_owned()), ..NewDocument::default() }
}

fn in_feed(key: &str, name: &str, label: Option<&str>, document: NewDocument) -> NewDocument {
    let feed = NewFeed { key: key.to_owned(), name: name.to_owned(), label: label.map(str::to_owned) };
    NewDocument { feed: Some(feed), ..document }
}

impl Store {
    pub(crate) async fn put(&self, origin: &Origin, documents: Vec<NewDocument>) -> Vec<Ingested> {
        let batch = Batch::new(validate(documents).expect("they keep the rules"));
        self.stored(origin, &batch).await.ingested
    }

    async fn stored(&self, origin: &Origin, batch: &Batch) -> Stored {
        let stored = self.ingest(origin, batch, None).await.expect("it is stored");
        stored.expect("no file was dropped")
    }

    async fn put_one(&self, origin: &Origin, document: NewDocument) -> Ingested {
        self.put(origin, vec![document]).await.remove(0)
    }

    /// Deletes a document for good. Returns the digests of its files; `None` if the user has no such document.
    pub(crate) async fn remove(&self, user: &str, id: &str) -> Option<Vec<String>> {
        let chosen = Chosen::Ids(vec![id.to_owned()]);
        let purged = self.purge_batch(&Holder::user(user), &chosen, user).await.expect("it can be removed");
        (purged.count > 0).then_some(purged.let_go)
    }

    async fn all(&self, user: &str) -> Page {
        let listing = Listing { limit: 100, ..Listing::default() };
        self.documents(&Holder::user(user), &listing).await.expect("it can be read")
    }

    async fn titles(&self, user: &str, listing: Listing) -> Vec<String> {
        let page = self.documents(&Holder::user(user), &listing).await.expect("it can be read");
        page.documents.into_iter().map(|(_, document)| document.title).collect()
    }

    pub(crate) async fn state(&self, user: &str, id: &str) -> State {
        self.document(&[Holder::user(user)], id)
            .await
            .expect("it can be read")
            .expect("it is there")
            .summary
            .state
    }

    /// Kind and number of tries of a document's job.
    pub(crate) async fn job(&self, id: &str) -> Option<(String, i64)> {
        sql("SELECT kind, tries FROM knowledge_jobs
             WHERE document = (SELECT sequence FROM documents WHERE id = $1)")
        .bind(id)
        .fetch_optional(self.0.readers())
        .await
        .expect("it can be read")
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0
    }

    /// Claims jobs for a process that does nothing else.
    pub(crate) async fn take_as_anybody(&self, kind: Kind, limit: usize) -> Vec<Job> {
        self.0
            .execute("INSERT INTO processes (id, job_settings) VALUES ('anybody', '') ON CONFLICT DO NOTHING")
            .await;
        self.take(kind, "anybody", "", limit).await.expect("the database works")
    }

    /// Deletes all jobs, as if they had finished.
    async fn finish(&self) {
        for sql in ["DELETE FROM knowledge_jobs", "UPDATE documents SET state = 'ready'"] {
            self.0.execute(sql).await;
        }
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        self.0.column(&format!("SELECT COUNT(*) FROM {table}")).await.remove(0)
    }
}

#[tokio::test]
async fn a_document_that_comes_again_keeps_its_id_and_is_stored_once() {
    let (store, _data) = store().await;
    let ana = origin("ana", "clipper");

    let first = store.put_one(&ana, page("A", "https://a.example/#x", "text")).await;
    let same = store.put_one(&ana, page("A", "https://A.example", "text")).await;
    let retitled = store.put_one(&ana, page("B", "https://a.example/", "text")).await;

    assert_eq!(first.change, Change::Created);
    assert_eq!(same, Ingested { id: first.id.clone(), change: Change::Unchanged });
    assert_eq!(retitled, Ingested { id: first.id.clone(), change: Change::Updated });
    assert_eq!(store.all("ana").await.total, 1);
    let document = store
        .document(&[Holder::user("ana")], &first.id)
        .await
        .expect("it can be read")
        .expect("it is there");
    assert_eq!((document.summary.title.as_str(), document.text.as_str()), ("B", "text"));
    assert_eq!(document.summary.url.as_deref(), Some("https://a.example/"));
}

#[tokio::test]
async fn what_has_no_url_is_known_by_its_file_and_else_by_its_text() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");

    let note_a = store.put_one(&ana, note("A", "text")).await;
    let note_b = store.put_one(&ana, note("B", "text")).await;
    let other = store.put_one(&ana, note("A", "other text")).await;
    let file_a = store.put_one(&ana, file("A", "https://a.example/a.pdf")).await;
    let file_b = store.put_one(&ana, file("B", "https://a.example/a.pdf#page=2")).await;

    assert_eq!((&note_b.id, note_b.change), (&note_a.id, Change::Updated));
    assert_eq!((&file_b.id, file_b.change), (&file_a.id, Change::Updated));
    assert_eq!(other.change, Change::Created);
    assert_eq!(store.all("ana").await.total, 3);
}

#[tokio::test]
async fn the_same_url_is_another_document_for_another_user_source_or_feed() {
    let (store, _data) = store().await;
    let document = || page("A", "https://a.example/", "text");
    let mut ids = Vec::new();
    for (origin, document) in [
        (origin("ana", "clipper"), document()),
        (origin("ben", "clipper"), document()),
        (origin("ana", "user"), document()),
        (origin("ana", "clipper"), in_feed("k", "K", None, document())),
        (origin("ana", "clipper"), in_feed("l", "L", None, document())),
        (origin("ana", "user"), in_feed("k", "K", None, document())),
    ] {
        let ingested = store.put_one(&origin, document).await;
        assert_eq!(ingested.change, Change::Created);
        ids.push(ingested.id);
    }

    ids.sort();
    ids.dedup();

    assert_eq!(ids.len(), 6);
    assert!(ids.iter().all(|id| id.len() == 32), "{ids:?}");
    assert_eq!((store.all("ana").await.total, store.all("ben").await.total), (5, 1));
}

#[tokio::test]
async fn the_same_document_twice_in_one_batch_is_one_document() {
    let (store, _data) = store().await;
    let batch =
        vec![page("A", "https://a.example", "a"), note("N", "n"), page("B", "https://a.example/", "b")];

    let ingested = store.put(&origin("ana", "user"), batch).await;

    assert_eq!(ingested[0], ingested[2]);
    assert_ne!(ingested[0], ingested[1]);
    let document = store
        .document(&[Holder::user("ana")], &ingested[0].id)
        .await
        .expect("it can be read")
        .expect("it is there");
    assert_eq!((document.summary.title.as_str(), document.text.as_str()), ("B", "b"));
    assert_eq!(store.all("ana").await.total, 2);
}

#[tokio::test]
async fn only_new_text_is_indexed_again_and_only_a_new_file_is_captured_again() {
    let (store, _data) = store().await;
    let ana = origin("ana", "clipper");
    let with =
        |author: Option<&str>, it: NewDocument| NewDocument { author: author.map(str::to_owned), ..it };
    let text = || page("A", "https://a.example/", "text");
    let pdf = |file: &str| NewDocument {
        file_url: Some(file.to_owned()),
        ..page("P", "https://p.example/", "about")
    };
    let id = store.put_one(&ana, text()).await.id;
    let pdf_id = store.put_one(&ana, pdf("https://p.example/1.pdf")).await.id;
    assert_eq!(store.job(&id).await, Some(("index".to_owned(), 0)));
    assert_eq!(store.job(&pdf_id).await, Some(("capture".to_owned(), 0)));

    for (document, id, change, job) in [
        (text(), &id, Change::Unchanged, None),
        (with(Some("Ana"), text()), &id, Change::Updated, None),
        (with(None, text()), &id, Change::Updated, None),
        (page("A", "https://a.example/", "new text"), &id, Change::Updated, Some("index")),
        (page("New", "https://a.example/", "new text"), &id, Change::Updated, Some("index")),
        (pdf("https://p.example/1.pdf"), &pdf_id, Change::Unchanged, None),
        (with(Some("Ana"), pdf("https://p.example/1.pdf")), &pdf_id, Change::Updated, None),
        (pdf("https://p.example/2.pdf"), &pdf_id, Change::Updated, Some("capture")),
        (
            NewDocument { capture_only: true, ..pdf("https://p.example/2.pdf") },
            &pdf_id,
            Change::Updated,
            Some("capture"),
        ),
        (page("P", "https://p.example/", "about"), &pdf_id, Change::Updated, Some("index")),
        (page("P", "https://p.example/", "about"), &pdf_id, Change::Unchanged, None),
    ] {
        store.finish().await;

        let ingested = store.put_one(&ana, document.clone()).await;

        assert_eq!(ingested, Ingested { id: id.clone(), change }, "{document:?}");
        assert_eq!(store.job(id).await.map(|(kind, _)| kind).as_deref(), job, "{document:?}");
        let expected = if job.is_some() { State::Pending } else { State::Ready };
        assert_eq!(store.state("ana", id).await, expected, "{document:?}");
    }
}

#[tokio::test]
async fn batches_at_the_same_time_store_each_document_once() {
    let (store, _data) = store().await;
    let batch = || (0..50).map(|n| page(&format!("P{n}"), &format!("https://p.example/{n}"), "p")).collect();

    let ana = origin("ana", "user");
    let all = futures::future::join_all((0..8).map(|_| store.put(&ana, batch()))).await;

    assert_eq!(store.all("ana").await.total, 50);
    let created = all.iter().flatten().filter(|it| it.change == Change::Created).count();
    assert_eq!(created, 50);
    assert!(all.iter().all(|ingested| ingested.iter().zip(&all[0]).all(|(one, other)| one.id == other.id)));
}

#[tokio::test]
async fn a_thousand_documents_are_stored_in_less_than_a_second() {
    let (store, _data) = store().await;
    let text = "word ".repeat(400);
    let batch = |version: &str| {
        let page = |n| page(&format!("P{n} {version}"), &format!("https://p.example/{n}"), &text);
        (0..1000).map(page).map(|it| in_feed("k", "K", None, it)).collect::<Vec<_>>()
    };
    let ana = origin("ana", "user");

    let mut took = Vec::new();
    for version in ["one", "one", "two"] {
        let started = Instant::now();
        store.put(&ana, batch(version)).await;
        took.push(started.elapsed());
    }

    eprintln!("new, unchanged, changed: {took:?}");
    // Each change of a document is a statement, which is a round trip to a database server.
    let longest = if store.0.is_file() { 1.0 } else { 10.0 };
    assert!(took.iter().all(|it| it.as_secs_f64() < longest), "new, unchanged, changed: {took:?}");
}
