//! OAuth error codes and descriptions.

use kitbag_database::DatabaseError;

/// OAuth error response. Texts are fixed: a client's input is never echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", .code.as_str())]
pub struct OAuthError {
    /// OAuth error code (`error`).
    pub code: ErrorCode,
    /// Text for the client's developer (`error_description`), with the characters that RFC 6749, section 5.2
    /// allows.
    pub description: &'static str,
}

/// Error codes of RFC 6749 (sections 4.1.2.1 and 5.2), RFC 7591 (3.2.2), RFC 7009 (2.2.1) and RFC 8707 (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The user denied the request.
    AccessDenied,
    /// The client is not registered.
    InvalidClient,
    /// Registration: something other than a redirect URI is wrong.
    InvalidClientMetadata,
    /// A code or refresh token is unknown, spent, expired, or was issued for something else.
    InvalidGrant,
    /// Registration: a redirect URI is wrong.
    InvalidRedirectUri,
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// A scope is unknown or was not granted.
    InvalidScope,
    /// The resource is another server's.
    InvalidTarget,
    /// `grant_type` is neither `authorization_code` nor `refresh_token`.
    UnsupportedGrantType,
    /// `response_type` is not `code`.
    UnsupportedResponseType,
    /// Revocation: the token cannot be revoked (access tokens).
    UnsupportedTokenType,
}

/// Error of an endpoint that clients call.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The request is refused; the error is sent to the client.
    #[error(transparent)]
    Refused(#[from] OAuthError),
    /// The database failed.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
}

impl ErrorCode {
    /// Returns the value of `error` in a response.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccessDenied => "access_denied",
            Self::InvalidClient => "invalid_client",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::UnsupportedTokenType => "unsupported_token_type",
        }
    }

    pub(super) fn because(self, description: &'static str) -> OAuthError {
        OAuthError { code: self, description }
    }
}
