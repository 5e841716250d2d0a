//! Slow clients: they delay the head of a request, its body, or the next request.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::harness::{Kitbag, Raw, User, guests, routes};

/// Default request timeout of the servers in these tests.
const SHORT_TIMEOUT: &str = "1s";

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const WASM: &str = "application/wasm";

async fn kitbag_with_timeout(timeout: &str) -> Kitbag {
    Kitbag::start_with(|settings| settings.request_timeout = timeout.parse().expect("a duration")).await
}

/// Returns the head of a request, without `Content-Length` and the final empty line.
fn head(kitbag: &Kitbag, method: &str, path: &str, media_type: &str, user: Option<&User>) -> String {
    let token = user.map(|user| format!("Authorization: Bearer {}\r\n", user.token())).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\n{token}Content-Type: {media_type}\r\n\
         Accept: application/json, text/event-stream\r\n",
        kitbag.base_url().authority()
    )
}

#[track_caller]
fn assert_too_late(answer: &str, what: &str) {
    assert!(answer.contains("HTTP/1.1 408 Request Timeout\r\n"), "{what}: {answer:?}");
    assert!(answer.contains("connection: close\r\n"), "{what}: {answer:?}");
    assert!(answer.contains("did not arrive in time"), "{what}: {answer:?}");
}

#[tokio::test]
async fn no_route_waits_for_a_body_that_does_not_come() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    let operator = kitbag.as_operator();
    let routes = routes();
    assert!(routes.len() > 20 && routes.iter().any(|path| path == "/oauth/token"), "{routes:?}");
    let paths = routes.iter().map(String::as_str).chain(["/", "/nothing/here"]);

    let mut requests = Vec::new();
    for path in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            for media_type in [JSON, FORM, WASM] {
                for user in [None, Some(&operator)] {
                    // The response is an endless stream.
                    if method == "GET" && path.trim_end_matches('/') == "/mcp" && user.is_some() {
                        continue;
                    }
                    requests.push(head(&kitbag, method, path, media_type, user));
                }
            }
        }
    }
    let (kitbag, count) = (&kitbag, requests.len());
    let answers = stream::iter(requests).map(async |head| {
        let mut connection = Raw::connect(kitbag).await;
        connection.write(format!("{head}Content-Length: 9\r\n\r\n")).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 "), "{head}: {answer:?}");
        answer
    });
    let answers: Vec<_> = answers.buffer_unordered(128).collect().await;

    let late = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 408")).count();
    assert!(late > 10, "of {count} requests {late} were waited for");
}

#[tokio::test]
async fn what_was_carried_out_is_answered_although_the_body_that_nobody_reads_does_not_come() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    kitbag.deploy(guests::HINTS).await;
    let operator = kitbag.as_operator();
    let mut connection = Raw::connect(&kitbag).await;
    let head = head(&kitbag, "DELETE", "/toolkits/hints", JSON, Some(&operator));
    connection.write(format!("{head}Content-Length: 9\r\n\r\n")).await;

    let answer = connection.rest().await;

    assert!(answer.starts_with("HTTP/1.1 204"), "{answer:?}");
    operator.get("/toolkits/hints").await.assert_status(404);
}

#[tokio::test]
async fn whoever_reads_a_body_answers_when_it_does_not_come_or_drips() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let operator = kitbag.as_operator();

    let requests = [
        ("POST", "/toolkits", WASM, true),
        ("POST", "/toolkits/x/rollback", JSON, true),
        ("POST", "/uploads", WASM, true),
        ("POST", "/uploads/x/deploy", JSON, true),
        ("PUT", "/toolkits/needy/secrets/API_KEY", JSON, true),
        ("PATCH", "/toolkits/needy/config", JSON, true),
        ("POST", "/toolkits/needy/tools/need", JSON, true),
        ("POST", "/graphql", JSON, true),
        ("POST", "/documents/file?title=a", "text/plain", true),
        ("POST", "/mcp", JSON, true),
        ("POST", "/oauth/register", JSON, false),
        ("POST", "/oauth/authorize", FORM, false),
        ("POST", "/oauth/token", FORM, false),
        ("POST", "/oauth/revoke", FORM, false),
    ];
    let (kitbag, operator) = (&kitbag, &operator);
    let asking = requests.map(async |(method, path, media_type, signs_in)| {
        let head = head(kitbag, method, path, media_type, signs_in.then_some(operator));

        let mut silent = Raw::connect(kitbag).await;
        silent.write(format!("{head}Content-Length: 9\r\n\r\nx")).await;
        assert_too_late(&silent.rest().await, path);

        let mut dripping = Raw::connect(kitbag).await;
        dripping.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
        let answer = dripping.drip("1\r\nx\r\n", Duration::from_millis(100)).await;
        assert_too_late(&answer, path);
    });
    futures::future::join_all(asking).await;
}

#[tokio::test]
async fn the_form_of_a_secret_is_read_only_where_its_link_is_good_and_ends_when_it_does_not_come() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let ana = kitbag.as_user("ana").capable_of(json!({ "elicitation": { "url": {} } }));
    let call = json!({ "name": "needy__need", "arguments": {} });
    let reply = ana.request("tools/call", Some("needy__need"), call).await;
    let reply = reply.to_string();
    let link = reply.split("/page?link=").nth(1).unwrap_or_else(|| panic!("no link in {reply}"));
    let link = link.split(['"', '\\', '&']).next().expect("an id");
    let ask = async |link: &str| {
        let path = format!("/toolkits/needy/secrets/API_KEY/page?link={link}");
        let mut connection = Raw::connect(&kitbag).await;
        let head = head(&kitbag, "POST", &path, FORM, None);
        connection.write(format!("{head}Content-Length: 9\r\n\r\n")).await;
        connection.rest().await
    };

    assert_too_late(&ask(link).await, "a good link");
    assert!(ask("guess").await.starts_with("HTTP/1.1 404"));
}

#[tokio::test]
async fn nobody_waits_for_the_body_of_a_request_that_is_refused_by_its_head() {
    // If the server waited for the body, the test would time out.
    let kitbag = kitbag_with_timeout("1h").await;

    for (path, media_type, length) in [
        ("/oauth/token", JSON, "Content-Length: 9"),
        ("/oauth/token", FORM, "Content-Length: 16385"),
        ("/oauth/register", FORM, "Content-Length: 9"),
        ("/oauth/register", JSON, "Content-Length: 16385"),
        ("/oauth/revoke", JSON, "Transfer-Encoding: chunked"),
        ("/oauth/authorize", JSON, "Content-Length: 9"),
        ("/toolkits/x/secrets/X/page?link=guess", FORM, "Content-Length: 9"),
    ] {
        let mut connection = Raw::connect(&kitbag).await;
        let head = head(&kitbag, "POST", path, media_type, None);
        connection.write(format!("{head}{length}\r\n\r\n")).await;

        let answer = connection.rest().await;

        assert!(
            answer.starts_with("HTTP/1.1 4") && !answer.starts_with("HTTP/1.1 408"),
            "{path}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_slow_upload_that_goes_on_arrives() {
    const PIECES: usize = 16;
    let kitbag = kitbag_with_timeout("4s").await;
    let operator = kitbag.as_operator();
    let component = guests::TEXT.bytes();
    let document = vec![b'a'; 256 << 10];

    for (path, media_type, body, status) in
        [("/toolkits", WASM, component, "201"), ("/documents/file?title=a", "text/plain", document, "201")]
    {
        let begun = Instant::now();
        let mut connection = Raw::connect(&kitbag).await;
        let head = head(&kitbag, "POST", path, media_type, Some(&operator));
        connection.write(format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n", body.len())).await;
        for piece in body.chunks(body.len().div_ceil(PIECES)) {
            connection.write(piece).await;
            sleep(Duration::from_millis(500)).await;
        }

        let answer = connection.rest().await;

        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(begun.elapsed() > Duration::from_secs(4), "the test is too quick to show anything");
    }
}

#[tokio::test]
async fn what_stands_before_a_body_gives_it_no_more_time() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    let ana = kitbag.as_user("ana");
    let post = head(&kitbag, "POST", "/graphql", JSON, Some(&ana));

    let mut expecting = Raw::connect(&kitbag).await;
    expecting.write(format!("{post}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n")).await;
    let answer = expecting.rest().await;
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n"), "{answer:?}");
    assert_too_late(&answer, "after 100 Continue");

    let mut pipelining = Raw::connect(&kitbag).await;
    let get = head(&kitbag, "GET", "/healthz", JSON, None);
    pipelining.write(format!("{get}\r\n{get}\r\n{post}Content-Length: 9\r\n\r\n{{")).await;
    let answer = pipelining.rest().await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer:?}");
    assert_too_late(&answer, "after two others");

    let mut half_closed = Raw::connect(&kitbag).await;
    half_closed.write(format!("{post}Content-Length: 9\r\n\r\n{{")).await;
    half_closed.finish().await;
    let answer = half_closed.rest().await;
    assert!(!answer.contains("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_a_connection() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    let get = head(&kitbag, "GET", "/healthz", JSON, None);

    let mut silent = Raw::connect(&kitbag).await;
    assert_eq!(silent.rest().await, "");

    let mut half = Raw::connect(&kitbag).await;
    half.write(&get).await;
    half.rest().await;

    let mut dripping = Raw::connect(&kitbag).await;
    dripping.write(&get).await;
    dripping.drip("X: x\r\n", Duration::from_millis(200)).await;

    let mut idle = Raw::connect(&kitbag).await;
    idle.write(format!("{get}\r\n")).await;
    assert!(idle.rest().await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn calls_and_streams_last_as_long_as_they_last() {
    let kitbag = kitbag_with_timeout(SHORT_TIMEOUT).await;
    kitbag.deploy(guests::HINTS).await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");
    let mut followed = ana.follow("/toolkits/hints/logs?follow=true").await;
    let mut changes = ana.listen().await;
    changes.next().await.expect("an acknowledgement");
    let long = ana.start_call("hostile__half_a_line", json!({}));

    sleep(Duration::from_secs(4)).await;

    assert!(!long.is_finished(), "the call goes on");
    long.abort();
    ana.call("hints__plain", json!({})).await.text();
    assert_eq!(followed.next().await.expect("the stream goes on")["tool"], "plain");
    kitbag.as_operator().delete("/toolkits/hints").await.assert_status(204);
    assert!(changes.next().await.is_some(), "the stream goes on");
}
