//! Connections through the operator's proxy.

use super::super::test_name_server::{Reply, TestNameServer, addresses};
use super::super::test_proxy::TestProxy;
use super::*;

/// Settings of a client that uses this proxy and the name server `server`.
fn proxied(proxy: &TestProxy, server: &TestNameServer, opened: &[&str]) -> EgressSettings {
    let proxy = Proxy::parse(&format!("http://ana:p%40ss@{}", proxy.address)).unwrap();
    EgressSettings { proxy: Some(proxy), name_servers: vec![server.address()], ..settings(opened, opened) }
}

/// Name server that knows only a public name, a private one, and one with both kinds of address.
async fn names() -> TestNameServer {
    TestNameServer::start(|question| match question.name.as_str() {
        "public.example" => addresses(&["1.1.1.1"]),
        "private.example" => addresses(&["127.0.0.1"]),
        "both.example" => addresses(&["127.0.0.1", "1.1.1.1"]),
        _ => Reply::Code(3),
    })
    .await
}

#[tokio::test]
async fn toolkits_and_captures_go_by_the_proxy_to_the_address_that_was_checked() {
    let upstream = upstream().await;
    let server = names().await;
    let proxy = TestProxy::start(Some(upstream.port())).await;
    let egress = Egress::new(proxied(&proxy, &server, &[]));
    let listed = listing(&["public.example:80".to_owned()]);

    for policy in [&listed, &capture()] {
        assert_eq!(fetch(&egress, "http://public.example/", policy).await.unwrap(), "hello");
    }

    assert_eq!(proxy.targets(), ["1.1.1.1:80", "1.1.1.1:80"]);
    let head = proxy.heads.lock().unwrap()[0].clone();
    // ana:p@ss
    assert!(head.to_lowercase().contains("proxy-authorization: basic yw5honbac3m="), "{head}");
    let hosts: Vec<_> = upstream.requests().iter().map(|head| head.headers[HOST].clone()).collect();
    assert_eq!(hosts, ["public.example", "public.example"], "what is sent through it is as without it");
    assert!(upstream.requests().iter().all(|head| !head.headers.contains_key("proxy-authorization")));
}

#[tokio::test]
async fn the_proxy_is_never_asked_for_what_the_guard_refuses_or_cannot_check() {
    let server = names().await;
    let proxy = TestProxy::start(Some(9)).await;
    let egress = Egress::new(proxied(&proxy, &server, &[]));
    let entries = ["private.example", "127.0.0.1", "unknown.example"].map(|host| format!("{host}:80"));
    let listed = listing(&entries);

    for policy in [&listed, &capture()] {
        for host in ["private.example", "127.0.0.1"] {
            let error = fetch(&egress, &format!("http://{host}/"), policy).await.unwrap_err();
            assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{host}: {error}");
        }
        let error = fetch(&egress, "http://unknown.example/", policy).await.unwrap_err();
        assert!(matches!(error, EgressError::Resolve { .. }), "{error}");
    }

    assert!(proxy.targets().is_empty(), "{:?}", proxy.targets());
}

#[tokio::test]
async fn private_addresses_that_are_allowed_are_connected_to_directly() {
    let upstream = upstream().await;
    let server = names().await;
    let proxy = TestProxy::start(None).await;
    let egress = Egress::new(proxied(&proxy, &server, &["127.0.0.1/32"]));
    let authority = format!("private.example:{}", upstream.port());
    let uri = format!("http://{authority}/");

    assert_eq!(fetch(&egress, &uri, &listing(&[authority])).await.unwrap(), "hello");
    assert_eq!(fetch(&egress, &uri, &capture()).await.unwrap(), "hello");
    let own = format!("http://127.0.0.1:{}/", upstream.port());
    assert_eq!(fetch(&egress, &own, &Policy::Operator).await.unwrap(), "hello");

    assert!(proxy.targets().is_empty());

    // Each address is tried separately: nothing listens at the port of the private one.
    let both = fetch(&egress, "http://both.example:9/", &listing(&["both.example:9".to_owned()])).await;
    assert!(both.is_err());
    assert_eq!(proxy.targets(), ["1.1.1.1:9"]);
}

#[tokio::test]
async fn the_servers_own_requests_may_leave_names_to_the_proxy() {
    let upstream = upstream().await;
    let server = names().await;
    let proxy = TestProxy::start(Some(upstream.port())).await;
    let egress = Egress::new(proxied(&proxy, &server, &[]));

    let fetched = fetch(&egress, "http://operators.invalid/", &Policy::Operator).await;

    assert_eq!(fetched.unwrap(), "hello");
    assert_eq!(proxy.targets(), ["operators.invalid:80"]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_an_error_that_does_not_hang() {
    let server = names().await;
    let proxy = TestProxy::start(None).await;
    let egress = Egress::new(proxied(&proxy, &server, &[]));

    let error = fetch(&egress, "http://public.example/", &capture()).await.unwrap_err();

    assert!(matches!(error, EgressError::Connect { .. }), "{error}");
    assert!(!error.to_string().contains("p@ss") && !error.to_string().contains("1.1.1.1"), "{error}");
}
