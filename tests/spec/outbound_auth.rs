//! Toolkits with `auth`: the server signs in with the user's own credentials, only at the declared host.

use axum::http::request::Parts;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::fetch::{loopback_allowed, value_of};
use crate::harness::{Kitbag, Upstream, User, guests};

async fn signed_in() -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

impl User {
    async fn set_credentials(&self, id: &str, secret: &str) {
        self.set_secret("signed-in", "CLIENT_ID", id).await;
        self.set_secret("signed-in", "CLIENT_SECRET", secret).await;
    }

    async fn fetch_signed_in(&self, url: &str) -> Value {
        value_of(&self.call("signed-in__fetch", json!({ "url": url })).await)
    }
}

impl Upstream {
    /// Returns path and `Authorization` header of each request so far.
    fn requests_with_authorization(&self) -> Vec<(String, String)> {
        let authorization = |head: &Parts| match head.headers.get("authorization") {
            Some(value) => value.to_str().expect("ASCII").to_owned(),
            None => String::new(),
        };
        self.requests().iter().map(|head| (head.uri.path().to_owned(), authorization(head))).collect()
    }
}

/// Returns the `Authorization` header of a client with these credentials (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

#[tokio::test]
async fn the_host_signs_in_once_and_the_toolkit_never_sees_with_what() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;
    ana.set_credentials("ana-at-api", "anas-5ecret").await;

    let first = ana.fetch_signed_in(&upstream.url("/api")).await;
    let second = ana.fetch_signed_in(&upstream.url("/api")).await;

    assert_eq!((&first["status"], &second["status"]), (&json!(200), &json!(200)));
    // The API echoes the received header; the token is redacted from the result.
    assert_eq!((&first["body"], &second["body"]), (&json!("Bearer [redacted]"), &json!("Bearer [redacted]")));
    let path = |path: &str, authorization: &str| (path.to_owned(), authorization.to_owned());
    let expected = [
        path("/token", &basic("ana-at-api", "anas-5ecret")),
        path("/api", "Bearer minted-token-1"),
        path("/api", "Bearer minted-token-1"),
    ];
    assert_eq!(upstream.requests_with_authorization(), expected);
    let (head, body) = &upstream.received()[0];
    assert_eq!(
        (head.method.as_str(), &body[..]),
        ("POST", &b"grant_type=client_credentials&scope=read+write"[..])
    );
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_request_repeated_with_its_body() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;
    ana.set_credentials("ana-at-api", "anas-5ecret").await;

    let post = json!({ "method": "POST", "url": upstream.url("/api/no-first-token"), "body": "an order" });
    let fetched = value_of(&ana.call("signed-in__fetch", post).await);

    assert_eq!(fetched["status"], 200);
    let paths: Vec<_> = upstream.requests_with_authorization().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/token", "/api/no-first-token", "/token", "/api/no-first-token"]);
    let received = upstream.received();
    assert_eq!((&received[1].1[..], &received[3].1[..]), (&b"an order"[..], &b"an order"[..]));
    assert_eq!(ana.logged("signed-in__fetch").await["requests"], 4);
}

#[tokio::test]
async fn users_do_not_share_a_token_and_a_changed_secret_does_not_keep_one() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = signed_in().await;
    let ben = kitbag.as_user("ben");
    ana.set_credentials("ana-at-api", "anas-5ecret").await;
    ben.set_credentials("ben-at-api", "bens-5ecret").await;

    ana.fetch_signed_in(&upstream.url("/api")).await;
    ben.fetch_signed_in(&upstream.url("/api")).await;
    ana.set_credentials("ana-at-api", "anas-new-5ecret").await;
    ana.fetch_signed_in(&upstream.url("/api")).await;

    let tokens: Vec<_> = upstream
        .requests_with_authorization()
        .into_iter()
        .filter(|(path, _)| path == "/api")
        .map(|(_, token)| token)
        .collect();
    assert_eq!(tokens, ["Bearer minted-token-1", "Bearer minted-token-2", "Bearer minted-token-3"]);
}

#[tokio::test]
async fn only_the_api_host_gets_the_token() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;
    ana.set_credentials("ana-at-api", "anas-5ecret").await;

    let api = ana.fetch_signed_in(&upstream.url("/api")).await;
    let other = ana.fetch_signed_in(&upstream.named_url("/api")).await;
    let redirect = upstream.url(&format!("/redirect/307?{}", upstream.named_url("/api")));
    let redirected = ana.fetch_signed_in(&redirect).await;

    assert_eq!(api["body"], "Bearer [redacted]");
    assert_eq!((&other["body"], &redirected["body"]), (&json!("nobody"), &json!("nobody")));
}

#[tokio::test]
async fn no_other_host_and_no_method_turns_the_sign_in_against_its_user() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;
    ana.set_credentials("ana-at-api", "anas-5ecret").await;

    let chosen_elsewhere = upstream.named_url(&format!("/redirect/307?{}", upstream.url("/api")));
    assert_eq!(ana.fetch_signed_in(&chosen_elsewhere).await["body"], "nobody");

    let trace = json!({ "method": "TRACE", "url": upstream.url("/api") });
    ana.call("signed-in__fetch", trace).await.assert_tool_error("HttpProtocolError");
    assert!(upstream.requests().iter().all(|head| head.method != "TRACE"));
}

#[tokio::test]
async fn without_credentials_a_call_fails_with_the_command_that_sets_them() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = signed_in().await;

    let outcome = ana.call("signed-in__fetch", json!({ "url": upstream.url("/hello") })).await;

    outcome
        .assert_tool_error("The credentials CLIENT_ID and CLIENT_SECRET are not set. Set them with: kitbag ");
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
