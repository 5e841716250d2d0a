//! Work that each connection repeats.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::components::Components;
use super::sign_in::SignIn;
use crate::Outcome;

/// Tools of the hostile guest whose calls fail, each in its own way.
const MISBEHAVIOURS: [&str; 18] = [
    "trap",
    "panic",
    "exit",
    "spin",
    "recurse",
    "eat_memory",
    "big_result",
    "many_pictures",
    "invalid_utf8",
    "invalid_json",
    "deep_json",
    "wrong_output",
    "failure",
    "log_flood",
    "stdout_one_line",
    "random_at_once",
    "poll_for_ever",
    "resource_flood",
];

/// Documents that a connection ingests through a toolkit, and updates repeatedly.
const DOCUMENTS: usize = 20;

/// Time that a client follows a log before it disconnects.
const FOLLOW_DURATION: Duration = Duration::from_secs(5);

/// Time that a client stays connected after half a request.
const STALL_DURATION: Duration = Duration::from_secs(3);

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    FastCalls,
    SlowCalls,
    HostileCalls,
    ToolkitDocuments,
    Ingests,
    Searches,
    Deploys,
    RefusedDeploys,
    LogFollowers,
    SignIns,
    HalfRequests,
}

/// Number of connections for every kind: 64 in total.
pub(crate) const SHARES: [(Kind, usize); 11] = [
    (Kind::FastCalls, 20),
    (Kind::SlowCalls, 8),
    (Kind::HostileCalls, 8),
    (Kind::ToolkitDocuments, 6),
    (Kind::Ingests, 6),
    (Kind::Searches, 4),
    (Kind::Deploys, 1),
    (Kind::RefusedDeploys, 1),
    (Kind::LogFollowers, 4),
    (Kind::SignIns, 2),
    (Kind::HalfRequests, 4),
];

/// Result of a unit of work.
#[derive(Debug)]
pub(crate) enum WorkResult {
    /// Expected result.
    Done,
    /// Refused by the server for lack of capacity.
    Refused,
    /// Unexpected result, with a description.
    Wrong(String),
}

impl Kind {
    /// Name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FastCalls => "fast calls",
            Self::SlowCalls => "slow calls",
            Self::HostileCalls => "hostile calls",
            Self::ToolkitDocuments => "documents of toolkits",
            Self::Ingests => "ingests with deletes",
            Self::Searches => "searches",
            Self::Deploys => "deploys",
            Self::RefusedDeploys => "refused deploys",
            Self::LogFollowers => "log followers",
            Self::SignIns => "sign-ins",
            Self::HalfRequests => "half requests",
        }
    }

    /// Pause of a connection after each unit of work, so that no kind starves the others.
    pub(crate) fn pause(self) -> Duration {
        Duration::from_millis(match self {
            Self::FastCalls | Self::SlowCalls => 20,
            Self::HostileCalls | Self::Ingests | Self::Searches | Self::ToolkitDocuments => 100,
            Self::LogFollowers | Self::HalfRequests | Self::SignIns => 200,
            Self::Deploys | Self::RefusedDeploys => 1000,
        })
    }
}

/// Worker of one connection.
pub(crate) struct Worker<'a> {
    pub(crate) kind: Kind,
    /// Index among the workers of its kind.
    pub(crate) number: usize,
    pub(crate) client: Client,
    pub(crate) components: &'a Components,
    pub(crate) sign_in: SignIn,
}

impl Worker<'_> {
    /// Does the work for the `turn`th time.
    pub(crate) async fn work(&mut self, turn: usize) -> Outcome<WorkResult> {
        let client = &mut self.client;
        match self.kind {
            Kind::FastCalls => {
                let text = "It was the best of times.\n".repeat(turn % 100);
                Ok(succeeded(&client.call("text__count", &json!({ "text": text })).await?))
            }
            Kind::SlowCalls => Ok(succeeded(&client.call("hostile__sleep_poll", &json!({})).await?)),
            Kind::HostileCalls => {
                let tool = MISBEHAVIOURS[(turn + self.number) % MISBEHAVIOURS.len()];
                Ok(succeeded(&client.call(&format!("hostile__{tool}"), &json!({})).await?))
            }
            Kind::ToolkitDocuments => {
                let document = json!({
                    "title": format!("Document {turn}"),
                    "text": words(turn),
                    "url": format!("https://soak.example/{}/{}", self.number, turn % DOCUMENTS),
                });
                let ingested = client.call("probe__ingest", &json!({ "documents": [document] })).await?;
                let found = client.call("probe__search", &json!({ "query": word(turn), "limit": 5 })).await?;
                Ok(worse(succeeded(&ingested), succeeded(&found)))
            }
            Kind::Ingests => ingest_and_delete(client, self.number, turn).await,
            Kind::Searches => search(client, turn).await,
            Kind::Deploys => deploy(client, self.components, turn).await,
            Kind::RefusedDeploys => {
                let whole = &self.components.greeter[0];
                // Truncated in even turns, overwritten in odd ones. In the first half: at the end there are
                // custom sections, without which it would still be a valid component.
                let at = turn.wrapping_mul(7919) % (whole.len() / 2);
                let mut damaged = whole.clone();
                if turn.is_multiple_of(2) {
                    damaged.truncate(at);
                } else {
                    damaged[at..].fill(0xFF);
                }
                let answer = upload(client, damaged.into()).await?;
                Ok(if answer.status == StatusCode::UNPROCESSABLE_ENTITY {
                    WorkResult::Done
                } else {
                    not_done(&answer)
                })
            }
            Kind::LogFollowers => {
                let request = format!(
                    "GET /toolkits/hostile/logs?follow=true HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
                    client.address, client.token
                );
                let read = client.follow(&request, FOLLOW_DURATION).await?;
                Ok(if read > 0 {
                    WorkResult::Done
                } else {
                    WorkResult::Wrong("a log that is followed says nothing".to_owned())
                })
            }
            Kind::SignIns => self.sign_in.run(client, turn).await,
            Kind::HalfRequests => {
                let path = ["/oauth/token", "/graphql", "/mcp", "/documents/file?title=x"][turn % 4];
                let request = format!(
                    "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 1000\r\n\r\nabc",
                    client.address, client.token
                );
                let request = if turn.is_multiple_of(5) { &request[..20] } else { &request };
                client.begin(request, STALL_DURATION).await.map(|_| WorkResult::Done)
            }
        }
    }
}

async fn ingest_and_delete(client: &mut Client, number: usize, turn: usize) -> Outcome<WorkResult> {
    const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!) { ingest(documents: $documents) { documents { id } } }";
    const DELETE: &str = "mutation ($id: ID!) { deleteDocument(id: $id) }";

    let documents: Vec<_> = (0..5)
        .map(|at| json!({ "title": format!("Note {number}.{turn}.{at}"), "text": words(turn * 5 + at) }))
        .collect();
    let stored = match client.graphql(INGEST, json!({ "documents": documents })).await? {
        Ok(data) => data,
        Err(answer) => return Ok(not_done(&answer)),
    };
    let found = search(client, turn).await?;
    for document in stored["ingest"]["documents"].as_array().into_iter().flatten() {
        if let Err(answer) = client.graphql(DELETE, json!({ "id": document["id"] })).await? {
            return Ok(not_done(&answer));
        }
    }
    Ok(found)
}

async fn search(client: &mut Client, turn: usize) -> Outcome<WorkResult> {
    const SEARCH: &str = "query ($query: String!) { search(query: $query, limit: 10) { mode results { document { title } snippet } } }";

    Ok(
        match client.graphql(SEARCH, json!({ "query": format!("{} {}", word(turn), word(turn / 3)) })).await?
        {
            Ok(_) => WorkResult::Done,
            Err(answer) => not_done(&answer),
        },
    )
}

/// Deploys two versions, calls the tool, rolls back, and removes the toolkit.
async fn deploy(client: &mut Client, components: &Components, turn: usize) -> Outcome<WorkResult> {
    for component in &components.greeter {
        let answer = upload(client, component.clone().into()).await?;
        if !answer.status.is_success() {
            return Ok(not_done(&answer));
        }
    }
    let greeting = client.call("greeter__greet", &json!({ "name": turn.to_string() })).await?;
    let back = client.send(Method::POST, "/toolkits/greeter/rollback", &[], Bytes::new()).await?;
    let removed = client.send(Method::DELETE, "/toolkits/greeter", &[], Bytes::new()).await?;
    Ok([&greeting, &back, &removed].into_iter().map(succeeded).fold(WorkResult::Done, worse))
}

/// Uploads a component.
pub(crate) async fn upload(client: &mut Client, component: Bytes) -> Outcome<Answer> {
    let kind = [(header::CONTENT_TYPE.as_str(), "application/wasm")];
    client.send(Method::POST, "/toolkits", &kind, component).await
}

fn succeeded(answer: &Answer) -> WorkResult {
    if answer.status.is_success() { WorkResult::Done } else { not_done(answer) }
}

/// Classifies an unexpected response: refused for lack of capacity, or wrong.
fn not_done(answer: &Answer) -> WorkResult {
    let is_full = || {
        // GraphQL errors have status 200.
        let said = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        let mut errors = said["errors"].as_array().into_iter().flatten();
        errors.any(|error| ["LIMIT", "UNAVAILABLE"].iter().any(|code| error["extensions"]["code"] == *code))
    };
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => WorkResult::Refused,
        StatusCode::OK if is_full() => WorkResult::Refused,
        status => {
            let text = String::from_utf8_lossy(&answer.body);
            WorkResult::Wrong(format!("{status}: {}", text.chars().take(300).collect::<String>()))
        }
    }
}

fn worse(one: WorkResult, other: WorkResult) -> WorkResult {
    match (one, other) {
        (WorkResult::Wrong(how), _) | (_, WorkResult::Wrong(how)) => WorkResult::Wrong(how),
        (WorkResult::Refused, _) | (_, WorkResult::Refused) => WorkResult::Refused,
        _ => WorkResult::Done,
    }
}

/// Generates a text of 300 words, different in each turn.
fn words(turn: usize) -> String {
    (0..300).map(|at| word(turn.wrapping_mul(31).wrapping_add(at * 7))).collect::<Vec<_>>().join(" ")
}

fn word(number: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "do", "fe", "gi", "ku", "la", "mo", "ne", "pi", "ru", "sa", "to", "ve", "wi", "xu", "za"];

    [number, number / 16, number / 7].map(|at| SYLLABLES[at % SYLLABLES.len()]).concat()
}
