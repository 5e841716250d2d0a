//! Sign-in errors: JSON for clients, HTML pages for people.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kitbag_identity::{AuthorizeError, EndpointError, ErrorCode, OAuthError};
use serde_json::json;
use tracing::{debug, error};

use crate::json::Json;
use crate::{oauth, pages};

/// Error of an endpoint that clients call: JSON (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
pub(crate) struct EndpointFailure(EndpointError);

/// Error of a person's sign-in: an HTML page.
pub(crate) struct AuthorizeFailure(AuthorizeError);

impl From<EndpointError> for EndpointFailure {
    fn from(error: EndpointError) -> Self {
        Self(error)
    }
}

impl From<OAuthError> for EndpointFailure {
    fn from(error: OAuthError) -> Self {
        Self(error.into())
    }
}

impl From<AuthorizeError> for AuthorizeFailure {
    fn from(error: AuthorizeError) -> Self {
        Self(error)
    }
}

impl IntoResponse for EndpointFailure {
    fn into_response(self) -> Response {
        let (status, code, description) = match self.0 {
            EndpointError::Refused(refused) => {
                debug!(cause = %refused, "refused a client");
                let status = match refused.code {
                    ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
                    _ => StatusCode::BAD_REQUEST,
                };
                (status, refused.code.as_str(), refused.description)
            }
            EndpointError::Storage(cause) => {
                error!(%cause, "storage failed");
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "storage is unavailable")
            }
        };
        let body = json!({ "error": code, "error_description": description });
        (status, pages::NOT_STORED, Json(body)).into_response()
    }
}

impl IntoResponse for AuthorizeFailure {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            AuthorizeError::Storage(cause) => {
                error!(%cause, "storage failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
            refused => {
                debug!(cause = %refused, "stopped a sign-in");
                StatusCode::BAD_REQUEST
            }
        };
        oauth::failure(status, &self.0.to_string())
    }
}
