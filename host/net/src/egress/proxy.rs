//! The operator's HTTP proxy for connections to public addresses (CONNECT, RFC 9110, section 9.3.6).

use std::fmt;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tower::Service;
use url::Url;

use super::BoxError;

/// HTTP proxy, with optional credentials.
#[derive(Clone)]
pub struct Proxy {
    tunnel: Tunnel<HttpConnector>,
}

/// Error of parsing a proxy URL. The URL is not quoted: it may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a proxy is such as http://proxy.internal:3128, or http://user:password@proxy.internal:3128")]
pub struct NoProxy;

impl Proxy {
    /// Parses the URL of a CONNECT proxy, with the scheme `http`: TLS to the proxy is not supported.
    pub fn parse(url: &str) -> Result<Self, NoProxy> {
        let url = Url::parse(url).map_err(|_| NoProxy)?;
        let is_proxy = url.scheme() == "http" && url.path() == "/" && url.query().is_none();
        let authority = url.host_str().filter(|_| is_proxy).ok_or(NoProxy)?;
        let port = url.port_or_known_default().ok_or(NoProxy)?;
        let address: Uri = format!("http://{authority}:{port}").parse().map_err(|_| NoProxy)?;
        let mut tunnel = Tunnel::new(address, HttpConnector::new());
        if !url.username().is_empty() || url.password().is_some() {
            let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
            let mut credentials = decoded(url.username());
            credentials.push(b':');
            credentials.extend(decoded(url.password().unwrap_or_default()));
            let header = format!("Basic {}", STANDARD.encode(credentials));
            tunnel = tunnel.with_auth(HeaderValue::from_str(&header).map_err(|_| NoProxy)?);
        }
        Ok(Self { tunnel })
    }

    /// Connects through the proxy to an address that the guard has permitted.
    pub(super) async fn connect(&self, address: SocketAddr) -> Result<TcpStream, BoxError> {
        self.connect_by_name(&address.to_string()).await
    }

    /// Connects through the proxy to a host name, which the proxy resolves. Never use it for a host that a
    /// toolkit or a user can choose.
    pub(super) async fn connect_by_name(&self, authority: &str) -> Result<TcpStream, BoxError> {
        let target: Uri = format!("https://{authority}").parse()?;
        let mut tunnel = self.tunnel.clone();
        std::future::poll_fn(|context| tunnel.poll_ready(context)).await?;
        Ok(TokioIo::into_inner(tunnel.call(target).await?))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Proxy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_proxy_is_refused_without_being_quoted() {
        for proxy in [
            "http://proxy.internal:3128",
            "http://proxy",
            "http://ana:p%40ss@10.0.0.1:8080",
            "http://[::1]:3128/",
        ] {
            assert!(Proxy::parse(proxy).is_ok(), "{proxy}");
        }
        for other in [
            "",
            "proxy:3128",
            "https://proxy:3128",
            "socks5://proxy:1080",
            "http://proxy/path",
            "http://proxy?x",
        ] {
            assert_eq!(Proxy::parse(other).err(), Some(NoProxy), "{other}");
        }
        let proxy = Proxy::parse("http://ana:s3cr3t@proxy:3128").expect("it is one");
        assert!(!format!("{proxy:?}").contains("s3cr3t"));
    }
}
