//! Conversion of HTTP errors to GraphQL errors, each with a stable code in its `extensions`.
//!
//! | code | when |
//! |---|---|
//! | `BAD_QUERY` | the query or its variables are malformed or do not match the schema |
//! | `INVALID` | an argument breaks a rule; `problems` says which: `[{ path, message }]` |
//! | `NOT_FOUND` | the object to change does not exist, or is not the caller's |
//! | `FORBIDDEN` | the caller may not do this |
//! | `LIMIT` | a limit of the request or of its user is exceeded |
//! | `UNAVAILABLE` | temporary failure; a retry may succeed |
//! | `INTERNAL` | internal error; the log has the cause |

use std::time::Duration;

use async_graphql::{Error, ErrorExtensionValues, Response, ServerError, Value, value};
use axum::http::StatusCode;

use crate::error::WebError;

/// Maximum number of errors in a response.
const MAX_ERRORS: usize = 20;

impl From<WebError> for Error {
    fn from(error: WebError) -> Self {
        let (status, message, problems) = error.into_parts();
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", code(status));
        if !problems.is_empty() {
            let problems: Vec<Value> = problems
                .into_iter()
                .map(|problem| value!({ "path": (problem.path), "message": (problem.message) }))
                .collect();
            extensions.set("problems", Value::List(problems));
        }
        Self { message, source: None, extensions: Some(extensions) }
    }
}

/// Error for a request that exceeds a limit.
pub(super) fn limit(message: impl Into<String>) -> ServerError {
    coded("LIMIT", ServerError::new(message, None))
}

/// Error for an invalid query.
pub(super) fn bad_query(error: ServerError) -> ServerError {
    coded("BAD_QUERY", error)
}

/// Response to a request that timed out.
pub(super) fn took_too_long(patience: Duration) -> Response {
    let message = format!("The request took longer than {} s. Ask for less at a time.", patience.as_secs());
    Response::from_errors(vec![limit(message)])
}

/// Adds a code to errors of the library: all of them are about the query or its variables.
pub(super) fn with_codes(mut response: Response) -> Response {
    response.errors.truncate(MAX_ERRORS);
    for error in &mut response.errors {
        let has_code = error.extensions.as_ref().is_some_and(|extensions| extensions.get("code").is_some());
        if !has_code {
            error.extensions.get_or_insert_default().set("code", "BAD_QUERY");
        }
    }
    response
}

fn coded(code: &str, mut error: ServerError) -> ServerError {
    error.extensions.get_or_insert_default().set("code", code);
    error
}

fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::FORBIDDEN => "FORBIDDEN",
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::TOO_MANY_REQUESTS => "LIMIT",
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::INSUFFICIENT_STORAGE => "UNAVAILABLE",
        status if status.is_client_error() => "INVALID",
        _ => "INTERNAL",
    }
}
