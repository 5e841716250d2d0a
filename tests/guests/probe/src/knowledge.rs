//! `kitbag:toolkit/search` and `kitbag:toolkit/ingest`.

use guest_support::ingest::{self, Document, Feed};
use guest_support::search::{self, DocumentSummary, SearchOptions};
use guest_support::serde_json::{Value, json};
use guest_support::{Invocation, Outcome, arguments, error, structured};

pub(crate) fn search(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let options = SearchOptions {
        limit: arguments["limit"].as_u64().and_then(|limit| limit.try_into().ok()),
        source: string(&arguments["source"]),
        author: string(&arguments["author"]),
    };
    match search::search(&string(&arguments["query"]).unwrap_or_default(), &options) {
        Ok(results) => {
            let results: Vec<_> = results
                .into_iter()
                .map(
                    |it| json!({ "document": shown(&it.document), "snippet": it.snippet, "score": it.score }),
                )
                .collect();
            structured(&json!({ "results": results }))
        }
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

pub(crate) fn get_document(invocation: &Invocation) -> Outcome {
    match search::get_document(&string(&arguments(invocation)["id"]).unwrap_or_default()) {
        Ok(document) => structured(&json!({ "document": shown(&document.summary), "text": document.text })),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

pub(crate) fn ingest(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let documents: Vec<_> = arguments["documents"].as_array().into_iter().flatten().map(document).collect();
    match ingest::ingest(&documents) {
        Ok(ingested) => structured(&json!({ "ingested": ingested })),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

/// Reads a document with the field names of the toolkit specification.
fn document(value: &Value) -> Document {
    let feed = &value["feed"];
    Document {
        title: string(&value["title"]).unwrap_or_default(),
        text: string(&value["text"]),
        url: string(&value["url"]),
        author: string(&value["author"]),
        file_url: string(&value["fileUrl"]),
        audio_url: string(&value["audioUrl"]),
        mime_type: string(&value["mimeType"]),
        capture_only: value["captureOnly"].as_bool().unwrap_or_default(),
        feed: feed.is_object().then(|| Feed {
            key: string(&feed["key"]).unwrap_or_default(),
            name: string(&feed["name"]).unwrap_or_default(),
            label: string(&feed["label"]),
        }),
    }
}

fn shown(document: &DocumentSummary) -> Value {
    json!({
        "id": document.id,
        "title": document.title,
        "url": document.url,
        "author": document.author,
        "source": document.source,
        "feed": document.feed,
    })
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
