//! Errors of SCIM (RFC 7644, section 3.12).

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::AccessError;
use kitbag_base::rate::TooManyRequests;
use kitbag_identity::ProvisioningError;
use serde_json::json;
use tracing::error;

use super::MEDIA_TYPE;
use crate::body::Unread;

/// An error response.
#[derive(Clone, Debug)]
pub(crate) struct ScimError {
    status: StatusCode,
    scim_type: Option<&'static str>,
    detail: String,
    /// Seconds for `Retry-After`.
    retry_after: Option<u64>,
}

impl ScimError {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, scim_type: None, detail: detail.into(), retry_after: None }
    }

    /// 400 with a keyword of table 9.
    pub(super) fn bad_request(scim_type: &'static str, detail: impl Into<String>) -> Self {
        Self { scim_type: Some(scim_type), ..Self::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// The same with another keyword.
    pub(super) fn with_type(self, scim_type: &'static str) -> Self {
        Self { scim_type: Some(scim_type), ..self }
    }

    /// An error that passes.
    pub(super) fn passing(status: StatusCode, detail: impl Into<String>, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..Self::new(status, detail) }
    }

    /// The keyword of table 9.
    #[cfg(test)]
    pub(super) fn scim_type(&self) -> Option<&'static str> {
        self.scim_type
    }

    pub(super) fn unread(why: Unread, limit: usize) -> Self {
        match why {
            Unread::TooLarge => {
                let detail = format!("the body is longer than {limit} bytes");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            Unread::TooManyValues(_) | Unread::NoRoom | Unread::BrokeOff => {
                Self::new(StatusCode::BAD_REQUEST, why.to_string())
            }
        }
    }

    fn failed(cause: &dyn std::fmt::Display) -> Self {
        error!(%cause, "provisioning failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server could not store or read this")
    }
}

impl From<ProvisioningError> for ScimError {
    fn from(error: ProvisioningError) -> Self {
        match &error {
            ProvisioningError::Unknown(_) => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            ProvisioningError::Conflict(_) => {
                Self { scim_type: Some("uniqueness"), ..Self::new(StatusCode::CONFLICT, error.to_string()) }
            }
            ProvisioningError::Invalid(_) => Self::bad_request("invalidValue", error.to_string()),
            ProvisioningError::Full(_) => Self::bad_request("tooMany", error.to_string()),
            ProvisioningError::NameTaken(_) => Self::new(StatusCode::CONFLICT, error.to_string()),
            ProvisioningError::Interrupted(_) => {
                Self::passing(StatusCode::SERVICE_UNAVAILABLE, error.to_string(), 1)
            }
            ProvisioningError::Storage(cause) => Self::failed(cause),
        }
    }
}

impl From<AccessError> for ScimError {
    fn from(error: AccessError) -> Self {
        Self::failed(&error)
    }
}

impl From<TooManyRequests> for ScimError {
    fn from(refusal: TooManyRequests) -> Self {
        Self::passing(StatusCode::TOO_MANY_REQUESTS, refusal.to_string(), refusal.seconds)
    }
}

impl IntoResponse for ScimError {
    fn into_response(self) -> Response {
        let mut body = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
            "status": self.status.as_u16().to_string(),
            "detail": self.detail,
        });
        if let Some(scim_type) = self.scim_type {
            body["scimType"] = scim_type.into();
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"scim\""));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
