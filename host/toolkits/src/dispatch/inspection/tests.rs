//! Messages to the service, its answers, and what follows from them.

use std::collections::HashMap;

use http::Response;
use kitbag_base::tasks::take_a_share;
use kitbag_base::workers::Workers;
use kitbag_manifest::content::{
    Content, ContentBlock, EmbeddedResource, PromptMessage, ResourceBody, ResourceLink,
};
use kitbag_net::egress::EgressSettings;
use kitbag_net::egress::test_server::TestServer;
use serde_json::{Value, json};

use super::message::{ToolkitHead, of_arguments, of_reply};
use super::*;
use crate::dispatch::reply::Success;

const TIMEOUT: Duration = Duration::from_secs(5);

fn head() -> CallHead {
    CallHead {
        call: "c1".to_owned(),
        user: "ana".to_owned(),
        groups: vec!["sales".to_owned()],
        client: None,
        key: Some("nightly".to_owned()),
        run: None,
        toolkit: ToolkitHead { id: "books".to_owned(), version: "1.0.0".to_owned() },
        method: "tools/call",
        name: "find".to_owned(),
    }
}

fn inspection(url: &str, timeout: Duration, when_unavailable: WhenUnavailable) -> Inspection {
    let url = url.parse().expect("a URL");
    let settings = InspectionSettings { url, key: Some("a-key".into()), timeout, when_unavailable };
    let egress = Egress::new(EgressSettings::default());
    Inspection::new(settings, egress, Metrics::default()).expect("the key is valid")
}

async fn service(status: u16, body: &'static str) -> TestServer {
    TestServer::start(move |_| Response::builder().status(status).body(Full::from(body)).expect("a response"))
        .await
}

fn workers() -> Workers {
    Workers::start("worker", take_a_share).expect("there are threads")
}

async fn checked(inspection: &Inspection) -> Result<(), Refusal> {
    let workers = workers();
    let workers = WorkersOf { workers: &workers, user: "ana" };
    inspection.of_call(head()).arguments(workers, r#"{"a":1}"#.to_owned(), None, &Arc::default()).await
}

fn read(message: Option<Vec<u8>>) -> Value {
    serde_json::from_slice(&message.expect("it is small")).expect("it is JSON")
}

#[test]
fn messages_say_which_call_it_is_and_what_it_contains() {
    let arguments = read(of_arguments(&head(), r#"{"title":"x"}"#, None, 1 << 20));
    assert_eq!(
        arguments,
        json!({
            "version": 1, "phase": "arguments", "call": "c1", "user": "ana", "groups": ["sales"], "key": "nightly",
            "toolkit": { "id": "books", "version": "1.0.0" }, "method": "tools/call", "name": "find",
            "arguments": { "title": "x" },
        })
    );

    let document =
        EmbeddedResource { uri: "a:b".to_owned(), media_type: None, body: ResourceBody::Blob(vec![255]) };
    let link = ResourceLink::new("a:c", "c").size(3);
    let success = Success {
        text: "found".to_owned(),
        structured: Some(json!({ "n": 1 })),
        content: vec![
            ContentBlock::new(Content::image([0, 1], "image/png")),
            ContentBlock::new(Content::Resource(document)),
            ContentBlock::new(link),
        ],
        messages: vec![PromptMessage::user("hello")],
        bytes: 0,
    };
    let result = read(of_reply(&head(), &Reply::Success(success), 1 << 20));
    assert_eq!((&result["phase"], &result["call"]), (&json!("result"), &json!("c1")));
    assert_eq!(
        result["result"],
        json!({
            "isError": false, "text": "found", "structuredContent": { "n": 1 },
            "content": [
                { "type": "image", "data": "AAE=", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "a:b", "blob": "/w==" } },
                { "type": "resource_link", "uri": "a:c", "name": "c", "size": 3 },
            ],
            "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }],
        })
    );

    let failure = kitbag_manifest::reply::Failure::tool_error("no such book");
    let failed = read(of_reply(&head(), &Reply::Failure(failure.into()), 1 << 20));
    assert_eq!(failed["result"], json!({ "isError": true, "text": "no such book" }));
}

#[test]
fn a_message_has_a_maximum_size() {
    let large = json!({ "a": "x".repeat(1000) }).to_string();
    assert!(of_arguments(&head(), &large, None, 1000).is_none());
    assert!(of_arguments(&head(), &large, None, 2000).is_some());
}

#[tokio::test]
async fn the_service_gets_its_key_and_no_secret_of_the_user() {
    let service = service(200, r#"{"allow":true}"#).await;
    let value = secrecy::SecretString::from("s3cr3t-value");
    let secrets = UserSecrets::of(HashMap::from([(("books".to_owned(), "KEY".to_owned()), value)]));
    let answers = json!([{ "question": { "key": "why", "shown": "" }, "response": { "accepted": { "why": "s3cr3t-value" } } }]);
    let answers: Answers = serde_json::from_value(answers).expect("answers");
    let inspection = inspection(&service.origin(), TIMEOUT, WhenUnavailable::Refuse);
    let workers = workers();
    let workers = WorkersOf { workers: &workers, user: "ana" };

    let arguments = json!({ "a": "s3cr3t-value" }).to_string();
    let call = inspection.of_call(head());
    call.arguments(workers, arguments, Some(&Arc::new(answers)), &Arc::new(secrets)).await.expect("allowed");

    let request = service.requests().remove(0);
    assert_eq!(request.method, "POST");
    assert_eq!(request.headers["authorization"], "Bearer a-key");
    assert_eq!(request.headers["content-type"], "application/json");
    let (_, body) = service.received().remove(0);
    let body = String::from_utf8(body.to_vec()).expect("it is text");
    assert!(!body.contains("s3cr3t") && body.matches("[redacted]").count() == 2, "{body}");
}

#[tokio::test]
async fn an_answer_allows_or_refuses_and_anything_else_is_no_answer() {
    let refused = |reason: Option<&str>| Err(Refusal::ByService(reason.map(str::to_owned)));
    for (status, body, expected) in [
        (200, r#"{"allow":true}"#, Ok(())),
        (200, r#"{"allow":true,"reason":"ignored","more":1}"#, Ok(())),
        (200, r#"{"allow":false}"#, refused(None)),
        (200, r#"{"allow":false,"reason":" card \n number. "}"#, refused(Some("card number"))),
        (200, r#"{"allow":false,"reason":null}"#, refused(None)),
        (200, r#"{"allow":false,"reason":"  "}"#, refused(None)),
        (200, r#"{"allow":"true"}"#, Err(Refusal::Unavailable)),
        (200, r#"{"allow":1}"#, Err(Refusal::Unavailable)),
        (200, r#"{"allow":true,"allow":false}"#, Err(Refusal::Unavailable)),
        (200, "[true]", Err(Refusal::Unavailable)),
        (200, "true", Err(Refusal::Unavailable)),
        (200, "{}", Err(Refusal::Unavailable)),
        (200, "", Err(Refusal::Unavailable)),
        (200, "<html>", Err(Refusal::Unavailable)),
        (204, "", Err(Refusal::Unavailable)),
        (201, r#"{"allow":true}"#, Err(Refusal::Unavailable)),
        (302, r#"{"allow":true}"#, Err(Refusal::Unavailable)),
        (403, r#"{"allow":true}"#, Err(Refusal::Unavailable)),
        (500, r#"{"allow":true}"#, Err(Refusal::Unavailable)),
    ] {
        let service = service(status, body).await;
        let decided = checked(&inspection(&service.origin(), TIMEOUT, WhenUnavailable::Refuse)).await;
        assert_eq!(decided, expected, "{status} {body}");
        let passing = checked(&inspection(&service.origin(), TIMEOUT, WhenUnavailable::Pass)).await;
        let is_down = expected == Err(Refusal::Unavailable);
        assert_eq!(passing, if is_down { Ok(()) } else { expected }, "{status} {body}");
    }
}

#[tokio::test]
async fn a_reason_is_one_short_line_without_hidden_characters() {
    assert_eq!(in_one_line("a\u{1b}[31m\u{202e}b\r\nc").as_deref(), Some(r"a\u{1b}[31m\u{202e}b c"));
    let long = in_one_line(&"word ".repeat(10_000)).expect("a text");
    assert!(long.chars().count() <= MAX_REASON_CHARS + 1 && long.ends_with('…'), "{long}");
    assert_eq!(in_one_line(" \n. "), None);
}

#[tokio::test]
async fn who_waits_for_a_turn_waits_no_longer_than_a_check_may_take() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let inspection = inspection(&url, Duration::from_millis(300), WhenUnavailable::Refuse);
    let began = std::time::Instant::now();

    let checks = (0..3 * MAX_CHECKS_OF_USER).map(|_| checked(&inspection));
    let decided = futures::future::join_all(checks).await;

    assert!(decided.iter().all(|it| *it == Err(Refusal::Unavailable)));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(inspection.0.memory.taken(), 0);
}

#[tokio::test]
async fn what_is_too_large_to_be_sent_is_refused_also_where_calls_pass() {
    let service = service(200, r#"{"allow":true}"#).await;
    let inspection = inspection(&service.origin(), TIMEOUT, WhenUnavailable::Pass);
    let workers = workers();
    let workers = WorkersOf { workers: &workers, user: "ana" };
    let of = |bytes: usize| Reply::Success(Success { text: "x".repeat(bytes), bytes, ..Success::default() });

    let (reply, allowed) = inspection.of_call(head()).reply(workers, of(1 << 20)).await;
    assert_eq!((reply.size(), allowed), (1 << 20, Ok(())));
    for bytes in [MAX_MESSAGE_BYTES, MAX_MEMORY_OF_USER] {
        let (_, refused) = inspection.of_call(head()).reply(workers, of(bytes)).await;
        assert_eq!(refused, Err(Refusal::TooLarge), "{bytes}");
    }
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn a_refusal_leaves_neither_content_nor_the_reason_in_the_record() {
    let conclusion = Conclusion {
        detail: Some("the secret plan".to_owned()),
        data: Some(kitbag_sandbox::observations::json_string("the secret plan")),
        result_size: 7,
        ..Outcome::ToolError.into()
    };

    let (reply, conclusion) = Refusal::ByService(Some("the secret plan".to_owned())).of_result(conclusion);

    assert_eq!((conclusion.outcome, conclusion.result_size), (Outcome::ResultRefused, 7));
    assert!(
        conclusion.data.is_none() && !format!("{conclusion:?}").contains("secret plan"),
        "{conclusion:?}"
    );
    let Reply::Failure(failure) = reply else { panic!("it is refused") };
    assert!(failure.envelope.error.contains("the secret plan") && !failure.envelope.retryable);
}
