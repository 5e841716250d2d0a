//! The door: a request has a valid token, or it goes no further.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use url::Url;

use super::error::WebError;
use super::{Standing, below, header_value};
use crate::identity::Identity;

/// Turns the token into a [`crate::identity::Caller`] in the request's extensions.
pub(super) async fn require_caller(
    State((identity, challenge)): State<(Arc<Identity>, HeaderValue)>,
    mut request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let caller = identity
        .authenticate(request.headers())
        .await
        .map_err(|cause| WebError::unauthenticated(&cause, &challenge))?;
    // Nothing behind this door sees a token.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.headers_mut().remove(header::COOKIE);
    if let Some(standing) = request.extensions().get::<Standing>() {
        standing.sign_in(&caller.user_id);
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// `WWW-Authenticate` of a 401: where the resource's metadata is (RFC 9728, section 5.1).
pub(super) fn challenge(base_url: &Url) -> HeaderValue {
    let metadata = below(base_url, "/.well-known/oauth-protected-resource");
    header_value(&format!("Bearer resource_metadata=\"{metadata}\""))
}
