//! Registries with slow, endless or inconsistent responses. `tests/spec/registries.rs` uses a real registry.

mod led;
mod places;
mod tags;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_base::sha256::Sha256;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::answer::Pace;
use super::reference::ContentDigest;
use super::*;
use crate::egress::{Egress, EgressSettings};

const COMPONENT: &[u8] = b"not compiled by these tests";
const LIMIT: u64 = 1 << 20;

/// Registry over plain HTTP that answers each path with scripted bytes.
struct Scripted {
    address: String,
    serving: JoinHandle<()>,
}

/// Bytes to send, and the behaviour after them.
struct Answer {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    /// Closes the connection.
    Close,
    /// Sends nothing more.
    Silence,
    /// Sends one byte every 20 ms.
    Trickle,
    /// Sends data without end.
    Flood,
}

impl Scripted {
    async fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answer = Arc::new(answer);
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    let mut piece = [0; 4096];
                    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                        match stream.read(&mut piece).await {
                            // A TLS handshake (0x16) is not answered.
                            Ok(length) if length > 0 && piece[0] != 0x16 => {
                                head.extend_from_slice(&piece[..length]);
                            }
                            _ => return,
                        }
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let Answer { bytes, then } = answer(head.split(' ').nth(1).unwrap_or_default());
                    let mut sent = stream.write_all(&bytes).await;
                    while sent.is_ok() {
                        sent = match then {
                            Then::Close => return,
                            Then::Silence => std::future::pending().await,
                            Then::Trickle => {
                                sleep(Duration::from_millis(20)).await;
                                stream.write_all(b"x").await
                            }
                            Then::Flood => stream.write_all(&vec![b'x'; 64 << 10]).await,
                        };
                    }
                });
            }
        });
        Self { address, serving }
    }

    /// Starts a registry with a manifest of `COMPONENT`, modified by `change`, and this response to requests
    /// of the component.
    async fn with_component(
        change: impl Fn(&mut serde_json::Value),
        component: impl Fn() -> Answer + Send + Sync + 'static,
    ) -> Self {
        let mut manifest = json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "layers": [{
                "mediaType": "application/wasm", "digest": ContentDigest::of_sha256(Sha256::digest(COMPONENT)).as_str(),
                "size": COMPONENT.len(),
            }],
        });
        change(&mut manifest);
        let manifest = manifest.to_string();
        Self::start(
            move |path| if path.contains("/blobs/") { component() } else { whole(manifest.as_bytes()) },
        )
        .await
    }

    /// Pulls with a time limit of 500 ms.
    async fn pull(&self) -> Result<Pulled, RegistryError> {
        self.pull_within(Duration::from_millis(500)).await
    }

    async fn pull_within(&self, patience: Duration) -> Result<Pulled, RegistryError> {
        let egress = Egress::new(EgressSettings::default());
        let reference = format!("oci://{}/acme/thing:1", self.address).parse().unwrap();
        let pace = Pace { patience, bytes_per_second: 1 << 10 };
        Registry::of(&egress, reference).with_pace(pace).pull(LIMIT).await
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn whole(body: &[u8]) -> Answer {
    with_length(body, body.len(), Then::Close)
}

/// Response with this `Content-Length`.
fn with_length(body: &[u8], length: usize, then: Then) -> Answer {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    Answer { bytes: [head.as_bytes(), body].concat(), then }
}

/// Response without `Content-Length`.
fn without_length(body: &[u8], then: Then) -> Answer {
    Answer { bytes: [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", body].concat(), then }
}

#[tokio::test]
async fn what_the_manifest_names_is_pulled() {
    let registry = Scripted::with_component(|_| (), || whole(COMPONENT)).await;

    let pulled = registry.pull().await.unwrap();

    assert_eq!((pulled.component, pulled.signature), (COMPONENT.into(), None));
    assert!(
        pulled.reference.to_string().starts_with(&format!("oci://{}/acme/thing:1@sha256:", registry.address))
    );
    let unsaid = Scripted::with_component(|_| (), || without_length(COMPONENT, Then::Close)).await;
    assert_eq!(unsaid.pull().await.unwrap().component, COMPONENT);
}

#[tokio::test]
async fn a_registry_that_stands_still_or_trickles_is_left() {
    for then in [Then::Silence, Then::Trickle] {
        let began = Instant::now();
        let component = Scripted::with_component(
            |manifest| manifest["layers"][0]["size"] = 100_000.into(),
            move || with_length(&COMPONENT[..3], 100_000, then),
        );
        let component = component.await;
        let egress = Egress::new(EgressSettings::default());
        let reference = format!("oci://{}/acme/thing:1", component.address).parse().unwrap();
        // A component must arrive at a minimum rate, a manifest within a fixed time.
        let pace = Pace { patience: Duration::from_millis(500), bytes_per_second: 100_000 };
        let slow = Registry::of(&egress, reference).with_pace(pace).pull(LIMIT).await;
        assert!(matches!(slow, Err(RegistryError::TooSlow { what: "the component", .. })), "{slow:?}");

        let manifest = Scripted::start(move |_| without_length(b"{", then)).await;
        let slow = manifest.pull().await;
        assert!(matches!(slow, Err(RegistryError::TooSlow { what: "the manifest", .. })), "{slow:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
    let mute = Scripted::start(|_| Answer { bytes: Vec::new(), then: Then::Silence }).await;
    let slow = mute.pull().await;
    assert!(
        matches!(slow, Err(RegistryError::Egress(crate::egress::EgressError::Timeout { .. }))),
        "{slow:?}"
    );
}

#[tokio::test]
async fn a_registry_that_never_ends_is_left_at_the_limit() {
    // The size limit applies before the time limit, also on a busy machine.
    let patience = Duration::from_mins(1);
    let component = Scripted::with_component(|_| (), || without_length(COMPONENT, Then::Flood)).await;
    let longer = component.pull_within(patience).await;
    assert!(matches!(longer, Err(RegistryError::TooLong { what: "the component", .. })), "{longer:?}");

    let manifest = Scripted::start(|_| without_length(b"{", Then::Flood)).await;
    let longer = manifest.pull_within(patience).await;
    assert!(
        matches!(longer, Err(RegistryError::TooLong { what: "the manifest", limit: 4_194_304 })),
        "{longer:?}"
    );
}

#[tokio::test]
async fn what_is_cut_changed_or_too_large_is_not_returned() {
    let size = COMPONENT.len();
    let cut = Scripted::with_component(|_| (), move || with_length(&COMPONENT[..5], size, Then::Close)).await;
    let error = cut.pull().await.unwrap_err();
    assert!(
        matches!(error, RegistryError::BrokenOff { what: "the component", received: 5, .. }),
        "{error:?}"
    );
    let manifest = Scripted::start(|_| with_length(b"{}", 3, Then::Close)).await;
    let error = manifest.pull().await.unwrap_err();
    assert!(matches!(error, RegistryError::BrokenOff { what: "the manifest", received: 2, .. }), "{error:?}");
    let short = Scripted::with_component(|_| (), || whole(&COMPONENT[..5])).await;
    let error = short.pull().await.unwrap_err();
    assert!(matches!(error, RegistryError::Truncated { received: 5, .. }), "{error:?}");
    let changed = Scripted::with_component(|_| (), || whole(&[b'x'; COMPONENT.len()])).await;
    let error = changed.pull().await.unwrap_err();
    assert!(matches!(error, RegistryError::WrongDigest { what: "the component", .. }), "{error:?}");
    let large = Scripted::with_component(
        |manifest| manifest["layers"][0]["size"] = (LIMIT + 1).into(),
        || panic!("it is asked for"),
    );
    let error = large.await.pull().await.unwrap_err();
    assert!(matches!(error, RegistryError::TooLarge { limit: LIMIT, .. }), "{error:?}");
}

#[tokio::test]
async fn a_signature_is_the_annotation_of_the_layer() {
    const SIGNATURE: &str =
        "MEYCIQC7Tjg7KsW1LNREWjTCuMhwUGHKEKgBcsjo+mZ0aEj2MwIhAJn/wjr22vW4CnAWsnZaq3PMVBwVZZCLCQm7F70fh/uz";
    let annotated = async |value: &'static str| {
        let change = move |manifest: &mut serde_json::Value| {
            manifest["layers"][0]["annotations"] = json!({ "dev.cosignproject.cosign/signature": value });
        };
        Scripted::with_component(change, || whole(COMPONENT)).await.pull().await
    };

    let read = annotated(SIGNATURE).await.unwrap().signature.expect("a signature").read();
    assert_eq!(read.unwrap().to_string(), SIGNATURE);
    // The pull succeeds: a malformed signature is an error only when it is read.
    let malformed = annotated("none").await.unwrap().signature.expect("something");
    assert!(matches!(malformed.read(), Err(RegistryError::Unreadable(_))));
}

#[tokio::test]
async fn an_artifact_is_read_as_it_is_made() {
    let artifact = Artifact::new(COMPONENT.to_vec(), "Thing", "1.0.0", None);
    let reference: Reference = "oci://ghcr.io/acme/thing".parse().unwrap();

    let layer = artifact::layer(&reference, &artifact.manifest, "").unwrap();

    assert_eq!(layer.content_digest().unwrap(), ContentDigest::of_sha256(Sha256::digest(COMPONENT)));
    assert_eq!(layer.size, COMPONENT.len() as u64);
}
