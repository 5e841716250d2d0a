//! Errors of outbound authentication.

use http::StatusCode;
use kitbag_net::egress::EgressError;

/// Reasons why no credentials can be attached. The text is for the toolkit's log: it contains hosts, names of
/// credentials and registered error codes, and no other external text.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    /// The user has not set a credential.
    #[error("a credential of `auth` is not set: set it with {commands}")]
    MissingCredentials {
        /// Names of the missing credentials, as declared.
        names: Vec<String>,
        /// Commands that set the missing credentials, joined by "and".
        commands: String,
    },
    /// A credential is not valid for the place that `auth` declares.
    #[error("the credential {name} of `auth` cannot be used: it {reason}")]
    UnusableCredential {
        /// Name of the credential, as declared.
        name: String,
        /// Problem, as a clause.
        reason: &'static str,
    },
    /// The user has connected no account, or only one for other grants.
    #[error("the user has connected no account at {host}")]
    NoAccount {
        /// The API's host.
        host: String,
    },
    /// The account has ended.
    #[error("the account at {host} is no longer connected: {reason}")]
    AccountEnded {
        /// The API's host.
        host: String,
        /// Reason, as a clause.
        reason: String,
    },
    /// The account cannot be read or stored at the moment; the cause is in the server's log.
    #[error("the account cannot be read at the moment")]
    Unavailable,
    /// Another process renews the token, and takes too long.
    #[error("the token of the account is being renewed, which takes too long")]
    Busy,
    /// The call has used up its number of requests.
    #[error("this call has made all the requests it may make, and needs one more for a token")]
    NoRequestLeft,
    /// The token endpoint could not be reached, or its response exceeded a limit.
    #[error("no token could be asked for: {0}")]
    Egress(#[from] EgressError),
    /// The token endpoint refused the request.
    #[error(
        "the token endpoint {host} {}: {status}{}",
        if is_out_of_order(*status) { "is out of order" } else { "refused the credentials of `auth`" },
        code.map(|code| format!(" {code}")).unwrap_or_default()
    )]
    Refused {
        /// The endpoint's host.
        host: String,
        /// Status of the response.
        status: StatusCode,
        /// Error code of the response, if it is a registered one.
        code: Option<&'static str>,
    },
    /// The token endpoint's response has no usable token.
    #[error("the answer of the token endpoint {host} cannot be used: {reason}")]
    Unusable {
        /// The endpoint's host.
        host: String,
        /// Problem, as a clause.
        reason: &'static str,
    },
}

impl SignInError {
    /// Whether the same attempt may succeed later: the provider is out of order, or this server is busy.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unavailable | Self::Busy => true,
            Self::Egress(error) => error.is_passing(),
            Self::Refused { status, .. } => is_out_of_order(*status),
            Self::MissingCredentials { .. }
            | Self::UnusableCredential { .. }
            | Self::NoAccount { .. }
            | Self::AccountEnded { .. }
            | Self::NoRequestLeft
            | Self::Unusable { .. } => false,
        }
    }
}

/// Whether a response with this status says nothing about the request.
fn is_out_of_order(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}
