//! Limits per user of concurrent requests and their memory, on every route.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Kitbag, Raw, User, Visitor, eventually, guests, routes};

/// Maximum number of concurrent requests of one user, not counting calls.
const MAX_REQUESTS: usize = 64;
/// Maximum number of concurrent page requests of one user.
const MAX_PAGES: usize = 32;

/// Path parts of routes that need no sign-in.
const FOR_STRANGERS: [&str; 9] = [
    "/.well-known/",
    "/oauth/",
    "/healthz",
    "/readyz",
    "/ui/sign",
    "/ui/assets/",
    "/secrets/name/page",
    "/metrics",
    "/scim/",
];

fn needs_sign_in(path: &str) -> bool {
    path.len() > "/ui".len() && !FOR_STRANGERS.iter().any(|part| path.contains(part))
}

/// Sends the head of a request that announces a body of `length` bytes, without the body.
async fn begin(kitbag: &Kitbag, method: &str, path: &str, headers: &str, length: usize) -> Raw {
    let mut connection = Raw::connect(kitbag).await;
    let host = kitbag.base_url().authority();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Accept: application/json, text/event-stream\r\n\
         Sec-Fetch-Site: same-origin\r\nOrigin: http://{host}\r\nContent-Length: {length}\r\n\r\n"
    );
    connection.write(head).await;
    connection
}

/// Asserts that every route in `paths` refuses a request with these headers (429).
async fn assert_all_refuse(kitbag: &Kitbag, paths: &[String], headers: &str) {
    for path in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = begin(kitbag, method, path, headers, 0).await.head().await;
            assert!(answer.contains("429 Too Many Requests"), "{method} {path} needs no share: {answer:?}");
        }
    }
}

#[tokio::test]
async fn every_route_of_a_user_counts_in_what_they_may_have_in_progress() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.request_timeout = "1h".parse().expect("a duration");
        settings.bounds.concurrent_calls_per_user = 1;
    })
    .await;
    let paths: Vec<_> =
        routes().into_iter().filter(|path| needs_sign_in(path) && !path.starts_with("/ui")).collect();
    assert!(paths.len() > 15 && paths.iter().any(|path| path == "/mcp"), "{paths:?}");
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let token = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", ana.token());

    let mut in_progress = Vec::new();
    for _ in 0..MAX_REQUESTS {
        in_progress.push(begin(&kitbag, "POST", "/graphql", &token, 9).await);
    }
    eventually("all have arrived", async || {
        let is_refused = ana.get("/toolkits").await.status == 429;
        if !is_refused {
            // While it was answered, it had the place of one that was refused.
            in_progress.push(begin(&kitbag, "POST", "/graphql", &token, 9).await);
        }
        is_refused
    })
    .await;

    assert_all_refuse(&kitbag, &paths, &token).await;
    ben.get("/toolkits").await.assert_status(200);
    drop(in_progress);
    eventually("the places are free again", async || ana.get("/toolkits").await.status == 200).await;
}

#[tokio::test]
async fn every_page_of_a_user_counts_in_what_they_may_have_in_progress() {
    let kitbag =
        Kitbag::start_with(|settings| settings.request_timeout = "1h".parse().expect("a duration")).await;
    let paths: Vec<_> =
        routes().into_iter().filter(|path| needs_sign_in(path) && path.starts_with("/ui")).collect();
    assert!(paths.len() > 25 && paths.iter().any(|path| path == "/ui/search"), "{paths:?}");
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let cookie = ana.cookie().expect("she has signed in");
    let cookie = format!("Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n");

    let mut in_progress = Vec::new();
    for _ in 0..MAX_PAGES {
        in_progress.push(begin(&kitbag, "POST", "/ui/documents/new", &cookie, 9).await);
    }
    eventually("all have arrived", async || {
        let is_refused = ana.get("/ui/").await.status == 429;
        if !is_refused {
            // While it was answered, it had the place of one that was refused.
            in_progress.push(begin(&kitbag, "POST", "/ui/documents/new", &cookie, 9).await);
        }
        is_refused
    })
    .await;

    assert_all_refuse(&kitbag, &paths, &cookie).await;
    ben.get("/ui/").await.assert_status(200);
    drop(in_progress);
    eventually("the places are free again", async || ana.get("/ui/").await.status == 200).await;
}

#[tokio::test]
async fn an_answer_that_is_not_read_keeps_its_place_and_counts_as_it_is_written() {
    const SIZE: usize = 3 << 20;

    let kitbag = Kitbag::start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    // In JSON, each of these characters takes six bytes (`\u0007`).
    let documents = json!([{ "title": "Bells", "text": "\u{7}".repeat(SIZE) }]);
    let ingest = "mutation ($d: [IngestDocumentInput!]!) { ingest(documents: $d) { documents { id } } }";
    let stored = ana.ask(ingest, json!({ "d": documents })).await;
    let id = stored["ingest"]["documents"][0]["id"].as_str().expect("an id").to_owned();
    let query = json!({ "query": format!("{{ document(id: \"{id}\") {{ text }} }}") }).to_string();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{query}",
        kitbag.base_url().authority(),
        ana.token(),
        query.len()
    );

    let mut unread = Vec::new();
    for _ in 0..4 {
        let mut connection = Raw::connect(&kitbag).await;
        connection.write(&head).await;
        let answer = connection.head().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
        unread.push(connection);
    }

    let mut fifth = Raw::connect(&kitbag).await;
    fifth.write(&head).await;
    assert!(fifth.head().await.starts_with("HTTP/1.1 429"), "four answers are not read yet");
    ben.ask("{ me { userId } }", json!({})).await;
    ana.get("/toolkits").await.assert_status(200);

    let whole = unread.pop().expect("there are four").body(6 * SIZE).await;
    assert!(whole.ends_with(b"}}}"), "what is read in the end is whole");
    ana.ask("{ me { userId } }", json!({})).await;
    let twice = format!("{{ a: document(id: \"{id}\") {{ text }} b: document(id: \"{id}\") {{ text }} }}");
    drop(unread);
    ana.ask_for_error(&twice, json!({})).await.assert("LIMIT", "texts of one request");
}

#[tokio::test]
async fn arguments_count_as_they_are_parsed_as_long_as_their_call_runs() {
    const MOMENT: Duration = Duration::from_millis(500);

    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let zeros = |count| vec![0; count];
    // 100 kB, counted as 13 MB when parsed: above the limit for arguments, and within the limit for a
    // message.
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "hostile__half_a_line",
            "arguments": { "a": zeros(49_500) },
            "_meta": { "b": zeros(1_000) },
        },
    })
    .to_string();
    let begin = async |user: &User| {
        let mut connection = Raw::connect(&kitbag).await;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{call}",
            kitbag.base_url().authority(),
            user.token(),
            call.len()
        );
        connection.write(head).await;
        connection
    };

    let mut in_progress = Vec::new();
    for _ in 0..7 {
        let mut connection = begin(&ana).await;
        assert_eq!(connection.head_within(MOMENT).await, "", "it runs");
        in_progress.push(connection);
    }
    let eighth = begin(&ana).await.head().await;

    assert!(eighth.starts_with("HTTP/1.1 429"), "{eighth:?}");
    ana.get("/toolkits").await.assert_status(200);
    assert_eq!(begin(&ben).await.head_within(MOMENT).await, "", "his call runs");
}
