//! Redirects: followed by the rules of the Fetch standard, and only to permitted destinations.

use serde_json::{Value, json};

use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{Kitbag, Upstream, guests};

/// URL at which the upstream server redirects to `location` with `status`.
fn redirect(upstream: &Upstream, status: u16, location: &str) -> String {
    upstream.url(&format!("/redirect/{status}?{location}"))
}

#[tokio::test]
async fn a_redirect_is_followed_where_the_toolkit_does_not_see_it() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for location in ["/hello", "../hello#part", "//127.0.0.1:18999/hello", "http://LOCALHOST.:18999/hello"] {
        let fetched = value_of(&ana.fetch(&redirect(&upstream, 301, location)).await);
        assert_eq!((&fetched["status"], &fetched["body"]), (&json!(200), &json!("hello")), "{location}");
    }
}

#[tokio::test]
async fn a_redirected_post_becomes_a_get_or_is_repeated_by_the_status() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;
    let body = "twelve bytes".repeat(10_000);

    for (status, method, arrived) in
        [(302, "GET", ""), (303, "GET", ""), (307, "POST", &body), (308, "POST", &body)]
    {
        for headers in
            [json!({ "content-type": "text/plain" }), json!({ "content-length": body.len().to_string() })]
        {
            let post = json!({
                "method": "POST", "url": redirect(&upstream, status, "/end"), "headers": headers, "body": body,
            });
            assert_eq!(value_of(&ana.call("probe__fetch", post).await)["status"], 200, "{status}");

            let (head, received) = upstream.received().pop().expect("a request");
            assert_eq!((head.method.as_str(), head.uri.path()), (method, "/end"), "{status}");
            assert!(received == arrived, "{status}: {} bytes", received.len());
            assert_eq!(
                head.headers.contains_key("content-type"),
                method == "POST" && headers["content-type"].is_string()
            );
        }
    }
}

#[tokio::test]
async fn a_redirect_to_where_the_toolkit_may_not_go_is_a_network_error_and_a_line_in_its_log() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for (location, error, line) in [
        ("http://evil.example/", "HttpRequestDenied", "evil.example is not listed in egress"),
        ("http://127.0.0.2:18999/", "HttpRequestDenied", "127.0.0.2:18999 is not listed"),
        ("http://[::ffff:127.0.0.1]:18999/", "HttpRequestDenied", "is not listed in egress"),
        (
            "http://169.254.169.254/latest/",
            "DestinationIpProhibited",
            "requests to private addresses are refused",
        ),
        ("http://0xa9.0xfe.43518/", "DestinationIpProhibited", "requests to private addresses are refused"),
        ("http://127.0.0.1:18999@evil.example/", "HttpProtocolError", "user information is not allowed"),
        ("http://evil.example@127.0.0.1:18999/", "HttpProtocolError", "user information is not allowed"),
        ("file:///etc/passwd", "HttpProtocolError", "only http and https are possible"),
        ("http://", "HttpProtocolError", "its Location is no URL"),
    ] {
        ana.fetch(&redirect(&upstream, 302, location)).await.assert_tool_error(error);

        let logged = ana.logged("probe__fetch").await;
        let entries = logged["entries"].to_string();
        assert!(entries.contains(line), "{location}: {entries}");
        assert!(!entries.contains("/redirect") && !entries.contains("passwd"), "{location}: {entries}");
    }
    assert_eq!(upstream.requests().len(), 9);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused_although_it_is_listed() {
    // The address of the redirecting server is allowed, so that only the metadata address can be refused.
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        settings.allow_private_ranges = "127.0.0.1/32".parse().expect("a range");
    })
    .await;

    ana.fetch(&redirect(&upstream, 307, "http://169.254.169.254/"))
        .await
        .assert_tool_error("DestinationIpProhibited");
    // `localhost` is a declared host that may have several addresses; the permitted one is used.
    assert_eq!(
        value_of(&ana.fetch(&redirect(&upstream, 307, "http://localhost:18999/hello")).await)["status"],
        200
    );
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_origin() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;
    let headers = json!({ "authorization": "Bearer mine", "cookie": "a=b", "x-kept": "1" });

    for (location, kept) in [("/end", true), ("http://localhost:18999/end", false)] {
        let request = json!({ "url": redirect(&upstream, 307, location), "headers": headers });
        ana.call("probe__fetch", request).await.result();

        let arrived = upstream.requests().pop().expect("a request").headers;
        for name in ["authorization", "cookie"] {
            assert_eq!(arrived.contains_key(name), kept, "{name} at {location}");
        }
        assert_eq!(arrived["x-kept"], "1");
    }
}

#[tokio::test]
async fn a_header_with_a_secret_of_the_caller_does_not_follow_to_another_origin() {
    let upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let ana = kitbag.as_user("ana");
    ana.set_secret("signed-in", "CLIENT_SECRET", "anas-5ecret").await;
    let headers = json!({ "authorization": "mine", "x-api-key": "anas-5ecret", "x-kept": "1" });

    for (location, kept) in [("/end", true), ("http://localhost:18999/end", false)] {
        let request = json!({ "url": redirect(&upstream, 307, location), "headers": headers });
        ana.call("signed-in__fetch", request).await.result();

        let arrived = upstream.requests().pop().expect("a request").headers;
        assert_eq!(arrived.contains_key("x-api-key"), kept, "at {location}");
        assert_eq!(arrived["x-kept"], "1");
    }
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    ana.fetch(&redirect(&upstream, 302, "")).await.assert_tool_error("HttpProtocolError");

    assert_eq!(upstream.requests().len(), 21);
}

#[tokio::test]
async fn every_hop_is_one_of_the_calls_requests() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_requests = 5;
    })
    .await;

    ana.fetch(&redirect(&upstream, 302, "")).await.assert_tool_error("ConnectionLimitReached");

    assert_eq!(upstream.requests().len(), 5);
}

#[tokio::test]
async fn a_status_that_redirects_nowhere_is_the_answer() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for status in [300, 304, 305] {
        let fetched: Value = value_of(&ana.fetch(&redirect(&upstream, status, "/hello")).await);
        assert_eq!(fetched["status"], status);
    }
}
