//! Every route.
//!
//! | path | for whom |
//! |---|---|
//! | `/mcp` | MCP clients with a token |
//! | `/toolkits…` | operators with a token; listing for every signed-in user |
//! | `/.well-known/…` | anybody: how to sign in |
//! | `/healthz`, `/readyz` | load balancers |

mod authenticate;
mod error;
mod mcp;
mod toolkits;
mod well_known;

use std::collections::HashSet;
use std::sync::Arc;

use axum::http::HeaderValue;
use axum::routing::{get, post};
use axum::{Router, middleware};
use url::Url;

use crate::dispatch::Dispatch;
use crate::identity::{Identity, LocalIssuer, paths};
use crate::toolkits::Toolkits;

/// What the routes share.
#[derive(Clone)]
pub struct Shared {
    /// Tokens → callers.
    pub identity: Arc<Identity>,
    /// Kitbag's own issuer, in local mode.
    pub local_issuer: Option<Arc<LocalIssuer>>,
    /// Deploys and the registry.
    pub toolkits: Arc<Toolkits>,
    /// Tool calls.
    pub dispatch: Arc<Dispatch>,
    /// Public URL of this server, without a path.
    pub base_url: Url,
    /// Users who may deploy.
    pub operators: Arc<HashSet<String>>,
    /// Origins of browser pages that may call.
    pub allowed_origins: Arc<[String]>,
    /// Largest component, in bytes.
    pub component_size: u64,
}

/// Builds the router.
pub fn router(shared: Shared) -> Router {
    let challenge = authenticate::challenge(&shared.base_url);
    let signed_in = Router::new()
        .route("/toolkits", post(toolkits::deploy).get(toolkits::list))
        .route("/toolkits/{id}", get(toolkits::show).delete(toolkits::remove))
        .route("/toolkits/{id}/rollback", post(toolkits::roll_back))
        .route_service("/mcp", mcp::service(&shared))
        .layer(middleware::from_fn_with_state(
            (shared.identity.clone(), challenge),
            authenticate::require_caller,
        ));
    let open = Router::new()
        .route("/.well-known/oauth-protected-resource", get(well_known::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(well_known::protected_resource))
        .route("/.well-known/oauth-authorization-server", get(well_known::authorization_server))
        .route(paths::JWKS, get(well_known::jwks))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(|| async { "ok\n" }));
    signed_in.merge(open).fallback(|| async { error::WebError::nothing_here() }).with_state(shared)
}

/// `{base_url}{path}`, without doubling the slash.
fn below(base_url: &Url, path: &str) -> String {
    format!("{}{path}", base_url.as_str().trim_end_matches('/'))
}

/// A header made of a URL: the URL parser has left nothing in it that a header cannot hold.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a parsed URL is visible ASCII")
}
