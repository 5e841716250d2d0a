//! Canary test: toolkits leak known secrets through every channel, and all replies, logs and stored files are
//! searched for them. It runs the real program with the log level `trace`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use tokio::time::sleep;

use crate::harness::{ServerProcess, Upstream, User, guests};

/// Secret of the toolkit that leaks it. In lower case and valid in a host name, so that every channel can
/// carry it.
const CANARY: &str = "canary-a1b2c3-5ecret";
/// Secret of the same toolkit, with characters that encodings change.
const AWKWARD: &str = "c4n\"a\\r/y+w ü&=%\n~zz";
/// Secret of another toolkit of the same user. A toolkit receives it as an argument.
const OTHER_TOOLKITS_SECRET: &str = "canary-of-another-toolkit";

const CHANNELS: [&str; 11] = [
    "text",
    "message",
    "content",
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

/// Each secret in each encoding, in lower case.
fn traces() -> Vec<String> {
    let mut traces = Vec::new();
    for value in [CANARY, AWKWARD, OTHER_TOOLKITS_SECRET, "minted-token-1"] {
        let json = json!(value).to_string();
        traces.extend([
            value.to_owned(),
            json[1..json.len() - 1].to_owned(),
            json!(json).to_string().trim_matches('"').to_owned(),
            url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"),
            hex::encode(value),
            // Without the first group of three bytes, which may also encode preceding text.
            BASE64_STANDARD.encode(value)[4..16].to_owned(),
        ]);
    }
    traces.into_iter().map(|trace| trace.to_lowercase()).collect()
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    for trace in traces() {
        if let Some(at) = text.find(&trace) {
            let start = text.floor_char_boundary(at.saturating_sub(300));
            let end = text.ceil_char_boundary(at + 100);
            panic!("{trace:?} in {what}: …{}…", &text[start..end]);
        }
    }
}

fn assert_folder_is_clean(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_folder_is_clean(&path);
        } else {
            assert_clean(&path.display().to_string(), &fs::read(&path).expect("a file"));
        }
    }
}

/// Leaks two secrets through every channel, in every encoding, and returns all replies.
async fn leak_all(user: &User) -> String {
    let mut replies = String::new();
    for name in ["API_KEY", "OTHER_KEY"] {
        for encoding in ENCODINGS {
            for channel in CHANNELS {
                let arguments = json!({ "name": name, "into": channel, "as": encoding });
                replies.push_str(&user.call("probe__leak", arguments).await.raw());
            }
        }
        replies.push_str(&user.call("probe__leak_structured", json!({ "name": name })).await.raw());
        replies.push_str(&user.call("probe__secret", json!({ "name": name })).await.raw());
    }
    replies
}

/// Makes two calls that log a secret and are stopped: by the deadline, and by a disconnect. Returns the
/// reply of the first.
async fn leak_and_stop(user: &User) -> String {
    let arguments = json!({ "name": "API_KEY", "into": "stall" });
    let stopped = user.call("probe__leak", arguments.clone()).await.raw();
    let abandoned = user.start_call("probe__leak", arguments);
    sleep(Duration::from_millis(300)).await;
    abandoned.abort();
    stopped
}

/// Makes the host sign in at an API that echoes the access token, and returns the reply.
async fn sign_in(user: &User, upstream: &Upstream) -> String {
    let echoed = user.call("signed-in__fetch", json!({ "url": upstream.url("/api") })).await;
    assert!(echoed.text().contains("Bearer [redacted]"), "{}", echoed.text());
    echoed.raw()
}

#[tokio::test]
async fn no_secret_leaves_the_sandbox_by_any_way() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(folder.path(), |command| {
        command.args(["--call-time", "1s", "--allow-private-ranges", "127.0.0.0/8"]);
        command.env("KITBAG_LOG", "trace").env("RUST_BACKTRACE", "1");
    })
    .await;
    let user = server.as_operator().await;
    for guest in [guests::PROBE, guests::TEXT, guests::SIGNED_IN] {
        user.deploy(guest.bytes()).await.assert_status(201);
    }
    user.set_secret("probe", "API_KEY", CANARY).await;
    user.set_secret("probe", "OTHER_KEY", AWKWARD).await;
    user.set_secret("signed-in", "CLIENT_ID", "canary-client").await;
    user.set_secret("signed-in", "CLIENT_SECRET", OTHER_TOOLKITS_SECRET).await;

    let mut replies = leak_all(&user).await;
    replies.push_str(&leak_and_stop(&user).await);
    replies.push_str(&sign_in(&user, &upstream).await);
    // A client may send a secret by mistake as the name of a tool or a method.
    for name in [CANARY.to_owned(), format!("probe__{CANARY}"), OTHER_TOOLKITS_SECRET.to_owned()] {
        user.call(&name, json!({})).await.assert_unknown_tool();
        user.request(&name, None, json!({})).await;
    }
    let echoed =
        user.call("text__sort_lines", json!({ "text": format!("b\n{OTHER_TOOLKITS_SECRET}\na") })).await;
    assert!(echoed.text().contains("[redacted]"), "{}", echoed.text());
    replies.push_str(&echoed.raw());

    let mut logs = String::new();
    for toolkit in ["probe", "signed-in", "text"] {
        for record in user.logs(toolkit).await {
            logs.push_str(&record.to_string());
        }
    }
    assert!(logs.contains(r#""outcome":"cancelled""#) && logs.contains(r#""outcome":"deadline""#), "{logs}");
    assert!(logs.contains("the key is [redacted], keep it"), "{logs}");

    assert!(replies.contains("the key is [redacted], keep it"), "the guest has the value: {replies}");
    assert_clean("the replies", replies.as_bytes());
    assert_clean("the logs", logs.as_bytes());
    assert_clean("standard error", &server.log());
    assert_folder_is_clean(server.data());
    server.terminate().await;
    assert_folder_is_clean(folder.path());
}
