//! Servers to compare, and the call that they answer.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Outcome;
use crate::child::Server;
use crate::client::{Connection, Prepared};
use crate::components::Components;
use crate::kitbag_server;
use crate::optional;
use crate::tool_call::tool_call;

/// Text to count: a short paragraph, as a model would send it.
const TEXT: &str = "It was the best of times, it was the worst of times.\nIt was the age of wisdom, it was the age \
                    of foolishness.\n\nIt was 1775.";

/// Server with the call to measure.
pub(crate) struct Candidate {
    /// Name in the report.
    pub(crate) name: &'static str,
    /// The server.
    pub(crate) server: Server,
    /// Prepared request of the call.
    pub(crate) call: Prepared,
    /// Data directory, deleted with the server.
    pub(crate) _data: Option<TempDir>,
}

/// A candidate that could not be started.
#[derive(Debug, Serialize)]
pub(crate) struct NotMeasured {
    /// Name in the report.
    pub(crate) name: &'static str,
    /// Reason, for people.
    pub(crate) reason: String,
}

/// Starts all candidates, in the order of the report, and checks that all but the floor return the same
/// result. Servers of other projects are optional.
pub(crate) async fn start(components: &Components) -> Outcome<(Vec<Candidate>, Vec<NotMeasured>)> {
    let mut candidates = vec![
        own("floor", "serve-floor")?,
        own("native", "serve-native")?,
        kitbag("kitbag", &components.text, "text__count", &[]).await?,
        kitbag("kitbag-ts", &components.script, "script__count", &[]).await?,
        node()?,
    ];
    let mut not_measured = Vec::new();
    for (name, started) in [("fastmcp", optional::fastmcp()), ("act", optional::act().await)] {
        match started {
            Ok(candidate) => candidates.push(candidate),
            Err(reason) => not_measured.push(NotMeasured { name, reason: reason.to_string() }),
        }
    }

    let [_, native, others @ ..] = candidates.as_slice() else { unreachable!("both are in the list above") };
    let expected = reply(native).await?;
    for other in others {
        let found = reply(other).await?;
        if expected != found {
            return Err(
                format!("the replies differ:\n  native: {expected}\n  {}: {found}", other.name).into()
            );
        }
    }
    Ok((candidates, not_measured))
}

/// Starts a Kitbag server with one toolkit and additional flags.
pub(crate) async fn kitbag(
    name: &'static str,
    component: &[u8],
    tool: &str,
    more: &[&str],
) -> Outcome<Candidate> {
    let data = tempfile::tempdir()?;
    let server = kitbag_server::start(data.path(), more)?;
    kitbag_server::deploy(&server, data.path(), component).await?;
    let token = kitbag_server::token(data.path())?;
    let call = tool_call(server.address(), Some(&token), tool, &json!({ "text": TEXT }))?;
    Ok(Candidate { name, server, call, _data: Some(data) })
}

/// Starts the official SDK's server, one Node.js process, with the same code as the toolkit in TypeScript.
fn node() -> Outcome<Candidate> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bench/node-server/server.mjs");
    let server = Server::start(Command::new("node").arg(script).env("NODE_ENV", "production"))?;
    let call = count(server.address(), None)?;
    Ok(Candidate { name: "node", server, call, _data: None })
}

/// Prepares `tools/call` of `text__count`.
pub(crate) fn count(address: SocketAddr, token: Option<&str>) -> Outcome<Prepared> {
    tool_call(address, token, "text__count", &json!({ "text": TEXT }))
}

/// Returns the text to count.
pub(crate) fn text() -> &'static str {
    TEXT
}

/// Starts this program itself as a candidate, in another process.
pub(crate) fn own(name: &'static str, role: &str) -> Outcome<Candidate> {
    let server = Server::start(Command::new(std::env::current_exe()?).arg(role))?;
    let call = count(server.address(), None)?;
    Ok(Candidate { name, server, call, _data: None })
}

/// Structured value of the reply. The text is not compared: the wording may change.
async fn reply(candidate: &Candidate) -> Outcome<Value> {
    let mut connection = Connection::open(candidate.server.address()).await?;
    let body = connection.exchange(&candidate.call).await?;
    let body: Value = serde_json::from_slice(message(&body))?;
    match body.pointer("/result/structuredContent") {
        Some(counts) => Ok(counts.clone()),
        None => Err(format!("{} did not run the tool: {body}", candidate.name).into()),
    }
}

/// JSON of a response: its body, or the data of its only event.
fn message(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"data: ").unwrap_or(body)
}
