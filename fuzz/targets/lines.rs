//! Bulk ingest: a file of JSON lines, and the rules of the batch that is made from it.

use kitbag::fuzzing::documents::{Valid, validate};
use kitbag::fuzzing::ingest;
use kitbag_knowledge::{NewDocument, NewFeed};
use serde_json::Value;
use url::Url;

/// Input: a file for `kitbag ingest --jsonl`.
///
/// Checks that each line that is not empty becomes one document or one problem, with its line number. A
/// stored document has a title, clean URLs, and the same identity when it is ingested again.
pub fn lines(data: &[u8]) {
    let read = ingest::lines(data.to_vec());
    let given = data.split(|byte| *byte == b'\n').enumerate();
    let given: Vec<_> = given.filter(|(_, line)| !line.trim_ascii().is_empty()).collect();
    assert_eq!(read.len(), given.len(), "as many lines as there are");

    let mut documents = Vec::new();
    for ((number, document), (index, line)) in read.into_iter().zip(given) {
        assert_eq!(number, index + 1);
        let Ok(document) = document else { continue };
        let plain: Value = serde_json::from_slice(line).expect("a document is JSON");
        assert_eq!(plain["title"], document["title"]);
        let again = ingest::lines(document.to_string().into_bytes());
        assert_eq!(again, [(1, Ok(document.clone()))], "a document is written as it was read");
        documents.push(new_document(&document));
    }
    check_batch(&documents);
}

fn check_batch(documents: &[NewDocument]) {
    match validate(documents.to_vec()) {
        Ok(valid) => {
            assert_eq!(valid.len(), documents.len());
            valid.iter().for_each(check_valid);
            let kept = valid.iter().map(|it| NewDocument {
                title: it.title.clone(),
                text: Some(it.text.clone()).filter(|text| !text.is_empty()),
                url: it.url.clone(),
                file_url: it.file_url.clone(),
                ..NewDocument::default()
            });
            let again = validate(kept.collect()).expect("what was kept keeps every rule");
            for (one, other) in valid.iter().zip(&again) {
                assert_eq!(one.identity, other.identity);
                assert_eq!((&one.url, &one.file_url), (&other.url, &other.file_url));
            }
        }
        Err(problems) => assert!(problems.0.iter().all(|problem| problem.path.starts_with("documents"))),
    }
}

fn check_valid(it: &Valid) {
    let is_line = !it.title.is_empty() && !it.title.chars().any(char::is_control);
    assert!(is_line && it.title.chars().count() <= 1000, "{:?} is a title", it.title);
    assert!(!it.text.contains('\0'));
    assert!(!it.text.is_empty() || it.file_url.is_some(), "there is nothing to find");
    for url in it.url.iter().chain(&it.file_url) {
        let read = Url::parse(url).expect("a URL that is kept is one");
        assert!(matches!(read.scheme(), "http" | "https") && read.has_host(), "{url}");
        assert!(
            read.username().is_empty() && read.password().is_none() && read.fragment().is_none(),
            "{url}"
        );
        assert_eq!(read.as_str(), url);
    }
}

/// Returns a document as the server receives it.
fn new_document(document: &Value) -> NewDocument {
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    let feed = document.get("feed").map(|feed| {
        let text = |name: &str| feed.get(name).and_then(Value::as_str).map(str::to_owned);
        NewFeed {
            key: text("key").unwrap_or_default(),
            name: text("name").unwrap_or_default(),
            label: text("label"),
        }
    });
    NewDocument {
        title: text("title").unwrap_or_default(),
        text: text("text"),
        url: text("url"),
        author: text("author"),
        file_url: text("fileUrl"),
        audio_url: text("audioUrl"),
        mime_type: text("mimeType"),
        capture_only: document.get("captureOnly") == Some(&Value::Bool(true)),
        title_is_name: document.get("titleIsName") == Some(&Value::Bool(true)),
        feed,
    }
}
