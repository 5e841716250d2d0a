//! Limits of connections: unauthenticated clients that open many do not lock others out.

use std::net::Ipv4Addr;

use http::Method;
use serde_json::json;

use crate::harness::{Kitbag, Raw, User, eventually, guests};

const CONNECTIONS: usize = 24;
const PER_ADDRESS: usize = 6;
/// Number of connections that a test opens: more than the server accepts.
const FLOOD: usize = 3 * CONNECTIONS;

/// Starts a server that allows few connections and trusts no proxy.
async fn small(per_address: usize) -> Kitbag {
    Kitbag::start_with(|settings| {
        settings.connections = CONNECTIONS;
        settings.connections_per_address = per_address;
        settings.trusted_proxies = "".parse().expect("a list");
        // No connection is closed for being slow.
        settings.request_timeout = "1h".parse().expect("a duration");
    })
    .await
}

/// Head of a request whose body is never sent.
fn stalled(kitbag: &Kitbag) -> String {
    format!(
        "POST /oauth/token HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: 9\r\n\r\n",
        kitbag.base_url().authority()
    )
}

async fn closed(connections: &mut [Raw]) -> usize {
    let mut closed = 0;
    for connection in connections {
        closed += usize::from(connection.is_closed().await);
    }
    closed
}

async fn assert_serves(kitbag: &Kitbag, user: &User) {
    kitbag.anonymous().get("/healthz").await.assert_status(200);
    kitbag
        .anonymous()
        .send(Method::POST, "/oauth/token", http::HeaderMap::new(), "")
        .await
        .assert_status(400);
    assert_eq!(user.call("hints__plain", json!({})).await.text(), "plain");
}

#[tokio::test]
async fn a_stranger_who_opens_connections_without_end_silences_nobody() {
    let kitbag = small(PER_ADDRESS).await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");

    let mut flood = Vec::new();
    for _ in 0..FLOOD {
        flood.push(Raw::connect_from(&kitbag, Ipv4Addr::new(127, 0, 0, 2)).await);
    }

    assert_serves(&kitbag, &ana).await;
    eventually("the oldest gave way", async || closed(&mut flood).await == FLOOD - PER_ADDRESS).await;
    assert!(!flood[FLOOD - 1].is_closed().await, "the newest is there");
}

#[tokio::test]
async fn many_strangers_who_send_half_a_request_silence_nobody_and_end_no_stream() {
    let kitbag = small(FLOOD).await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let mut followed = ana.follow("/toolkits/hints/logs?follow=true").await;
    let mut changes = ana.listen().await;

    let mut flood = Vec::new();
    for stranger in 0..FLOOD {
        let source = Ipv4Addr::new(127, 0, 1, u8::try_from(stranger % 32).expect("it is small"));
        let mut connection = Raw::connect_from(&kitbag, source).await;
        connection.write(stalled(&kitbag)).await;
        flood.push(connection);
    }

    assert_serves(&kitbag, &ana).await;
    assert_eq!(followed.next().await.expect("the stream goes on")["user"], "ana");
    kitbag.as_operator().delete("/toolkits/hints").await.assert_status(204);
    assert!(changes.next().await.is_some());
    let strangers = CONNECTIONS * 3 / 4;
    eventually("strangers have their part", async || FLOOD - closed(&mut flood).await <= strangers).await;
}

#[tokio::test]
async fn a_proxy_connects_for_many_and_its_strangers_silence_nobody() {
    let kitbag = small(1).await;
    kitbag.deploy(guests::HINTS).await;
    let stopped = kitbag.stop().await.changed(|settings| {
        settings.trusted_proxies = "127.0.0.0/8".parse().expect("a list");
    });
    let kitbag = stopped.start().await;
    let ana = kitbag.as_user("ana");
    let mut followed = ana.follow("/toolkits/hints/logs?follow=true").await;

    let mut few = Vec::new();
    for _ in 0..CONNECTIONS / 2 {
        few.push(Raw::connect(&kitbag).await);
    }
    assert_serves(&kitbag, &ana).await;
    assert_eq!(closed(&mut few).await, 0, "a proxy has more than one connection");

    let mut many = Vec::new();
    for _ in 0..FLOOD {
        many.push(Raw::connect(&kitbag).await);
    }
    assert_serves(&kitbag, &ana).await;
    assert_eq!(followed.next().await.expect("the stream goes on")["user"], "ana");
}
