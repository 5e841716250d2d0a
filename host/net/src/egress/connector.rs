//! Opens connections: resolve, check addresses, connect, TLS.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tower::Service;

use super::guard::{AddressGuard, is_private, is_public};
use super::nat64::Nat64;
use super::proxy::Proxy;
use super::resolver::{LookupError, Resolver};
use super::target::Target;
use super::{BoxError, EgressError};

/// Delay before the next address is tried in parallel (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of addresses tried per name: a hostile DNS answer must not open hundreds of sockets.
const MAX_ADDRESSES: usize = 8;

/// TCP or TLS stream for HTTP.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// An open stream.
pub(super) struct Connected {
    pub(super) stream: Stream,
    /// Whether the server is at a private address. Unknown addresses, such as those of a name that the proxy
    /// resolved, count as public.
    pub(super) is_private: bool,
}

/// Opens connections: TLS over [`GuardedTcp`], under one deadline. Clones share the configuration.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub(super) tcp: GuardedTcp,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) connect_timeout: Duration,
}

impl Connector {
    /// Connects on behalf of `user`, whose share of name look-ups is used.
    pub(super) async fn connect(&self, target: &Target, user: &Arc<str>) -> Result<Connected, EgressError> {
        let uri = target.apply(&Uri::default())?;
        let is_private = Arc::new(AtomicBool::new(false));
        let tcp = OnBehalfOf { tcp: self.tcp.clone(), user: user.clone(), is_private: is_private.clone() };
        let connecting = HttpsConnector::from((tcp, self.tls.clone())).call(uri);
        match timeout(self.connect_timeout, connecting).await {
            Ok(Ok(stream)) => Ok(Connected { stream, is_private: is_private.load(Ordering::Relaxed) }),
            Ok(Err(error)) => Err(unbox_or_tls(error, target.authority())),
            Err(_elapsed) => Err(EgressError::Timeout { authority: target.authority() }),
        }
    }
}

/// Connects plain TCP to an address that the guard permits.
#[derive(Clone, Debug)]
pub(super) struct GuardedTcp {
    pub(super) guard: AddressGuard,
    pub(super) resolver: Resolver,
    pub(super) nat64: Arc<Nat64>,
    /// Proxy for connections to public addresses.
    pub(super) proxy: Option<Proxy>,
}

/// [`GuardedTcp`] with the user whose share of name look-ups is used. Sets `is_private` as in [`Connected`].
#[derive(Clone)]
struct OnBehalfOf {
    tcp: GuardedTcp,
    user: Arc<str>,
    is_private: Arc<AtomicBool>,
}

impl Service<Uri> for OnBehalfOf {
    type Response = TokioIo<TcpStream>;
    type Error = EgressError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, EgressError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { tcp, user, is_private } = self.clone();
        Box::pin(async move {
            let (stream, at_private_address) = open(&uri, &tcp, &user).await?;
            is_private.store(at_private_address, Ordering::Relaxed);
            Ok(TokioIo::new(stream))
        })
    }
}

/// Opens a connection, and returns whether the server is at a private address.
async fn open(uri: &Uri, tcp: &GuardedTcp, user: &Arc<str>) -> Result<(TcpStream, bool), EgressError> {
    let host = uri.host().unwrap_or_default();
    let default_port = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let port = uri.port_u16().unwrap_or(default_port);
    let addresses = match addresses(host, port, tcp, user).await {
        Ok(addresses) => Some(addresses),
        // In a network with a proxy, external names may be unresolvable. The operator chose this host, so the
        // proxy may resolve it.
        Err(EgressError::Resolve { .. }) if tcp.proxy.is_some() && tcp.guard.is_open() => None,
        Err(error) => return Err(error),
    };
    let connecting = async {
        match (&tcp.proxy, addresses) {
            (Some(proxy), None) => {
                let connected = proxy.connect_by_name(&format!("{host}:{port}")).await;
                Ok((connected.map_err(io::Error::other)?, false))
            }
            (Some(proxy), Some(addresses)) => connect_by(proxy, &addresses, tcp).await,
            (None, addresses) => {
                let stream = connect_to_first(&addresses.unwrap_or_default()).await?;
                let address = stream.peer_addr()?.ip().to_canonical();
                Ok((stream, is_private(address, &tcp.nat64.cached())))
            }
        }
    };
    let (stream, is_private) = connecting.await.map_err(|source| EgressError::Connect {
        authority: uri.authority().map(ToString::to_string).unwrap_or_default(),
        source: Arc::new(source),
    })?;
    // Requests are written whole, so Nagle's algorithm only delays them. A failure here is harmless.
    stream.set_nodelay(true).ok();
    Ok((stream, is_private))
}

/// Resolves a host to the addresses that the guard permits, with the port; at least one.
async fn addresses(
    host: &str,
    port: u16,
    tcp: &GuardedTcp,
    user: &Arc<str>,
) -> Result<Vec<SocketAddr>, EgressError> {
    let failed = |source| EgressError::Resolve { host: host.to_owned(), source };
    let found = resolve(&tcp.resolver, host, user).await.map_err(failed)?;
    let addresses = permitted(&found, tcp).await.map_err(failed)?;
    if addresses.is_empty() {
        return Err(EgressError::ForbiddenAddress { host: host.to_owned() });
    }
    Ok(addresses.into_iter().take(MAX_ADDRESSES).map(|address| SocketAddr::new(address, port)).collect())
}

/// Connects to the first address that accepts, one after the other, since a proxy is slow to refuse. Public
/// addresses are reached through the proxy, others directly: they are in the server's own network.
async fn connect_by(
    proxy: &Proxy,
    addresses: &[SocketAddr],
    tcp: &GuardedTcp,
) -> io::Result<(TcpStream, bool)> {
    let prefixes = tcp.nat64.cached();
    let mut last_error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let ip = address.ip().to_canonical();
        let connected = if is_public(ip, &prefixes) {
            proxy.connect(*address).await.map_err(io::Error::other)
        } else {
            TcpStream::connect(address).await
        };
        match connected {
            Ok(stream) => return Ok((stream, is_private(ip, &prefixes))),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}

/// Resolves a host to addresses. An IP literal is returned as it is, and is checked by the same guard.
async fn resolve(resolver: &Resolver, host: &str, user: &Arc<str>) -> Result<Vec<IpAddr>, LookupError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => resolver.lookup(host, user).await,
    }
}

/// Returns the addresses that the guard permits. Fails if none is permitted, and the decision about an
/// IPv6 address depended on NAT64 prefixes that could not be discovered.
async fn permitted(found: &[IpAddr], tcp: &GuardedTcp) -> Result<Vec<IpAddr>, LookupError> {
    let GuardedTcp { guard, resolver, nat64, .. } = tcp;
    let depends_on_nat64 = found.iter().any(|address| guard.depends_on_nat64(*address));
    let prefixes = if depends_on_nat64 { nat64.prefixes(resolver).await } else { nat64.cached() };
    let permitted: Vec<_> =
        found.iter().copied().filter(|address| guard.permits(*address, &prefixes)).collect();
    if permitted.is_empty() && depends_on_nat64 && prefixes.discovered.is_none() {
        return Err(LookupError::UnknownNat64);
    }
    Ok(permitted)
}

/// Connects to the first address that accepts. The next attempt starts once the previous one failed or is
/// slow.
async fn connect_to_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    let mut last_error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        match waiting.next() {
            Some(address) => attempts.push(TcpStream::connect(*address)),
            None if attempts.is_empty() => return Err(last_error),
            None => {}
        }
        let delay = if waiting.len() == 0 { Duration::MAX } else { ATTEMPT_DELAY };
        tokio::select! {
            Some(attempt) = attempts.next() => match attempt {
                Ok(stream) => return Ok(stream),
                Err(error) => last_error = error,
            },
            () = sleep(delay) => {}
        }
    }
}

/// Unboxes an error of [`GuardedTcp`]. Any other error comes from the TLS layer around it.
fn unbox_or_tls(error: BoxError, authority: String) -> EgressError {
    match error.downcast::<EgressError>() {
        Ok(error) => *error,
        Err(error) => EgressError::Tls { authority, source: error.into() },
    }
}

/// TLS 1.2 and 1.3 with the system's root certificates, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`, so
/// that an operator can trust an internal CA. Without any, Mozilla's roots are used. The crypto provider is
/// named explicitly: rustls panics when it has to choose a default and another dependency enables a second.
///
/// TLS sessions are not resumed: a session ticket would let a server link connections of different users.
pub(super) fn tls_config() -> ClientConfig {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default protocol versions");
    let mut roots = RootCertStore::empty();
    let (usable, _broken) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = if usable > 0 { config.with_root_certificates(roots) } else { config.with_webpki_roots() };
    let mut config = config.with_no_client_auth();
    config.resumption = Resumption::disabled();
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tls_session_is_resumed() {
        let used = format!("{:?}", tls_config().resumption);

        assert_eq!(used, format!("{:?}", Resumption::disabled()));
        assert_ne!(used, format!("{:?}", Resumption::default()));
    }
}
