//! Errors of authentication and of its settings.

use std::time::Duration;

/// Error of a request that could not be authenticated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The request has neither an `Authorization` header nor a session cookie.
    #[error("no token")]
    Missing,
    /// The credential is invalid. The reason is for the log, never for the client.
    #[error("invalid token: {0}")]
    Invalid(&'static str),
    /// A correctly signed token with a claim that the settings do not accept. The claim's value is for the
    /// log, where operators see which setting to change.
    #[error("invalid token: {reason}: expected {expected}, found {found}")]
    Unexpected {
        /// Fixed description of the mismatch.
        reason: &'static str,
        /// Value that the settings accept.
        expected: String,
        /// Value in the token, clipped.
        found: String,
    },
    /// A key that is valid, and whose user has not signed in for the time that the setting
    /// `keys-without-sign-in` allows. The text is for the holder of the key, too.
    #[error(
        "the key is paused, because its user has not signed in for {} (setting keys-without-sign-in); it is valid again \
         as soon as they sign in",
        shown_time(*.0)
    )]
    KeyPaused(Duration),
    /// The provider cannot be reached and no usable key is cached, or the database cannot be read.
    #[error("the identity provider is unavailable")]
    Unavailable,
}

impl AuthError {
    /// Short label of the error, without the reason.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Invalid(_) | Self::Unexpected { .. } | Self::KeyPaused(_) => "invalid",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Invalid settings of token verification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    /// The issuer identifier is not a URL as RFC 8414, section 2 requires.
    #[error("issuer {0:?} must be an http(s) URL without query and fragment")]
    Issuer(String),
    /// An origin that does not consist of exactly scheme, host and port.
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

/// Formats a duration in its largest whole unit, such as `30 days` or `90 seconds`.
pub(super) fn shown_time(time: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];

    let seconds = time.as_secs();
    let (size, unit) = UNITS
        .into_iter()
        .find(|(size, _)| seconds >= *size && seconds.is_multiple_of(*size))
        .unwrap_or((1, "second"));
    let count = seconds / size;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn invalid(reason: &'static str) -> AuthError {
    AuthError::Invalid(reason)
}
