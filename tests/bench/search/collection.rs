//! Test collections in BEIR layout.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::Outcome;
use crate::api::Document;

/// Documents, and queries with relevance judgements.
pub(crate) struct Collection {
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Vec<Query>,
}

/// Query with relevance judgements.
pub(crate) struct Query {
    pub(crate) text: String,
    /// Relevance grades of documents, by URL.
    pub(crate) relevant: HashMap<String, f64>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Reads a collection. Skips queries without judgements.
pub(crate) fn read(folder: &Path) -> Outcome<Collection> {
    let mut relevant = HashMap::<String, HashMap<String, f64>>::new();
    for line in text(&folder.join("qrels/test.tsv"))?.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(query), Some(document), Some(grade)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(format!("qrels/test.tsv has a line that is no judgement: {line}").into());
        };
        let grade: f64 = grade.trim().parse()?;
        if grade > 0.0 {
            relevant.entry(query.to_owned()).or_default().insert(url(document), grade);
        }
    }
    let queries = entries(&folder.join("queries.jsonl"))?
        .into_iter()
        .filter_map(|Entry { id, text, .. }| Some(Query { text, relevant: relevant.remove(&id)? }))
        .collect();
    let documents = entries(&folder.join("corpus.jsonl"))?.into_iter().filter_map(document).collect();
    Ok(Collection { documents, queries })
}

/// Creates a document with title and text. A missing one is derived from the other; `None` if both are
/// missing.
fn document(Entry { id, title, text }: Entry) -> Option<Document> {
    let beginning = |text: &str| text.chars().take(100).collect::<String>();
    let (title, text) = match (title.trim().is_empty(), text.trim().is_empty()) {
        (true, true) => return None,
        (true, false) => (beginning(&text), text),
        (false, true) => (title.clone(), title),
        (false, false) => (title, text),
    };
    Some(Document { url: url(&id), title, text })
}

fn url(id: &str) -> String {
    format!("https://collection.example/{id}")
}

fn entries(path: &Path) -> Outcome<Vec<Entry>> {
    text(path)?.lines().filter(|line| !line.is_empty()).map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}
