//! Why a request has no caller.

/// A request that is nobody's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// Neither header nor cookie.
    #[error("no token")]
    Missing,
    /// There is a credential, and it is not good enough. The reason is for the log, never for the client.
    #[error("invalid token: {0}")]
    Invalid(&'static str),
    /// The provider has signed it, and it is for something else than this service expects. What the provider wrote is for
    /// the log too: operators set by it what they accept.
    #[error("invalid token: {reason}: expected {expected}, found {found}")]
    Unexpected {
        /// What is wrong.
        reason: &'static str,
        /// What the settings say.
        expected: String,
        /// What the token says, clipped.
        found: String,
    },
    /// The provider cannot be reached, and none of its keys is known.
    #[error("the identity provider is unavailable")]
    Unavailable,
}

impl AuthError {
    /// A word for it, without the reason.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Invalid(_) | Self::Unexpected { .. } => "invalid",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Settings under which no token could be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    /// The issuer identifier is no URL of the shape that RFC 8414, section 2 asks for.
    #[error("issuer {0:?} must be an http(s) URL without query and fragment")]
    Issuer(String),
    /// An origin is more, or less, than scheme, host and port.
    #[error("{0:?} is no origin: write scheme, host and port only, such as https://app.example.com")]
    Origin(String),
    /// The algorithm is unknown, or is not asymmetric.
    #[error(
        "{0:?} is no accepted signature algorithm: choose from RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA"
    )]
    Algorithm(String),
    /// The list of algorithms is empty.
    #[error("at least one signature algorithm is needed")]
    NoAlgorithm,
}

pub(super) fn invalid(reason: &'static str) -> AuthError {
    AuthError::Invalid(reason)
}
