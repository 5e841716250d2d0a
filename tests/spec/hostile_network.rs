//! Hostile servers and requests: a call ends within its limits, and no request is smuggled.

use std::time::Instant;

use serde_json::json;

use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{Upstream, gzip, within};

#[tokio::test]
async fn a_response_that_drips_for_ever_ends_with_the_call() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.call_time = "700ms".parse().expect("a duration");
    })
    .await;

    for path in ["/drip", "/silent"] {
        ana.fetch(&upstream.url(path)).await.assert_tool_error("ran longer than 0.7 s");
    }
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");
}

#[tokio::test]
async fn a_response_without_end_is_cut_off() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_response_body = 1 << 20;
    })
    .await;

    let outcome = within("the call", ana.fetch(&upstream.url("/endless"))).await;

    outcome.assert_tool_error("response body size exceeds limit");
    let logged = ana.logged("probe__fetch").await;
    assert!(logged["entries"].to_string().contains("larger than 1048576 bytes"), "{logged}");
}

#[tokio::test]
async fn a_compressed_response_reaches_the_toolkit_as_it_is() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.bounds.call_response_body = 400 << 10;
    })
    .await;
    let compressed = gzip::bomb().len();
    assert!(compressed < 400 << 10 && gzip::BOMB_BYTES > 50_000_000);

    let fetched = value_of(&ana.fetch(&upstream.url("/bomb")).await);

    assert_eq!(fetched["size"], compressed);
    assert!(fetched["headers"].to_string().contains("gzip"), "{}", fetched["headers"]);
}

#[tokio::test]
async fn a_response_with_a_huge_head_is_a_network_error() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for path in ["/huge-head", "/many-headers"] {
        ana.fetch(&upstream.url(path)).await.assert_tool_error("HttpResponseHeaderSectionSize");
        let logged = ana.logged("probe__fetch").await;
        let entries = logged["entries"].to_string();
        assert!(entries.contains("larger than 64 KiB or has more than 100 headers"), "{entries}");
    }
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");
}

#[tokio::test]
async fn ten_thousand_requests_are_two_hundred() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    let many = json!({ "url": upstream.url("/hello"), "count": 10_000 });
    let answers = value_of(&ana.call("probe__fetch_in_turn", many).await);

    assert_eq!(answers["200"], 200);
    assert_eq!(answers.as_object().expect("an object").len(), 2, "{answers}");
    assert!(answers.to_string().contains("ConnectionLimitReached\":9800"), "{answers}");
    assert_eq!(upstream.requests().len(), 200);
}

#[tokio::test]
async fn a_toolkit_may_wait_for_less_than_the_host_would() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;
    let started = Instant::now();

    let silent = json!({ "url": upstream.url("/silent"), "first_byte_ms": 50 });
    ana.call("probe__fetch", silent).await.assert_tool_error("ConnectionTimeout");
    let paused = json!({ "url": upstream.url("/drip"), "between_bytes_ms": 2 });
    ana.call("probe__fetch", paused).await.assert_tool_error("connection read timeout");

    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_header_cannot_hold_another() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for (name, value) in [
        ("x-a", "1\r\nx-evil: 1"),
        ("x-a", "1\nx-evil: 1"),
        ("x-a", "1\rx-evil: 1"),
        ("x-a", "1\0"),
        ("x-a\r\nx-evil", "1"),
        ("x-a: 1\r\nx-evil", "1"),
        ("x a", "1"),
        ("", "1"),
    ] {
        let request = json!({ "url": upstream.url("/hello"), "headers": { name: value } });
        ana.call("probe__fetch", request).await.assert_tool_error("InvalidSyntax");
    }
    for url in ["http://127.0.0.1:18999/ HTTP/1.1\r\nx-evil: 1", "http://127.0.0.1:18999\r\nx-evil: 1/"] {
        ana.fetch(url).await.assert_tool_error("was refused");
    }

    upstream.assert_untouched();
}

#[tokio::test]
async fn a_toolkit_says_nothing_about_the_connection_or_the_host() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for (name, value) in [
        ("connection", "close, x-kept"),
        ("keep-alive", "timeout=1"),
        ("proxy-authenticate", "Basic"),
        ("proxy-authorization", "Basic eDp5"),
        ("proxy-connection", "close"),
        ("te", "trailers"),
        ("trailer", "x-late"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("host", "internal.example"),
        ("http2-settings", "AAM"),
    ] {
        let before = upstream.requests().len();
        let request = json!({
            "method": "POST", "url": upstream.url("/hello"), "headers": { name: value, "x-kept": "1" }, "body": "b",
        });
        let outcome = ana.call("probe__fetch", request).await;

        match upstream.requests().get(before) {
            None => outcome.assert_tool_error("Forbidden"),
            Some(head) => {
                assert_eq!(head.headers["host"], "127.0.0.1:18999", "{name}");
                assert_eq!(head.headers["x-kept"], "1", "{name}");
                assert_ne!(head.headers.get(name).and_then(|it| it.to_str().ok()), Some(value), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn the_head_of_a_request_holds_no_more_than_a_head_does() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for (what, method, url) in [
        ("method", "M".repeat(65), upstream.url("/hello")),
        ("scheme", "GET".to_owned(), format!("{}://127.0.0.1/", "s".repeat(65))),
        ("authority", "GET".to_owned(), format!("http://{}/", "a".repeat(301))),
        ("path", "GET".to_owned(), upstream.url(&format!("/{}", "p".repeat(16 << 10)))),
    ] {
        let outcome = ana.call("probe__fetch", json!({ "method": method, "url": url })).await;

        outcome.assert_tool_error(&format!("the {what} was refused"));
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_false_content_length_ends_the_request_and_hides_no_second_one() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;
    let hidden = "GET /hidden HTTP/1.1\r\nhost: 127.0.0.1:18999\r\n\r\n";

    for length in ["0", "3", "4000", "-1", "+5", "x"] {
        let request = json!({
            "method": "POST", "url": upstream.url("/hello"), "body": hidden, "headers": { "content-length": length },
        });
        ana.call("probe__fetch", request).await.assert_tool_error("");
        // If the connection was reused, request and response are still in sync.
        assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello", "{length}");
    }

    assert!(upstream.requests().iter().all(|head| head.uri.path() == "/hello"));
}

#[tokio::test]
async fn a_url_is_read_once_and_as_it_is_checked() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;

    for url in [
        "http://user:pass@127.0.0.1:18999/",
        "http://127.0.0.1:18999@evil.example/",
        "http://evil.example\\@127.0.0.1:18999/",
        "http://127.0.0.1:18999\\.evil.example/",
        "http://127.0.0.1:18999%2f@evil.example/",
        "http://127.0.0.1%00.evil.example:18999/",
        "http://localhost..:18999/",
        "http://.localhost:18999/",
        "http://127.0.0.1:018999x/",
        "ftp://127.0.0.1:18999/",
    ] {
        ana.fetch(url).await.assert_tool_error("");
    }

    upstream.assert_untouched();
}
