//! The `Content-Type` of requests and responses.

use axum::http::{HeaderMap, StatusCode, header};
use kitbag_manifest::media_type::essence;

use super::error::WebError;

pub(super) const JSON: &str = "application/json";

/// Whether the `Content-Type` is `expected`, ignoring parameters.
pub(super) fn is(headers: &HeaderMap, expected: &str) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    said.is_some_and(|said| essence(said).eq_ignore_ascii_case(expected))
}

/// Fails unless the `Content-Type` is JSON.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), WebError> {
    if is(headers, JSON) {
        return Ok(());
    }
    let detail = "The body must be JSON, with Content-Type: application/json.";
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}
