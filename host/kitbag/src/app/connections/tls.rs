//! TLS handshakes on connections, with a time limit. `slots` limits their number.

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

/// Time limit for a whole handshake, counted from the accepted connection; lower if the limit for the head of
/// a request is lower.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// TLS record type `handshake` (RFC 8446, section 5.1): first byte of a TLS connection.
const HANDSHAKE_RECORD: u8 = 22;
/// Bytes of a plain HTTP request to read, so that the response is not lost when the connection closes.
const MAX_PLAIN_BYTES: u64 = 64 << 10;
/// Response to a plain HTTP request on a TLS port (RFC 9457).
const PLAIN_HTTP_ANSWER: &str = concat!(
    "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: 101\r\n",
    "connection: close\r\n\r\n",
    r#"{"title":"Bad Request","status":400,"detail":"This port speaks HTTPS: the URL begins with https://."}"#
);

/// TLS connection.
pub(super) type Secured = TlsStream<Plain>;

/// Sets up TLS on connections. Clones share the sessions that clients may resume.
#[derive(Clone)]
pub(in crate::app) struct Tls {
    acceptor: TlsAcceptor,
    timeout: Duration,
    metrics: Metrics,
}

/// Counts one handshake in the metrics when dropped, also if its connection was evicted.
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
    /// Configures TLS 1.2 and 1.3 with HTTP/1.1 and without early data, which attackers could replay. `head`:
    /// time limit for the head of a request.
    pub(in crate::app) fn new(certificate: LiveCertificate, head: Duration, metrics: Metrics) -> Self {
        // Named explicitly: rustls panics when it has to choose and another dependency enables a second
        // provider.
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default protocol versions");
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(certificate));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), timeout: HANDSHAKE_TIMEOUT.min(head), metrics }
    }

    /// Performs the handshake; `None` if it fails or times out. Answers a plain HTTP request with an error.
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

    /// Performs the handshake; `None` if the peer speaks plain HTTP, which is answered with an error.
    async fn shake_hands(&self, stream: TcpStream, pace: Pace) -> io::Result<Option<Secured>> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // Every HTTP method begins with a letter.
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
    // Closing a connection with unread data resets it, and the peer may lose the response.
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
