//! The service that inspects calls (`dlp-url`): it sees arguments and results, refuses them, is down, or misbehaves.

use std::time::{Duration, Instant};

use http::Method;
use kitbag::settings::Settings;
use serde_json::{Value, json};

use crate::asking::able;
use crate::code_mode::with_code;
use crate::harness::inspector::FORBIDDEN;
use crate::harness::{Inspector, Kitbag, Outcome, Revision, User, guests};

const ARGUMENTS_REFUSED: &str =
    "has refused the arguments, and the tool did not run: it has the number of a card";
const RESULT_REFUSED: &str =
    "The tool has run, and the service that inspects calls here has refused its result: it has the";

/// Has calls inspected at `path` of the service.
fn inspected(service: &Inspector, path: &str) -> impl FnOnce(&mut Settings) + use<> {
    let url = service.url(path);
    move |settings| {
        settings.dlp_url = url.parse().expect("a URL");
        settings.dlp_key = "a-key-of-tests".parse().expect("any text is one");
    }
}

/// Starts a server whose calls are inspected, with `replies`.
async fn start(service: &Inspector, path: &str) -> (Kitbag, User) {
    start_with(service, path, |_| {}).await
}

async fn start_with(service: &Inspector, path: &str, change: impl FnOnce(&mut Settings)) -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(|settings| {
        inspected(service, path)(settings);
        change(settings);
    })
    .await;
    kitbag.deploy(guests::REPLIES).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

impl User {
    async fn echo(&self, text: &str) -> Outcome {
        self.call("replies__echo", json!({ "text": text })).await
    }
}

#[tokio::test]
async fn a_call_that_the_service_allows_is_as_any_other_and_the_service_knows_which_it_is() {
    let service = Inspector::start().await;
    let (_kitbag, ana) = start(&service, "/check").await;

    for revision in Revision::BOTH {
        let ana = ana.clone().speaking(revision).await;
        assert_eq!(ana.echo("hello").await.text(), "hello");
    }

    let messages = service.messages();
    let [arguments, result] = [&messages[0], &messages[1]];
    assert_eq!(service.phases()[..2], ["arguments tools/call echo", "result tools/call echo"]);
    for message in [arguments, result] {
        assert_eq!(
            (&message["version"], &message["user"], &message["client"]),
            (&json!(1), &json!("ana"), &json!("spec"))
        );
        assert_eq!(message["toolkit"], json!({ "id": "replies", "version": "1.0.0" }));
        assert_eq!(message["groups"], json!([]));
    }
    assert_eq!(arguments["call"], result["call"]);
    assert_ne!(arguments["call"], messages[2]["call"]);
    assert_eq!(arguments["arguments"], json!({ "text": "hello" }));
    assert_eq!(result["result"], json!({ "isError": false, "text": "hello" }));
    let head = &service.heads()[0];
    assert_eq!(head.method, "POST");
    assert_eq!(head.headers["authorization"], "Bearer a-key-of-tests");
    // Arguments that do not fit the schema are nobody's.
    ana.call("replies__echo", json!({})).await.assert_invalid_params("text");
    assert_eq!(service.messages().len(), 4);
}

#[tokio::test]
async fn what_the_service_refuses_neither_reaches_a_handler_nor_leaves() {
    let service = Inspector::start().await;
    let (kitbag, ana) = start(&service, "/check").await;
    for refused in [
        ana.echo(FORBIDDEN).await,
        ana.call("replies__echo", json!({ "text": "a", "tags": [FORBIDDEN] })).await,
    ] {
        refused.assert_tool_error(ARGUMENTS_REFUSED);
        refused.assert_tool_error("Your operator has set it up (setting dlp-url): ask them.");
        assert!(!refused.raw().contains('\u{1b}') && !refused.raw().contains(FORBIDDEN), "{}", refused.raw());
    }
    let over_http = json!({ "text": FORBIDDEN }).to_string();
    let answer = ana.send(Method::POST, "/toolkits/replies/tools/echo", "application/json", over_http).await;
    assert_eq!(answer.assert_status(200).json()["ok"], false);
    assert!(service.phases().iter().all(|phase| phase == "arguments tools/call echo"), "a handler ran");
    let records = ana.logs("replies").await;
    assert!(records.iter().all(|record| record["outcome"] == "arguments-refused"), "{records:?}");
    assert!(!json!(records).to_string().contains("card"), "{records:?}");

    let elsewhere = Inspector::start().await;
    let (results, ana) = start(&elsewhere, "/results").await;
    let refused = ana.echo(FORBIDDEN).await;
    refused.assert_tool_error(RESULT_REFUSED);
    assert!(!refused.raw().contains(FORBIDDEN), "{}", refused.raw());
    assert_eq!(ana.echo("hello").await.text(), "hello");
    let record = &ana.logs("replies").await[0];
    assert_eq!(
        (&record["outcome"], &record["resultSize"]),
        (&json!("result-refused"), &json!(FORBIDDEN.len())),
        "{record}"
    );
    for (server, said) in [(&kitbag, "arguments-refused"), (&results, "result-refused")] {
        let log = server.log().text();
        assert!(log.contains(said) && !log.contains(FORBIDDEN) && !log.contains("number of a card"), "{log}");
    }
}

#[tokio::test]
async fn errors_and_questions_of_a_handler_are_results_too() {
    let service = Inspector::start().await;
    let kitbag = Kitbag::start_with(inspected(&service, "/results")).await;
    kitbag.deploy(guests::PROBE).await;
    let question =
        json!({ "key": "a", "message": FORBIDDEN, "schema": { "type": "object", "properties": {} } });
    for revision in Revision::BOTH {
        let ana = able(kitbag.as_user("ana"), revision).await;

        let asked = ana.call("probe__ask", json!({ "questions": [question] })).await;
        asked.assert_tool_error(RESULT_REFUSED);
        assert!(!asked.raw().contains(FORBIDDEN), "{}", asked.raw());

        let failed = ana.call("probe__get_document", json!({ "id": FORBIDDEN })).await;
        failed.assert_tool_error("NotFound");
        let failed =
            ana.call("probe__ingest", json!({ "documents": [{ "title": "a", "url": FORBIDDEN }] })).await;
        assert!(!failed.raw().contains(FORBIDDEN), "{}", failed.raw());
    }
}

#[tokio::test]
async fn prompts_resources_completions_and_documents_are_inspected() {
    let service = Inspector::start().await;
    let kitbag = Kitbag::start_with(inspected(&service, "/check")).await;
    kitbag.deploy(guests::OFFERS).await;
    let ana = kitbag.as_user("ana");
    let id =
        ana.ingest(json!([{ "title": "Cards", "text": format!("A card: {FORBIDDEN}.") }])).await.remove(0);

    let prompt = async |name: &str| {
        let params = json!({ "name": "offers__greet", "arguments": { "name": name } });
        ana.request("prompts/get", Some("offers__greet"), params).await
    };
    let read = async |uri: &str| ana.request("resources/read", Some(uri), json!({ "uri": uri })).await;
    let refusal = |reply: &Value| reply["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(prompt("Una").await["result"].is_object());
    assert!(refusal(&prompt(FORBIDDEN).await).contains(ARGUMENTS_REFUSED));
    assert!(read("kitbag://offers/summary").await["result"].is_object());
    let of = json!({ "type": "ref/prompt", "name": "offers__greet" });
    let completing = json!({ "ref": of, "argument": { "name": "name", "value": "U" } });
    assert!(ana.request("completion/complete", None, completing).await["result"].is_object());
    let document = read(&format!("kitbag://documents/{id}")).await;
    assert!(refusal(&document).contains(RESULT_REFUSED), "{document}");
    ana.call("fetch", json!({ "id": id })).await.assert_tool_error(RESULT_REFUSED);
    ana.call("search", json!({ "query": "card" })).await.assert_tool_error(RESULT_REFUSED);

    let phases = service.phases();
    let expected = [
        "arguments prompts/get prompt:greet",
        "result prompts/get prompt:greet",
        "arguments prompts/get prompt:greet",
        "arguments resources/read resource:summary",
        "result resources/read resource:summary",
        "arguments completion/complete",
        "result completion/complete",
        "arguments tools/call fetch",
        "result tools/call fetch",
        "arguments tools/call fetch",
        "result tools/call fetch",
        "arguments tools/call search",
        "result tools/call search",
    ];
    assert_eq!(phases.len(), expected.len(), "{phases:#?}");
    for (phase, expected) in phases.iter().zip(expected) {
        assert!(phase.starts_with(expected.trim_end()), "{phase} is not {expected}");
    }
}

#[tokio::test]
async fn code_of_models_and_each_call_of_it_are_inspected() {
    let service = Inspector::start().await;
    let kitbag = Kitbag::start_with(|settings| {
        with_code(settings);
        inspected(&service, "/check")(settings);
    })
    .await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana").at("/mcp?mode=code");
    let run = async |code: &str| ana.call("run_code", json!({ "code": code })).await;

    run(&format!("return '{FORBIDDEN}'")).await.assert_tool_error(ARGUMENTS_REFUSED);
    run("return '4111 1111 ' + '1111 1111'").await.assert_tool_error(RESULT_REFUSED);
    let caught = "try { return await tools.text.count({ text: '4111 1111 ' + '1111 1111' }) } \
                  catch (error) { return error.message }";
    let told = run(caught).await;
    assert!(told.text().contains(ARGUMENTS_REFUSED), "{}", told.text());

    let messages = service.messages();
    let last = &messages[messages.len() - 3..];
    let names: Vec<_> = last.iter().map(|message| message["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["run_code", "count", "run_code"]);
    assert!(
        last.iter().all(|message| message["run"].is_string() && message["run"] == last[0]["run"]),
        "{last:?}"
    );
}

#[tokio::test]
async fn no_text_leaves_before_the_result_was_inspected() {
    let service = Inspector::start().await;
    let kitbag = Kitbag::start_with(inspected(&service, "/check")).await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let tool = "conformance__test_tool_with_progress";
    let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": "t-1" } });

    let said = kitbag.as_user("ana").stream_mcp("tools/call", Some(tool), params).await.rest().await;

    assert_eq!(said.len(), 4, "{said:?}");
    for report in &said[..3] {
        assert!(
            report["params"]["progress"].is_number() && report["params"].get("message").is_none(),
            "{report}"
        );
    }
    assert_eq!(said[3]["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn a_service_that_does_not_answer_as_it_should_stops_calls_unless_the_operator_lets_them_pass() {
    let service = Inspector::start().await;
    for path in ["/garbage", "/large", "/redirect", "/error", "/slow"] {
        let slow = |settings: &mut Settings| settings.dlp_timeout = "300ms".parse().expect("a duration");
        let (kitbag, ana) = start_with(&service, path, slow).await;
        let began = Instant::now();
        let refused = ana.echo("hello").await;
        refused.assert_retryable("does not answer, so the tool did not run");
        refused.assert_retryable("ask your operator (setting dlp-url)");
        assert!(began.elapsed() < Duration::from_secs(20), "{path}: {:?}", began.elapsed());
        assert_eq!(ana.logs("replies").await[0]["outcome"], "arguments-refused", "{path}");
        ana.echo("again").await.assert_retryable("does not answer");
        let log = kitbag.log().text();
        assert_eq!(log.matches("cannot be asked (setting dlp-url)").count(), 1, "{path}: {log}");

        let (_passing, ana) = start_with(&service, path, |settings| {
            slow(settings);
            settings.dlp_unavailable = "pass".parse().expect("a choice");
        })
        .await;
        assert_eq!(ana.echo("hello").await.text(), "hello", "{path}");
        assert_eq!(ana.echo(FORBIDDEN).await.text(), FORBIDDEN, "{path}");
    }
    assert!(service.heads().iter().all(|head| head.uri.path() != "/check"), "a redirect was followed");
}

#[tokio::test]
async fn a_service_that_is_down_stops_calls_until_it_is_there_again() {
    let service = Inspector::start().await;
    let (address, url) = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        (address, format!("http://{address}/check"))
    };
    let down = |settings: &mut Settings| settings.dlp_url = url.parse().expect("a URL");

    let (kitbag, ana) = start_with(&service, "/check", down).await;
    ana.echo("hello").await.assert_retryable("does not answer, so the tool did not run");
    let (_passing, passing) = start_with(&service, "/check", |settings| {
        down(settings);
        settings.dlp_unavailable = "pass".parse().expect("a choice");
    })
    .await;
    assert_eq!(passing.echo("hello").await.text(), "hello");
    assert!(service.messages().is_empty());

    let answer = axum::routing::post(async || axum::Json(json!({ "allow": true })));
    let listener = tokio::net::TcpListener::bind(address).await.expect("the port is free again");
    let serving =
        tokio::spawn(async { axum::serve(listener, axum::Router::new().route("/check", answer)).await });
    assert_eq!(ana.echo("hello").await.text(), "hello");
    let log = kitbag.log().text();
    assert!(log.contains("answers again (setting dlp-url)"), "{log}");
    serving.abort();
}

#[tokio::test]
async fn a_result_is_withheld_when_the_service_goes_away_during_the_call() {
    let service = Inspector::start().await;
    let (_kitbag, ana) = start(&service, "/arguments-alone").await;

    let outcome = ana.echo("hello").await;

    outcome.assert_tool_error("The tool has run, but the service that inspects calls here does not answer");
    assert!(!outcome.raw().contains("hello"), "{}", outcome.raw());
    assert_eq!(ana.logged("replies__echo").await["outcome"], "result-refused");
}

#[tokio::test]
async fn a_secret_of_the_user_does_not_reach_the_service() {
    let service = Inspector::start().await;
    let (_kitbag, ana) = start(&service, "/check").await;
    ana.set_secret("replies", "API_KEY", "canary-5ecret").await;

    assert_eq!(ana.echo("a canary-5ecret").await.text(), "a [redacted]");

    let sent = json!(service.messages()).to_string();
    assert!(!sent.contains("canary") && sent.contains("a [redacted]"), "{sent}");
}
