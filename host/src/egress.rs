//! The one HTTP client for everything that leaves the process.
//!
//! A request goes `normalise → policy → pool or (resolve → address guard → connect → TLS) → send`.
//! The URL is normalised once, and what was checked is what is sent: scheme, host and port of the
//! outgoing request are rebuilt from the checked target, never copied from the caller.
//!
//! Invariants:
//! - no connection is opened to an address that the guard has not seen: names are resolved here,
//!   once, and the socket goes to the resolved address;
//! - guarded and unguarded requests never share a connection: each has a client and a pool of its own;
//! - proxy variables of the environment (`HTTPS_PROXY`, …) are not read: a proxy would resolve
//!   names out of the guard's sight;
//! - redirects are not followed: a 3xx is an answer like any other.

mod allowlist;
mod connector;
mod error;
mod guard;
mod target;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ipnet::IpNet;
use tokio::time::timeout;
use url::Url;

pub use self::allowlist::{Allowlist, InvalidEntry};
pub use self::error::EgressError;

use self::connector::Connector;
use self::guard::AddressGuard;
use self::target::Target;

/// What a body may fail with on its way out.
pub type BoxError = Box<dyn StdError + Send + Sync>;

type OutgoingBody = UnsyncBoxBody<Bytes, BoxError>;

/// How long a connection may wait unused in a pool.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many unused connections a pool keeps per scheme, host and port.
const IDLE_PER_AUTHORITY: usize = 16;

/// What the operator decides about outbound traffic.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// Ranges that guarded requests may reach although the guard would refuse them, such as
    /// `127.0.0.0/8` on a developer's machine. Empty by default.
    pub allowed_ranges: Vec<IpNet>,
    /// From the start of name resolution to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// From the start of a request, connecting and uploading included, to the response's head.
    pub response_timeout: Duration,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            allowed_ranges: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_mins(1),
        }
    }
}

/// On whose behalf a request leaves, which decides where it may go.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A toolkit: only the hosts it declared, and only at public addresses.
    Allowlist(Arc<Allowlist>),
    /// A URL that a user or a document supplied: any host, but only at public addresses.
    PublicInternet,
    /// A URL that the operator configured, or that the operator's own identity provider named:
    /// any host at any address. Never for a URL that a toolkit or a user can choose.
    Operator,
}

impl Policy {
    fn check(&self, target: &Target) -> Result<(), EgressError> {
        match self {
            Self::Allowlist(allowlist) if !allowlist.permits(target) => {
                Err(EgressError::NotListed { authority: target.authority() })
            }
            Self::Allowlist(_) | Self::PublicInternet | Self::Operator => Ok(()),
        }
    }
}

/// The outbound HTTP client; a clone shares the pools.
#[derive(Clone, Debug)]
pub struct Egress {
    guarded: Client<Connector, OutgoingBody>,
    unguarded: Client<Connector, OutgoingBody>,
    response_timeout: Duration,
}

impl Egress {
    /// Builds both clients; nothing is resolved or opened before the first request.
    pub fn new(settings: EgressSettings) -> Self {
        let guard = AddressGuard::PublicOr { allowed: settings.allowed_ranges.into() };
        Self {
            guarded: client(guard, settings.connect_timeout),
            unguarded: client(AddressGuard::Open, settings.connect_timeout),
            response_timeout: settings.response_timeout,
        }
    }

    /// Sends one request and returns as soon as the response's head is there; the body streams.
    ///
    /// The URI must be absolute. `Host` is derived from it and overrides what the caller set;
    /// every other header is sent as it is.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
    ) -> Result<Response<Incoming>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let target = Target::of(request.uri())?;
        policy.check(&target)?;
        let request = prepare(request, &target)?;
        let client = match policy {
            Policy::Allowlist(_) | Policy::PublicInternet => &self.guarded,
            Policy::Operator => &self.unguarded,
        };
        match timeout(self.response_timeout, client.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(EgressError::from_client(error, &target)),
            Err(_) => Err(EgressError::Timeout { authority: target.authority() }),
        }
    }

    /// Fetches a whole document of at most `max_bytes` within `within`, body included.
    ///
    /// Any status other than 2xx is [`EgressError::Status`]; reading stops at the byte that is too many.
    pub async fn get_bytes(
        &self,
        url: &Url,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Bytes, EgressError> {
        let uri = Uri::try_from(url.as_str()).map_err(|_| EgressError::InvalidUrl { reason: "no URI" })?;
        let target = Target::of(&uri)?;
        match timeout(within, self.read_document(uri, &target, policy, max_bytes)).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::Timeout { authority: target.authority() }),
        }
    }

    async fn read_document(
        &self,
        uri: Uri,
        target: &Target,
        policy: &Policy,
        max_bytes: usize,
    ) -> Result<Bytes, EgressError> {
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = uri;
        let response = self.send(request, policy).await?;
        if !response.status().is_success() {
            return Err(EgressError::Status { authority: target.authority(), status: response.status() });
        }
        match Limited::new(response.into_body(), max_bytes).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(EgressError::TooLarge { authority: target.authority(), limit: max_bytes })
            }
            Err(error) => Err(EgressError::Protocol { authority: target.authority(), source: error.into() }),
        }
    }
}

/// Rewrites the request so that it can only go where `target` says.
fn prepare<B>(request: Request<B>, target: &Target) -> Result<Request<OutgoingBody>, EgressError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    // CONNECT would ask the far side to open a tunnel to a host that nobody checked.
    if request.method() == Method::CONNECT {
        return Err(EgressError::InvalidUrl { reason: "CONNECT is not possible" });
    }
    let (mut parts, body) = request.into_parts();
    parts.uri = target.apply(&parts.uri)?;
    // A caller's own Host could name a second site behind the checked one; hyper fills in the right one.
    parts.headers.remove(HOST);
    parts.version = Version::HTTP_11;
    Ok(Request::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}

fn client(guard: AddressGuard, connect_timeout: Duration) -> Client<Connector, OutgoingBody> {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_AUTHORITY)
        .build(Connector::new(guard, connect_timeout))
}
