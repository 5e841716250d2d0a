//! Where a registry leads: redirects, token services and uploads at other servers.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, header};
use http_body_util::Full;

use super::*;
use crate::egress::EgressError;
use crate::egress::test_proxy::TestProxy;
use crate::egress::test_server::TestServer;

/// Response with a header whose value names `place`.
fn naming(status: u16, name: header::HeaderName, place: &str) -> Response<Full<Bytes>> {
    let value = HeaderValue::from_str(place).unwrap();
    Response::builder().status(status).header(name, value).body(Full::default()).unwrap()
}

/// Starts a registry that leads every request to `place` by a redirect, by the `realm` of a token service, or
/// by the location of an upload.
async fn leading(by: &'static str, place: String) -> TestServer {
    TestServer::start(move |head| match by {
        "redirect" => naming(307, header::LOCATION, &place),
        "realm" => naming(401, header::WWW_AUTHENTICATE, &format!("Bearer realm=\"{place}\"")),
        _ if head.method == Method::HEAD => naming(404, header::SERVER, "test"),
        _ => naming(202, header::LOCATION, &place),
    })
    .await
}

/// Uses the registry as a pull, or as a push if it is about uploads. `localhost` is left to a proxy, if there
/// is one, so that the registry is not known to be at a private address.
async fn used(egress: &Egress, host: &str, by: &str) -> RegistryError {
    let reference = format!("oci://{host}/acme/thing:1").parse().unwrap();
    let registry = Registry::of(egress, reference).anonymous();
    match by {
        "upload" => {
            let artifact = Artifact::new(COMPONENT.to_vec(), "Thing", "1.0.0", None);
            registry.push(artifact).await.unwrap_err()
        }
        _ => registry.newest().await.unwrap_err(),
    }
}

#[tokio::test]
async fn a_registry_at_no_private_address_leads_to_none() {
    for by in ["redirect", "realm", "upload"] {
        let inside = TestServer::start(|_| naming(500, header::SERVER, "inside")).await;
        let registry = leading(by, format!("{}/inside", inside.origin())).await;
        let proxy = TestProxy::start(Some(registry.port())).await;

        let refused = used(&Egress::behind(&proxy), &format!("localhost:{}", registry.port()), by).await;

        let RegistryError::Egress(EgressError::ForbiddenAddress { host }) = &refused else {
            panic!("{by}: {refused:?}")
        };
        assert_eq!(host, "127.0.0.1");
        assert!(!registry.requests().is_empty(), "{by}: the registry itself was asked, through the proxy");
        assert_eq!(inside.connections(), 0, "{by}");
    }
}

#[tokio::test]
async fn a_registry_at_a_private_address_leads_to_others_whose_answers_are_not_quoted() {
    let answer = |status: u16, text: &'static str| {
        TestServer::start(move |_| Response::builder().status(status).body(Full::from(text)).unwrap())
    };
    for (by, status, text) in [
        ("redirect", 500, "internal text"),
        ("redirect", 200, r#"{"layers":"internal text"}"#),
        ("realm", 500, "internal text"),
        ("realm", 200, r#"{"token":["internal text"]}"#),
        ("upload", 500, "internal text"),
    ] {
        let inside = answer(status, text).await;
        let registry = leading(by, format!("{}/inside", inside.origin())).await;
        let egress = Egress::new(EgressSettings::default());

        let error = used(&egress, &format!("127.0.0.1:{}", registry.port()), by).await;

        assert!(inside.hits("/inside") > 0, "{by}: {error}");
        assert!(!error.to_string().contains("internal"), "{by}: {error}");
    }
}

#[tokio::test]
async fn the_text_of_the_registry_itself_is_quoted_on_one_line() {
    let registry = TestServer::start(|_| {
        Response::builder().status(500).body(Full::from("too busy\n\u{1b}[31m\u{202e}")).unwrap()
    });
    let registry = registry.await;
    let egress = Egress::new(EgressSettings::default());

    let error = used(&egress, &format!("127.0.0.1:{}", registry.port()), "nothing").await;

    let quoted = error.to_string();
    assert!(quoted.ends_with(r": too busy\n\u{1b}[31m\u{202e}"), "{quoted}");
}
