//! Schemas that are costly to compile or to check: refused at deploy, or the check of a value is cut off.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::harness::{Kitbag, Outcome, ServerProcess, User, Wat, eventually, kitbag, run, within};

/// Value of `$defs`: 40 definitions, each of which applies the next one twice to the same value.
fn doubling(step: impl Fn(&Value) -> Value) -> Value {
    let definitions = (0..40).map(|index| {
        let next = json!({ "$ref": format!("#/$defs/{}", index + 1) });
        (index.to_string(), step(&next))
    });
    Value::Object(definitions.chain([("40".to_owned(), json!({ "type": "string" }))]).collect::<Map<_, _>>())
}

/// Schema that takes 2^40 evaluations to reject a number.
fn slow_to_check() -> String {
    let definitions = doubling(|next| json!({ "anyOf": [next, next] }));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": definitions })
        .to_string()
}

/// Schema that would be compiled to 2^40 validators.
fn slow_to_compile() -> String {
    let definitions = doubling(|next| json!({ "allOf": [next, next] }));
    json!({ "type": "object", "unevaluatedProperties": false, "$ref": "#/$defs/0", "$defs": definitions })
        .to_string()
}

/// Schema that compares each tag with up to two hundred patterns. Its cost is not exponential.
fn many_patterns() -> String {
    let patterns: Vec<_> = (0..200).map(|index| json!({ "pattern": format!("^a+{index}x$") })).collect();
    json!({ "type": "object", "properties": { "tags": { "items": { "anyOf": patterns } } } }).to_string()
}

/// Arguments with `count` tags that match only the last pattern.
fn tags(count: usize) -> Value {
    json!({ "tags": vec!["a199x"; count] })
}

async fn healthz(kitbag: &Kitbag) {
    within("the answer of /healthz", kitbag.anonymous().get("/healthz")).await.assert_status(200);
}

#[tokio::test]
async fn schemas_that_double_are_refused_at_deploy_and_the_server_goes_on() {
    let kitbag = Kitbag::start().await;
    let (slow_to_check, slow_to_compile) = (slow_to_check(), slow_to_compile());

    for (field, toolkit) in [
        ("tools[0].input", Wat { input: Some(&slow_to_check), ..Wat::default() }),
        ("tools[0].output", Wat { output: Some(&slow_to_check), ..Wat::default() }),
        ("tools[0].input", Wat { input: Some(&slow_to_compile), ..Wat::default() }),
        ("tools[0].output", Wat { output: Some(&slow_to_compile), ..Wat::default() }),
    ] {
        let (operator, component) = (kitbag.as_operator(), toolkit.component());
        let deploy = tokio::spawn(async move { operator.deploy(component).await });
        while !deploy.is_finished() {
            healthz(&kitbag).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let problems = within("a deploy", deploy).await.expect("it ends").assert_status(422).problems();
        let (_, message) = problems.iter().find(|(path, _)| path == field).expect("the schema is named");
        assert!(message.contains("\"run\"") && message.contains("10000 are allowed"), "{message}");
        healthz(&kitbag).await;
    }
}

#[tokio::test]
async fn check_refuses_what_would_be_compiled_without_end() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = folder.path().join("costly.wasm");
    let schema = slow_to_compile();
    let toolkit = Wat { input: Some(&schema), ..Wat::default() };
    std::fs::write(&path, toolkit.component()).expect("the folder is ours");

    let mut command = kitbag(["toolkit", "check"]);
    command.arg(&path);
    let checked = within("the check", run(command)).await;

    checked.assert_failed("too costly");
    checked.assert_failed("tools[0].input");
}

#[tokio::test]
async fn arguments_that_are_too_costly_to_check_are_refused_while_others_are_served() {
    let kitbag = Kitbag::start().await;
    let schema = many_patterns();
    kitbag
        .as_operator()
        .deploy(Wat { input: Some(&schema), ..Wat::default() }.component())
        .await
        .assert_status(201);
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    assert_eq!(ben.call("wat__run", tags(0)).await.text(), "done");

    let costly: Vec<_> = (0..8).map(|_| ana.start_call("wat__run", tags(40_000))).collect();
    let mut answered = 0;
    while !costly.iter().all(tokio::task::JoinHandle::is_finished) {
        healthz(&kitbag).await;
        assert_eq!(within("a call", ben.call("wat__run", tags(0))).await.text(), "done");
        answered += 1;
    }

    assert!(answered > 1, "the costly checks were not costly");
    for outcome in costly {
        assert_too_costly(&outcome.await.expect("the call ends"));
    }
    ben.call("wat__run", json!({ "tags": ["b"] })).await.assert_invalid_params("/tags/0");
}

/// Asserts that a check was too costly, or that it waited too long to start and is retryable.
fn assert_too_costly(outcome: &Outcome) {
    if outcome.envelope()["retryable"] == true {
        outcome.assert_retryable("no time to check");
    } else {
        outcome.assert_invalid_params("steps to check");
    }
}

#[tokio::test]
async fn a_result_that_is_too_costly_to_check_is_a_tool_error_that_says_so() {
    // A long time limit, because so many steps take long on a busy machine.
    let kitbag = Kitbag::start_with(|settings| settings.call_time = "5m".parse().expect("a duration")).await;
    let (schema, small, large) = (many_patterns(), tags(0).to_string(), tags(4000).to_string());
    let deploy = async |structured: &str| {
        let toolkit = Wat { output: Some(&schema), structured: Some(structured), ..Wat::default() };
        kitbag.as_operator().delete("/toolkits/wat").await;
        kitbag.as_operator().deploy(toolkit.component()).await.assert_status(201);
    };
    let ana = kitbag.as_user("ana");

    deploy(&small).await;
    assert_eq!(ana.call("wat__run", json!({})).await.structured(), &tags(0));
    deploy(&large).await;
    ana.call("wat__run", json!({})).await.assert_tool_error("steps to check");
    healthz(&kitbag).await;
}

#[tokio::test]
async fn a_server_ends_when_it_is_asked_to_although_checks_are_under_way() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    let schema = many_patterns();
    operator.deploy(Wat { input: Some(&schema), ..Wat::default() }.component()).await.assert_status(201);

    let calls: Vec<_> = (0..16).map(|_| operator.start_call("wat__run", tags(40_000))).collect();
    wait_for_first(&operator).await;
    let ended = timeout(Duration::from_secs(45), server.terminate()).await;

    assert!(ended.is_ok(), "the server does not end");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Waits until the server has answered a call made after the costly ones.
async fn wait_for_first(operator: &User) {
    eventually("a call is answered", async || operator.call("wat__run", tags(0)).await.text() == "done")
        .await;
}
