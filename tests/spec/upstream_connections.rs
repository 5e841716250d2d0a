//! Upstream connections: reused only for the same user and toolkit.

use std::collections::HashSet;
use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use serde_json::json;

use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{Kitbag, Outcome, Upstream, User, guests};

/// Returns the client address of each request so far: a different address is a different connection.
fn peers(upstream: &Upstream) -> Vec<SocketAddr> {
    let peer =
        |head: &http::request::Parts| head.extensions.get::<ConnectInfo<_>>().expect("it is recorded").0;
    upstream.requests().iter().map(peer).collect()
}

async fn fetch_by(user: &User, toolkit: &str, url: &str) -> Outcome {
    user.call(&format!("{toolkit}__fetch"), json!({ "url": url })).await
}

#[tokio::test]
async fn calls_of_one_user_reuse_a_connection_and_those_of_another_do_not() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(loopback_allowed).await;
    let ben = kitbag.as_user("ben");

    for user in [&ana, &ana, &ben, &ben, &ana] {
        assert_eq!(value_of(&user.fetch(&upstream.url("/hello")).await)["body"], "hello");
    }

    let [first, second, of_ben, also_of_ben, third] = peers(&upstream)[..] else { panic!("five requests") };
    assert_eq!((first, first, of_ben), (second, third, also_of_ben));
    assert_ne!(first, of_ben);
}

#[tokio::test]
async fn two_toolkits_of_one_user_have_connections_of_their_own() {
    let upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::PROBE).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    let ana = kitbag.as_user("ana");

    for toolkit in ["probe", "signed-in", "probe", "signed-in"] {
        // At this host name, the server is not the declared API of `signed-in`, so no sign-in takes place.
        fetch_by(&ana, toolkit, &upstream.named_url("/hello")).await.result();
    }

    let [probe, signed_in, probe_again, signed_in_again] = peers(&upstream)[..] else {
        panic!("four requests")
    };
    assert_eq!((probe, signed_in), (probe_again, signed_in_again));
    assert_ne!(probe, signed_in);
}

#[tokio::test]
async fn a_redirect_to_another_origin_takes_another_connection() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(loopback_allowed).await;
    ana.fetch(&upstream.named_url("/hello")).await;

    ana.fetch(&upstream.url("/redirect/307?http://localhost:18999/end")).await.result();

    let [named, redirecting, redirected] = peers(&upstream)[..] else { panic!("three requests") };
    assert_ne!(named, redirecting);
    assert_eq!(named, redirected, "the origin of the target had an idle connection");
}

#[tokio::test]
async fn a_response_that_its_call_did_not_read_leaves_no_connection_to_the_next() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(|settings| {
        loopback_allowed(settings);
        settings.call_time = "700ms".parse().expect("a duration");
    })
    .await;

    for _ in 0..2 {
        ana.fetch(&upstream.url("/drip")).await.assert_tool_error("ran longer than 0.7 s");
    }
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");

    assert_eq!(peers(&upstream).into_iter().collect::<HashSet<_>>().len(), 3);
}
