//! Why nothing is attached to a request.

use http::StatusCode;
use kitbag_net::egress::EgressError;

/// Why nothing is attached. The text is for the toolkit's log: it contains hosts, names of credentials
/// and registered error codes, and no other external text.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    /// The user has not set a credential.
    #[error("a credential of `auth` is not set: set it with {commands}")]
    MissingCredentials {
        /// Names of the missing ones, as declared.
        names: Vec<String>,
        /// One command for each to set it.
        commands: String,
    },
    /// A credential cannot go where `auth` says.
    #[error("the credential {name} of `auth` cannot be used: it {reason}")]
    UnusableCredential {
        /// Its name, as declared.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The user has connected no account, or for other grants.
    #[error("the user has connected no account at {host}")]
    NoAccount {
        /// The API's host.
        host: String,
    },
    /// The account cannot be used any more.
    #[error("the account at {host} is no longer connected: {reason}")]
    AccountEnded {
        /// The API's host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The account cannot be read or stored at the moment; the cause is in the server's log.
    #[error("the account cannot be read at the moment")]
    Unavailable,
    /// Another process renews the token, and takes too long.
    #[error("the token of the account is being renewed, which takes too long")]
    Busy,
    /// The call may send no more requests.
    #[error("this call has made all the requests it may make, and needs one more for a token")]
    NoRequestLeft,
    /// The token endpoint could not be reached, or its response exceeded a limit.
    #[error("no token could be asked for: {0}")]
    Egress(#[from] EgressError),
    /// The token endpoint refused the request.
    #[error("the token endpoint {host} refused the credentials of `auth`: {status}{}", code.map(|code| format!(" {code}")).unwrap_or_default())]
    Refused {
        /// The endpoint's host.
        host: String,
        /// The response's status.
        status: StatusCode,
        /// The response's error code, if it is a registered one.
        code: Option<&'static str>,
    },
    /// The token endpoint's response has no usable token.
    #[error("the answer of the token endpoint {host} cannot be used: {reason}")]
    Unusable {
        /// The endpoint's host.
        host: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}
