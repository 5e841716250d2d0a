//! Lists of tags, and look-up of later versions.

use bytes::Bytes;
use http::Response;
use http_body_util::Full;

use super::*;
use crate::egress::test_server::TestServer;

/// Starts a registry whose tag list is the result of `list`: a page, and the link to the next one, if any.
async fn listing(list: impl Fn(&str) -> (String, Option<String>) + Send + Sync + 'static) -> TestServer {
    TestServer::start(move |head| {
        if !head.uri.path().ends_with("/tags/list") {
            return Response::new(Full::from(manifest(head.uri.path())));
        }
        let (body, link) = list(head.uri.query().unwrap_or_default());
        let mut response = Response::builder();
        if let Some(link) = link {
            response = response.header("link", link);
        }
        response.body(Full::<Bytes>::from(body)).unwrap()
    })
    .await
}

/// Manifest that differs for each path.
fn manifest(path: &str) -> String {
    json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "path": path }).to_string()
}

async fn newest(port: u16, tag: &str) -> Result<PinnedReference, RegistryError> {
    let egress = Egress::new(EgressSettings::default());
    let reference = format!("oci://127.0.0.1:{port}/acme/thing:{tag}").parse().unwrap();
    let pace = Pace { patience: Duration::from_millis(500), bytes_per_second: 1 << 10 };
    Registry::of(&egress, reference).with_pace(pace).newest().await
}

#[tokio::test]
async fn all_pages_of_tags_are_read_at_the_registry_itself() {
    let registry = listing(|query| match query {
        "n=1000" => (
            json!({ "tags": ["1.0.0"] }).to_string(),
            Some("<http://192.0.2.1/v2/other/tags/list?last=a&n=1000>; rel=\"next\"".to_owned()),
        ),
        _ => (json!({ "tags": ["1.2.0", "junk"] }).to_string(), None),
    });
    let registry = registry.await;

    let found = newest(registry.port(), "1.0.0").await.unwrap();

    assert_eq!(found.reference().tag(), "1.2.0");
    let path = "/v2/acme/thing/manifests/1.2.0";
    assert_eq!(
        found.digest(),
        &ContentDigest::of_sha256(Sha256::digest(manifest(path))),
        "the digest is that of what came"
    );
    let moving = newest(registry.port(), "latest").await.unwrap();
    assert_eq!(moving.reference().tag(), "latest");
    assert_eq!(registry.hits("/v2/acme/thing/tags/list"), 2, "of a version alone");
}

#[tokio::test]
async fn lists_of_tags_are_bounded() {
    let endless = listing(|_| ("{}".to_owned(), Some("<?last=a>; rel=next".to_owned()))).await;
    let error = newest(endless.port(), "1.0.0").await.unwrap_err();
    assert!(matches!(error, RegistryError::TooManyTags { pages: 10, .. }), "{error:?}");
    assert_eq!(endless.hits("/v2/acme/thing/tags/list"), 10);

    let large = listing(|_| (" ".repeat((1 << 20) + 1), None)).await;
    let error = newest(large.port(), "1.0.0").await.unwrap_err();
    assert!(matches!(error, RegistryError::TooLong { what: "the tags", .. }), "{error:?}");

    for none in ["", "[]", "{\"tags\":3}", "{\"tags\":[1]}"] {
        let other = listing(move |_| (none.to_owned(), None)).await;
        let error = newest(other.port(), "1.0.0").await.unwrap_err();
        assert!(matches!(error, RegistryError::Unreadable(_)), "{none}: {error:?}");
    }
    let empty = listing(|_| ("{\"tags\":null}".to_owned(), None)).await;
    assert_eq!(newest(empty.port(), "1.0.0").await.unwrap().reference().tag(), "1.0.0");

    let silent = Scripted::start(|_| without_length(b"{", Then::Silence)).await;
    let port = silent.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let error = newest(port, "1.0.0").await.unwrap_err();
    assert!(matches!(error, RegistryError::TooSlow { what: "the tags", .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_no_manifest_or_a_part_of_one_is_nothing_newer() {
    for none in ["<html>", "", "[]"] {
        let registry = TestServer::start(move |_| Response::new(Full::<Bytes>::from(none))).await;
        let error = newest(registry.port(), "latest").await.unwrap_err();
        assert!(matches!(error, RegistryError::Unreadable(_)), "{none}: {error:?}");
    }
    let whole = manifest("");
    let cut = Scripted::start(move |_| with_length(whole.as_bytes(), whole.len() + 1, Then::Close)).await;
    let port = cut.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let error = newest(port, "latest").await.unwrap_err();
    assert!(matches!(error, RegistryError::BrokenOff { what: "the manifest", .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_asks_without_a_sign_in() {
    let registry = TestServer::start(|_| {
        let response = Response::builder().status(401).header("www-authenticate", "Basic realm=\"x\"");
        response.body(Full::<Bytes>::default()).unwrap()
    });
    let registry = registry.await;
    let egress = Egress::new(EgressSettings::default());
    let reference = format!("oci://127.0.0.1:{}/acme/thing:1", registry.port()).parse().unwrap();

    let refused = Registry::of(&egress, reference).anonymous().newest().await.unwrap_err();

    assert!(matches!(refused, RegistryError::NotPublic { .. }), "{refused:?}");
}
