//! Traces: one per call, without content of the call; a failing collector cannot disturb calls.

mod content;
mod failing;
mod parents;

use kitbag::settings::Settings;
use serde_json::{Value, json};

use crate::fetch::loopback_allowed;
use crate::harness::{
    Collecting, Collector, Kitbag, Revision, ServerProcess, Span, Upstream, eventually, guests,
};

/// Span kinds by their OTLP numbers.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

/// Settings that send the trace of each call to a collector at `url`.
fn tracing_to(settings: &mut Settings, url: &str) {
    loopback_allowed(settings);
    settings.traces = url.parse().expect("a URL");
    settings.traces_sample = "1".parse().expect("a share");
}

/// Starts a collector, and a server that traces each call to it.
async fn traced(change: impl FnOnce(&mut Settings)) -> (Kitbag, Collector) {
    let collector = Collector::start(Collecting::All).await;
    let kitbag = Kitbag::start_with(|settings| {
        tracing_to(settings, collector.url());
        change(settings);
    })
    .await;
    kitbag.deploy(guests::PROBE).await;
    (kitbag, collector)
}

/// Returns the only span with this name; panics if there is not exactly one.
#[track_caller]
fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut named = spans.iter().filter(|span| span.name == name);
    match (named.next(), named.next()) {
        (Some(span), None) => span,
        other => panic!("not one span {name}: {other:?} of {spans:#?}"),
    }
}

#[tokio::test]
async fn a_call_is_one_trace_with_a_span_for_each_step() {
    let upstream = Upstream::start().await;
    let (kitbag, collector) = traced(|_| {}).await;

    kitbag.as_user("ana").fetch(&upstream.url("/hello")).await.text();
    let spans = collector.spans_of(1).await;

    let call = only(&spans, "tools/call probe__fetch");
    assert_eq!((call.parent.as_str(), call.kind, call.is_error), ("", SERVER, false));
    assert!(spans.iter().all(|span| span.trace == call.trace && call.trace.len() == 32), "{spans:#?}");
    for (name, value) in [
        ("kitbag.toolkit.id", "probe"),
        ("kitbag.toolkit.version", "1.0.0"),
        ("kitbag.tool", "fetch"),
        ("kitbag.outcome", "succeeded"),
    ] {
        assert_eq!(call.attribute(name), value);
    }
    assert_eq!(call.attributes().len(), 4, "{call:?}");
    let steps = ["authenticate", "admit", "check arguments", "sandbox", "check result"];
    for step in steps {
        let span = only(&spans, step);
        assert_eq!((&span.parent, span.kind, span.attributes().len()), (&call.id, INTERNAL, 0), "{step}");
        assert!(call.began <= span.began && span.began <= span.ended && span.ended <= call.ended, "{step}");
    }
    let order: Vec<_> = steps.iter().map(|step| only(&spans, step).began).collect();
    assert!(order.is_sorted(), "{order:?}");
    let (fetch, sandbox) = (only(&spans, "fetch"), only(&spans, "sandbox"));
    assert_eq!((&fetch.parent, fetch.kind), (&sandbox.id, CLIENT));
    assert_eq!(fetch.attribute("server.address"), "127.0.0.1");
    assert_eq!(fetch.attribute("server.port"), 18999);
    assert_eq!(fetch.attribute("http.response.status_code"), 200);
    assert_eq!(fetch.attributes().len(), 3, "{fetch:?}");
    assert_eq!(spans.len(), 7);
    for resource in collector.resources() {
        assert!(resource.contains(&("service.name".to_owned(), json!("kitbag"))), "{resource:?}");
        assert_eq!(resource.len(), 3, "{resource:?}");
    }
}

#[tokio::test]
async fn calls_by_every_door_are_traced_and_other_requests_are_not() {
    let (kitbag, collector) = traced(|_| {}).await;
    let ana = kitbag.as_user("ana");

    let older = ana.clone().speaking(Revision::Older).await;
    for user in [&ana, &older] {
        user.tools().await;
        user.call("probe__nothing", json!({})).await.text();
        user.call("probe__missing", json!({})).await.assert_unknown_tool();
    }
    let path = "/toolkits/probe/tools/nothing";
    ana.send(http::Method::POST, path, "application/json", "{}").await.assert_status(200);
    ana.get("/toolkits").await.assert_status(200);
    kitbag.stop().await;

    let spans = collector.spans();
    let mut traces: Vec<_> = spans.iter().map(|span| &span.trace).collect();
    traces.sort();
    traces.dedup();
    assert_eq!(traces.len(), 3, "{spans:#?}");
    assert_eq!(spans.iter().filter(|span| span.name == "tools/call probe__nothing").count(), 3);
    assert_eq!(spans.iter().filter(|span| span.name == "authenticate").count(), 3);
}

#[tokio::test]
async fn each_request_of_a_call_is_a_span_also_those_that_the_host_makes_for_it() {
    let upstream = Upstream::start().await;
    let (kitbag, collector) = traced(|_| {}).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let ana = kitbag.as_user("ana");
    ana.set_secret("signed-in", "CLIENT_ID", "ana-at-api").await;
    ana.set_secret("signed-in", "CLIENT_SECRET", "5ecret").await;

    ana.call("signed-in__fetch", json!({ "url": upstream.url("/api/no-first-token") })).await.text();
    ana.fetch(&upstream.url("/redirect/302?/hello")).await.text();
    let spans = collector.spans_of(2).await;

    let of = |tool: &str| {
        let call = only(&spans, tool);
        let mut requests: Vec<_> =
            spans.iter().filter(|span| span.trace == call.trace && span.kind == CLIENT).collect();
        requests.sort_by_key(|span| span.began);
        let status = |span: &Span| span.attribute("http.response.status_code");
        requests.into_iter().map(|span| (span.name.clone(), status(span))).collect::<Vec<_>>()
    };
    let (fetch, sign_in) = ("fetch".to_owned(), "sign in".to_owned());
    assert_eq!(of("tools/call probe__fetch"), [(fetch.clone(), json!(302)), (fetch.clone(), json!(200))]);
    let signed_in = [
        (sign_in.clone(), Value::Null),
        (fetch.clone(), json!(401)),
        (sign_in, Value::Null),
        (fetch, json!(200)),
    ];
    assert_eq!(of("tools/call signed-in__fetch"), signed_in);
    let addresses = spans.iter().filter(|span| span.kind == CLIENT).map(|it| it.attribute("server.address"));
    assert!(addresses.clone().all(|address| address == "127.0.0.1"), "{:?}", addresses.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_call_that_does_not_succeed_says_how_it_ended() {
    let (kitbag, collector) = traced(|settings| settings.bounds.concurrent_calls_per_user = 1).await;
    let ana = kitbag.as_user("ana");

    ana.fetch("http://unlisted.test/").await.assert_tool_error("HttpRequestDenied");
    let stalled =
        ana.occupy("probe__leak", json!({ "name": "API_KEY", "into": "stall" }), "probe__nothing").await;
    stalled.abort();
    eventually_outcome(&collector, "probe__leak", "cancelled").await;
    eventually_outcome(&collector, "probe__nothing", "busy").await;

    let spans = collector.spans();
    let fetch = only(&spans, "fetch");
    assert_eq!((fetch.attribute("error.type"), fetch.is_error), (json!("refused"), true));
    assert_eq!(fetch.attributes(), ["error.type"], "an unlisted name may be anything");
    let call = only(&spans, "tools/call probe__fetch");
    assert_eq!((call.attribute("kitbag.outcome"), call.is_error), (json!("tool-error"), true));
    assert_eq!(call.attribute("error.type"), "tool-error");
}

async fn eventually_outcome(collector: &Collector, tool: &str, outcome: &str) {
    let name = format!("tools/call {tool}");
    let is_it = |span: &Span| span.name == name && span.attribute("kitbag.outcome") == outcome;
    eventually("the trace arrives", async || collector.spans().iter().any(is_it)).await;
}

#[tokio::test]
async fn each_line_of_the_log_about_a_traced_call_names_its_trace() {
    let collector = Collector::start(Collecting::All).await;
    for (sample, is_traced) in [("1", true), ("0", false)] {
        let data = tempfile::tempdir().expect("a scratch directory");
        let server = ServerProcess::start_with(data.path(), |command| {
            command.args(["--traces", collector.url(), "--traces-sample", sample]);
            command.env("KITBAG_LOG", "warn,kitbag=debug");
        })
        .await;
        let user = server.as_operator().await;
        user.deploy(guests::PROBE.bytes()).await.assert_status(201);

        user.call("probe__nothing", json!({})).await.text();
        user.fetch("http://unlisted.test/").await.assert_tool_error("");
        let log = String::from_utf8(server.log()).expect("text");

        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
        let calls = lines.iter().filter(|line| line["target"] == "kitbag::toolkit");
        let ids: Vec<_> = calls.map(|line| line["trace_id"].clone()).collect();
        assert_eq!(ids.len(), 2, "{log}");
        if is_traced {
            let spans = collector.spans_of(2).await;
            let traces = ["probe__nothing", "probe__fetch"]
                .map(|tool| json!(only(&spans, &format!("tools/call {tool}")).trace));
            assert_eq!(ids, traces);
            assert_eq!(log.matches("trace_id").count(), 2, "no other line is of a call: {log}");
        } else {
            assert_eq!(ids, [Value::Null, Value::Null]);
        }
    }
}
