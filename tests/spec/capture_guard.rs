//! Captures come from the public internet. Private ranges that are open to toolkits are closed to captures:
//! operators review a toolkit's declared hosts, but any user may choose the URL of a capture.

use serde_json::{Value, json};

use crate::capture::captures_allowed;
use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{Files, Kitbag, Upstream, User, kitbag, run};

const PRIVATE: &str = "requests to private addresses are refused";

/// Ingests a document through GraphQL, with `fields` in addition to its title.
async fn ingest(user: &User, fields: Value) {
    let mut document = json!({ "title": "A page of the intranet" });
    document.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    user.ingest(json!([document])).await;
}

async fn assert_refused(kitbag: &Kitbag, url: &str, reason: &str) {
    let stored = kitbag.settled(url).await;
    stored.assert_failed(reason);
    assert_eq!(stored.artifact, None, "{url}");
}

#[tokio::test]
async fn the_very_address_that_toolkits_may_reach_is_not_captured_by_any_way_in() {
    let upstream = Upstream::start().await;
    // Captures may reach the address of the redirecting server.
    let elsewhere = Files::start_at("127.0.0.3").await;
    let (server, ana) = probe(|settings| {
        loopback_allowed(settings);
        captures_allowed(settings);
        settings.capture_private_ranges = "127.0.0.3/32".parse().expect("a range");
    })
    .await;
    // A toolkit reaches the upstream, and leaves an idle connection that a capture could reuse.
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");

    let at = |path: &str| upstream.url(path);
    let by_name = upstream.named_url("/name");
    ana.ingest_file(&at("/toolkit"), json!({})).await;
    ana.ingest_file(&by_name, json!({})).await;
    ana.ingest_file(&at("/kept").replace("127.0.0.1", "0x7f.1"), json!({ "captureOnly": true })).await;
    let sound = json!({ "documents": [{ "title": "Sound", "audioUrl": at("/toolkit.mp3") }] });
    ana.call("probe__ingest", sound).await.text();
    ingest(&ana, json!({ "fileUrl": at("/graphql") })).await;
    ingest(&ana, json!({ "audioUrl": at("/graphql.mp3") })).await;
    let redirect = |to: &str| elsewhere.url(&format!("/redirect?{to}"));
    let redirects = [redirect(&at("/redirected")), redirect(&redirect(&at("/twice")))];
    for url in &redirects {
        ana.ingest_file(url, json!({})).await;
    }
    let mut command = kitbag(["ingest", &at("/command-line"), "--wait", "--data"]);
    command.arg(server.data());
    run(command).await.assert_failed(PRIVATE);

    let paths = ["/toolkit", "/kept", "/toolkit.mp3", "/graphql", "/graphql.mp3", "/command-line"];
    for url in paths.map(at).iter().chain([&by_name]).chain(&redirects) {
        assert_refused(&server, url, PRIVATE).await;
    }
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");
    let seen: Vec<_> = upstream.requests().iter().map(|head| head.uri.path().to_owned()).collect();
    assert_eq!(seen, ["/hello", "/hello"]);
    let found = "{ search(query: \"hello\") { results { document { title } } } }";
    assert_eq!(ana.ask(found, json!({})).await["search"]["results"], json!([]));
}

#[tokio::test]
async fn what_an_operator_opens_to_captures_is_captured_and_not_opened_to_toolkits() {
    let (upstream, files) = (Upstream::start().await, Files::start().await);
    let (server, ana) = probe(captures_allowed).await;
    let wiki = files.put("/wiki.md", "text/markdown", "The tide table of the house.");

    ingest(&ana, json!({ "fileUrl": wiki })).await;

    assert_eq!(server.settled(&wiki).await.text(), "The tide table of the house.");
    ana.fetch(&upstream.url("/hello")).await.assert_tool_error("DestinationIpProhibited");
    upstream.assert_untouched();
}

#[tokio::test]
async fn files_are_captured_from_ports_that_serve_files() {
    let files = Files::start().await;
    let (server, ana) = probe(captures_allowed).await;
    let redirect = files.url("/redirect?http://127.0.0.1:25/");

    for url in ["http://127.0.0.1:22/", "https://127.0.0.1:993/", "http://127.0.0.1:6667/", &redirect] {
        ana.ingest_file(url, json!({})).await;
        assert_refused(&server, url, "is at a port of other services").await;
    }
    let good = files.put("/good", "text/plain", "good");
    ana.ingest_file(&good, json!({})).await;
    assert_eq!(server.settled(&good).await.text(), "good");
}
