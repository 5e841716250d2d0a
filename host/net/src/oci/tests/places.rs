//! Redirects and upload locations of registries.

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;

use super::*;
use crate::egress::EgressError;
use crate::egress::test_server::TestServer;

fn answer(status: u16, location: &str) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    if !location.is_empty() {
        response = response.header("location", location);
    }
    response.body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_registry_on_this_machine_leads_to_no_other_machine_in_the_clear() {
    for place in ["http://192.0.2.1/blob", "http://registry.example/blob"] {
        let registry = Scripted::with_component(
            |_| (),
            move || {
                let head = format!("HTTP/1.1 307 Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
                Answer { bytes: head.into_bytes(), then: Then::Close }
            },
        );

        let refused = registry.await.pull().await.unwrap_err();

        let RegistryError::Egress(EgressError::Redirect { reason, .. }) = &refused else {
            panic!("{place}: {refused:?}")
        };
        assert!(reason.contains("another machine"), "{reason}");
    }
}

#[tokio::test]
async fn an_upload_goes_to_a_place_beside_the_one_that_has_answered() {
    let elsewhere = TestServer::start(|head| match head.method {
        Method::POST => answer(202, "sessions/1?x=1"),
        _ => answer(201, ""),
    });
    let elsewhere = elsewhere.await;
    let begin = format!("{}/uploads/begin", elsewhere.origin());
    let registry = TestServer::start(move |head| match (&head.method, head.uri.path()) {
        (&Method::HEAD, _) => answer(404, ""),
        (&Method::POST, _) => answer(307, &begin),
        _ => answer(201, ""),
    });
    let registry = registry.await;
    let egress = Egress::new(EgressSettings::default());
    let reference = format!("oci://127.0.0.1:{}/acme/thing:1", registry.port()).parse().unwrap();

    let artifact = Artifact::new(COMPONENT.to_vec(), "Thing", "1.0.0", None);
    Registry::of(&egress, reference).push(artifact).await.unwrap();

    let put = elsewhere.received().into_iter().filter(|(head, _)| head.method == Method::PUT);
    let put: Vec<_> = put.map(|(head, body)| (head.uri.path().to_owned(), body)).collect();
    assert_eq!(put.len(), 2, "the configuration and the component");
    assert_eq!(put[1], ("/uploads/sessions/1".to_owned(), Bytes::from_static(COMPONENT)));
}
