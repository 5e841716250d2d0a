//! The one HTTP client for all outbound traffic of the process.
//!
//! A request goes `normalise → policy → pool or (resolve → address guard → connect → TLS) → send`.
//! The URL is normalised once, and what was checked is what is sent: scheme, host and port of the
//! outgoing request are rebuilt from the checked target, never copied from the caller; connection-specific
//! headers are set by the client alone.
//!
//! Invariants:
//! - no connection is opened to an address that the guard has not checked: names are resolved here,
//!   once, and the socket connects to the resolved address;
//! - each request of a toolkit, and each capture for one, goes to a host that the operator permits to toolkits
//!   (`host_policy`), whatever the toolkit declares, and whichever connection is open;
//! - toolkits, captures and the operator never share a connection: each has a guard and a client of its own,
//!   so an address range opened to one is not opened to the others;
//! - an idle connection serves only the user and the toolkit for whom it was opened (see `pool`);
//! - through the operator's proxy, connections of toolkits and captures go to addresses that the guard has
//!   checked, never to names: the proxy would resolve names without the guard's check. So proxy variables of
//!   the environment (`HTTPS_PROXY`, …) are not read either;
//! - redirects are not followed: a 3xx is returned like any other response. Code that follows one, with
//!   [`Redirects`], sends each request through this client and so through the same policy;
//! - connections, and all work on them, stay on the runtime that the client was built on, whichever
//!   runtime a request is made on.

mod allowlist;
mod connection;
mod connector;
mod documents;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod host_policy;
mod hygiene;
mod led;
mod nat64;
mod policy;
mod pool;
mod ports;
mod proxy;
mod redirects;
mod repeatable;
mod resolver;
mod settings;
mod target;
#[cfg(test)]
pub(crate) mod test_name_server;
#[cfg(test)]
pub(crate) mod test_proxy;
#[cfg(any(test, feature = "testing"))]
pub mod test_server;
#[cfg(test)]
mod tests;
mod transport;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryFutureExt;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use kitbag_base::metrics::Metrics;
use kitbag_base::tasks::stay_or_run_on;
use tokio::runtime::Handle;
use tokio::time::{error::Elapsed, timeout};

pub use self::allowlist::{Allowlist, ApiHost, InvalidEntry, canonical_host};
use self::connection::MAX_HEAD_BYTES;
pub use self::connection::ResponseBody;
use self::connector::{Connector, GuardedTcp, tls_config};
pub use self::error::EgressError;
use self::guard::AddressGuard;
pub use self::guard::{CaptureRanges, ToolkitRanges};
pub use self::host_policy::{HostPolicy, LiveHostPolicy, Membership, RefusedHost};
pub use self::led::LedBy;
use self::nat64::Nat64;
pub use self::nat64::Nat64Prefix;
pub use self::policy::{ListedHost, Policy};
use self::pool::{Key, Limits, Pool};
pub use self::proxy::{NoProxy, Proxy};
pub use self::redirects::{Redirects, Step};
pub use self::repeatable::{Repeatable, Unrepeatable};
pub use self::resolver::LookupError;
use self::resolver::{Resolver, Source};
pub use self::settings::EgressSettings;
use self::target::Target;
pub use self::transport::Timeouts;
use self::transport::{Client, prepare};

/// The error of a request body.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A streaming body of a request or a response.
pub type BoxBody = UnsyncBoxBody<Bytes, BoxError>;

/// The outbound HTTP client. Clones share the idle connections.
#[derive(Clone, Debug)]
pub struct Egress {
    toolkits: Arc<Client>,
    captures: Arc<Client>,
    operator: Arc<Client>,
    /// Hosts that the operator permits to toolkits.
    host_policy: LiveHostPolicy,
    response_timeout: Duration,
    runtime: Handle,
    metrics: Metrics,
}

/// Records the metric of one request on drop, so cancelled requests are counted too.
struct Counting<'a> {
    metrics: &'a Metrics,
    purpose: &'static str,
    result: &'static str,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.metrics.outbound_request(self.purpose, self.result);
    }
}

impl Egress {
    /// Builds all clients on the current runtime. Nothing is resolved or connected before the first
    /// request.
    pub fn new(settings: EgressSettings) -> Self {
        let source = Source {
            name_servers: settings.name_servers.clone(),
            hosts: settings.hosts.clone(),
            timeout: settings.lookup_timeout,
        };
        Self::resolving(settings, &Resolver::dns(source), &Resolver::system())
    }

    /// Like [`new`](Self::new), with explicit resolvers: `untrusted` for toolkits and captures, `operator`
    /// for the operator's requests.
    fn resolving(settings: EgressSettings, untrusted: &Resolver, operator: &Resolver) -> Self {
        let EgressSettings { toolkit_ranges, capture_ranges, nat64_prefixes, proxy, connect_timeout, .. } =
            settings;
        let runtime = Handle::current();
        let nat64 = Arc::new(Nat64::new(nat64_prefixes));
        let tls = Arc::new(tls_config());
        let pool = Pool::new(Limits::default(), &runtime);
        let client = |guard, resolver: &Resolver| {
            let tcp =
                GuardedTcp { guard, resolver: resolver.clone(), nat64: nat64.clone(), proxy: proxy.clone() };
            let connector = Connector { tcp, tls: tls.clone(), connect_timeout };
            Arc::new(Client { connector, pool: pool.clone(), runtime: runtime.clone() })
        };
        Self {
            toolkits: client(AddressGuard::Toolkits(toolkit_ranges), untrusted),
            captures: client(AddressGuard::Captures(capture_ranges), untrusted),
            operator: client(AddressGuard::Open, operator),
            host_policy: LiveHostPolicy::new(settings.host_policy),
            response_timeout: settings.response_timeout,
            runtime: runtime.clone(),
            metrics: Metrics::default(),
        }
    }

    /// Client that leaves every name to a proxy at this loopback address.
    #[cfg(test)]
    pub(crate) fn behind(proxy: &test_proxy::TestProxy) -> Self {
        let settings = EgressSettings {
            proxy: Some(Proxy::parse(&format!("http://{}", proxy.address)).unwrap()),
            ..EgressSettings::default()
        };
        Self::resolving(settings, &Resolver::unknowing(), &Resolver::unknowing())
    }

    /// Counts the requests in `metrics`.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// The hosts that the operator permits to toolkits. Each request is checked by the policy in effect, also over a
    /// connection that is open.
    pub fn host_policy(&self) -> &LiveHostPolicy {
        &self.host_policy
    }

    /// Runs a future on the runtime of the connections; callable from any runtime. Dropping the returned
    /// future cancels it. Each guest request calls this in its own task (`wasmtime-wasi-http`).
    pub fn run_on_runtime<F>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Arc<dyn StdError + Send + Sync>>> + Send + use<F>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        stay_or_run_on(&self.runtime, future).map_err(|interrupted| Arc::new(interrupted) as _)
    }

    /// Runs `work` to completion on the connections' runtime.
    pub fn spawn_on_runtime(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Sends one request and returns once the response head has arrived; the body streams.
    ///
    /// The URI must be absolute. `Host` is derived from it and overrides the caller's; connection-specific
    /// headers are dropped; every other header is sent unchanged.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
    ) -> Result<Response<ResponseBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.send_within(request, policy, Timeouts::default()).await
    }

    /// Like [`send`](Self::send), with shorter timeouts. Dropping the future cancels the request.
    pub async fn send_within<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut counting =
            Counting { metrics: &self.metrics, purpose: policy.purpose(), result: "cancelled" };
        let answer = self.send_uncounted(request, policy, timeouts).await;
        counting.result = answer.as_ref().map_or_else(EgressError::kind, |_| "answered");
        answer
    }

    async fn send_uncounted<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let target = Target::of(request.uri())?;
        policy.check(&target, &self.host_policy)?;
        let request = prepare(request, &target)?;
        let client = match policy {
            Policy::Toolkit { .. } => &self.toolkits,
            Policy::Capture { .. } | Policy::ToolkitCapture { .. } => &self.captures,
            Policy::Operator => &self.operator,
        };
        let key = Key { policy: policy.clone(), target };
        let authority = key.target.authority();
        let client = client.clone();
        let exchange =
            timeout(self.response_timeout, async move { client.exchange(request, key, timeouts).await });
        let answer = match self.run_on_runtime(exchange).await {
            Ok(answer) => answer,
            Err(source) => return Err(EgressError::Protocol { authority, source }),
        };
        match answer {
            // The client's own limit is a buffer size, which the head may exceed somewhat.
            Ok(Ok(response)) if hygiene::size(response.headers()) > MAX_HEAD_BYTES => {
                Err(EgressError::HeadTooLarge { authority })
            }
            Ok(outcome) => outcome,
            Err(Elapsed { .. }) => Err(EgressError::Timeout { authority }),
        }
    }
}
