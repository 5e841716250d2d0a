//! TLS connections to a server, by a client that trusts one authority.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificates::Authority;
use super::within;

/// A client that trusts one authority.
#[derive(Clone)]
pub(crate) struct TlsClient(ClientConfig);

impl TlsClient {
    /// Creates a client that offers HTTP/1.1 over TLS 1.2 and 1.3.
    pub(crate) fn trusting(authority: &Authority) -> Self {
        Self::speaking(authority, &[&TLS12, &TLS13]).offering(&["http/1.1"])
    }

    /// Creates a client for these TLS versions that offers no protocol (ALPN).
    pub(crate) fn speaking(authority: &Authority, versions: &[&'static SupportedProtocolVersion]) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der()).expect("it is a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let config = config.with_protocol_versions(versions).expect("the provider supports them");
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.resumption = Resumption::disabled();
        Self(config)
    }

    /// Sets the protocols to offer (ALPN).
    pub(crate) fn offering(mut self, protocols: &[&str]) -> Self {
        self.0.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        self
    }

    /// Connects to a server, whose certificate must be valid for its address.
    pub(crate) async fn connect(&self, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(Arc::new(self.0.clone()));
        let name = ServerName::IpAddress(address.ip().into());
        within("the TLS connection", async {
            connector.connect(name, TcpStream::connect(address).await?).await
        })
        .await
    }

    /// Sends a request, which must ask the server to close the connection, and returns the whole response.
    pub(crate) async fn ask(&self, address: SocketAddr, request: &str) -> io::Result<String> {
        let mut stream = self.connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        within("the answer", stream.read_to_string(&mut answer)).await?;
        Ok(answer)
    }

    /// Gets a path, and returns the whole response.
    pub(crate) async fn get(&self, address: SocketAddr, path: &str) -> io::Result<String> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        self.ask(address, &request).await
    }
}
