//! Documents that a call ingests.

use serde::Serialize;

use crate::Problems;
use crate::documents::{CheckedDocument, Identity, NewDocument, check, clean};
use crate::redaction::Redactor;

/// An ingested document, as searches find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IngestedDocument {
    /// Its id, made of its place among the documents.
    pub id: String,
    /// Title, on one line.
    pub title: String,
    /// Text; empty if there is only a file, because files are not captured.
    pub text: String,
    /// URL of the original, normalised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Byline of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Id of the toolkit.
    pub source: String,
    /// Name of the feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
}

/// A document and its place in the list of documents: that of the one that it replaces, or the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Index in the list.
    pub index: usize,
    /// Key of the document in its source. An ingested document replaces one with the same key.
    pub key: String,
    /// The document.
    pub document: IngestedDocument,
}

/// Stores all documents of a batch or none. `keys` are the keys of the documents so far; documents that no toolkit
/// has ingested have none. Secrets are removed from texts, and refused elsewhere.
pub fn ingest(
    source: &str,
    keys: &[Option<String>],
    documents: Vec<NewDocument>,
    secrets: &Redactor,
) -> Result<Vec<Placed>, Problems> {
    let mut keys = keys.to_vec();
    let mut place = |document: CheckedDocument| {
        let key = key(source, &document);
        let same = keys.iter().position(|known| known.as_ref() == Some(&key));
        let index = same.unwrap_or(keys.len());
        if same.is_none() {
            keys.push(Some(key.clone()));
        }
        Placed { index, key, document: stored(source, index, document) }
    };
    Ok(check(clean(documents, secrets)?)?.into_iter().map(&mut place).collect())
}

fn key(source: &str, document: &CheckedDocument) -> String {
    let feed = document.feed.as_ref().map(|feed| feed.key.as_str());
    let (kind, identity) = match document.identity() {
        Identity::Url(url) => ("url", url),
        Identity::File(url) => ("file", url),
        Identity::Text(text) => ("text", text),
    };
    serde_json::json!([source, feed, kind, identity]).to_string()
}

fn stored(source: &str, index: usize, document: CheckedDocument) -> IngestedDocument {
    let CheckedDocument { title, text, url, author, feed, .. } = document;
    let feed = feed.map(|feed| feed.name);
    IngestedDocument {
        id: format!("ingested-{}", index + 1),
        title,
        text,
        url,
        author,
        source: source.to_owned(),
        feed,
    }
}
