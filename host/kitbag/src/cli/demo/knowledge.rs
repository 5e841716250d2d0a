//! Three documents, and a question that shares no word with the document that answers it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cli::client::Client;
use crate::cli::error::CliError;

const INGEST: &str =
    "mutation ($documents: [IngestDocumentInput!]!) { ingest(documents: $documents) { ingested } }";
const PENDING: &str = "{ documents(first: 1, state: PENDING) { totalCount } }";
/// Search query of the specification, plus the search mode.
const SEARCH: &str =
    "query ($q: String!) { search(query: $q) { mode results { document { title } snippet } } }";

const QUESTION: &str = "Which bird survives the cold?";

/// Time limit for indexing the documents.
const INDEXING_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct Waiting {
    documents: Total,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Total {
    total_count: u64,
}

#[derive(Deserialize)]
struct DocumentsResponse {
    search: Found,
}

#[derive(Deserialize)]
struct Found {
    mode: String,
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    document: Title,
    snippet: String,
}

#[derive(Deserialize)]
struct Title {
    title: String,
}

/// Ingests the documents, waits for indexing, searches, and formats the result for people.
pub(super) async fn show(client: &Client) -> Result<String, CliError> {
    client.ask::<Value>(INGEST, json!({ "documents": documents() })).await?;
    let started = Instant::now();
    while client.ask::<Waiting>(PENDING, json!({})).await?.documents.total_count > 0
        && started.elapsed() < INDEXING_TIMEOUT
    {
        sleep(POLL_INTERVAL).await;
    }
    let DocumentsResponse { search } = client.ask(SEARCH, json!({ "q": QUESTION })).await?;
    let Some(Hit { document, snippet }) = search.results.first() else {
        return Ok(format!("{QUESTION}\n  nothing was found ({})", search.mode));
    };
    Ok(format!("{QUESTION}\n  {} ({})\n  {snippet}", document.title, search.mode))
}

fn documents() -> Value {
    json!([
        {
            "title": "Emperor penguins",
            "text": "They stand close together through the Antarctic winter and take turns in the middle, \
                     where it is warm.",
            "url": "https://kitbag.example/penguins",
        },
        {
            "title": "Sourdough",
            "text": "Feed the starter twice a day. The dough rests over night and is baked in a hot pot.",
            "url": "https://kitbag.example/sourdough",
        },
        {
            "title": "Minutes of May",
            "text": "The board decided on the new prices. Ana writes to all customers before June.",
            "url": "https://kitbag.example/minutes",
        },
    ])
}
