//! Batches as they are stored, read and removed, against a database of their own.

use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::knowledge::document::{
    Artifact, Change, Counts, Ingested, Listing, NewDocument, NewFeed, Origin, Page, State,
};
use crate::knowledge::ingest::{Batch, validate, validate_upload};

pub(in crate::knowledge) async fn store() -> (Store, TempDir) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(&data.path().join("kitbag.sqlite")).await.expect("a database");
    (Store::new(database), data)
}

pub(in crate::knowledge) fn origin(user: &str, source: &str) -> Origin {
    Origin { user_id: user.to_owned(), source: source.to_owned() }
}

pub(in crate::knowledge) fn note(title: &str, text: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(text.to_owned()), ..NewDocument::default() }
}

pub(in crate::knowledge) fn page(title: &str, url: &str, text: &str) -> NewDocument {
    NewDocument { url: Some(url.to_owned()), ..note(title, text) }
}

pub(in crate::knowledge) fn file(title: &str, url: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), file_url: Some(url.to_owned()), ..NewDocument::default() }
}

fn in_feed(key: &str, name: &str, label: Option<&str>, document: NewDocument) -> NewDocument {
    let feed = NewFeed { key: key.to_owned(), name: name.to_owned(), label: label.map(str::to_owned) };
    NewDocument { feed: Some(feed), ..document }
}

impl Store {
    pub(in crate::knowledge) async fn put(
        &self,
        origin: &Origin,
        documents: Vec<NewDocument>,
    ) -> Vec<Ingested> {
        let batch = Batch::new(validate(documents).expect("they keep the rules"));
        self.ingest(origin, &batch).await.expect("it is stored").ingested
    }

    async fn put_one(&self, origin: &Origin, document: NewDocument) -> Ingested {
        self.put(origin, vec![document]).await.remove(0)
    }

    async fn all(&self, user: &str) -> Page {
        let listing = Listing { limit: 100, ..Listing::default() };
        self.documents(user, &listing).await.expect("it can be read")
    }

    async fn titles(&self, user: &str, listing: Listing) -> Vec<String> {
        let page = self.documents(user, &listing).await.expect("it can be read");
        page.documents.into_iter().map(|(_, document)| document.title).collect()
    }

    pub(in crate::knowledge) async fn state(&self, user: &str, id: &str) -> State {
        self.document(user, id).await.expect("it can be read").expect("it is there").summary.state
    }

    /// Kind and tries of a document's job.
    pub(in crate::knowledge) async fn job(&self, id: &str) -> Option<(String, i64)> {
        sqlx::query_as(
            "SELECT kind, tries FROM knowledge_jobs
             WHERE document = (SELECT sequence FROM documents WHERE id = ?)",
        )
        .bind(id)
        .fetch_optional(&self.0.readers)
        .await
        .expect("it can be read")
    }

    /// Does away with all jobs, as if they were done.
    async fn finish(&self) {
        for sql in ["DELETE FROM knowledge_jobs", "UPDATE documents SET state = 'ready'"] {
            sqlx::query(sql).execute(&self.0.writer).await.expect("it can be written");
        }
    }

    pub(in crate::knowledge) async fn count(&self, table: &'static str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        sqlx::query_scalar(sql).fetch_one(&self.0.readers).await.expect("it can be counted")
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
    let document = store.document("ana", &first.id).await.expect("it can be read").expect("it is there");
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
    let document =
        store.document("ana", &ingested[0].id).await.expect("it can be read").expect("it is there");
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
async fn an_update_does_not_take_a_capture_away_that_is_still_to_come() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let pdf =
        |text: &str| NewDocument { text: Some(text.to_owned()), ..file("A", "https://a.example/a.pdf") };

    let id = store.put_one(&ana, pdf("one")).await.id;
    store.put_one(&ana, pdf("two")).await;

    assert_eq!(store.job(&id).await, Some(("capture".to_owned(), 0)));
}

#[tokio::test]
async fn a_file_that_a_document_has_no_more_is_not_captured() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let with = |file_url: Option<&str>| NewDocument {
        file_url: file_url.map(str::to_owned),
        ..page("A", "https://a.example/", "text")
    };
    let id = store.put_one(&ana, with(Some("https://a.example/a.pdf"))).await.id;
    assert_eq!(store.job(&id).await, Some(("capture".to_owned(), 0)));

    store.put_one(&ana, with(None)).await;

    assert_eq!(store.job(&id).await, Some(("index".to_owned(), 0)));
}

#[tokio::test]
async fn a_file_that_comes_with_its_document_is_read_and_goes_with_the_last_document_that_has_it() {
    let (store, _data) = store().await;
    let upload = |title: &str, digest: &str| {
        let document = NewDocument { title: title.to_owned(), ..NewDocument::default() };
        let file = Artifact { digest: digest.to_owned(), size: 1, media_type: "text/plain".to_owned() };
        Batch::new(vec![validate_upload(document).expect("it keeps the rules").with_upload(file)])
    };
    let put = async |user: &str, batch: Batch| {
        store.ingest(&origin(user, "user"), &batch).await.expect("it is stored").ingested.remove(0)
    };

    let of_ana = put("ana", upload("A", "one")).await;
    let again = put("ana", upload("A", "one")).await;
    let of_ben = put("ben", upload("B", "one")).await;

    assert_eq!((&again.id, again.change), (&of_ana.id, Change::Unchanged));
    assert_eq!(store.job(&of_ana.id).await, Some(("capture".to_owned(), 0)));
    let artifact = store.artifact("ana", &of_ana.id).await.expect("it can be read");
    assert_eq!(artifact.map(|it| it.digest).as_deref(), Some("one"));
    let gone =
        async |user, id| store.delete(user, id).await.expect("it can be removed").expect("it was there");
    assert_eq!(gone("ana", &of_ana.id).await.artifact, None, "Ben has it as well");
    assert_eq!(gone("ben", &of_ben.id).await.artifact.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_file_that_waits_for_what_the_server_lacks_stays_when_its_document_comes_again() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let talk = |text: &str| NewDocument {
        text: Some(text.to_owned()),
        ..file("Talk", "https://a.example/talk.mp3")
    };
    let artifact = Artifact { digest: "d".repeat(64), size: 5, media_type: "audio/mpeg".to_owned() };
    let fail = async |lacking: Option<&'static str>| {
        let job = store.due(Kind::Capture, "", 1).await.expect("the database works").remove(0);
        let failed = Failed { reason: "no transcriber", lacking, artifact: Some(&artifact) };
        assert!(store.give_up(Kind::Capture, &job, failed).await.expect("the database works"));
    };
    let kept = async |id: &str| store.artifact("ana", id).await.expect("it can be read").is_some();
    let id = store.put_one(&ana, talk("one")).await.id;
    fail(Some("transcriber")).await;

    let same = store.put_one(&ana, talk("one")).await;
    assert_eq!((same.change, kept(&id).await), (Change::Unchanged, true));
    assert_eq!(store.state("ana", &id).await, State::Failed("no transcriber".to_owned()));

    let batch = Batch::new(validate(vec![talk("two")]).expect("it keeps the rules"));
    let changed = store.ingest(&ana, &batch).await.expect("it is stored");
    assert_eq!((changed.ingested[0].change, kept(&id).await), (Change::Updated, true));
    assert_eq!((changed.unreferenced, store.job(&id).await), (vec![], Some(("capture".to_owned(), 0))));

    // What is wrong with the file itself may be mended where it comes from.
    fail(None).await;
    let again = store.put_one(&ana, talk("two")).await;
    assert_eq!((again.change, kept(&id).await), (Change::Updated, false));
}

#[tokio::test]
async fn a_database_that_never_had_a_document_does_not_say_which_files_are_kept() {
    let (store, _data) = store().await;
    assert_eq!(store.artifacts().await.expect("it can be read"), None);

    let id = store.put_one(&origin("ana", "user"), note("A", "a")).await.id;
    store.delete("ana", &id).await.expect("it can be removed").expect("it was there");

    assert_eq!(store.artifacts().await.expect("it can be read").map(|files| files.len()), Some(0));
}

#[tokio::test]
async fn a_feed_is_renamed_everywhere_and_goes_with_its_last_document() {
    let (store, _data) = store().await;
    let ana = origin("ana", "clipper");
    let named = async || {
        let mut named = Vec::new();
        for feed in store.feeds("ana", 0, 100).await.expect("they can be read") {
            let size = store.feed_size("ana", &feed.source, &feed.key).await.expect("it can be counted");
            named.push((feed.name, feed.label, size));
        }
        named
    };

    let first = store.put_one(&ana, in_feed("k", "Old", Some("site"), note("A", "a"))).await;
    let second = store.put_one(&ana, in_feed("k", "New", None, note("B", "b"))).await;
    assert_eq!(named().await, [("New".to_owned(), Some("site".to_owned()), 2)]);
    let again = store.put_one(&ana, in_feed("k", "New", Some("blog"), note("B", "b"))).await;
    assert_eq!(named().await, [("New".to_owned(), Some("blog".to_owned()), 2)]);

    let document = store.document("ana", &first.id).await.expect("it can be read").expect("it is there");
    assert_eq!(document.summary.feed.map(|feed| feed.name).as_deref(), Some("New"));
    assert_eq!((again.id.as_str(), again.change), (second.id.as_str(), Change::Unchanged));
    store.delete("ana", &first.id).await.expect("it can be removed").expect("it was there");
    assert_eq!(named().await, [("New".to_owned(), Some("blog".to_owned()), 1)]);
    store.delete("ana", &second.id).await.expect("it can be removed").expect("it was there");
    assert_eq!(named().await, []);
}

#[tokio::test]
async fn documents_are_listed_newest_first_page_by_page_under_all_conditions() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    // Others come in between: neither a cursor nor a number tells of them.
    for number in 0..5 {
        store.put_one(&ana, note(&format!("N{number}"), &format!("n{number}"))).await;
        store.put_one(&origin("ben", "user"), note(&format!("B{number}"), &format!("b{number}"))).await;
    }
    store.put_one(&origin("ana", "clipper"), in_feed("k", "K", None, note("F", "f"))).await;
    let of = |change: fn(&mut Listing)| {
        let mut listing = Listing { limit: 100, ..Listing::default() };
        change(&mut listing);
        listing
    };

    let first = store.documents("ana", &of(|it| it.limit = 4)).await.expect("it can be read");
    let cursors: Vec<_> = first.documents.iter().map(|(cursor, _)| *cursor).collect();
    let rest = store.titles("ana", Listing { after: cursors.last().copied(), ..of(|_| {}) }).await;

    assert_eq!((first.has_more, first.total, cursors), (true, 6, vec![6, 5, 4, 3]));
    assert_eq!(rest, ["N1", "N0"]);
    assert_eq!(store.titles("ana", of(|it| it.source = Some("clipper".into()))).await, ["F"]);
    assert_eq!(store.titles("ana", of(|it| it.feed = Some("k".into()))).await, ["F"]);
    assert_eq!(store.titles("ben", of(|it| it.feed = Some("k".into()))).await, [""; 0]);
    assert_eq!(store.titles("ana", of(|it| it.state = Some(StateName::Ready))).await, [""; 0]);
    assert_eq!(store.titles("ana", of(|it| it.state = Some(StateName::Pending))).await.len(), 6);
    assert_eq!(store.titles("ana", of(|it| it.limit = 0)).await, [""; 0]);
}

#[tokio::test]
async fn a_summary_is_read_without_the_text_and_documents_are_counted_by_state() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let id = store.put_one(&ana, note("A", "a")).await.id;
    store.put_one(&ana, note("B", "b")).await;
    // Whoever reads the text fails at it.
    sqlx::query("UPDATE documents SET text = CAST(x'ff' AS TEXT), state = 'ready' WHERE id = ?")
        .bind(&id)
        .execute(&store.0.writer)
        .await
        .expect("it can be changed");

    store.document("ana", &id).await.expect_err("the text is none");
    let summary = store.summary("ana", &id).await.expect("it can be read").expect("it is there");
    let counts = store.counts("ana").await.expect("they can be counted");

    assert_eq!((summary.title.as_str(), summary.state), ("A", State::Ready));
    assert_eq!(counts, Counts { pending: 1, ready: 1, failed: 0 });
}

#[tokio::test]
async fn feeds_come_in_pages_by_source_and_name() {
    let (store, _data) = store().await;
    for name in ["C", "A", "B"] {
        let document = in_feed(&name.to_lowercase(), name, None, note(name, name));
        store.put_one(&origin("ana", "user"), document).await;
    }
    let page = async |offset, limit| {
        let feeds = store.feeds("ana", offset, limit).await.expect("they can be read");
        feeds.into_iter().map(|feed| feed.name).collect::<Vec<_>>()
    };

    assert_eq!(page(0, 2).await, ["A", "B"]);
    assert_eq!(page(2, 2).await, ["C"]);
    assert_eq!(page(u32::MAX, u32::MAX).await, [""; 0]);
}

#[tokio::test]
async fn nothing_of_another_user_can_be_read_or_removed() {
    let (store, _data) = store().await;
    let id = store.put_one(&origin("ana", "user"), in_feed("k", "K", None, note("A", "a"))).await.id;
    let sequence: i64 =
        sqlx::query_scalar("SELECT sequence FROM documents").fetch_one(&store.0.readers).await.expect("one");

    assert_eq!(store.document("ben", &id).await.expect("it can be asked"), None);
    assert_eq!(store.artifact("ben", &id).await.expect("it can be asked"), None);
    assert_eq!(store.delete("ben", &id).await.expect("it can be asked"), None);
    assert_eq!(store.summary("ben", &id).await.expect("it can be asked"), None);
    assert_eq!(store.counts("ben").await.expect("it can be asked"), Counts::default());
    assert_eq!(store.feeds("ben", 0, 100).await.expect("it can be asked"), []);
    assert_eq!(store.feed_size("ben", "user", "k").await.expect("it can be asked"), 0);
    assert_eq!(store.all("ben").await, Page::default());
    assert!(store.summaries("ben", &[sequence]).await.expect("it can be asked").is_empty());

    assert_eq!(store.all("ana").await.total, 1);
    assert_eq!(store.summaries("ana", &[sequence]).await.expect("it can be asked").len(), 1);
}

#[tokio::test]
async fn an_id_of_another_user_is_not_even_found_in_the_index() {
    let (store, _data) = store().await;
    let plan: Vec<(i64, i64, i64, String)> =
        sqlx::query_as("EXPLAIN QUERY PLAN SELECT * FROM documents d WHERE d.user_id = 'ana' AND d.id = 'x'")
            .fetch_all(&store.0.readers)
            .await
            .expect("it can be planned");

    assert_eq!(plan[0].3, "SEARCH d USING INDEX documents_by_id (user_id=? AND id=?)");
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
    assert!(took.iter().all(|it| it.as_secs_f64() < 1.0), "new, unchanged, changed: {took:?}");
}
