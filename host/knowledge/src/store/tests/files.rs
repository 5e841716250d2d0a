//! Files of documents.

use kitbag_files::stored_files::{self, FileKind};

use super::*;
use crate::document_file::DocumentFile;

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

/// Whether a document refers to the file `one`.
async fn is_named(store: &Store) -> bool {
    let mut snapshot = store.0.snapshot().await.expect("it can be read");
    stored_files::is_named(&mut snapshot, FileKind::Artifact, "one").await.expect("it can be read")
}

#[tokio::test]
async fn a_file_that_comes_with_its_document_is_read_and_goes_with_the_last_document_that_has_it() {
    let (store, _data) = store().await;
    let upload = |title: &str, digest: &str| {
        let document = NewDocument { title: title.to_owned(), ..NewDocument::default() };
        let file = Artifact { digest: digest.to_owned(), size: 1, media_type: "text/plain".to_owned() };
        Batch::new(vec![validate_upload(document).expect("it keeps the rules").with_upload(file)])
    };
    let put =
        async |user: &str, batch: Batch| store.stored(&origin(user, "user"), &batch).await.ingested.remove(0);

    let of_ana = put("ana", upload("A", "one")).await;
    let again = put("ana", upload("A", "one")).await;
    let of_ben = put("ben", upload("B", "one")).await;

    assert_eq!((&again.id, again.change), (&of_ana.id, Change::Unchanged));
    assert_eq!(store.job(&of_ana.id).await, Some(("capture".to_owned(), 0)));
    let artifact = store.artifact(&[Holder::user("ana")], &of_ana.id).await.expect("it can be read");
    assert_eq!(artifact.map(|it| it.digest).as_deref(), Some("one"));
    let gone = async |user, id| store.remove(user, id).await.expect("it was there");
    assert_eq!(gone("ana", &of_ana.id).await, ["one"], "to be looked at");
    assert!(is_named(&store).await, "Ben has it as well");
    assert_eq!(gone("ben", &of_ben.id).await, ["one"]);
    assert!(!is_named(&store).await);
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
    let artifact = DocumentFile::of_document(artifact);
    let fail = async |missing_dependency: Option<&'static str>| {
        let job = store.take_as_anybody(Kind::Capture, 1).await.remove(0);
        let file = Some(&artifact);
        let failed = Failed { reason: "no transcriber", missing_dependency, file };
        assert!(store.give_up(Kind::Capture, &job, failed).await.expect("the database works"));
    };
    let kept =
        async |id: &str| store.artifact(&[Holder::user("ana")], id).await.expect("it can be read").is_some();
    let id = store.put_one(&ana, talk("one")).await.id;
    fail(Some("transcriber")).await;

    let same = store.put_one(&ana, talk("one")).await;
    assert_eq!((same.change, kept(&id).await), (Change::Unchanged, true));
    assert_eq!(store.state("ana", &id).await, State::Failed("no transcriber".to_owned()));

    let batch = Batch::new(validate(vec![talk("two")]).expect("it keeps the rules"));
    let changed = store.stored(&ana, &batch).await;
    assert_eq!((changed.ingested[0].change, kept(&id).await), (Change::Updated, true));
    assert_eq!((changed.let_go, store.job(&id).await), (vec![], Some(("capture".to_owned(), 0))));

    // A defect of the file itself may be repaired at its origin.
    fail(None).await;
    let again = store.put_one(&ana, talk("two")).await;
    assert_eq!((again.change, kept(&id).await), (Change::Unchanged, false));
}
