//! Errors of the sign-in: JSON for clients, pages for people.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tracing::{debug, error};

use crate::identity::{AuthorizeError, EndpointError, ErrorCode};
use crate::web::{oauth, pages};

/// RFC 6749, section 5.2; RFC 7591, section 3.2.2.
impl IntoResponse for EndpointError {
    fn into_response(self) -> Response {
        let (status, code, description) = match self {
            Self::Refused(refused) => {
                debug!(cause = %refused, "refused a client");
                let status = match refused.code {
                    ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
                    _ => StatusCode::BAD_REQUEST,
                };
                (status, refused.code.as_str(), refused.description)
            }
            Self::Storage(cause) => {
                error!(%cause, "storage failed");
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "storage is unavailable")
            }
        };
        let body = json!({ "error": code, "error_description": description });
        (status, pages::NOT_STORED, Json(body)).into_response()
    }
}

impl IntoResponse for AuthorizeError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Storage(cause) => {
                error!(%cause, "storage failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
            refused => {
                debug!(cause = %refused, "stopped a sign-in");
                StatusCode::BAD_REQUEST
            }
        };
        oauth::failure(status, &self.to_string())
    }
}
