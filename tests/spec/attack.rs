//! A server with 1 GiB of memory under simultaneous attacks by several users. Measured from outside: the
//! memory of its process, and replies to another user.
//!
//! `just attack MINUTES` runs it for longer. A separate test program, because other tests in the same program
//! would compete for the CPU.

#[allow(dead_code, unused_imports, reason = "the harness serves all specification tests")]
mod harness;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use harness::{ServerProcess, User, guests};

/// Limit of the process's memory without mapped files, in bytes.
const MEMORY: u64 = 1 << 30;
/// Settings for a machine with 1 GiB of memory (docs/security.md#memory).
const SETTINGS: [&str; 4] = [
    "--memory-for-calls=256MiB",
    "--search-memory=64MiB",
    "--extraction-memory=128MiB",
    "--compile-memory=512MiB",
];
/// Default duration of the attack, in seconds. The variable `ATTACK_SECONDS` overrides it.
const DEFAULT_SECONDS: u64 = 15;
/// Number of attacking users. Each one runs all attacks.
const ATTACKERS: usize = 6;
/// Time limit for a reply to the small user, and for each read and write on a connection of an attacker.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Request that attackers send repeatedly.
struct Attack {
    request: Vec<u8>,
    /// Number of simultaneous connections per attacker.
    connections: usize,
    /// Time that a connection stays open after the request. At most 256 bytes of the response are read.
    unread: Duration,
}

#[tokio::test]
async fn a_server_with_little_memory_survives_attacks_and_serves_others() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.args(SETTINGS).env("KITBAG_MCP_REQUESTS_PER_MINUTE", "1000000");
    })
    .await;
    let operator = server.as_operator().await;
    for guest in [guests::HOSTILE, guests::HINTS] {
        operator.deploy(guest.bytes()).await.assert_status(201);
    }
    let small = server.as_user("small").await;
    let seconds =
        std::env::var("ATTACK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_SECONDS);

    let stop = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicUsize::new(0));
    let mut attackers = JoinSet::new();
    for number in 0..ATTACKERS {
        let user = server.as_user(&format!("mallory{number}")).await;
        let bells = json!([{ "title": "Bells", "text": "\u{7}".repeat(2 << 20) }]);
        let ingest = "mutation ($d: [IngestDocumentInput!]!) { ingest(documents: $d) { documents { id } } }";
        let stored = user.ask(ingest, json!({ "d": bells })).await;
        let id = stored["ingest"]["documents"][0]["id"].as_str().expect("an id").to_owned();
        for attack in attacks(&server, &user, &id) {
            let attack = Arc::new(attack);
            for _ in 0..attack.connections {
                let address = server.base_url().socket_addrs(|| None).expect("an address")[0];
                let (attack, stop, sent) = (attack.clone(), stop.clone(), sent.clone());
                attackers.spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let Ok(mut connection) = TcpStream::connect(address).await else { continue };
                        // Errors are ignored: the next iteration opens a new connection.
                        let _ = timeout(REPLY_TIMEOUT, connection.write_all(&attack.request)).await;
                        let _ = timeout(REPLY_TIMEOUT, connection.read(&mut [0; 256])).await;
                        sent.fetch_add(1, Ordering::Relaxed);
                        sleep(attack.unread).await;
                    }
                });
            }
        }
    }

    let (mut peak, mut replies) = (0, 0);
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let reply = timeout(REPLY_TIMEOUT, small.call("hints__plain", json!({}))).await;
        reply.expect("the small user is answered").text();
        replies += 1;
        peak = peak.max(anonymous_memory(server.process()));
        assert!(peak < MEMORY, "the process holds {} MiB", peak >> 20);
        sleep(Duration::from_millis(50)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let sent = sent.load(Ordering::Relaxed);
    println!("{sent} requests of attackers, {replies} replies to the small user, at most {} MiB", peak >> 20);
    assert!(sent > ATTACKERS, "the attack has taken place");
    attackers.shutdown().await;
    server.kill().await;
}

/// Attacks with request bodies of maximum size, unread responses, and request heads that never end.
fn attacks(server: &ServerProcess, user: &User, document: &str) -> Vec<Attack> {
    let host = server.base_url().authority();
    let post = |path: &str, body: &[u8]| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
            user.token(),
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let variables = |piece: &str| {
        let pieces = piece.repeat((33 << 20) / piece.len());
        format!("{{\"query\":\"{{me{{userId}}}}\",\"variables\":{{\"x\":[{pieces}0]}}}}").into_bytes()
    };
    let zeros = "0,".repeat(49_000);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"hints__plain","arguments":{arguments}}}}}"#
        )
        .into_bytes()
    };
    let bells = json!({ "query": format!("{{ document(id: \"{document}\") {{ text }} }}") }).to_string();
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 << 20));
    let unread = Duration::from_secs(5);
    vec![
        Attack { request: post("/graphql", &variables("0,")), connections: 2, unread: Duration::ZERO },
        Attack { request: post("/graphql", &variables("[],")), connections: 1, unread: Duration::ZERO },
        Attack { request: post("/graphql", bells.as_bytes()), connections: 8, unread },
        Attack {
            request: post("/mcp", &call(&format!(r#"{{"x":[{zeros}0]}}"#))),
            connections: 8,
            unread: Duration::ZERO,
        },
        Attack { request: post("/mcp", &call(&long)), connections: 4, unread },
        Attack {
            request: format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {}", "x".repeat(380_000)).into_bytes(),
            connections: 40,
            unread,
        },
    ]
}

/// Resident memory of the process without mapped files (`RssAnon`), in bytes.
fn anonymous_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux says it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}
