//! Every route, with its handler and for whom it is.
//!
//! What a handler takes says who may call it: `By<User>` is for everybody who has signed in, `By<Operator>` for operators
//! (`authenticate`). How long a body may be stands where it is read; how slowly it may come is a layer around all routes
//! (`arrival`).
//!
//! The layers of a group of routes are one tuple, the outermost first: axum copies whatever is inside a layer for each
//! request, and allocates for each `layer` in it.
//!
//! # Modules
//!
//! - `routing`, `authenticate`: methods of routes; who asks, as a parameter of a handler
//! - `error`: the only place that knows both domain errors and HTTP
//! - `share`: what each user's requests hold: places in progress, bytes of bodies as sent and as parsed,
//!   bytes of answers until they are sent (docs/security.md)
//! - `arrival`, `pace`, `body`, `connection_state`: the minimum rate of request bodies; how long a peer
//!   may keep the server waiting; bodies that are read into memory; which user sent the latest request of
//!   a connection
//! - `mcp`: MCP, implemented by `rmcp` behind checks of our own; docs/mcp.md says how results and errors
//!   are encoded
//! - `mcp/handler`, `tool_calls`, `progress`: the methods of MCP; calls of tools, which all ways lead to:
//!   directly, through `rmcp`, or in a stream in which the user is asked; what a client is told of their
//!   progress
//! - `mcp/modes`, `catalogue/finding`: tools that a model finds instead of reading a list of all
//!   (docs/decisions/0072); `catalogue/searched` has their words and vectors, for each live version once
//! - `mcp/asking`, `conversation`, `questions`: questions of tools to their users: as results, or in the
//!   stream of a call, whose responses find it (docs/decisions/0079); `access/asking` seals what was
//!   asked, `peers/mailbox` passes answers between processes
//! - `mcp/offers`, `catalogue/offers`, `access/offers`: prompts, resources and completions of toolkits,
//!   which are called as tools are (docs/decisions/0078); `guest-sdk/manifest` (`offers`) reads their
//!   URIs
//! - `tools`: calls of tools without MCP, and their limits
//! - `graphql`: the knowledge base, toolkits, secrets and settings as GraphQL; `bounds` computes the cost
//!   of a query before it is parsed; its schema is docs/schema.graphql
//! - `documents`: upload of files, and their download by the owner
//! - `ui`: the pages for people below `/ui`; `ui/session` has the cookie, which counts nowhere else, and
//!   `ui/guard` refuses what other pages send
//! - `ui/schema_form`: JSON Schema → the fields of a form → arguments, within bounds; what has no field
//!   is typed as JSON
//! - `ui/try_tool`: the page of a tool: calls it, and shows the reply
//! - `ui/log`, `logs/tail`: the page of a toolkit's log, and what its script follows; the body of an
//!   answer with records, for pages and the API
//! - `ui/overview`: the overview for operators; `overview/chart` has its charts, as SVG without text, so
//!   that they fit every screen
//! - `secret_page`: the page on which a person sets a secret that a call needed; `pages` has what all
//!   pages share

mod accounts;
mod arrival;
mod audience;
mod audit;
mod authenticate;
mod base_path;
mod body;
mod cache;
mod code_tools;
mod config;
mod connection_state;
mod consents;
mod direct_host;
mod documents;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod graphql;
mod health;
mod hidden;
mod keys;
mod logs;
mod mcp;
mod media_type;
mod oauth;
mod overview;
mod pace;
mod pages;
mod publishers;
mod routing;
mod secret_page;
mod secrets;
mod share;
mod toolkits;
mod tools;
mod ui;
mod unread;
mod uploads;
mod well_known;

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use axum::{Extension, Router};
use kitbag_access::Access;
use kitbag_base::base_url::path_of;
use kitbag_base::metrics::Metrics;
use kitbag_base::rate::RateLimit;
use kitbag_identity::{AuthorizationServer, BrowserSessions, Identity, ProgramKeys, ProviderSignIn, paths};
use kitbag_net::certificate::LiveCertificate;
use kitbag_net::traces::Traces;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{Any, CorsLayer};
use url::Url;

use authenticate::{Authentication, require_caller};
pub use connection_state::{ConnectionState, Priority, UnderWay};
pub use direct_host::is_direct;
use error::WebError;
use mcp::OriginCheck;
pub use pace::{Allowance, Pace};
use pages::origin::{OwnOrigin, refuse_other_hosts};
use routing::{delete, get, patch, post, put};
use secret_page::SecretPage;
pub use share::{AnswerShare, RequestShares};
use tools::CallLimits;

/// What the routes share.
#[derive(Clone)]
pub struct Shared {
    /// Tokens → callers.
    pub identity: Arc<Identity>,
    /// Kitbag's own sign-in, in local mode.
    pub authorization_server: Option<Arc<AuthorizationServer>>,
    /// Sign-in of browsers with an external provider, if this server is a client there.
    pub provider_sign_in: Option<Arc<ProviderSignIn>>,
    /// Sessions of browsers on this server's pages.
    pub browser_sessions: Arc<BrowserSessions>,
    /// Keys of programs, unless the operator forbids them.
    pub program_keys: Option<ProgramKeys>,
    /// What callers may do.
    pub access: Access,
    /// What is counted.
    pub metrics: Metrics,
    /// The certificate that this server presents, if it speaks TLS itself.
    pub certificate: Option<LiveCertificate>,
    /// What notes when requests come.
    pub traces: Traces,
    /// Cancelled when the server was asked to stop, and still serves for a while.
    pub draining: CancellationToken,
    /// Cancelled when it only waits for requests in progress. Streams end.
    pub stopping: CancellationToken,
    /// Cancelled when it then refuses other requests.
    pub refusing: CancellationToken,
    /// Public URL of this server.
    pub base_url: Url,
    /// Origins of browser pages that may call.
    pub allowed_origins: Arc<[String]>,
    /// How slow the body of a request may be.
    pub pace: Pace,
    /// Largest component, in bytes.
    pub component_size: u64,
    /// Largest MCP request, and largest arguments of a call over another route, in bytes.
    pub mcp_request_size: usize,
    /// What each user's requests may hold.
    pub request_shares: RequestShares,
    /// MCP requests of one user, and calls over other routes.
    pub mcp_requests_per_minute: NonZeroU32,
}

/// Builds the router.
pub fn router(shared: Shared) -> Router {
    let rate = Arc::new(RateLimit::new(shared.mcp_requests_per_minute));
    let limits = Arc::new(CallLimits::new(&shared, rate.clone()));
    let pace = shared.pace;
    let path = path_of(&shared.base_url).to_owned();
    let router = for_users(&shared, limits.clone())
        .merge(for_mcp_clients(&shared, rate))
        .merge(for_people(&shared))
        .merge(ui::router(&shared, limits))
        .merge(discovery())
        .merge(shared.authorization_server.clone().map_or_else(Router::new, |it| local_sign_in(&shared, it)))
        .fallback(async || WebError::nothing_here())
        // In an `Arc`, since a clone of the token itself takes its lock.
        .layer(from_fn_with_state(Arc::new(shared.refusing.clone()), health::refuse_while_stopping))
        .merge(for_load_balancers())
        .layer((from_fn_with_state((pace, shared.metrics.clone()), answer), CatchPanicLayer::new()))
        .with_state(shared);
    base_path::serve_below(&path, router)
}

/// Around everything: no route reads a body that need not arrive, and all errors have one form.
async fn answer(State((pace, metrics)): State<(Pace, Metrics)>, request: Request, next: Next) -> Response {
    let response = error::as_problem(arrival::require(pace, request, next).await).await;
    metrics.response(response.status().as_u16());
    response
}

/// For whoever brings a token.
fn for_users(shared: &Shared, limits: Arc<CallLimits>) -> Router<Shared> {
    Router::new()
        .route("/toolkits", get(toolkits::list).merge(post(toolkits::deploy)))
        .route("/toolkits/{id}", get(toolkits::show).merge(delete(toolkits::remove)))
        .route("/toolkits/{id}/rollback", post(toolkits::roll_back))
        .route("/toolkits/{id}/hide", post(hidden::hide))
        .route("/toolkits/{id}/show-again", post(hidden::show_again))
        .route("/hidden-tools", get(hidden::list))
        .route("/toolkits/{id}/release", post(toolkits::release))
        .route("/toolkits/{id}/take-over", post(toolkits::take_over))
        .route(
            "/toolkits/{id}/audience",
            get(audience::show).merge(post(audience::share)).merge(delete(audience::unshare)),
        )
        .route("/toolkits/{id}/publisher", delete(toolkits::reset_publisher))
        .route("/publishers", get(publishers::list).merge(post(publishers::add)))
        .route("/publishers/{name}", delete(publishers::remove))
        .route("/toolkits/{id}/versions/{version}", get(toolkits::version))
        .route("/updates", get(uploads::updates))
        .route("/uploads", get(uploads::list).merge(post(uploads::receive)))
        .route("/uploads/{digest}", get(uploads::show).merge(delete(uploads::discard)))
        .route("/uploads/{digest}/deploy", post(uploads::deploy))
        .route("/toolkits/{id}/config", get(config::show).merge(patch(config::change)))
        .route("/toolkits/{id}/account", get(accounts::show).merge(delete(accounts::end)))
        .route("/toolkits/{id}/cache", delete(cache::clear))
        .route("/toolkits/{id}/code-tools", get(code_tools::list))
        .route(
            "/toolkits/{id}/code-tools/{tool}",
            post(code_tools::allow).merge(delete(code_tools::disallow)),
        )
        .route("/toolkits/{id}/consent", get(consents::show).merge(post(consents::agree)))
        .route("/toolkits/{id}/secrets", get(secrets::list))
        .route("/toolkits/{id}/secrets/{name}", put(secrets::set).merge(delete(secrets::unset)))
        .route("/toolkits/{id}/logs", get(logs::read))
        .route("/toolkits/{id}/tools/{tool}", post(tools::call))
        .route("/toolkits/{id}/usage", get(logs::usage))
        .route("/keys", get(keys::list).merge(post(keys::create)))
        .route("/keys/{id}", delete(keys::revoke))
        .route("/failures", get(logs::failures))
        .route("/audit", get(audit::read))
        .route("/overview", get(overview::show))
        .route("/vault/rotate", post(secrets::rotate))
        .route("/documents/file", post(documents::upload))
        .route("/documents/{id}/artifact", get(documents::artifact))
        .route("/graphql", post(graphql::answer))
        .layer((
            from_fn(unread::discard),
            from_fn_with_state(Authentication::of(shared), require_caller),
            Extension(limits),
            Extension(Arc::new(graphql::Service::new())),
        ))
}

/// For programs that speak MCP, with a token.
fn for_mcp_clients(shared: &Shared, rate: Arc<RateLimit>) -> Router<Shared> {
    Router::new()
        .route("/mcp", mcp_methods())
        // Some clients add the slash. A redirect would cost them their token.
        .route("/mcp/", mcp_methods())
        .with_state(mcp::endpoint(shared, rate))
        .layer((
            from_fn(unread::discard),
            mcp::open_to_allowed_pages(shared),
            from_fn_with_state(Arc::new(OriginCheck::of(shared)), mcp::refuse_other_origins),
            from_fn_with_state(Authentication::of(shared), require_caller),
        ))
}

fn mcp_methods() -> MethodRouter<Arc<mcp::Endpoint>> {
    post(mcp::receive).merge(get(mcp::listen)).fallback(mcp::no_such_method)
}

/// For whoever has a link, in a browser: sets one secret.
fn for_people(shared: &Shared) -> Router<Shared> {
    let own = OwnOrigin::of(&shared.base_url);
    Router::new()
        .route("/toolkits/{id}/secrets/{name}/page", get(secret_page::show).merge(post(secret_page::set)))
        .with_state(SecretPage::new(shared))
        .layer(from_fn_with_state(own.clone(), secret_page::refuse_other_pages))
        .layer(from_fn_with_state(own, refuse_other_hosts))
}

/// For anybody: how to sign in.
fn discovery() -> Router<Shared> {
    Router::new()
        .route("/.well-known/oauth-protected-resource", get(well_known::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(well_known::protected_resource))
        .route("/.well-known/oauth-authorization-server", get(well_known::authorization_server))
        .layer(open_to_any_page())
}

/// For anybody, in local mode only: to sign in.
fn local_sign_in(shared: &Shared, server: Arc<AuthorizationServer>) -> Router<Shared> {
    let own = OwnOrigin::of(&shared.base_url);
    let for_people = Router::new()
        .route(paths::AUTHORIZE, get(oauth::authorize).merge(post(oauth::decide)))
        .layer(from_fn_with_state(own.clone(), oauth::refuse_other_pages));
    let for_clients = Router::new()
        .route(paths::REGISTER, post(oauth::register))
        .route(paths::TOKEN, post(oauth::token))
        .route(paths::REVOKE, post(oauth::revoke))
        .route(paths::JWKS, get(oauth::jwks))
        .layer(open_to_any_page());
    for_people
        .merge(for_clients)
        // A page that makes its name resolve to this machine would be of the same origin as the consent page.
        .layer(from_fn_with_state(own, refuse_other_hosts))
        .with_state(server)
}

/// For load balancers, also while the server stops.
fn for_load_balancers() -> Router<Shared> {
    Router::new().route("/healthz", get(health::live)).route("/readyz", get(health::ready))
}

/// Lets scripts of every origin read the answer, for routes where neither cookie nor token takes part:
/// a client that runs in a browser starts to sign in like any other.
fn open_to_any_page() -> CorsLayer {
    CorsLayer::new().allow_origin(Any).allow_headers(Any).allow_methods([Method::GET, Method::POST])
}

/// A header made of a URL: the URL parser has left nothing in it that a header cannot hold.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a parsed URL is visible ASCII")
}
