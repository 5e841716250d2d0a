//! Errors of the other routes → errors of GraphQL, each with a stable code in its `extensions`.
//!
//! | code | when |
//! |---|---|
//! | `BAD_QUERY` | the query does not parse, or does not fit the schema, or its variables do not |
//! | `INVALID` | an argument breaks a rule; `problems` says which: `[{ path, message }]` |
//! | `NOT_FOUND` | what is to be changed is not there, or not the caller's |
//! | `FORBIDDEN` | the caller may not do this |
//! | `LIMIT` | the request asks for more than one request may, or its user for more than one user may |
//! | `UNAVAILABLE` | a later try may do better |
//! | `INTERNAL` | our fault; the log has the cause |

use std::time::Duration;

use async_graphql::{Error, ErrorExtensionValues, Response, ServerError, Value, value};
use axum::http::StatusCode;

use crate::error::WebError;

/// Errors of one answer at most.
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

/// A request that is more than one request may be.
pub(super) fn limit(message: impl Into<String>) -> ServerError {
    coded("LIMIT", ServerError::new(message, None))
}

/// A query that cannot be read.
pub(super) fn bad_query(error: ServerError) -> ServerError {
    coded("BAD_QUERY", error)
}

/// The answer to a request whose time is over.
pub(super) fn took_too_long(patience: Duration) -> Response {
    let message = format!("The request took longer than {} s. Ask for less at a time.", patience.as_secs());
    Response::from_errors(vec![limit(message)])
}

/// Gives those errors a code that the library made: all of them are about the query or its variables.
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
