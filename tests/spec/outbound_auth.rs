//! Sign-in by the host: at the one declared host, and with the user's own credentials only.

use serde_json::json;

use crate::fetch::{loopback_allowed, value_of};
use crate::harness::{Kitbag, Upstream, User, guests};

async fn signed_in() -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

#[tokio::test]
async fn without_credentials_a_request_to_the_api_is_a_network_error_that_says_what_to_do() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;

    let outcome = ana.call("signed-in__fetch", json!({ "url": upstream.url("/hello") })).await;

    outcome.assert_tool_error("ConfigurationError");
    let logged = ana.logged("signed-in__fetch").await;
    let entries = logged["entries"].to_string();
    for name in ["CLIENT_ID", "CLIENT_SECRET"] {
        let command = format!("kitbag secret set signed-in {name} --from-stdin");
        assert!(entries.contains(&command), "{entries}");
    }
    upstream.assert_untouched();
}

#[tokio::test]
async fn another_host_needs_no_sign_in_and_gets_no_token() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;

    let fetched = ana.call("signed-in__fetch", json!({ "url": upstream.named_url("/hello") })).await;

    assert_eq!(value_of(&fetched)["body"], "hello");
    assert!(!upstream.requests()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_handler_that_signs_in_by_itself_is_left_alone() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;
    let headers = json!({ "authorization": "Basic mine" });

    let request = json!({ "url": upstream.url("/hello"), "headers": headers });
    let fetched = ana.call("signed-in__fetch", request).await;

    assert_eq!(value_of(&fetched)["body"], "hello");
    assert_eq!(upstream.requests()[0].headers["authorization"], "Basic mine");
    assert_eq!(upstream.requests().len(), 1);
}
