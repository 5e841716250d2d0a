//! The one HTTP client for everything that leaves the process.
//!
//! A request goes `normalise → policy → pool or (resolve → address guard → connect → TLS) → send`.
//! The URL is normalised once, and what was checked is what is sent: scheme, host and port of the
//! outgoing request are rebuilt from the checked target, never copied from the caller; headers that
//! speak about the connection are the client's own.
//!
//! Invariants:
//! - no connection is opened to an address that the guard has not seen: names are resolved here,
//!   once, and the socket goes to the resolved address;
//! - toolkits, captures and the operator never share a connection: each has a guard, a client and a pool
//!   of its own, so that what is opened to one is opened to no other;
//! - proxy variables of the environment (`HTTPS_PROXY`, …) are not read: a proxy would resolve
//!   names out of the guard's sight;
//! - redirects are not followed: a 3xx is an answer like any other. Whoever follows one, by
//!   [`Redirects`], sends each request through here and so through the same policy;
//! - connections, and all work on them, live on the runtime that the client was built on, whichever
//!   runtime a request is made on.

mod allowlist;
mod connector;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod hygiene;
mod nat64;
mod ports;
mod redirects;
mod repeatable;
mod resolver;
mod target;
#[cfg(test)]
pub(crate) mod test_name_server;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::TokioTimer;
use kitbag_manifest::limits;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{error::Elapsed, timeout};
use url::Url;

pub use self::allowlist::{Allowlist, ApiHost, InvalidEntry};
pub use self::error::EgressError;
pub use self::guard::{CaptureRanges, ToolkitRanges};
pub use self::nat64::Nat64Prefix;
pub use self::redirects::{Redirects, Step};
pub use self::repeatable::{Repeatable, Unrepeatable};
pub use self::resolver::LookupError;

use self::connector::{Connector, GuardedTcp};
use self::guard::AddressGuard;
use self::nat64::Nat64;
use self::resolver::{ON_BEHALF_OF, Resolver, Source};
use self::target::Target;
use crate::redaction::Redactor;

/// What a body may fail with on its way out.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A body on its way, of a request or of a response.
pub type BoxBody = UnsyncBoxBody<Bytes, BoxError>;

/// How long a connection may wait unused in a pool.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many unused connections a pool keeps per scheme, host and port.
const IDLE_PER_AUTHORITY: usize = 16;

/// How large the head of a response may be, in bytes, and how many headers it may have.
const HEAD: usize = 64 << 10;
const HEADERS: usize = 100;

/// What the operator decides about outbound traffic.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// Ranges that toolkits may reach although the guard would refuse them, such as `127.0.0.0/8` on a
    /// developer's machine. Empty by default.
    pub toolkit_ranges: ToolkitRanges,
    /// The same for captures. Empty by default.
    pub capture_ranges: CaptureRanges,
    /// Name servers for what toolkits and captures ask for; where there are none, the system's.
    pub name_servers: Vec<SocketAddr>,
    /// The file that names hosts, for the same.
    pub hosts: PathBuf,
    /// NAT64 prefixes of the network, beside those that its name servers tell.
    pub nat64_prefixes: Vec<Nat64Prefix>,
    /// How long the name servers may take for one name.
    pub lookup_timeout: Duration,
    /// From the start of name resolution to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// From the start of a request, connecting and uploading included, to the response's head.
    pub response_timeout: Duration,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            toolkit_ranges: ToolkitRanges::default(),
            capture_ranges: CaptureRanges::default(),
            name_servers: Vec::new(),
            hosts: PathBuf::from("/etc/hosts"),
            nat64_prefixes: Vec::new(),
            lookup_timeout: Duration::from_secs(5),
            connect_timeout: limits::CONNECT_TIMEOUT,
            response_timeout: Duration::from_mins(1),
        }
    }
}

/// What a caller will wait for one request, where that is shorter than the settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Option<Duration>,
    /// From there to the response's head.
    pub first_byte: Option<Duration>,
}

/// What a file is asked for with: any type, and as it is. Nothing here undoes a compression.
const FILE_HEADERS: [(HeaderName, HeaderValue); 2] =
    [(ACCEPT, HeaderValue::from_static("*/*")), (ACCEPT_ENCODING, HeaderValue::from_static("identity"))];

/// On whose behalf a request leaves, which decides where it may go.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A toolkit: only the hosts it declared, and only at public addresses and in the ranges that are
    /// opened to toolkits.
    Toolkit {
        /// The hosts.
        allowlist: Arc<Allowlist>,
        /// Whose call it is.
        user: Arc<str>,
    },
    /// A URL that a user or a document supplied: any host, at ports that serve files, and only at public
    /// addresses and in the ranges that are opened to captures.
    Capture {
        /// Whose document it is.
        user: Arc<str>,
    },
    /// A URL that the operator configured, or that the operator's own identity provider named:
    /// any host at any address. Never for a URL that a toolkit or a user can choose.
    Operator,
}

impl Policy {
    fn check(&self, target: &Target) -> Result<(), EgressError> {
        match self {
            Self::Toolkit { allowlist, .. } if !allowlist.permits(target) => {
                Err(EgressError::NotListed { authority: target.authority() })
            }
            Self::Capture { .. } if !ports::serves_files(target.port()) => {
                Err(EgressError::ForbiddenPort { authority: target.authority() })
            }
            Self::Toolkit { .. } | Self::Capture { .. } | Self::Operator => Ok(()),
        }
    }

    /// Whose share of the name servers it uses.
    fn user(&self) -> Arc<str> {
        match self {
            Self::Toolkit { user, .. } | Self::Capture { user } => user.clone(),
            Self::Operator => Arc::default(),
        }
    }
}

/// The outbound HTTP client; a clone shares the pools.
#[derive(Clone, Debug)]
pub struct Egress {
    toolkits: Client<Connector, BoxBody>,
    captures: Client<Connector, BoxBody>,
    operator: Client<Connector, BoxBody>,
    response_timeout: Duration,
    runtime: Handle,
}

impl Egress {
    /// Builds all clients on the runtime that this is called on; nothing is resolved or opened
    /// before the first request.
    pub fn new(settings: EgressSettings) -> Self {
        let source = Source {
            name_servers: settings.name_servers.clone(),
            hosts: settings.hosts.clone(),
            timeout: settings.lookup_timeout,
        };
        Self::resolving(settings, &Resolver::dns(source), &Resolver::system())
    }

    /// `strangers` resolves the names of toolkits and captures, and `own` those of the operator.
    fn resolving(settings: EgressSettings, strangers: &Resolver, own: &Resolver) -> Self {
        let EgressSettings { toolkit_ranges, capture_ranges, nat64_prefixes, connect_timeout, .. } = settings;
        let runtime = Handle::current();
        let nat64 = Arc::new(Nat64::new(nat64_prefixes));
        let client = |guard, resolver: &Resolver| {
            let tcp = GuardedTcp { guard, resolver: resolver.clone(), nat64: nat64.clone() };
            client(Connector::new(tcp, connect_timeout), &runtime)
        };
        Self {
            toolkits: client(AddressGuard::Toolkits(toolkit_ranges), strangers),
            captures: client(AddressGuard::Captures(capture_ranges), strangers),
            operator: client(AddressGuard::Open, own),
            response_timeout: settings.response_timeout,
            runtime: runtime.clone(),
        }
    }

    /// Runs a future on the runtime of the connections, whichever runtime this is called on. Dropping
    /// the returned future ends it.
    pub async fn at_home<F>(&self, future: F) -> Result<F::Output, Arc<dyn StdError + Send + Sync>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        on(&self.runtime, future).await
    }

    /// Runs `work` until its end on the runtime of the connections.
    pub fn spawn_at_home(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Sends one request and returns as soon as the response's head is there; the body streams.
    ///
    /// The URI must be absolute. `Host` is derived from it and overrides what the caller set; headers
    /// about the connection are dropped; every other header is sent as it is.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
    ) -> Result<Response<Incoming>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.send_within(request, policy, Timeouts::default()).await
    }

    /// As [`send`](Self::send), for a caller with less patience. Dropping the future ends the request.
    pub async fn send_within<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        timeouts: Timeouts,
    ) -> Result<Response<Incoming>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let target = Target::of(request.uri())?;
        policy.check(&target)?;
        let request = prepare(request, &target)?;
        let client = match policy {
            Policy::Toolkit { .. } => &self.toolkits,
            Policy::Capture { .. } => &self.captures,
            Policy::Operator => &self.operator,
        };
        let exchange = ON_BEHALF_OF.scope(policy.user(), exchange(client.clone(), request, timeouts));
        let exchange = timeout(self.response_timeout, exchange);
        let answer = match on(&self.runtime, exchange).await {
            Ok(answer) => answer.flatten(),
            Err(source) => return Err(EgressError::Protocol { authority: target.authority(), source }),
        };
        match answer {
            // The client's own bound is that of a buffer, which may grow somewhat beyond.
            Ok(Ok(response)) if hygiene::size(response.headers()) > HEAD => {
                Err(EgressError::HeadTooLarge { authority: target.authority() })
            }
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(EgressError::from_client(error, &target)),
            Err(Elapsed { .. }) => Err(EgressError::Timeout { authority: target.authority() }),
        }
    }

    /// Sends one request and reads the whole answer, whatever its status: at most `max_bytes` of
    /// body, `within` this time in all.
    pub async fn exchange<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Response<Bytes>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let target = Target::of(request.uri())?;
        let whole = async {
            let (head, body) = self.send(request, policy).await?.into_parts();
            Ok(Response::from_parts(head, read(body, &target, max_bytes).await?))
        };
        let late = || EgressError::Timeout { authority: target.authority() };
        timeout(within, whole).await.unwrap_or_else(|_| Err(late()))
    }

    /// As [`exchange`](Self::exchange), for a service that may take longer to answer than the settings
    /// allow.
    pub async fn exchange_patiently<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Response<Bytes>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let patient = Self { response_timeout: within, ..self.clone() };
        patient.exchange(request, policy, max_bytes, within).await
    }

    /// Asks for a file and follows redirects, each through the same policy; returns as soon as the
    /// head of the answer is there, whatever its status. The body streams.
    pub async fn get_file(&self, url: &Url, policy: &Policy) -> Result<Response<Incoming>, EgressError> {
        let uri =
            Uri::try_from(url.as_str()).map_err(|_| EgressError::InvalidRequest { reason: "no URI" })?;
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = uri;
        request.headers_mut().extend(FILE_HEADERS);
        let mut request = Repeatable::new(request)?;
        let mut redirects = Redirects::to_a_file();
        loop {
            let next = request.next().await.expect("a request without a body can be sent again");
            let response = self.send(next, policy).await?;
            match redirects.step(&mut request, &response, &Redactor::default())? {
                Step::Answer => return Ok(response),
                Step::Follow => {}
            }
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
        let uri =
            Uri::try_from(url.as_str()).map_err(|_| EgressError::InvalidRequest { reason: "no URI" })?;
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
        read(response.into_body(), target, max_bytes).await
    }
}

async fn read(body: Incoming, target: &Target, max_bytes: usize) -> Result<Bytes, EgressError> {
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(EgressError::TooLarge { authority: target.authority(), limit: max_bytes })
        }
        Err(error) => Err(EgressError::Protocol { authority: target.authority(), source: error.into() }),
    }
}

/// Rewrites the request so that it can only go where `target` says.
fn prepare<B>(request: Request<B>, target: &Target) -> Result<Request<BoxBody>, EgressError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if is_forbidden(request.method()) {
        return Err(EgressError::InvalidRequest { reason: "CONNECT, TRACE and TRACK are not possible" });
    }
    let (mut parts, body) = request.into_parts();
    hygiene::check_length(&parts.headers, &body.size_hint())?;
    hygiene::tidy(&mut parts.headers);
    parts.uri = target.apply(&parts.uri)?;
    parts.version = Version::HTTP_11;
    Ok(Request::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}

/// The forbidden methods of the Fetch Standard. CONNECT would ask the far side to open a tunnel to a
/// host that nobody checked; TRACE and TRACK would have it send back the request's head, with the
/// token that the host attaches where its guest does not see it.
fn is_forbidden(method: &Method) -> bool {
    ["CONNECT", "TRACE", "TRACK"].iter().any(|forbidden| method.as_str().eq_ignore_ascii_case(forbidden))
}

/// Waits for the connection, and then for the head.
async fn exchange(
    client: Client<Connector, BoxBody>,
    mut request: Request<BoxBody>,
    timeouts: Timeouts,
) -> Result<Result<Response<Incoming>, ClientError>, Elapsed> {
    let mut connection = capture_connection(&mut request);
    let mut answer = std::pin::pin!(client.request(request));
    let connected = async {
        connection.wait_for_connection_metadata().await;
    };
    tokio::select! {
        biased;
        answer = &mut answer => return Ok(answer),
        connected = patiently(timeouts.connect, connected) => connected?,
    }
    patiently(timeouts.first_byte, answer).await
}

async fn patiently<F: Future>(limit: Option<Duration>, future: F) -> Result<F::Output, Elapsed> {
    match limit {
        Some(limit) => timeout(limit, future).await,
        None => Ok(future.await),
    }
}

/// Runs a future on a runtime and ends it when this one is dropped.
async fn on<F>(runtime: &Handle, future: F) -> Result<F::Output, Arc<dyn StdError + Send + Sync>>
where
    F: Future<Output: Send> + Send + 'static,
{
    // A set of one, because a set takes its tasks with it.
    let mut task = JoinSet::new();
    task.spawn_on(future, runtime);
    let ended = task.join_next().await.expect("the set has one task");
    ended.map_err(|error| Arc::new(error) as _)
}

fn client(connector: Connector, runtime: &Handle) -> Client<Connector, BoxBody> {
    Client::builder(OnRuntime(runtime.clone()))
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_AUTHORITY)
        .http1_max_buf_size(HEAD)
        .http1_max_headers(HEADERS)
        .build(connector)
}

/// Spawns on one runtime, whichever is the current one.
#[derive(Clone)]
struct OnRuntime(Handle);

impl<F> Executor<F> for OnRuntime
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn(future));
    }
}
