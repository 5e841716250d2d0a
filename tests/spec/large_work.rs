//! Work that grows with one user's data does not delay others: it is done by threads that give way.
//!
//! Measured as the processor time that the server's other threads use while a small call waits. Unlike wall
//! time, it hardly depends on what else the machine does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Process, ServerProcess, User, Wat, eventually, guests};

/// Number of small calls per measurement, of which the median counts.
const CALLS: usize = 31;
/// Maximum ratio of the processor time during a small call beside large work to that of one alone.
const MAX_RATIO: u32 = 4;
/// Maximum number of measurements: other load on the machine can only worsen one.
const MAX_ROUNDS: usize = 5;

/// Kind of large work, of one user.
struct Kind {
    name: &'static str,
    connections: usize,
    /// Makes one request; returns whether it was carried out.
    request: fn(Ana) -> BoxFuture<'static, bool>,
}

/// The user with the large work.
#[derive(Clone)]
struct Ana {
    user: User,
    /// Id of a long document.
    document: String,
    /// Number of the request.
    number: usize,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "results over MCP",
        connections: 16,
        request: |ana| {
            Box::pin(async move { ana.call(json!({ "name": "wat__run", "arguments": {} })).await })
        },
    },
    Kind {
        name: "results over MCP, with a progress token",
        connections: 16,
        request: |ana| {
            Box::pin(async move {
                let meta = json!({ "progressToken": 1 });
                ana.call(json!({ "name": "wat__run", "arguments": {}, "_meta": meta })).await
            })
        },
    },
    Kind {
        name: "results over HTTP",
        connections: 16,
        request: |ana| {
            Box::pin(async move {
                let path = "/toolkits/wat/tools/run";
                ana.user.send(Method::POST, path, "application/json", "{}").await.status == 200
            })
        },
    },
    Kind {
        name: "arguments over MCP",
        connections: 16,
        request: |ana| Box::pin(async move { ana.call(many_arguments("hints__plain")).await }),
    },
    Kind {
        name: "arguments over HTTP",
        connections: 16,
        request: |ana| {
            Box::pin(async move {
                let arguments = many_arguments("")["arguments"].to_string();
                let path = "/toolkits/hints/tools/plain";
                ana.user.send(Method::POST, path, "application/json", arguments).await.status == 200
            })
        },
    },
    Kind {
        name: "documents over GraphQL",
        connections: 4,
        request: |ana| {
            Box::pin(async move {
                let query = format!("{{ document(id: \"{}\") {{ text }} }}", ana.document);
                ana.ask(&query).await
            })
        },
    },
    Kind {
        name: "the schema over GraphQL",
        connections: 4,
        request: |ana| {
            Box::pin(async move {
                let types = "types { name description fields { name description args { name } } }";
                let schema = (0..4).fold(String::new(), |mut query, alias| {
                    write!(query, "a{alias}: __schema {{ {types} }} ").expect("a string takes everything");
                    query
                });
                ana.ask(&format!("{{ {schema} }}")).await
            })
        },
    },
    Kind {
        name: "lists of tools",
        connections: 16,
        request: |ana| {
            Box::pin(async move {
                // Each selection is a list of its own, which no cache has.
                let first = ana.number % 500;
                let names = (first..first + 700).fold(String::new(), |mut names, tool| {
                    write!(names, "crowd__tool_{tool},").expect("a string takes everything");
                    names
                });
                let endpoint = format!("/mcp?tools={names}");
                let user = ana.user.at(Box::leak(endpoint.into_boxed_str()));
                user.post_mcp("tools/list", None, json!({})).await.status == 200
            })
        },
    },
];

/// A toolkit whose tool returns a mebibyte of a character that takes six bytes in JSON.
fn long_text() -> Vec<u8> {
    // `result<tool-result, call-error>` at 1040000: a text of 1 MiB at 1 MiB, and nothing else.
    let call = "(drop (memory.grow (i32.const 16)))
        (memory.fill (i32.const 1048576) (i32.const 7) (i32.const 1048576))
        (i32.store (i32.const 1040004) (i32.const 1048576))
        (i32.store (i32.const 1040008) (i32.const 1048576))
        (return (i32.const 1040000))";
    Wat { call, ..Wat::default() }.component()
}

/// A call with as many arguments as one may have: 98 kB, and megabytes once they are parsed.
fn many_arguments(tool: &str) -> serde_json::Value {
    json!({ "name": tool, "arguments": { "a": vec![0; 49_000] } })
}

impl Ana {
    async fn call(&self, params: serde_json::Value) -> bool {
        let tool = params["name"].as_str().expect("a name").to_owned();
        self.user.post_mcp("tools/call", Some(&tool), params).await.status == 200
    }

    async fn ask(&self, query: &str) -> bool {
        let query = json!({ "query": query }).to_string();
        let answer = self.user.send(Method::POST, "/graphql", "application/json", query).await;
        answer.status == 200 && answer.json()["errors"].is_null()
    }
}

/// Measures the processor time of threads that do not give way while a small call of `user` waits.
async fn during_a_small_call(server: &ServerProcess, user: &User) -> Duration {
    let process = Process(server.process());
    let mut spent = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let before = process.busy_time();
        assert_eq!(user.call("hints__plain", json!({})).await.text(), "plain");
        spent.push(process.busy_time().saturating_sub(before));
    }
    spent.sort_unstable();
    spent[CALLS / 2]
}

/// Repeats large work until it is dropped.
fn repeat(kind: &Kind, ana: &Ana, done: &Arc<AtomicUsize>) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    for connection in 0..kind.connections {
        let (request, mut ana, done) = (kind.request, ana.clone(), done.clone());
        let connections_of_all = kind.connections;
        connections.spawn(async move {
            ana.number = connection;
            loop {
                ana.number += connections_of_all;
                if request(ana.clone()).await {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    connections
}

#[tokio::test]
async fn large_work_of_one_user_is_hardly_noticed_by_another() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    operator.deploy(long_text()).await.assert_status(201);
    for guest in [guests::HINTS, guests::CROWD] {
        operator.deploy(guest.bytes()).await.assert_status(201);
    }
    let (user, ben) = (server.as_user("ana").await, server.as_user("ben").await);
    let ingest = "mutation ($d: [IngestDocumentInput!]!) { ingest(documents: $d) { documents { id } } }";
    let document = json!([{ "title": "Bells", "text": "\u{7}".repeat(1 << 20) }]);
    let stored = user.ask(ingest, json!({ "d": document })).await;
    let document = stored["ingest"]["documents"][0]["id"].as_str().expect("an id").to_owned();
    let ana = Ana { user, document, number: 0 };
    during_a_small_call(&server, &ben).await;
    let alone = during_a_small_call(&server, &ben).await;

    for kind in &KINDS {
        let done = Arc::<AtomicUsize>::default();
        let connections = repeat(kind, &ana, &done);
        eventually("large work is carried out", async || done.load(Ordering::Relaxed) > 2).await;
        let before = done.load(Ordering::Relaxed);
        let mut measured = Vec::new();
        while measured.len() < MAX_ROUNDS && measured.iter().all(|it| *it > MAX_RATIO * alone) {
            measured.push(during_a_small_call(&server, &ben).await);
        }
        eventually("large work goes on", async || done.load(Ordering::Relaxed) > before).await;
        drop(connections);

        println!("{}: {alone:?} alone, {measured:?} beside it", kind.name);
        let best = measured.iter().min().expect("there is one");
        assert!(*best <= MAX_RATIO * alone, "{}: {alone:?} alone, {measured:?} beside it", kind.name);
    }
}
