//! Failing collectors: unreachable, unresponsive, or rejecting spans.

use std::net::{SocketAddr, TcpListener};

use serde_json::json;
use url::Url;

use super::tracing_to;
use crate::harness::{Collecting, Collector, Http, Kitbag, User, eventually, guests};

/// Starts a server that traces each call to this URL; returns it and a client for its metrics.
async fn traced_to(url: &str) -> (Kitbag, Http) {
    let address = free_address();
    let kitbag = Kitbag::start_with(|settings| {
        tracing_to(settings, url);
        settings.call_time = "3m".parse().expect("a duration");
        settings.traces_headers = "authorization=Bearer%20key,x-tenant=a".parse().expect("any text");
        settings.metrics_listen = address.to_string().parse().expect("an address");
    })
    .await;
    kitbag.deploy(guests::PROBE).await;
    (kitbag, Http::new(format!("http://{address}").parse::<Url>().expect("a URL")))
}

/// Returns a loopback address with a free port.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

/// Reads the number of spans with this result from the metrics.
async fn spans(metrics: &Http, result: &str) -> u64 {
    let text = metrics.get("/metrics").await.assert_status(200).text().to_owned();
    let start = format!("kitbag_trace_spans_total{{result=\"{result}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)).expect("it is counted");
    line.parse().expect("a number")
}

/// Makes a call with 200 spans.
async fn call_with_many_spans(user: &User) {
    let arguments = json!({ "url": "http://unlisted.test/", "count": 200 });
    user.call("probe__fetch_in_turn", arguments).await.text();
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_up_no_call_and_what_it_does_not_take_is_dropped() {
    let collector = Collector::start(Collecting::Silently).await;
    let (kitbag, metrics) = traced_to(collector.url()).await;
    let ana = kitbag.as_user("ana");

    // Each call would hang if it waited for the collector.
    for _ in 0..50 {
        call_with_many_spans(&ana).await;
    }
    assert!(spans(&metrics, "dropped").await > 0);
    assert_eq!(spans(&metrics, "delivered").await, 0);
    assert!(!collector.received().is_empty());

    let stopped = kitbag.stop().await;
    assert!(stopped.log().text().contains("the last traces were not sent in time"));
}

#[tokio::test]
async fn a_collector_that_fails_is_asked_again_and_then_the_spans_are_counted_as_failed() {
    // A batch is retried if the collector is temporarily unavailable (503) or unreachable, not if it rejects
    // spans (400).
    let nobody = format!("http://{}/v1/traces", free_address());
    let refusing = Collector::start(Collecting::Nothing(503)).await;
    let disliking = Collector::start(Collecting::Nothing(400)).await;

    for (url, requests) in [(nobody.as_str(), 0), (refusing.url(), 4), (disliking.url(), 1)] {
        let (kitbag, metrics) = traced_to(url).await;
        kitbag.as_user("ana").call("probe__nothing", json!({})).await.text();
        eventually("the spans have failed", async || spans(&metrics, "failed").await == 6).await;

        if let Some(collector) = [&refusing, &disliking].into_iter().find(|it| it.url() == url) {
            // The spans of a call may be split into two batches.
            let received = collector.received().len();
            assert!([requests, 2 * requests].contains(&received), "{received} requests to {url}");
        }
        let log = kitbag.log().text();
        assert_eq!(log.matches("the collector does not take traces").count(), 1, "{log}");
        assert!(!log.contains("/v1/traces") && !log.contains("Bearer"), "{log}");
    }
}

#[tokio::test]
async fn a_collector_that_comes_back_gets_what_is_still_queued() {
    let collector = Collector::start(Collecting::Nothing(503)).await;
    let (kitbag, metrics) = traced_to(collector.url()).await;
    let ana = kitbag.as_user("ana");
    ana.call("probe__nothing", json!({})).await.text();
    eventually("the spans have failed", async || spans(&metrics, "failed").await == 6).await;

    collector.now(Collecting::AllBut(1));
    ana.call("probe__nothing", json!({})).await.text();
    let taken = async || spans(&metrics, "delivered").await + spans(&metrics, "rejected").await;
    eventually("the spans are taken", async || taken().await == 6).await;

    // One span is rejected per batch, and there may be two batches.
    assert!([1, 2].contains(&spans(&metrics, "rejected").await));
    assert_eq!(spans(&metrics, "dropped").await, 0);
    assert!(kitbag.log().text().contains("the collector takes traces again"));
    for (headers, _) in collector.received() {
        assert_eq!(headers["authorization"], "Bearer key");
        assert_eq!(headers["x-tenant"], "a");
    }
}

#[tokio::test]
async fn what_is_queued_is_sent_when_the_server_stops() {
    let collector = Collector::start(Collecting::All).await;
    let (kitbag, _) = traced_to(collector.url()).await;

    for _ in 0..3 {
        kitbag.as_user("ana").call("probe__nothing", json!({})).await.text();
    }
    kitbag.stop().await;

    assert_eq!(collector.spans().iter().filter(|span| span.name == "sandbox").count(), 3);
}
