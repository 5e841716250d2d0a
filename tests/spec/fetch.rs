//! Egress: a toolkit reaches only the hosts it declares, at addresses that the operator allows.

use kitbag::settings::Settings;
use serde_json::{Value, json};

use crate::harness::{Kitbag, Outcome, Upstream, User, guests};

pub(crate) fn loopback_allowed(settings: &mut Settings) {
    settings.allow_private_ranges = "127.0.0.0/8,::1/128".parse().expect("ranges");
}

pub(crate) async fn probe(change: impl FnOnce(&mut Settings)) -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(change).await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

impl User {
    pub(crate) async fn fetch(&self, url: &str) -> Outcome {
        self.call("probe__fetch", json!({ "url": url })).await
    }
}

pub(crate) fn value_of(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.text()).expect("the probe answers with JSON")
}

#[tokio::test]
async fn a_toolkit_reaches_a_host_that_it_lists_and_the_operator_allows() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for url in [upstream.url("/hello"), upstream.named_url("/hello")] {
        let fetched = value_of(&ana.fetch(&url).await);
        assert_eq!((&fetched["status"], &fetched["body"]), (&json!(200), &json!("hello")), "{url}");
    }

    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_private_address_is_refused_although_it_is_listed_unless_the_operator_allows_it() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|_| {}).await;

    for url in [upstream.url("/hello"), upstream.named_url("/hello"), "http://169.254.169.254/".to_owned()] {
        ana.fetch(&url).await.assert_tool_error("DestinationIpProhibited");
        let logged = ana.logged("probe__fetch").await;
        let entries = logged["entries"].to_string();
        assert!(entries.contains("requests to private addresses are refused"), "{entries}");
    }

    upstream.assert_untouched();
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_public() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|_| {}).await;

    for host in
        ["localhost", "LocalHost.", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "127.0.0.1", "127.0.0.1."]
    {
        ana.fetch(&format!("http://{host}:18999/hello")).await.assert_tool_error("DestinationIpProhibited");
    }
    for url in ["http://[::ffff:127.0.0.1]:18999/", "http://[::1]:18999/", "http://[fd00:ec2::254]/"] {
        ana.fetch(url).await.assert_tool_error("HttpRequestDenied");
    }
    for url in ["http://0xa9fea9fe/", "http://2852039166/", "http://169.254.43518/"] {
        ana.fetch(url).await.assert_tool_error("DestinationIpProhibited");
    }

    upstream.assert_untouched();
}

#[tokio::test]
async fn an_allowed_range_allows_no_other() {
    let (_kitbag, ana) = probe(loopback_allowed).await;

    ana.fetch("http://169.254.169.254/").await.assert_tool_error("DestinationIpProhibited");
}

#[tokio::test]
async fn a_toolkit_cannot_reach_a_host_that_it_does_not_list() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(loopback_allowed).await;
    let other_port = kitbag.base_url().join("healthz").expect("a path").to_string();

    for url in [
        "http://evil.example/",
        "http://127.0.0.2:18999/",
        "http://upstream.test.evil.example/",
        "https://127.0.0.1/",
        &other_port,
    ] {
        ana.fetch(url).await.assert_tool_error("HttpRequestDenied");
    }
    let logged = ana.logged("probe__fetch").await;
    let entries = logged["entries"].to_string();
    assert!(entries.contains("is not listed in egress"), "{entries}");

    upstream.assert_untouched();
}

#[tokio::test]
async fn another_spelling_of_a_host_is_that_host_and_no_way_around_the_list() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for url in ["http://0x7f.1:18999/hello", "http://2130706433:18999/hello", "http://LOCALHOST.:18999/hello"]
    {
        assert_eq!(value_of(&ana.fetch(url).await)["body"], "hello", "{url}");
    }
    assert_eq!(upstream.requests().len(), 3);

    for url in ["http://127.0.0.1:18999@evil.example/", "http://evil.example#@127.0.0.1:18999/"] {
        ana.fetch(url).await.assert_tool_error("");
    }
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_request_has_a_browsers_user_agent_unless_it_brings_its_own() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    ana.fetch(&upstream.url("/hello")).await;
    let own = json!({ "url": upstream.url("/hello"), "headers": { "user-agent": "mine/1" } });
    ana.call("probe__fetch", own).await;

    let agents: Vec<_> = upstream.requests().iter().map(|head| head.headers["user-agent"].clone()).collect();
    assert_eq!(
        agents,
        [&format!("Mozilla/5.0 (compatible; Kitbag/{})", env!("CARGO_PKG_VERSION")), "mine/1"]
    );
}

#[tokio::test]
async fn a_response_that_is_too_large_is_cut_off() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_response_body = 1000;
    })
    .await;

    ana.fetch(&upstream.url("/large")).await.assert_tool_error("response body size exceeds limit");

    let logged = ana.logged("probe__fetch").await;
    assert!(logged["entries"].to_string().contains("larger than 1000 bytes"), "{logged}");
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");
}

#[tokio::test]
async fn a_request_body_that_is_too_large_does_not_leave() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_request_body = 1000;
    })
    .await;
    let post =
        |size: usize| json!({ "method": "POST", "url": upstream.url("/hello"), "body": "x".repeat(size) });

    ana.call("probe__fetch", post(2000)).await.assert_tool_error("");

    assert_eq!(value_of(&ana.call("probe__fetch", post(500)).await)["status"], 200);
}

#[tokio::test]
async fn two_requests_of_one_call_are_on_their_way_at_the_same_time() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    // The upstream server responds only once both requests have arrived.
    let both = ana.call("probe__fetch_many", json!({ "url": upstream.url("/pair"), "count": 2 })).await;

    assert_eq!(value_of(&both)["answers"], json!([200, 200]));
}

#[tokio::test]
async fn requests_beyond_those_that_may_be_in_flight_wait_for_them() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_requests_in_flight = 2;
    })
    .await;

    let six = ana.call("probe__fetch_many", json!({ "url": upstream.url("/pair"), "count": 6 })).await;

    assert_eq!(value_of(&six)["answers"], json!([200, 200, 200, 200, 200, 200]));
}

#[tokio::test]
async fn requests_of_one_call_are_counted_from_its_start_and_not_from_the_servers() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_requests = 1;
    })
    .await;

    for _ in 0..3 {
        assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["status"], 200);
    }
    let two = ana.call("probe__fetch_many", json!({ "url": upstream.url("/hello"), "count": 2 })).await;

    assert_eq!(upstream.requests().len(), 4);
    assert!(value_of(&two)["answers"][1].is_string(), "{}", two.raw());
}
