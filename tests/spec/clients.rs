//! Real MCP clients: the TypeScript SDKs of both revisions, the Python SDK, and the Inspector.
//!
//! Each client is given only the server's URL and discovers the rest, both with the server as its own issuer
//! and with an external provider.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::join;
use tokio::process::Command;

use crate::harness::sign_in::{PromptingProcess, access_tokens_expire};
use crate::harness::{Browser, Kitbag, Revision, SignIn, User, clients, guests, run};

impl User {
    /// Lists the tools and calls one, with a client in a separate process. Returns the client's output.
    async fn call_with_client(&self, kitbag: &Kitbag, era: &str, tool: &str, arguments: Value) -> Value {
        let clients = clients();
        assert!(clients.join("node_modules").is_dir(), "run `just install`");
        let mut command = Command::new("node");
        command
            .current_dir(clients)
            .args(["call.mjs", era, kitbag.anonymous().url("/mcp").as_str(), tool, &arguments.to_string()])
            .env("KITBAG_TOKEN", self.token())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        serde_json::from_str(&run(command).await.succeeded()).expect("the client prints JSON")
    }
}

#[tokio::test]
async fn clients_of_both_revisions_list_and_call() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");

    for (era, revision) in [("current", Revision::Current), ("older", Revision::Older)] {
        let said = ana.call_with_client(&kitbag, era, "text__count", json!({ "text": "one two" })).await;

        assert_eq!(said["protocolVersion"], revision.version(), "{era}");
        assert_eq!(said["tools"][2]["name"], "text__count", "{era}: {said}");
        assert_eq!(said["reply"]["structuredContent"]["words"], 2, "{era}: {said}");
    }
}

#[tokio::test]
async fn clients_of_both_revisions_understand_refusals() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");

    for era in ["current", "older"] {
        let unknown = ana.call_with_client(&kitbag, era, "text__absent", json!({})).await;
        let invalid = ana.call_with_client(&kitbag, era, "text__count", json!({ "text": 7 })).await;

        assert_eq!(unknown["error"]["code"], -32602, "{era}: {unknown}");
        assert_eq!(invalid["reply"]["isError"], true, "{era}: {invalid}");
        let envelope = invalid["reply"]["content"][0]["text"].as_str().expect("text");
        assert!(envelope.contains("INVALID_PARAMS"), "{era}: {envelope}");
    }
}

#[tokio::test]
async fn the_current_typescript_sdk_signs_in_calls_and_renews() {
    Box::pin(check_typescript("current", Revision::Current)).await;
}

#[tokio::test]
async fn the_older_typescript_sdk_signs_in_calls_and_renews() {
    Box::pin(check_typescript("older", Revision::Older)).await;
}

async fn check_typescript(era: &str, revision: Revision) {
    let check = async |at: SignIn| {
        at.deploy(guests::TEXT).await;
        let mut client = Command::new("node");
        client.args(["sign-in.mjs", era, &endpoint(&at), "text__count", TWO_WORDS]);

        let said = signs_in(&at, client, "node_modules").await;

        assert_eq!(said["protocolVersion"], revision.version(), "{said}");
        assert_called_twice(&said);
        at.transcript.assert_in_order(&first_connection(&at));
        at.transcript.assert_in_order(&renewal_after_a_refusal(&at));
    };
    join!(async { check(SignIn::local().await).await }, async { check(SignIn::external().await).await });
}

#[tokio::test]
async fn the_python_sdk_signs_in_calls_and_renews() {
    let check = async |at: SignIn| {
        at.deploy(guests::TEXT).await;
        let mut client = Command::new(".venv/bin/python");
        client.args(["sign_in.py", &endpoint(&at), "text__count", TWO_WORDS]);

        let said = signs_in(&at, client, ".venv").await;

        assert_eq!(said["protocolVersion"], Revision::Current.version(), "{said}");
        assert_called_twice(&said);
        at.transcript.assert_in_order(&first_connection(&at));
        // This client renews its token when it expires, without waiting for a 401.
        let token = format!("POST {} → 200", at.endpoints().token);
        at.transcript.assert_in_order(&[&token, "POST /mcp → 200", &token, "POST /mcp → 200"]);
    };
    join!(async { check(SignIn::local().await).await }, async { check(SignIn::external().await).await });
}

#[tokio::test]
async fn the_inspectors_command_line_signs_in_calls_and_renews() {
    let check = async |at: SignIn| {
        at.deploy(guests::TEXT).await;
        let home = tempfile::tempdir().expect("a scratch directory");
        let first = inspector(&at, home.path(), "--output result.json");

        signs_in_at_a_terminal(first).await;

        let result = std::fs::read(home.path().join("result.json")).expect("a result");
        let result: Value = serde_json::from_slice(&result).expect("JSON");
        assert_eq!(result["structuredContent"]["words"], 2, "{result}");
        at.transcript.assert_in_order(&first_connection(&at));

        // The second command uses the session that the first one stored, without a new consent.
        access_tokens_expire().await;
        at.transcript.clear();
        let again = run(inspector(&at, home.path(), "--stored-auth-only")).await.succeeded();
        assert!(again.contains(r#""words":2"#), "{again}");
        at.transcript.assert_in_order(&[&format!("POST {} → 200", at.endpoints().token), "POST /mcp → 200"]);
        let asked = format!("GET {}", at.endpoints().authorize);
        assert!(!at.transcript.lines().iter().any(|line| line.starts_with(&asked)));
    };
    join!(async { check(SignIn::local().await).await }, async { check(SignIn::external().await).await });
}

#[tokio::test]
async fn clients_sign_in_at_a_server_whose_url_has_a_path() {
    let check = async |at: SignIn| {
        // Uses `kitbag login` and `kitbag toolkit deploy`.
        at.deploy(guests::TEXT).await;
        for era in ["current", "older"] {
            let mut client = Command::new("node");
            client.args(["sign-in.mjs", era, &endpoint(&at), "text__count", TWO_WORDS]);
            assert_called_twice(&signs_in(&at, client, "node_modules").await);
        }
        let mut client = Command::new(".venv/bin/python");
        client.args(["sign_in.py", &endpoint(&at), "text__count", TWO_WORDS]);
        assert_called_twice(&signs_in(&at, client, ".venv").await);
    };
    join!(async { check(SignIn::local_below("/tools/kitbag", Duration::from_secs(5)).await).await }, async {
        check(SignIn::external_below("/kitbag", |_| {}).await).await;
    });
}

const TWO_WORDS: &str = r#"{"text":"one two"}"#;

fn endpoint(at: &SignIn) -> String {
    format!("{}/mcp", at.url())
}

/// Runs a client from the folder `clients`, signs in for it as `ana`, and returns the JSON that it prints.
async fn signs_in(at: &SignIn, mut client: Command, installed: &str) -> Value {
    let clients = clients();
    assert!(clients.join(installed).exists(), "run `just install`");
    client.current_dir(clients);
    let mut client = PromptingProcess::start(client);
    let page = client.page().await;
    assert!(page.starts_with(at.issuer()), "{page}");

    let (_, answer) = Browser::default().sign_in(&page, "ana").await;

    answer.assert_status(200);
    let ran = client.finished().await;
    // Visible with `-- --nocapture`.
    println!("{:#?}", at.transcript.lines());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("the client prints JSON")
}

/// Command for the Inspector in a terminal: without one it does not ask the user to sign in.
fn inspector(at: &SignIn, home: &Path, options: &str) -> Command {
    let folder = clients().join("inspector/node_modules/.bin");
    assert!(folder.join("node").exists(), "run `just install`");
    let path = std::env::var("PATH").expect("there is a PATH");
    let call = format!(
        "mcp-inspector --cli {} --transport http --callback-url http://127.0.0.1:0/oauth/callback --format json \
         --quiet --method tools/call --tool-name text__count --tool-args-json '{TWO_WORDS}' {options}",
        endpoint(at)
    );
    let mut command = Command::new("script");
    command
        .args(["-qec", &call, "/dev/null"])
        .current_dir(home)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("HOME", home)
        .env("NO_COLOR", "1")
        .env("MCP_AUTO_OPEN_ENABLED", "false")
        .env("MCP_INSPECTOR_SECRET_STORE", "file")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn signs_in_at_a_terminal(client: Command) {
    let mut client = PromptingProcess::start(client);
    let page = client.page().await;
    let (_, answer) = Browser::default().sign_in(&page, "ana").await;
    answer.assert_status(200);
    client.finished().await.succeeded();
}

#[track_caller]
fn assert_called_twice(said: &Value) {
    for reply in ["reply", "again"] {
        assert_eq!(said[reply]["structuredContent"]["words"], 2, "{said}");
    }
    assert!(said["scope"].as_str().is_some_and(|scope| scope.contains("offline_access")), "{said}");
}

/// Expected requests from discovery to the first call.
fn first_connection(at: &SignIn) -> Vec<String> {
    let endpoints = at.endpoints();
    [
        "POST /mcp → 401".to_owned(),
        "GET /.well-known/oauth-protected-resource".to_owned(),
        "GET /.well-known/o".to_owned(),
        format!("POST {} → 201", endpoints.register),
        format!("GET {} → ", endpoints.authorize),
        format!("POST {} → 200", endpoints.token),
        "POST /mcp → 200".to_owned(),
    ]
    .into()
}

/// Expected requests around the expiry of the access token.
fn renewal_after_a_refusal(at: &SignIn) -> [String; 4] {
    let token = at.endpoints().token;
    ["POST /mcp → 200", "POST /mcp → 401", &format!("POST {token} → 200"), "POST /mcp → 200"]
        .map(str::to_owned)
}
