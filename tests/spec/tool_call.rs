//! Tool calls over REST and with `kitbag tool call`: same replies and limits as over MCP.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Answer, CommandOutput, Kitbag, User, Wat, guests, kitbag, run, wat::Visibility};

const JSON: &str = "application/json";

async fn post(user: &User, path: &str, body: impl Into<bytes::Bytes>) -> Answer {
    user.send(Method::POST, path, JSON, body).await
}

async fn call(user: &User, tool: &str, arguments: &Value) -> Value {
    let path = format!("/toolkits/replies/tools/{tool}");
    post(user, &path, arguments.to_string()).await.assert_status(200).json()
}

#[tokio::test]
async fn a_reply_has_text_structured_content_and_blocks_or_is_the_error_envelope() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::REPLIES).await;
    let ana = kitbag.as_user("ana");

    assert_eq!(
        call(&ana, "echo", &json!({ "text": "hello", "tags": ["a"] })).await,
        json!({ "ok": true, "text": "hello a", "content": [] })
    );
    assert_eq!(
        call(&ana, "rate", &json!({ "stars": 5 })).await["structuredContent"],
        json!({ "stars": 5, "tags": [] })
    );
    let content = call(&ana, "content", &json!({})).await["content"].clone();
    assert_eq!(content[0], json!({ "type": "image", "data": "AQID/w==", "mimeType": "image/png" }));
    assert_eq!(content[1]["resource"]["text"], "1,2");
    assert_eq!(
        call(&ana, "fail", &json!({ "how": "retryable" })).await,
        json!({
            "ok": false, "code": "TOOL_ERROR", "error": "The library is closed: \"until nine\".", "retryable": true,
        })
    );
    let invalid = call(&ana, "echo", &json!({ "text": 7 })).await;
    assert_eq!(invalid["code"], "INVALID_PARAMS");
    assert_eq!(invalid["error"], "Invalid arguments: /text: value is not of type \"string\"");
    assert_eq!(
        ana.logged("replies__rate").await["outcome"],
        "succeeded",
        "a call is recorded like any other"
    );
}

#[tokio::test]
async fn what_is_no_call_is_refused() {
    let kitbag =
        Kitbag::start_with(|settings| settings.mcp_request_size = "256KiB".parse().expect("a size")).await;
    kitbag.deploy(guests::REPLIES).await;
    let ana = kitbag.as_user("ana");
    let echo = "/toolkits/replies/tools/echo";

    for body in ["", "[]", "null", "{", "\"text\""] {
        post(&ana, echo, body).await.assert_problem(400, "must be a JSON object");
    }
    post(&ana, echo, format!("{{\"tags\": [{}0]}}", "0,".repeat(50_100))).await.assert_status(413);
    post(&ana, echo, json!({ "text": "x".repeat(257 << 10) }).to_string())
        .await
        .assert_problem(413, "262144");
    for form in ["text/plain", "application/x-www-form-urlencoded"] {
        ana.send(Method::POST, echo, form, "{}").await.assert_status(415);
    }
    ana.get(echo).await.assert_status(405);
    for path in
        ["/toolkits/replies/tools/nothing", "/toolkits/nothing/tools/echo", "/toolkits/replies__echo/tools/x"]
    {
        post(&ana, path, "{}").await.assert_status(404);
    }
}

#[tokio::test]
async fn a_private_tool_is_not_there_for_others_and_nobody_calls_without_a_token() {
    let kitbag = Kitbag::start_with(|settings| settings.operators = "ana,ben".parse().expect("a list")).await;
    let wat = Wat { visibility: Visibility::Private, ..Wat::default() };
    kitbag.as_user("ana").deploy(wat.component()).await.assert_status(201);
    let run = "/toolkits/wat/tools/run";

    assert_eq!(post(&kitbag.as_user("ana"), run, "{}").await.json()["text"], "done");
    let hidden = post(&kitbag.as_user("ben"), run, "{}").await.assert_status(404);
    let unknown = post(&kitbag.as_user("ben"), "/toolkits/other/tools/run", "{}").await.assert_status(404);
    assert_eq!(
        hidden.text().replace("wat", "other"),
        unknown.text(),
        "an operator cannot tell another's tool from none"
    );
    let headers = http::HeaderMap::from_iter([(http::header::CONTENT_TYPE, JSON.parse().expect("a type"))]);
    kitbag.anonymous().send(Method::POST, run, headers, "{}").await.assert_status(401);
}

#[tokio::test]
async fn calls_over_rest_and_mcp_share_a_limit() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.mcp_requests_per_minute = 3.try_into().expect("not zero");
    })
    .await;
    kitbag.deploy(guests::REPLIES).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    ana.tools().await;
    call(&ana, "echo", &json!({ "text": "a" })).await;
    ana.tools().await;

    let refused =
        post(&ana, "/toolkits/replies/tools/echo", "{}").await.assert_problem(429, "Too many requests");

    let wait: u64 = refused.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(ana.post_mcp("tools/list", None, json!({})).await.status, StatusCode::TOO_MANY_REQUESTS);
    call(&ben, "echo", &json!({ "text": "b" })).await;
}

async fn command(kitbag_server: &Kitbag, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(["tool", "call"].iter().chain(arguments));
    command
        .env("KITBAG_SERVER", kitbag_server.base_url().as_str())
        .env("KITBAG_TOKEN", kitbag_server.as_user("ana").token());
    run(command).await
}

#[tokio::test]
async fn the_command_prints_the_text_and_fails_where_the_tool_fails() {
    let server = Kitbag::start().await;
    server.deploy(guests::REPLIES).await;
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("arguments.json");
    std::fs::write(&file, r#"{"text": "from a file"}"#).expect("a file");
    let file = format!("@{}", file.display());

    let said = command(&server, &["replies", "echo", r#"{"text": "two\nlines\u001b[2J"}"#]).await.succeeded();
    assert_eq!(said, "  two\n  lines\\u{1b}[2J\n");
    assert_eq!(command(&server, &["replies", "echo", &file]).await.succeeded(), "  from a file\n");
    let whole = command(&server, &["replies", "rate", r#"{"stars": 5}"#, "--json"]).await.succeeded();
    let whole: Value = serde_json::from_str(&whole).expect("it is JSON");
    assert_eq!(whole["structuredContent"]["stars"], 5);
    let content = command(&server, &["replies", "content"]).await;
    assert!(content.stderr.contains("content of the type image"), "{content:?}");
    assert_eq!(content.succeeded(), "  a chart\n");

    let failed = command(&server, &["replies", "fail", r#"{"how": "retryable"}"#]).await;
    failed.assert_failed("error: The library is closed");
    assert_eq!(failed.stdout, "");
    let failed = command(&server, &["replies", "echo", "--json"]).await;
    failed.assert_failed("Invalid arguments");
    let envelope: Value = serde_json::from_str(&failed.stdout).expect("it is JSON");
    assert_eq!(envelope["code"], "INVALID_PARAMS");
    command(&server, &["replies", "nothing"])
        .await
        .assert_failed("replies has no tool \"nothing\"; it has echo");
    command(&server, &["replies", "echo", "no JSON"]).await.assert_failed("must be a JSON object");
}
