//! Documents.

use crate::documents::NewDocument;
use crate::test_host::exchange::redactor;
use crate::test_host::ingested::ingest;
use crate::test_host::knowledge::{Search, SearchedDocument, search};

fn document(title: &str, url: &str) -> NewDocument {
    NewDocument {
        title: title.into(),
        text: Some("a".into()),
        url: Some(url.into()),
        ..NewDocument::default()
    }
}

#[test]
fn a_snippet_ends_with_a_whole_character() {
    let text = format!("{}🐳 whale", "a".repeat(199));
    let whale = SearchedDocument { title: "", text: &text, source: "user", author: None };
    let other = SearchedDocument { title: "whale", text: "", source: "books", author: Some("Ana") };
    let found = |source: Option<&str>, author: Option<&str>| {
        let request = Search {
            query: "WHALE pond".into(),
            source: source.map(str::to_owned),
            author: author.map(str::to_owned),
            limit: None,
        };
        let hits = search([whale, other], &request).expect("it is valid");
        hits.into_iter().map(|hit| (hit.index, hit.snippet.chars().count(), hit.score)).collect::<Vec<_>>()
    };

    assert_eq!(found(None, None), [(0, 200, 0.5), (1, 0, 0.5)]);
    assert_eq!(found(Some("books"), None), [(1, 0, 0.5)]);
    assert_eq!(found(None, Some("ana")), [(1, 0, 0.5)]);
}

#[test]
fn a_document_replaces_one_of_its_feed_with_the_same_key_also_within_a_batch() {
    let batch = vec![document("a", "https://A.example/#top"), document("b", "https://a.example/")];
    let placed = ingest("books", &[None], batch, &redactor([].into_iter())).expect("they are valid");

    assert_eq!((placed[0].index, placed[1].index), (1, 1));
    assert_eq!(placed[1].document.title, "b");
    let keys = [None, Some(placed[1].key.clone())];
    let again = |source: &str| {
        let batch = vec![document("c", "https://a.example/")];
        ingest(source, &keys, batch, &redactor([].into_iter())).expect("it is valid")[0].index
    };
    assert_eq!((again("books"), again("notes")), (1, 2));
}

#[test]
fn secrets_are_removed_from_texts_and_refused_in_addresses() {
    let secrets = redactor(["s3cr3t-value"].into_iter());
    let title = vec![document("a s3cr3t-value", "https://a.example/")];
    let url = vec![document("a", "https://a.example/s3cr3t-value")];

    let placed = ingest("books", &[], title, &secrets).expect("it is valid");
    let refused = ingest("books", &[], url, &secrets).expect_err("a URL with a secret");

    assert_eq!(placed[0].document.title, "a [redacted]");
    assert!(refused.to_string().starts_with("documents[0].url: holds a secret"), "{refused}");
}
