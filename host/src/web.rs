//! Every route.
//!
//! | path | for whom |
//! |---|---|
//! | `/mcp` | MCP clients with a token |
//! | `/toolkits…` | operators with a token; listing for every signed-in user |
//! | `/toolkits/{id}/secrets…` | every signed-in user, for own secrets |
//! | `/toolkits/{id}/secrets/{name}/page` | whoever has a link, in a browser: set one secret |
//! | `/vault/rotate` | operators with a token |
//! | `/toolkits/{id}/logs` | every signed-in user: own calls; operators and owners: all, of others no content |
//! | `/toolkits/{id}/config` | every signed-in user: own settings |
//! | `/graphql` | every signed-in user: own documents, toolkits, secrets, settings; a page to try it, in local mode |
//! | `/documents/…` | every signed-in user: own files, in and out |
//! | `/.well-known/…` | anybody: how to sign in |
//! | `/oauth/…` | anybody, in local mode only: sign in |
//! | `/healthz`, `/readyz` | load balancers |

mod arrival;
mod authenticate;
mod body;
mod config;
mod documents;
mod elicitation;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod graphql;
mod logs;
mod mcp;
mod oauth;
mod pages;
mod secrets;
mod standing;
mod toolkits;
mod unread;
mod well_known;

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::http::{HeaderValue, Method};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{Any, CorsLayer};
use url::Url;

use crate::disk::Disk;
use crate::dispatch::Dispatch;
use crate::identity::{AuthorizationServer, Identity};
use crate::invocations::Invocations;
use crate::knowledge::Knowledge;
use crate::toolkits::Toolkits;
use crate::user_config::UserConfig;
use crate::vault::Vault;
pub use arrival::Pace;
use body::Bodies;
pub use standing::{Claim, Standing, UnderWay};

/// What the routes share.
#[derive(Clone)]
pub struct Shared {
    /// Tokens → callers.
    pub identity: Arc<Identity>,
    /// Kitbag's own sign-in, in local mode.
    pub authorization_server: Option<Arc<AuthorizationServer>>,
    /// Deploys and the registry.
    pub toolkits: Arc<Toolkits>,
    /// Secrets of users.
    pub vault: Arc<Vault>,
    /// Tool calls.
    pub dispatch: Arc<Dispatch>,
    /// Settings of users.
    pub user_config: Arc<UserConfig>,
    /// What became of calls.
    pub invocations: Arc<Invocations>,
    /// Documents of users.
    pub knowledge: Knowledge,
    /// Where everything is stored.
    pub disk: Disk,
    /// Cancelled when the server is asked to stop.
    pub stopping: CancellationToken,
    /// Public URL of this server, without a path.
    pub base_url: Url,
    /// Users who may deploy.
    pub operators: Arc<HashSet<String>>,
    /// Origins of browser pages that may call.
    pub allowed_origins: Arc<[String]>,
    /// How slow the body of a request may be.
    pub pace: Pace,
    /// Largest component, in bytes.
    pub component_size: u64,
    /// Largest MCP request, in bytes.
    pub mcp_request_size: usize,
    /// MCP requests of one user.
    pub mcp_requests_per_minute: NonZeroU32,
}

/// Builds the router.
pub fn router(shared: Shared) -> Router {
    let challenge = authenticate::challenge(&shared.base_url);
    let door =
        middleware::from_fn_with_state((shared.identity.clone(), challenge), authenticate::require_caller);
    let links = Arc::new(elicitation::Links::default());
    let (pace, bodies) = (shared.pace, Bodies::of_at_most(shared.mcp_request_size));
    let signed_in = Router::new()
        .route("/toolkits", post(toolkits::deploy).get(toolkits::list))
        .route("/toolkits/{id}", get(toolkits::show).delete(toolkits::remove))
        .route("/toolkits/{id}/rollback", toolkits::rollback())
        .route("/toolkits/{id}/release", post(toolkits::release))
        .route("/toolkits/{id}/take-over", post(toolkits::take_over))
        .route("/toolkits/{id}/secrets", get(secrets::list))
        .route("/toolkits/{id}/secrets/{name}", secrets::routes_of_one())
        .route("/vault/rotate", post(secrets::rotate))
        .route("/toolkits/{id}/logs", get(logs::read))
        .route("/toolkits/{id}/config", config::routes())
        .route("/graphql", graphql::routes(bodies.clone()))
        .route("/documents/file", documents::routes_of_files())
        .route("/documents/{id}/artifact", get(documents::artifact))
        .layer(door.clone())
        .merge(mcp::guard(mcp::routes(&shared, links.clone(), bodies).layer(door), &shared))
        .layer(middleware::from_fn(unread::discard));
    let discovery = Router::new()
        .route("/.well-known/oauth-protected-resource", get(well_known::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(well_known::protected_resource))
        .route("/.well-known/oauth-authorization-server", get(well_known::authorization_server))
        .layer(open_to_any_page());
    let sign_in = match &shared.authorization_server {
        Some(server) => oauth::routes(server.clone(), &shared.base_url).route("/graphql", graphql::page()),
        None => Router::new(),
    };
    let health =
        Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(|| async { "ok\n" }));
    signed_in
        .merge(discovery)
        .merge(sign_in)
        .merge(elicitation::routes(&shared, links))
        .merge(health)
        .fallback(|| async { error::WebError::nothing_here() })
        .layer(middleware::map_response(error::as_problem))
        // Around everything: no route reads a body that need not arrive.
        .layer(middleware::from_fn_with_state(pace, arrival::require))
        .with_state(shared)
}

/// Lets scripts of every origin read the answer, for routes where neither cookie nor token takes part:
/// a client that runs in a browser starts to sign in like any other.
fn open_to_any_page() -> CorsLayer {
    CorsLayer::new().allow_origin(Any).allow_headers(Any).allow_methods([Method::GET, Method::POST])
}

/// `{base_url}{path}`, without doubling the slash.
fn below(base_url: &Url, path: &str) -> String {
    format!("{}{path}", base_url.as_str().trim_end_matches('/'))
}

/// A header made of a URL: the URL parser has left nothing in it that a header cannot hold.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a parsed URL is visible ASCII")
}
