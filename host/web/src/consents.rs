//! What a user has agreed to that a toolkit reaches, over HTTP; and where a refused call leads.

use std::fmt::Write as _;

use axum::Json;
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

/// Bytes of the body of a consent.
const MAX_CONSENT_BYTES: usize = 4 << 10;

/// What a user agrees to.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agreed {
    /// As the status has it.
    digest: String,
}

/// `GET /toolkits/{id}/consent`
pub(super) async fn show(
    By(user): By<User>,
    Path(id): Path<String>,
) -> Result<Json<ConsentStatus>, WebError> {
    Ok(Json(user.toolkit(&id)?.consent().await?))
}

/// `POST /toolkits/{id}/consent`: body `{"digest": …}` as in the answer of `GET`; 409 if the toolkit reaches something else
/// by now.
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

/// The page on which a user sees what is new, and agrees.
pub(super) fn page_of(base_url: &Url, toolkit: &str) -> String {
    below(base_url, &format!("/ui/toolkits/{toolkit}/consent"))
}

/// A reply that names that page, if the call waits for its user's consent.
pub(super) fn with_page(mut reply: Reply, base_url: &Url, toolkit: &str) -> Reply {
    if let Reply::Failure(failure) = &mut reply
        && failure.needs_consent
    {
        // Writing to a string cannot fail.
        let _ = write!(failure.error, "\nOr on this page: {}", page_of(base_url, toolkit));
    }
    reply
}
