//! TLS on connections: the handshake, within a time limit. How many may be under way, `slots` decides.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kitbag_base::metrics::Metrics;
use kitbag_net::certificate::LiveCertificate;
use kitbag_web::Pace;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tracing::debug;

use super::Plain;
use super::paced::Paced;

/// How long a handshake may take in total, from the connection on; less if the head of a request may take less.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The type of a TLS record with which a handshake begins (RFC 8446, section 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// How much of a request in plain HTTP is read, so that the answer is not lost when the connection is closed.
const MAX_PLAIN_BYTES: u64 = 64 << 10;
/// The answer to a request in plain HTTP (RFC 9457).
const PLAIN_HTTP_ANSWER: &str = concat!(
    "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: 101\r\n",
    "connection: close\r\n\r\n",
    r#"{"title":"Bad Request","status":400,"detail":"This port speaks HTTPS: the URL begins with https://."}"#
);

/// A connection with TLS.
pub(super) type Secured = TlsStream<Plain>;

/// Sets up TLS on connections. Clones share the sessions that clients may resume.
#[derive(Clone)]
pub(in crate::app) struct Tls {
    acceptor: TlsAcceptor,
    timeout: Duration,
    metrics: Metrics,
}

/// Counts one handshake when it is dropped, also if its connection gave way to another.
struct Counting<'a> {
    metrics: &'a Metrics,
    result: &'static str,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.metrics.tls_handshake(self.result);
    }
}

impl Tls {
    /// TLS 1.2 and 1.3, with HTTP/1.1 and without early data, which could be repeated by others. `head` is the time
    /// limit for the head of a request.
    pub(in crate::app) fn new(certificate: LiveCertificate, head: Duration, metrics: Metrics) -> Self {
        // Named explicitly: rustls panics when it has to choose and another dependency enables a second.
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default protocol versions");
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(certificate));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), timeout: HANDSHAKE_TIMEOUT.min(head), metrics }
    }

    /// Sets up TLS; `None` if the peer does not do its part in time. A request in plain HTTP is answered.
    pub(super) async fn secure(&self, stream: TcpStream, pace: Pace) -> Option<Secured> {
        let mut counting = Counting { metrics: &self.metrics, result: "cancelled" };
        let (secured, result) = match timeout(self.timeout, self.shake_hands(stream, pace)).await {
            Ok(Ok(Some(secured))) => (Some(secured), "completed"),
            Ok(Ok(None)) => (None, "plain-http"),
            Ok(Err(error)) => {
                debug!(%error, "a TLS handshake failed");
                (None, "failed")
            }
            Err(_elapsed) => (None, "timeout"),
        };
        counting.result = result;
        secured
    }

    /// Returns nothing if the peer speaks plain HTTP.
    async fn shake_hands(&self, stream: TcpStream, pace: Pace) -> io::Result<Option<Secured>> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // All methods of HTTP begin with a letter.
        if first[0] != HANDSHAKE_RECORD && first[0].is_ascii_alphabetic() {
            refuse_plain_http(stream).await?;
            return Ok(None);
        }
        let stream = Paced::new(Either::Left(stream), pace);
        self.acceptor.accept(stream).await.map(Some)
    }
}

async fn refuse_plain_http(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(PLAIN_HTTP_ANSWER.as_bytes()).await?;
    stream.shutdown().await?;
    // A connection that is closed with unread data is reset, and the peer may lose the answer.
    copy(&mut stream.take(MAX_PLAIN_BYTES), &mut sink()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_plain_http_is_as_long_as_it_says() {
        let (head, body) = PLAIN_HTTP_ANSWER.split_once("\r\n\r\n").expect("a head");

        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).expect("JSON")["status"], 400);
    }
}
