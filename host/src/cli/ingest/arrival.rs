//! Waits until search finds what was brought in.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::sleep;

use crate::cli::CliError;
use crate::cli::client::Client;

/// Documents that are asked about at a time; more would cost more than a request may.
const MAX_DOCUMENTS_PER_REQUEST: usize = 100;
/// Between two rounds, at first and at most.
const MIN_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Document {
    state: String,
    reason: Option<String>,
}

/// Waits until no document is pending; returns those that failed, and why. The server gives up after a
/// bounded number of tries, and so this ends.
pub(super) async fn wait(
    client: &Client,
    mut waiting: Vec<(String, String)>,
    bar: &ProgressBar,
) -> Result<Vec<(String, String)>, CliError> {
    let (mut failed, mut pause) = (Vec::new(), MIN_PAUSE);
    loop {
        let mut pending = Vec::new();
        for some in waiting.chunks(MAX_DOCUMENTS_PER_REQUEST) {
            for ((name, id), document) in some.iter().zip(look(client, some).await?) {
                match document {
                    Some(Document { state, .. }) if state == "PENDING" => {
                        pending.push((name.clone(), id.clone()));
                    }
                    Some(Document { state, reason }) if state == "FAILED" => {
                        failed.push((name.clone(), reason.unwrap_or_default()));
                    }
                    // Ready; or deleted meanwhile, which is nobody's failure.
                    _ => {}
                }
            }
        }
        if pending.is_empty() {
            return Ok(failed);
        }
        bar.set_message(format!("waiting for {}", pending.len()));
        waiting = pending;
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Asks about documents in one request, each under a name of its own.
async fn look(client: &Client, documents: &[(String, String)]) -> Result<Vec<Option<Document>>, CliError> {
    let (mut declared, mut fields, mut variables) = (String::new(), String::new(), Map::new());
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
