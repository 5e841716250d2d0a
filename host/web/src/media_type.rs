//! The `Content-Type` of requests and responses, and the `Content-Encoding` of requests.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_manifest::media_type::essence;

use super::error::WebError;

pub(super) const JSON: &str = "application/json";

/// Whether the `Content-Type` is `expected`, ignoring parameters.
pub(super) fn is(headers: &HeaderMap, expected: &str) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    said.is_some_and(|said| essence(said).eq_ignore_ascii_case(expected))
}

/// Response to a request whose body is compressed, which no route decodes (RFC 9110, section 15.5.16).
pub(super) fn refuse_encoded(headers: &HeaderMap) -> Option<Response> {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let is_plain =
        |encoding: &HeaderValue| encoding.is_empty() || encoding.as_bytes().eq_ignore_ascii_case(b"identity");
    if encodings.all(is_plain) {
        return None;
    }
    let detail = "This server takes bodies as they are: send the request without Content-Encoding.";
    let mut response = WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into_response();
    response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Some(response)
}

/// Fails unless the `Content-Type` is JSON.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), WebError> {
    if is(headers, JSON) {
        return Ok(());
    }
    let detail = "The body must be JSON, with Content-Type: application/json.";
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}
