use super::*;
use crate::document::NewDocument;

fn note(title: &str, text: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(text.to_owned()), ..NewDocument::default() }
}

fn feed(key: &str, name: &str) -> NewFeed {
    NewFeed { key: key.to_owned(), name: name.to_owned(), label: None }
}

#[test]
fn the_rules_are_applied_to_batches_and_to_uploads() {
    let batch = validate(vec![note("A", "a"), note("", "b")]).expect_err("one has no title");
    let upload = validate_upload(note("", "")).expect_err("it has no title");

    assert_eq!(batch.to_string(), "documents[1].title: must not be empty");
    assert_eq!(upload.to_string(), "title: must not be empty");
}

#[test]
fn a_document_is_kept_in_the_form_of_the_rules() {
    let document = NewDocument {
        url: Some("https://A.example/#top".into()),
        audio_url: Some("https://a.example/a.mp3".into()),
        capture_only: true,
        feed: Some(feed("k", "The\nFeed")),
        ..note(" A\n title", "text")
    };

    let kept = validate(vec![document]).expect("it keeps the rules").remove(0);

    let expected = ValidDocument {
        title: "A title".into(),
        title_is_name: false,
        text: "text".into(),
        url: Some("https://a.example/".into()),
        author: None,
        file_url: Some("https://a.example/a.mp3".into()),
        upload: None,
        claimed_type: Some("audio/mpeg".into()),
        capture_only: true,
        feed: Some(feed("k", "The Feed")),
        identity: "url https://a.example/".into(),
        digest: identity::content_digest("A title", "text"),
    };
    assert_eq!(kept, expected);
}

#[test]
fn of_documents_that_are_the_same_the_last_one_stays() {
    let page = |title: &str, url: &str| NewDocument { url: Some(url.to_owned()), ..note(title, title) };
    let in_feed = |key: &str, it: NewDocument| NewDocument { feed: Some(feed(key, "Feed")), ..it };
    let documents = vec![
        page("first", "https://a.example/#top"),
        page("other", "https://b.example"),
        page("last", "https://A.example"),
        in_feed("k", page("in feed", "https://a.example/")),
        in_feed("l", page("in another", "https://a.example/")),
    ];

    let batch = Batch::new(validate(documents).expect("they keep the rules"));

    let titles: Vec<_> = batch.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["last", "other", "in feed", "in another"]);
    assert_eq!(batch.places, [0, 1, 0, 2, 3]);
}
