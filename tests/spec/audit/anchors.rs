//! The ends of the log, signed, in a file or at a URL; and the comparison of the log with them.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jsonwebtoken::jwk::ThumbprintHash;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;
use tokio::net::TcpListener;

use super::{CANARY, text};
use crate::harness::{CommandOutput, Kitbag, Stopped, eventually, kitbag, run};
use crate::ui_review::wat;

/// A server that makes anchors continually, and a folder for them.
async fn server(target: &str) -> Kitbag {
    let target = target.to_owned();
    Stopped::with(|settings| {
        settings.operators = "ana".parse().expect("a list");
        settings.audit_anchor = target.parse().expect("a file or a URL");
        settings.bounds.anchor_interval = Duration::from_millis(50);
    })
    .start()
    .await
}

/// Runs `kitbag audit --verify` as the operator `ana`.
async fn verify(server: &Kitbag, further: &[&str]) -> CommandOutput {
    let url = server.base_url().to_string();
    let mut command = kitbag(["audit", "--verify", "--server", &url].iter().chain(further));
    command.env("KITBAG_TOKEN", server.as_user("ana").token());
    run(command).await
}

/// Sets a secret so many times: each is an entry.
async fn act(server: &Kitbag, times: usize) {
    for _ in 0..times {
        server.as_user("ana").put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
    }
}

/// Reads an anchor by another implementation of JWS. Returns its content, and the thumbprint of its key.
fn read(line: &str) -> (Value, String) {
    let header = decode_header(line).expect("the header of a JWS");
    assert_eq!(header.typ.as_deref(), Some("kitbag-audit-anchor+jws"));
    let key = header.jwk.expect("a public key");
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    let decoded = decode(line, &DecodingKey::from_jwk(&key).expect("a key"), &validation);
    (decoded.expect("a right signature").claims, key.thumbprint(ThumbprintHash::SHA256))
}

/// Waits until a line of the file has the end with this number.
async fn anchored(file: &Path, sequence: i64) {
    eventually("the end is anchored", async || {
        let lines = fs::read_to_string(file).unwrap_or_default();
        let mut anchors = lines.lines().map(|line| read(line).0);
        anchors.any(|anchor| anchor["chains"][0]["sequence"] == sequence)
    })
    .await;
}

#[tokio::test]
async fn an_older_state_of_the_whole_log_is_found_by_the_anchors_alone() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("anchors.jsonl");
    let path = file.to_str().expect("UTF-8").to_owned();
    let server = server(&path).await;
    server.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);
    act(&server, 1).await;
    anchored(&file, 2).await;
    let shown = verify(&server, &["--anchors", &path]).await.succeeded();
    let (anchor, key) = read(fs::read_to_string(&file).expect("anchors").lines().last().expect("one"));
    assert!(shown.contains(&format!("Anchors are signed with the key {key}.")), "{shown}");
    assert!(
        shown.contains("are in the log as they were: ") && shown.contains("too old for the log: 0."),
        "{shown}"
    );
    assert!(anchor["begunAt"].is_string() && anchor["faults"] == Value::Array(vec![]), "{anchor}");
    assert!(!fs::read_to_string(&file).expect("anchors").contains(CANARY));

    let stopped = server.stop().await;
    let database = stopped.data().join("kitbag.sqlite");
    let older = fs::read(&database).expect("a database");
    let server = stopped.start().await;
    act(&server, 2).await;
    // The last acts are anchored at the stop.
    let stopped = server.stop().await;
    let lines = fs::read_to_string(&file).expect("anchors");
    assert!(lines.lines().any(|line| read(line).0["chains"][0]["sequence"] == 4), "{lines}");

    fs::write(&database, older).expect("there is room");
    let server = stopped.start().await;
    let known = fs::read_to_string(&file).expect("anchors");
    let kept = folder.path().join("kept.jsonl");
    fs::write(&kept, &known).expect("there is room");
    let kept = kept.to_str().expect("UTF-8");
    assert_eq!(verify(&server, &[]).await.code, Some(0), "the older state is whole by itself");
    let found = verify(&server, &["--anchors", kept]).await;
    assert!(found.code == Some(5), "{found:?}");
    assert!(
        found.stdout.contains("problem: chain file: the entry 4 was anchored, and is not in the log"),
        "{found:?}"
    );

    act(&server, 2).await;
    assert_eq!(verify(&server, &[]).await.code, Some(0));
    let found = verify(&server, &["--anchors", kept, "-o", "json"]).await;
    let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!(found.code, Some(5), "{found:?}");
    let faults = document["compared"]["faults"].as_array().expect("faults");
    let expected = "the entry 4 has another hash than it was anchored with";
    assert!(faults.iter().any(|fault| text(fault, "what") == expected), "{document}");
}

#[tokio::test]
async fn an_anchor_that_is_forged_or_changed_or_cut_off_is_said_to_be_so() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("anchors.jsonl");
    // As after a kill in the middle of a line.
    fs::write(&file, "eyJhbGci").expect("there is room");
    let path = file.to_str().expect("UTF-8");
    let server = server(path).await;
    server.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);
    eventually("there is an anchor", async || fs::read_to_string(&file).expect("a file").contains('\n'))
        .await;
    let found = verify(&server, &["--anchors", path]).await;
    assert!(found.stdout.contains("problem: line 1 of the anchors: it is no signed anchor"), "{found:?}");

    let other = self::server(folder.path().join("other.jsonl").to_str().expect("UTF-8")).await;
    other.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);
    anchored(&folder.path().join("other.jsonl"), 1).await;
    let foreign = folder.path().join("other.jsonl");
    let found = verify(&server, &["--anchors", foreign.to_str().expect("UTF-8")]).await;
    assert_eq!(found.code, Some(5), "{found:?}");
    let (_, key) = read(fs::read_to_string(&foreign).expect("anchors").lines().next().expect("one"));
    assert!(found.stdout.contains(&format!("signed with another key, {key}: ")), "{found:?}");
    assert!(!found.stdout.contains("problem: chain"), "what others sign counts for nothing: {found:?}");
    let path = foreign.to_str().expect("UTF-8");
    let found = verify(&server, &["--anchors", path, "--anchor-key", &key]).await;
    assert_eq!(found.code, Some(5), "{found:?}");
    assert!(found.stdout.contains("problem: chain file: the entry 1 "), "{found:?}");
    let found = verify(&server, &["--anchors", path, "--anchor-key", "-K_begins-with-a-hyphen"]).await;
    assert_eq!(found.code, Some(5), "{found:?}");

    other.stop().await;
    let line = fs::read_to_string(&foreign).expect("anchors").lines().next().expect("one").to_owned();
    fs::write(&foreign, line.replace('.', ".e")).expect("there is room");
    let found = verify(&server, &["--anchors", foreign.to_str().expect("UTF-8")]).await;
    assert!(found.code == Some(5) && found.stdout.contains("line 1 of the anchors: "), "{found:?}");
    assert!(found.stdout.contains("problem: there are no anchors"), "{found:?}");
    fs::write(&foreign, "").expect("there is room");
    let found = verify(&server, &["--anchors", foreign.to_str().expect("UTF-8")]).await;
    assert!(found.code == Some(5) && found.stdout.contains("problem: there are no anchors"), "{found:?}");
}

/// Bodies that a receiver of anchors got.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<String>>>);

/// Refuses the first anchor, and what is not said to be one.
async fn receive(State(received): State<Received>, headers: HeaderMap, body: String) -> StatusCode {
    if headers.get("content-type").is_none_or(|kind| kind != "application/jose") {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    let mut all = received.0.lock().expect("no receiver panicked");
    all.push(body);
    if all.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }
}

#[tokio::test]
async fn anchors_are_sent_to_a_url_and_again_after_a_failure() {
    let received = Received::default();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
    let url = format!("http://{}/kitbag", listener.local_addr().expect("an address"));
    let router = Router::new().route("/kitbag", post(receive)).with_state(received.clone());
    let serving = tokio::spawn(axum::serve(listener, router).into_future());
    let server = server(&url).await;
    server.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);

    eventually("the deploy is anchored", async || {
        let all = received.0.lock().expect("no receiver panicked").clone();
        all.iter().skip(1).any(|line| read(line).0["chains"][0]["sequence"] == 1)
    })
    .await;

    let log = server.log().text();
    assert!(log.contains("were not anchored (setting audit-anchor)"), "{log}");
    assert!(log.contains("are anchored again"), "{log}");
    serving.abort();
}

#[tokio::test]
async fn a_server_does_not_start_if_it_cannot_write_anchors() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let missing = folder.path().join("missing/anchors.jsonl");
    for (target, reason) in [
        (missing.to_str().expect("UTF-8"), "(the setting audit-anchor): No such file or directory"),
        ("anchors.jsonl", "it is the absolute path of a file, or a URL such as"),
        ("https://user:canary-5ecret@anchors.example.com/", "without a user"),
    ] {
        let data = folder.path().join("data");
        let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).env("KITBAG_AUDIT_ANCHOR", target);
        let output = run(command).await;
        assert!(output.code != Some(0) && output.stderr.contains(reason), "{output:?}");
    }
}
