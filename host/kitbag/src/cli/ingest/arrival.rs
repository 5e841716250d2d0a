//! Processing state of ingested documents on the server.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::lock;
use super::report::Report;
use crate::cli::client::Client;
use crate::cli::error::CliError;

/// Documents per status request: the server limits the cost of a query.
const MAX_DOCUMENTS_PER_REQUEST: usize = 100;
/// First and longest pause between two status requests.
const MIN_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Document {
    state: String,
    reason: Option<String>,
}

/// Reports the documents that could not be processed: those already known, or, when waiting, once none is
/// pending. Waiting ends, because the server gives up after a bounded number of attempts.
pub(super) async fn look(
    client: &Client,
    mut looked_at: Vec<(String, String)>,
    until_all_are_read: bool,
    report: &Mutex<Report>,
) -> Result<(), CliError> {
    let mut pause = MIN_PAUSE;
    loop {
        let mut pending = Vec::new();
        for some in looked_at.chunks(MAX_DOCUMENTS_PER_REQUEST) {
            for ((name, id), document) in some.iter().zip(states(client, some).await?) {
                match document {
                    Some(Document { state, .. }) if state == "PENDING" => {
                        pending.push((name.clone(), id.clone()));
                    }
                    Some(Document { state, reason }) if state == "FAILED" => {
                        lock(report).failed(name, &reason.unwrap_or_default());
                    }
                    // Ready; or deleted in the meantime, which is not a failure.
                    _ => {}
                }
            }
        }
        lock(report).pending(pending.len());
        if pending.is_empty() || !until_all_are_read {
            return Ok(());
        }
        looked_at = pending;
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Queries the states of documents in one request, each under an alias.
async fn states(client: &Client, documents: &[(String, String)]) -> Result<Vec<Option<Document>>, CliError> {
    let mut declared = String::new();
    let mut fields = String::new();
    let mut variables = Map::new();
    for (index, (_, id)) in documents.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(declared, "$d{index}: ID! ");
        let _ = write!(fields, "d{index}: document(id: $d{index}) {{ state reason }} ");
        variables.insert(format!("d{index}"), Value::from(id.as_str()));
    }
    let query = format!("query ({declared}) {{ {fields} }}");
    let mut answer: Map<String, Value> = client.ask(&query, Value::Object(variables)).await?;
    let unreadable = |error| CliError::new(format!("the server's answer cannot be read: {error}"));
    let mut take = |index: usize| answer.remove(&format!("d{index}")).unwrap_or_default();
    (0..documents.len()).map(|index| serde_json::from_value(take(index)).map_err(unreadable)).collect()
}
