//! The `Content-Type` of requests and responses.

use axum::http::{HeaderMap, header};

use crate::media_type::without_parameters;

pub(super) const JSON: &str = "application/json";

/// Whether a body is of the type `expected`, as its sender says, whatever the parameters.
pub(super) fn is(headers: &HeaderMap, expected: &str) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| without_parameters(value.to_str().ok()?));
    said.is_some_and(|said| said.essence_str() == expected)
}
