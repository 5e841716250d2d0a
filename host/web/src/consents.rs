//! HTTP API for a user's consent to a toolkit's capabilities, and links to the consent page for refused
//! calls.

use std::fmt::Write as _;

use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::values::dispatch::Reply;
use kitbag_access::{ConsentStatus, User};
use kitbag_base::base_url::below;
use kitbag_base::json_object::JsonObject;
use serde::Deserialize;
use url::Url;

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Bytes of the body of a consent.
const MAX_CONSENT_BYTES: usize = 4 << 10;

/// Body of a consent.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agreed {
    /// Digest from the consent status.
    digest: String,
}

/// `GET /toolkits/{id}/consent`
pub(super) async fn show(
    By(user): By<User>,
    Path(id): Path<String>,
) -> Result<Json<ConsentStatus>, WebError> {
    Ok(Json(user.toolkit(&id)?.consent().await?))
}

/// `POST /toolkits/{id}/consent`: body `{"digest": …}` from the answer of `GET`; 409 if the toolkit's
/// capabilities have changed since.
pub(super) async fn agree(
    By(user): By<User>,
    Path(id): Path<String>,
    body: Body,
) -> Result<StatusCode, WebError> {
    let toolkit = user.toolkit(&id)?;
    let body = read_small(body, MAX_CONSENT_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_CONSENT_BYTES))?;
    let JsonObject::<Agreed>(Agreed { digest }) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    toolkit.agree(&digest).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// URL of the page on which a user reviews new capabilities and consents.
pub(super) fn page_of(base_url: &Url, toolkit: &str) -> String {
    below(base_url, &format!("/ui/toolkits/{toolkit}/consent"))
}

/// Adds the URL of that page to the reply if the call needs the user's consent.
pub(super) fn with_page(mut reply: Reply, base_url: &Url, toolkit: &str) -> Reply {
    if let Reply::Failure(failure) = &mut reply
        && failure.needs_consent
    {
        // Writing to a string cannot fail.
        let _ = write!(failure.envelope.error, "\nOr on this page: {}", page_of(base_url, toolkit));
    }
    reply
}
