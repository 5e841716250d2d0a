//! Sampling decision and parent of a trace: `traceparent` headers and the operator's settings.

use kitbag::settings::Settings;
use serde_json::json;

use super::{only, traced};
use crate::harness::{Collector, Kitbag, Span};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Calls a tool with these `traceparent` headers, stops the server, and returns the spans.
async fn spans(change: impl FnOnce(&mut Settings), traceparents: &[&str]) -> Vec<Span> {
    let (kitbag, collector) = traced(change).await;
    call(&kitbag, traceparents).await;
    stopped(kitbag, &collector).await
}

async fn call(kitbag: &Kitbag, traceparents: &[&str]) {
    let params = json!({ "name": "probe__nothing", "arguments": {} });
    let (mut headers, body) = kitbag.as_user("ana").message("tools/call", Some("probe__nothing"), params);
    for value in traceparents {
        headers.append("traceparent", value.parse().expect("a header"));
    }
    let answer = kitbag.anonymous().send(http::Method::POST, "/mcp", headers, body.to_string()).await;
    answer.assert_status(200);
}

/// Stops the server, which sends the queued spans, and returns all spans.
async fn stopped(kitbag: Kitbag, collector: &Collector) -> Vec<Span> {
    kitbag.stop().await;
    collector.spans()
}

fn sampling(share: &str) -> impl FnOnce(&mut Settings) {
    let share = share.parse().expect("a share");
    move |settings| settings.traces_sample = share
}

#[tokio::test]
async fn by_default_a_client_can_neither_have_its_calls_traced_nor_choose_the_trace() {
    let sampled = format!("00-{TRACE}-{PARENT}-01");

    assert!(spans(sampling("0"), &[&sampled]).await.is_empty());

    for traceparent in [&sampled, &format!("00-{TRACE}-{PARENT}-00")] {
        let spans = spans(sampling("1"), &[traceparent]).await;
        let call = only(&spans, "tools/call probe__nothing");
        assert!(call.parent.is_empty() && call.trace != TRACE, "{call:?}");
    }
}

#[tokio::test]
async fn behind_a_proxy_of_the_operator_a_call_is_a_part_of_the_trace_that_its_request_names() {
    let accepting = |share: &'static str| {
        move |settings: &mut Settings| {
            sampling(share)(settings);
            settings.accept_traceparent = true;
        }
    };

    let sampled = spans(accepting("0"), &[&format!("00-{TRACE}-{PARENT}-01")]).await;
    let call = only(&sampled, "tools/call probe__nothing");
    assert_eq!((call.trace.as_str(), call.parent.as_str()), (TRACE, PARENT));
    assert!(sampled.len() > 4 && sampled.iter().all(|span| span.trace == TRACE), "{sampled:#?}");
    assert!(spans(accepting("1"), &[&format!("00-{TRACE}-{PARENT}-00")]).await.is_empty());
}

#[tokio::test]
async fn a_header_of_another_form_is_ignored() {
    let (kitbag, collector) = traced(|settings| settings.accept_traceparent = true).await;
    let good = format!("00-{TRACE}-{PARENT}-01");
    let oversized = format!("{good}-{}", "a".repeat(4000));
    let malformed = [
        vec![],
        vec![String::new()],
        vec!["00".into()],
        vec![oversized],
        vec![good.clone(), good.clone()],
        vec![good.to_uppercase()],
        vec![good.replacen("00-", "01-", 1)],
        vec![format!("00-{}-{PARENT}-01", "0".repeat(32))],
        vec![format!("00-{TRACE}-{PARENT}-0g")],
    ];

    for values in &malformed {
        let values: Vec<_> = values.iter().map(String::as_str).collect();
        call(&kitbag, &values).await;
    }
    let spans = stopped(kitbag, &collector).await;

    let calls: Vec<_> = spans.iter().filter(|span| span.name.starts_with("tools/call")).collect();
    assert_eq!(calls.len(), malformed.len());
    assert!(calls.iter().all(|span| span.parent.is_empty() && span.trace != TRACE), "{calls:#?}");
}

#[tokio::test]
async fn the_share_of_calls_is_the_operators() {
    let (kitbag, collector) = traced(sampling("0.5")).await;
    let ana = kitbag.as_user("ana");

    for _ in 0..100 {
        ana.call("probe__nothing", json!({})).await.text();
    }
    let spans = stopped(kitbag, &collector).await;

    // The count is outside of this range once in 10^13 runs.
    let calls = spans.iter().filter(|span| span.name.starts_with("tools/call")).count();
    assert!((13..=87).contains(&calls), "{calls} of 100 calls are traced");
    assert_eq!(spans.iter().filter(|span| span.name == "sandbox").count(), calls);
}
