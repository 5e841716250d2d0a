//! Counting of storage usage through all changes of documents, and quota refusals.

use std::num::NonZeroU32;

use super::*;
use crate::KnowledgeError;
use crate::document::{Artifact, NewDocument, NewFeed, Origin};
use crate::document_file::DocumentFile;
use crate::ingest::{Batch, validate, validate_upload};
use crate::store::tests::{file, note, origin, page, store};
use crate::store::{Failed, Job, Kind, Read};

/// Bytes of the identity of a document that is identified by the SHA-256 of its text or file.
const HASHED: u64 = "sha256 ".len() as u64 + 64;
const NO_QUOTA: Quota = Quota { documents: u64::MAX, bytes: u64::MAX };

impl Store {
    async fn used(&self, user: &str) -> (u64, u64) {
        let Usage { documents, bytes } = self.usage(&Holder::user(user)).await.expect("it can be read");
        (documents, bytes)
    }

    /// Usage of the documents, recounted from the tables.
    async fn counted(&self, user: &str) -> (u64, u64) {
        // All texts of a row, concatenated; NULL adds nothing.
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM documents WHERE holder = 'user:{user}'), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM (
                 SELECT octet_length(concat(identity, title, text, url, author, author_folded, file_url,
                     claimed_type, captured)) + COALESCE(artifact_size, 0) AS bytes
                 FROM documents WHERE holder = 'user:{user}'
                 UNION ALL
                 SELECT octet_length(v.title) + octet_length(v.text) FROM document_versions v
                     JOIN documents d ON d.sequence = v.document WHERE d.holder = 'user:{user}'
                 UNION ALL
                 SELECT octet_length(concat(key, name, label)) FROM feeds WHERE holder = 'user:{user}') AS taken"
        );
        let row: (i64, i64) = self.0.rows(&sql).await.remove(0);
        (row.0.try_into().expect("no less than 0"), row.1.try_into().expect("no less than 0"))
    }

    async fn try_put(&self, origin: &Origin, documents: Vec<NewDocument>) -> Result<(), KnowledgeError> {
        let batch = Batch::new(validate(documents).expect("they keep the rules"));
        self.ingest(origin, &batch, None).await.map(drop)
    }

    async fn put_file(
        &self,
        origin: &Origin,
        title: &str,
        artifact: &Artifact,
    ) -> Result<(), KnowledgeError> {
        let document = NewDocument { title: title.to_owned(), ..NewDocument::default() };
        let valid = validate_upload(document).expect("it keeps the rules");
        self.ingest(origin, &Batch::new(vec![valid.with_upload(artifact.clone())]), None).await.map(drop)
    }

    async fn capture_job(&self) -> Job {
        self.take_as_anybody(Kind::Capture, 1).await.remove(0)
    }
}

fn artifact(name: char, size: u64) -> Artifact {
    Artifact { digest: name.to_string().repeat(64), size, media_type: "text/plain".to_owned() }
}

#[tokio::test]
async fn what_is_counted_is_what_there_is_after_every_change() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let ben = origin("ben", "user");
    let shared = artifact('a', 1000);

    store.put(&ana, vec![note("é", "text"), page("Page", "https://a.example/", "long text")]).await;
    // The page's URL counts twice: as URL, and in its identity `url …`.
    let besides = 2 + 4 + HASHED + 4 + 18 + 4 + 18;
    assert_eq!(store.used("ana").await, (2, besides + 9));
    let stored = store.put(&ana, vec![page("Page", "https://a.example/", "short")]).await;
    // The earlier text is kept, with its title.
    assert_eq!(store.used("ana").await, (2, besides + 5 + 4 + 9), "an update counts once");
    for user in [&ana, &ben] {
        store.put_file(user, "file", &shared).await.expect("there is no quota");
    }
    assert_eq!(
        store.used("ben").await,
        (1, 4 + HASHED + 1000),
        "a file that is kept once is each user's in full"
    );

    store.put(&ana, vec![file("F", "https://a.example/f.txt")]).await;
    let jobs = store.take_as_anybody(Kind::Capture, 10).await;
    for job in &jobs {
        let file = DocumentFile::of_document(artifact('b', 30));
        let captured = store.keep_captured(job, &file, &Read::titled("New title", "read")).await;
        assert_eq!(captured.expect("it can be written"), Ok(true));
    }
    assert!(jobs.len() == 3 && store.used("ana").await == store.counted("ana").await);
    store.put(&ana, vec![file("F", "https://a.example/f.txt")]).await;
    store.remove("ana", &stored[0].id).await.expect("it was there");

    for user in ["ana", "ben", "eve"] {
        assert_eq!(store.used(user).await, store.counted(user).await, "{user}");
    }
    store.0.execute("UPDATE documents SET holder = 'user:eve' WHERE holder = 'user:ben'").await;
    assert_eq!((store.used("ben").await, store.used("eve").await), ((0, 0), store.counted("eve").await));
}

#[tokio::test]
async fn nothing_that_a_user_writes_is_stored_for_free() {
    let (store, _data) = store().await;
    let store =
        store.with_quotas(Quotas { per_user: Quota { documents: 10, bytes: 10_000 }, ..Quotas::default() });
    let ana = origin("ana", "user");
    let plain = note("A", "text");
    let feed = |key: &str, name: &str, label: &str| {
        Some(NewFeed { key: key.to_owned(), name: name.to_owned(), label: Some(label.to_owned()) })
    };
    let url = format!("https://a.example/{}", "u".repeat(1800));
    let name = "é".repeat(500);

    for (what, document, least) in [
        ("url", NewDocument { url: Some(url.clone()), ..plain.clone() }, 2 * url.len()),
        ("file", NewDocument { file_url: Some(url.clone()), ..plain.clone() }, url.len()),
        ("author", NewDocument { author: Some(name.clone()), ..plain.clone() }, 2 * name.len()),
        ("feed's key", NewDocument { feed: feed(&name, "f", "l"), ..plain.clone() }, name.len()),
        ("feed's name", NewDocument { feed: feed("k", &name, "l"), ..plain.clone() }, name.len()),
        ("feed's label", NewDocument { feed: feed("k", "f", &name[..200]), ..plain.clone() }, 200),
    ] {
        let id = store.put(&ana, vec![document.clone()]).await.remove(0).id;
        let (_, used) = store.used("ana").await;
        assert!(
            used > least as u64 && store.used("ana").await == store.counted("ana").await,
            "{what}: {used}"
        );
        store.remove("ana", &id).await.expect("it was there");
        assert_eq!(store.used("ana").await, (0, 0), "{what}");

        let tight = store
            .clone()
            .with_quotas(Quotas { per_user: Quota { documents: 10, bytes: used - 1 }, ..Quotas::default() });
        let refused = tight.try_put(&ana, vec![document]).await;
        assert!(matches!(refused, Err(KnowledgeError::Quota(_))), "{what}: {refused:?}");
        assert_eq!((store.used("ana").await, store.count("feeds").await), ((0, 0), 0), "{what}");
    }
}

#[tokio::test]
async fn of_a_batch_beyond_the_quota_nothing_is_stored_and_a_deletion_makes_room() {
    let (store, _data) = store().await;
    let store = store.with_quotas(Quotas {
        per_user: Quota { documents: 2, bytes: 100 + 2 * HASHED },
        ..Quotas::default()
    });
    let ana = origin("ana", "user");
    let ben = origin("ben", "user");
    let first = store.put(&ana, vec![note("A", "text")]).await.remove(0);

    let too_many = store.try_put(&ana, vec![note("B", "b"), note("C", "c")]).await;
    let too_large = store.try_put(&ana, vec![note("B", &"b".repeat(95))]).await;
    let of_a_file = store.put_file(&ana, "B", &artifact('a', 95)).await;

    for (refused, words) in
        [(too_many, "1 of the 2"), (too_large, "76 B of the 242 B"), (of_a_file, "167 B more")]
    {
        let refused = refused.expect_err("it is too much");
        assert!(matches!(&refused, KnowledgeError::Quota(_)), "{refused}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
    assert_eq!((store.used("ana").await, store.count("documents").await), ((1, 5 + HASHED), 1));
    store.try_put(&ben, vec![note("B", &"b".repeat(95))]).await.expect("ben has nothing yet");
    store.remove("ana", &first.id).await.expect("it was there");
    store.try_put(&ana, vec![note("B", &"b".repeat(95))]).await.expect("there is room again");
    store.try_put(&ana, vec![note("B", &"b".repeat(95))]).await.expect("it is the same document");
}

#[tokio::test]
async fn batches_at_the_same_time_do_not_exceed_the_quota_together() {
    let (store, _data) = store().await;
    let store =
        store.with_quotas(Quotas { per_user: Quota { documents: 10, ..NO_QUOTA }, ..Quotas::default() });

    let batches = (0..40).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let ana = origin("ana", &format!("toolkit-{}", number % 3));
            store.try_put(&ana, vec![note("A", &format!("text {number}"))]).await.is_ok()
        })
    });
    let mut stored = 0;
    for batch in batches.collect::<Vec<_>>() {
        stored += usize::from(batch.await.expect("no panic"));
    }

    assert_eq!((stored, store.used("ana").await.0, store.counted("ana").await.0), (10, 10, 10));
}

#[tokio::test]
async fn a_capture_beyond_the_quota_changes_nothing_and_its_file_is_not_kept() {
    let (store, _data) = store().await;
    let store =
        store.with_quotas(Quotas { per_user: Quota { documents: 10, bytes: 140 }, ..Quotas::default() });
    let ana = origin("ana", "user");
    let stored = store.put(&ana, vec![file("F", "https://a.example/f.txt")]).await.remove(0);
    let job = store.capture_job().await;
    let large = DocumentFile::of_document(artifact('a', 100));

    let kept = store
        .keep_captured(&job, &large, &Read { text: Some("text".to_owned()), ..Read::default() })
        .await
        .expect("it can be written");
    let put_off = store.put_off_capture(&job, Some(&large), 0).await.expect("it can be written");
    assert!(kept.is_err() && !put_off);
    assert_eq!(store.job(&stored.id).await, Some(("capture".to_owned(), 0)));
    let failed = Failed { reason: "too much", file: Some(&large), ..Failed::default() };
    assert!(!store.give_up(Kind::Capture, &job, failed).await.expect("it can be written"));

    assert_eq!(store.used("ana").await, (1, 1 + 23 + 28));
    assert_eq!(store.artifact(&[Holder::user("ana")], &stored.id).await.expect("it can be read"), None);
}

#[tokio::test]
async fn a_disk_that_is_full_in_the_middle_loses_nothing_and_says_so() {
    let (store, _data) = store().await;
    if !store.0.is_file() {
        // The disk belongs to another machine.
        return;
    }
    let ana = origin("ana", "user");
    store.put(&ana, vec![note("A", "text")]).await;
    let limit = |pages: NonZeroU32| {
        let store = store.clone();
        async move {
            store.0.execute(&format!("PRAGMA max_page_count = {pages}")).await;
        }
    };

    // Smallest possible limit: the current number of pages.
    limit(NonZeroU32::MIN).await;
    let refused = store.try_put(&ana, vec![note("B", &"b".repeat(1 << 20))]).await;

    assert!(matches!(refused, Err(KnowledgeError::DiskFull(_))), "{refused:?}");
    assert_eq!((store.used("ana").await, store.counted("ana").await), ((1, 5 + HASHED), (1, 5 + HASHED)));
    limit(NonZeroU32::new(1 << 20).expect("not zero")).await;
    store.try_put(&ana, vec![note("B", &"b".repeat(1 << 20))]).await.expect("there is room again");
}
