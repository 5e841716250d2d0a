//! Errors in the words that OAuth has for them.

use kitbag_database::DatabaseError;

/// Why a client's request is refused. Texts are fixed: nothing that a client sent is sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", .code.as_str())]
pub struct OAuthError {
    /// The registered error code.
    pub code: ErrorCode,
    /// For the client's developer; has only characters that RFC 6749, section 5.2 allows.
    pub description: &'static str,
}

/// Error codes of RFC 6749 (sections 4.1.2.1 and 5.2), RFC 7591 (3.2.2), RFC 7009 (2.2.1) and RFC 8707 (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The person said no.
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
    /// Neither a code nor a refresh token is presented.
    UnsupportedGrantType,
    /// Something other than a code is asked for.
    UnsupportedResponseType,
    /// Revocation: the token is none that can be taken back.
    UnsupportedTokenType,
}

/// A request of a client that failed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// For a reason that the client is told.
    #[error(transparent)]
    Refused(#[from] OAuthError),
    /// For a reason of ours.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
}

impl ErrorCode {
    /// The code as it is written in a response.
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
