//! Tests that need a real socket.

mod head;
mod host_policy;
mod names;
mod proxy;
mod resolution;
mod reuse;
mod runtime;

use http::header::HOST;
use http_body_util::{Empty, Full};

use super::test_server::TestServer;
use super::*;

const TIMEOUT: Duration = Duration::from_secs(5);

async fn upstream() -> TestServer {
    TestServer::start(|_| Response::new(Full::from("hello"))).await
}

/// Opens ranges to toolkits and to captures alike.
fn egress(opened: &[&str]) -> Egress {
    Egress::new(settings(opened, opened))
}

fn settings(to_toolkits: &[&str], to_captures: &[&str]) -> EgressSettings {
    let range = |range: &&str| range.parse().unwrap();
    EgressSettings {
        toolkit_ranges: to_toolkits.iter().map(range).collect(),
        capture_ranges: to_captures.iter().map(range).collect(),
        connect_timeout: TIMEOUT,
        response_timeout: TIMEOUT,
        ..EgressSettings::default()
    }
}

fn listing(entries: &[String]) -> Policy {
    listing_for("ana", entries)
}

fn listing_for(user: &str, entries: &[String]) -> Policy {
    let allowlist = Arc::new(Allowlist::parse(entries).unwrap());
    Policy::Toolkit { allowlist, user: user.into(), membership: Membership::none() }
}

fn capture() -> Policy {
    Policy::Capture { user: "ana".into() }
}

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

async fn fetch(egress: &Egress, uri: &str, policy: &Policy) -> Result<Bytes, EgressError> {
    egress.get_bytes(&uri.parse().unwrap(), policy, 1024, TIMEOUT).await
}

#[tokio::test]
async fn loopback_is_refused_by_default_whatever_names_it() {
    let upstream = upstream().await;
    let port = upstream.port();
    let listed = listing(&[
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
    ]);

    for policy in [&listed, &capture()] {
        for host in
            ["localhost", "LOCALHOST.", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"]
        {
            let error = egress(&[]).send(get(&format!("http://{host}:{port}/")), policy).await.unwrap_err();

            assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{host}: {error}");
        }
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn loopback_is_reachable_where_the_operator_allows_the_range() {
    let upstream = upstream().await;
    let egress = egress(&["127.0.0.0/8"]);
    let listed = listing(&[format!("localhost:{}", upstream.port())]);

    let body = fetch(&egress, &format!("http://localhost:{}/", upstream.port()), &listed).await.unwrap();

    assert_eq!(body, "hello");
}

#[tokio::test]
async fn an_allowed_range_does_not_widen_the_allowlist() {
    let upstream = upstream().await;
    let uri = format!("http://127.0.0.1:{}/", upstream.port());
    let listed = listing(&["api.example.com".to_owned()]);

    let error = egress(&["127.0.0.0/8"]).send(get(&uri), &listed).await.unwrap_err();

    let line = format!("\"127.0.0.1:{}\"", upstream.port());
    assert!(matches!(error, EgressError::NotListed { .. }));
    assert!(error.to_string().contains(&line), "{error} does not say {line}");
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn what_is_opened_to_toolkits_is_closed_to_captures_and_the_other_way_round() {
    let upstream = upstream().await;
    let uri = upstream.origin();
    let listed = listing(&[format!("127.0.0.1:{}", upstream.port())]);

    for (settings, open, closed) in [
        (settings(&["127.0.0.1/32"], &[]), &listed, &capture()),
        (settings(&[], &["127.0.0.1/32"]), &capture(), &listed),
    ] {
        let egress = Egress::new(settings);
        let before = fetch(&egress, &uri, closed).await;
        // This leaves an idle connection in the pool.
        assert_eq!(fetch(&egress, &uri, open).await.unwrap(), "hello");
        let after = fetch(&egress, &uri, closed).await;

        assert!(matches!(before, Err(EgressError::ForbiddenAddress { .. })), "{before:?}");
        assert!(matches!(after, Err(EgressError::ForbiddenAddress { .. })), "{after:?}");
    }
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_port_of_another_service_is_for_whoever_lists_it() {
    let egress = egress(&["127.0.0.0/8"]);
    let listed = listing(&["127.0.0.1:6667".to_owned()]);

    let captured = egress.send(get("http://127.0.0.1:6667/"), &capture()).await.unwrap_err();
    let fetched = egress.send(get("http://127.0.0.1:6667/"), &listed).await.unwrap_err();
    let unlisted = egress.send(get("http://127.0.0.1:6668/"), &listed).await.unwrap_err();

    assert!(matches!(captured, EgressError::ForbiddenPort { .. }), "{captured}");
    assert!(matches!(fetched, EgressError::Connect { .. }), "{fetched}");
    assert!(matches!(unlisted, EgressError::NotListed { .. }), "{unlisted}");
}

#[tokio::test]
async fn the_operator_reaches_loopback_and_its_connection_serves_nobody_else() {
    let upstream = upstream().await;
    let egress = egress(&[]);

    fetch(&egress, &upstream.origin(), &Policy::Operator).await.unwrap();
    let error = fetch(&egress, &upstream.origin(), &capture()).await.unwrap_err();

    assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{error}");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn the_host_header_is_the_checked_host() {
    let upstream = upstream().await;
    let mut request = get(&format!("{}/a%2Fb?c=%20d", upstream.origin()));
    request.headers_mut().insert(HOST, "internal.example".parse().unwrap());
    request.headers_mut().append(HOST, "second.example".parse().unwrap());

    egress(&["127.0.0.0/8"]).send(request, &capture()).await.unwrap();

    let seen = upstream.requests().remove(0);
    let hosts: Vec<_> = seen.headers.get_all(HOST).iter().collect();
    assert_eq!(hosts, [&format!("127.0.0.1:{}", upstream.port())]);
    assert_eq!(seen.uri, "/a%2Fb?c=%20d");
}

#[tokio::test]
async fn a_relative_uri_is_refused() {
    let egress = egress(&[]);

    for request in [get("/v1"), get("api.example.com:443"), get("ftp://api.example.com/")] {
        let error = egress.send(request, &Policy::Operator).await.unwrap_err();

        assert!(matches!(error, EgressError::InvalidRequest { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_tunnel_and_a_request_for_its_own_head_are_refused() {
    let upstream = upstream().await;

    for method in ["CONNECT", "TRACE", "TRACK", "connect", "Trace", "track"] {
        let mut request = get(&upstream.origin());
        *request.method_mut() = method.parse().unwrap();

        let error = egress(&[]).send(request, &Policy::Operator).await.unwrap_err();

        assert!(matches!(error, EgressError::InvalidRequest { .. }), "{method}: {error}");
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let upstream = TestServer::start(|_| {
        Response::builder().status(302).header("location", "/elsewhere").body(Full::default()).unwrap()
    })
    .await;
    let egress = egress(&["127.0.0.0/8"]);

    let response = egress.send(get(&upstream.origin()), &capture()).await.unwrap();
    let document = fetch(&egress, &upstream.origin(), &capture()).await;

    assert_eq!(response.status(), 302);
    assert!(matches!(document, Err(EgressError::Status { status, .. }) if status == 302));
    assert_eq!(upstream.hits("/elsewhere"), 0);
}

#[tokio::test]
async fn a_document_over_its_limit_is_refused() {
    let upstream = TestServer::start(|_| Response::new(Full::from(vec![b'x'; 1025]))).await;

    let error = fetch(&egress(&[]), &upstream.origin(), &Policy::Operator).await.unwrap_err();

    assert!(matches!(error, EgressError::TooLarge { limit: 1024, .. }), "{error}");
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let mut egress = egress(&[]);
    egress.response_timeout = Duration::from_millis(50);

    let error = egress.send(get(&uri), &Policy::Operator).await.unwrap_err();

    assert!(matches!(error, EgressError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_closed_port_and_a_server_without_tls_have_errors_of_their_own() {
    let upstream = upstream().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let without_tls = format!("https://localhost:{}/", upstream.port());
    let egress = egress(&[]);

    let connect = egress.send(get(&closed), &Policy::Operator).await.unwrap_err();
    let tls = egress.send(get(&without_tls), &Policy::Operator).await.unwrap_err();

    assert!(matches!(connect, EgressError::Connect { .. }), "{connect:?}");
    assert!(matches!(tls, EgressError::Tls { .. }), "{tls:?}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_a_resolution_error() {
    let error = egress(&[]).send(get("http://kitbag.invalid/"), &capture()).await.unwrap_err();

    assert!(matches!(error, EgressError::Resolve { .. }), "{error}");
}

#[tokio::test]
async fn connections_are_reused() {
    let upstream = upstream().await;
    let egress = egress(&[]);

    for _ in 0..3 {
        fetch(&egress, &upstream.origin(), &Policy::Operator).await.unwrap();
    }

    assert_eq!(upstream.connections(), 1);
}
