//! Every route, with its handler and its audience.
//!
//! The type of a handler's parameter says who may call it: `By<User>` is any signed-in user, `By<Operator>`
//! an operator (`authenticate`); `mcp` asks for any signed-in user itself. Size limits of bodies are where the
//! bodies are read; the minimum transfer rate is around all routes (`arrival`).
//!
//! The layers of a group of routes are one tuple, the outermost first: axum copies the inner service of a
//! layer for each request, and allocates for each `layer` in it.
//!
//! # Modules
//!
//! - `state`, `answering`: what routes share; the outermost layer of all of them
//! - `routing`, `authenticate`: methods of routes; the caller as a parameter of a handler
//! - `admission`: work on a request for as long as its caller has access
//! - `error`: the only place that knows both domain errors and HTTP
//! - `json`: JSON responses; large ones are encoded off the threads that serve requests
//! - `share`: resources that each user's requests use: requests in progress, bytes of bodies as sent and as
//!   parsed, bytes of answers until they are sent (docs/security.md)
//! - `arrival`, `pace`, `body`, `connection_state`: the minimum rate of request bodies, and what handlers leave
//!   unread; how long a peer may keep the server waiting; bodies that are read into memory; the user of a
//!   connection's latest request
//! - `mcp`: MCP, with the types of `rmcp` (docs/decisions/0093); docs/mcp.md says how results and errors are
//!   encoded
//! - `mcp/message`, `headers`, `handler`, `answer`: a message is read once, is compared with its headers, goes to its
//!   method, and is answered in the form of its revision
//! - `mcp/tool_calls`, `progress`, `events`: calls of tools; messages that come before an answer, in a stream
//! - `mcp/modes`, `catalogue/finding`: tools that a model searches for instead of reading a list of all
//!   (docs/decisions/0072); `catalogue/searched` has their words and vectors, once for each live version
//! - `mcp/asking`, `conversation`, `questions`: elicitation: as results, or in the stream of a call, and the
//!   matching of responses to the call (docs/decisions/0079); `access/asking` seals the state of a question,
//!   `peers/mailbox` passes answers between processes
//! - `mcp/offers`, `catalogue/offers`, `access/offers`: prompts, resources and completions of toolkits, which
//!   are called as tools are (docs/decisions/0078); `guest-sdk/manifest` (`offers`) parses their URIs
//! - `tools`: calls of tools without MCP, and their limits
//! - `graphql`: the knowledge base as GraphQL; `bounds` limits nesting and size of a query before it is
//!   validated, `schema` its cost; the schema is in docs/schema.graphql
//! - `documents`: upload of files, and their download by those who may read them
//! - `collections`: collections and their members
//! - `access_view`: who may use, read and reach what, for operators
//! - `users`: users for operators, the end of one, and exports
//! - `scim`, `scim_tokens`: users and groups that an identity provider maintains here, with a token of its own; these tokens
//! - `sessions`: browser sessions and their cookie, for pages alone
//! - `ui`: the pages for people below `/ui`; `ui/signed_in` requires a session, and `ui/guard` refuses
//!   cross-site requests
//! - `ui/schema_form`: JSON Schema → the fields of a form → arguments, within limits; values without a field
//!   are entered as JSON
//! - `ui/try_tool`: the page of a tool: calls it, and shows the reply
//! - `ui/log`, `logs/tail`: the page of a toolkit's log, and the stream that its script follows; the response
//!   body with records, for pages and the API
//! - `ui/overview`: the overview for operators; `overview/chart` has its charts, as SVG without text, so that
//!   they fit every screen
//! - `secret_page`: the page on which a person sets a secret that a call needed; `pages` has what all pages
//!   share

#![deny(clippy::disallowed_types)]

mod access_view;
mod accounts;
mod admission;
mod answering;
mod arrival;
mod audience;
mod audit;
mod authenticate;
mod base_path;
mod body;
mod cache;
mod code_tools;
mod collections;
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
mod json;
mod keys;
mod logs;
mod mcp;
mod media_type;
mod names;
mod oauth;
mod overview;
mod pace;
mod pages;
mod publishers;
mod routing;
mod scim;
mod scim_tokens;
mod secret_page;
mod secrets;
mod sessions;
mod share;
mod state;
mod toolkits;
mod tools;
mod ui;
mod uploads;
mod users;
mod well_known;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodRouter, any};
use axum::{Extension, Router};
use kitbag_base::base_url::path_of;
use kitbag_base::rate::RateLimit;
use kitbag_identity::{AuthorizationServer, paths};
use tower::ServiceExt as _;
use tower::util::option_layer;
use tower_http::cors::{Any, CorsLayer};

use answering::{Answering, answer};
use arrival::Rest;
use authenticate::{Authentication, require_caller};
pub use connection_state::{ConnectionState, Priority, UnderWay};
pub use direct_host::is_direct;
use error::WebError;
pub use pace::{Allowance, Pace};
use pages::origin::{OwnOrigin, refuse_other_hosts};
use routing::{delete, get, patch, post, put};
use secret_page::SecretPage;
pub use share::{AnswerShare, RequestShares};
pub use state::Shared;
use tools::CallLimits;

/// The HTTP service of a server: the router, past which requests to `/mcp` are answered directly.
pub struct Service {
    router: Router,
    /// `None` if pages of other origins may call it: then it needs CORS, which is a layer of the router.
    mcp: Option<Arc<mcp::Service>>,
    answering: Arc<Answering>,
}

impl Service {
    /// Creates the service.
    pub fn new(shared: Shared) -> Self {
        let rate = Arc::new(RateLimit::new(shared.mcp_requests_per_minute));
        let mcp = Arc::new(mcp::Service::new(&shared, rate.clone()));
        let pace = shared.pace;
        let metrics = shared.metrics.clone();
        let refusing = Some(shared.refusing.clone());
        let answering = Arc::new(Answering { pace, rest: Rest::Discarded, metrics, refusing });
        let is_direct = mcp::open_to_allowed_pages(&shared).is_none();
        let router = router(shared, rate, mcp.clone(), &answering);
        Self { router, mcp: is_direct.then_some(mcp), answering }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request) -> Response {
        // Routing and its layers would take 7 to 9 % of a call's time (docs/performance.md).
        if let Some(mcp) = &self.mcp
            && request.uri().path() == "/mcp"
        {
            // Boxed, because a connection reserves room for the future of its requests.
            return Box::pin(self.answering.answer(request, |request| mcp.answer(request))).await;
        }
        self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

fn router(
    shared: Shared,
    rate: Arc<RateLimit>,
    mcp: Arc<mcp::Service>,
    answering: &Arc<Answering>,
) -> Router {
    let limits = Arc::new(CallLimits::new(&shared, rate));
    let with = |changed: Answering| from_fn_with_state(Arc::new(changed), answer);
    let for_the_signed_in = for_users(&shared, limits.clone())
        .merge(for_mcp_clients(&shared, mcp))
        .merge(for_identity_providers(&shared))
        .merge(ui::router(&shared, limits))
        .layer(from_fn_with_state(answering.clone(), answer));
    let for_anybody = for_people(&shared)
        .merge(discovery())
        .merge(shared.authorization_server.clone().map_or_else(Router::new, |it| local_sign_in(&shared, it)))
        .fallback(async || WebError::nothing_here())
        .layer(with(Answering { rest: Rest::Unread, ..(**answering).clone() }));
    let for_load_balancers = for_load_balancers().layer(with(Answering {
        rest: Rest::Unread,
        refusing: None,
        ..(**answering).clone()
    }));
    let path = path_of(&shared.base_url).to_owned();
    let router = for_the_signed_in.merge(for_anybody).merge(for_load_balancers).with_state(shared);
    base_path::serve_below(&path, router)
}

/// Routes that need a token.
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
        .route("/audit/calls", get(audit::read_calls))
        .route("/audit/verification", get(audit::verify))
        .route("/overview", get(overview::show))
        .route("/vault/rotate", post(secrets::rotate))
        .route("/collections", get(collections::list).merge(post(collections::create)))
        .route("/all-collections", get(collections::list_all))
        .route(
            "/collections/{id}",
            get(collections::show).merge(patch(collections::describe)).merge(delete(collections::delete)),
        )
        .route("/collections/{id}/restore", post(collections::restore))
        .route("/collections/{id}/take-over", post(collections::take_over))
        .route("/collections/{id}/members", post(collections::share).merge(delete(collections::unshare)))
        .route("/access", get(access_view::show))
        .route("/groups", get(access_view::groups))
        .route("/scim-tokens", get(scim_tokens::list).merge(post(scim_tokens::create)))
        .route("/scim-tokens/{id}", delete(scim_tokens::revoke))
        .route("/users", get(users::list))
        .route("/users/{id}", get(users::show))
        .route("/users/{id}/end", post(users::end))
        .route("/users/{id}/export", get(users::export))
        .route("/users/{id}/keys/{key}", delete(users::revoke_key))
        .route("/export", get(users::export_own))
        .route("/documents/file", post(documents::upload))
        .route("/documents/{id}/artifact", get(documents::artifact))
        .route("/graphql", post(graphql::answer))
        .layer((
            from_fn_with_state(Authentication::of(shared), require_caller),
            Extension(limits),
            Extension(Arc::new(graphql::Service::new())),
        ))
}

/// MCP routes, which need a token.
fn for_mcp_clients(shared: &Shared, mcp: Arc<mcp::Service>) -> Router<Shared> {
    Router::new()
        .route("/mcp", mcp_methods())
        // Some clients add the slash. They would drop their token on a redirect.
        .route("/mcp/", mcp_methods())
        .with_state(mcp)
        .layer(option_layer(mcp::open_to_allowed_pages(shared)))
}

fn mcp_methods() -> MethodRouter<Arc<mcp::Service>> {
    any(async |State(mcp): State<Arc<mcp::Service>>, request| mcp.answer(request).await)
}

/// Routes of SCIM, which need a token of an identity provider.
fn for_identity_providers(shared: &Shared) -> Router<Shared> {
    Router::new()
        .route("/scim/v2/Users", get(scim::list_users).merge(post(scim::create_user)))
        .route(
            "/scim/v2/Users/{id}",
            get(scim::show_user)
                .merge(put(scim::replace_user))
                .merge(patch(scim::patch_user))
                .merge(delete(scim::delete_user)),
        )
        .route("/scim/v2/.search", post(scim::search_all))
        .route("/scim/v2/Users/.search", post(scim::search_users))
        .route("/scim/v2/Groups/.search", post(scim::search_groups))
        .route("/scim/v2/Groups", get(scim::list_groups).merge(post(scim::create_group)))
        .route(
            "/scim/v2/Groups/{id}",
            get(scim::show_group)
                .merge(put(scim::replace_group))
                .merge(patch(scim::patch_group))
                .merge(delete(scim::delete_group)),
        )
        .route("/scim/v2/ServiceProviderConfig", get(scim::discovery::configuration))
        .route("/scim/v2/ResourceTypes", get(scim::discovery::resource_types))
        .route("/scim/v2/ResourceTypes/{name}", get(scim::discovery::resource_type))
        .route("/scim/v2/Schemas", get(scim::discovery::schemas))
        .route("/scim/v2/Schemas/{id}", get(scim::discovery::schema))
        .route("/scim/{*path}", any(scim::nothing_here))
        .layer(from_fn_with_state(scim::Gate::of(shared), scim::require_provisioner))
}

/// Routes for people with a link, in a browser: set one secret.
fn for_people(shared: &Shared) -> Router<Shared> {
    let own = OwnOrigin::of(&shared.base_url);
    Router::new()
        .route("/toolkits/{id}/secrets/{name}/page", get(secret_page::show).merge(post(secret_page::set)))
        .with_state(SecretPage::new(shared))
        .layer(from_fn_with_state(own.clone(), secret_page::refuse_other_pages))
        .layer(from_fn_with_state(own, refuse_other_hosts))
}

/// Public routes: OAuth metadata.
fn discovery() -> Router<Shared> {
    Router::new()
        .route("/.well-known/oauth-protected-resource", get(well_known::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(well_known::protected_resource))
        .route("/.well-known/oauth-authorization-server", get(well_known::authorization_server))
        .layer(open_to_any_page())
}

/// Public sign-in routes, in local mode only.
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
        // A site that resolves its name to this machine (DNS rebinding) would share the origin of the consent
        // page.
        .layer(from_fn_with_state(own, refuse_other_hosts))
        .with_state(server)
}

/// Routes for load balancers, which also answer while the server stops.
fn for_load_balancers() -> Router<Shared> {
    Router::new().route("/healthz", get(health::live)).route("/readyz", get(health::ready))
}

/// CORS for scripts of every origin, on routes without cookies or tokens: clients in a browser can sign in
/// too.
fn open_to_any_page() -> CorsLayer {
    CorsLayer::new().allow_origin(Any).allow_headers(Any).allow_methods([Method::GET, Method::POST])
}
