//! What routes share: services, settings and limits of the server.

use std::num::NonZeroU32;
use std::sync::Arc;

use kitbag_access::Access;
use kitbag_base::metrics::Metrics;
use kitbag_identity::{AuthorizationServer, BrowserSessions, Identity, ProgramKeys, ProviderSignIn};
use kitbag_net::certificate::LiveCertificate;
use kitbag_net::traces::Traces;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::pace::Pace;
use super::share::RequestShares;

/// Services and settings shared by all routes.
#[derive(Clone)]
pub struct Shared {
    /// Token verification: tokens → callers.
    pub identity: Arc<Identity>,
    /// Built-in OAuth authorization server, in local mode.
    pub authorization_server: Option<Arc<AuthorizationServer>>,
    /// Sign-in of browsers with an external provider, if this server is a client there.
    pub provider_sign_in: Option<Arc<ProviderSignIn>>,
    /// Sessions of browsers on this server's pages.
    pub browser_sessions: Arc<BrowserSessions>,
    /// API keys of programs; `None` if the operator forbids them.
    pub program_keys: Option<ProgramKeys>,
    /// Authorization and domain services.
    pub access: Access,
    /// Metrics of the process.
    pub metrics: Metrics,
    /// TLS certificate of this server, if it terminates TLS.
    pub certificate: Option<LiveCertificate>,
    /// Tracing of requests.
    pub traces: Traces,
    /// Cancelled when the server was asked to stop but still serves requests for a while.
    pub draining: CancellationToken,
    /// Cancelled when the server only waits for requests in progress. Ends streams.
    pub stopping: CancellationToken,
    /// Cancelled last: new requests are refused from then on.
    pub refusing: CancellationToken,
    /// Public URL of this server.
    pub base_url: Url,
    /// Origins of browser pages that may call the API.
    pub allowed_origins: Arc<[String]>,
    /// Minimum pace of request bodies.
    pub pace: Pace,
    /// Largest component, in bytes.
    pub component_size: u64,
    /// Largest MCP request, and largest arguments of a call over another route, in bytes.
    pub mcp_request_size: usize,
    /// Memory and concurrency limits per user.
    pub request_shares: RequestShares,
    /// Limit per user of MCP requests and of calls over other routes.
    pub mcp_requests_per_minute: NonZeroU32,
}
