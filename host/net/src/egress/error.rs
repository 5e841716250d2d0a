//! Errors of outbound requests.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use http::StatusCode;
use kitbag_manifest::egress::not_listed;

use super::resolver::LookupError;
use super::target::Target;

/// A failed outbound request.
///
/// The text is for the toolkit author's log: it names the host and, where adding a line to the
/// declaration would help, that line. It contains no resolved address, path, query or header; the
/// network's error is the `source`, for the operator's log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EgressError {
    /// The toolkit did not declare the host, or not with this port.
    #[error("{}", not_listed(.authority))]
    NotListed {
        /// Host, with its port unless the scheme implies it: the entry to add.
        authority: String,
    },
    /// The operator does not permit the host to toolkits, or not to one for this user.
    #[error(
        "{authority} is not permitted to toolkits by the egress policy of this server (setting egress-policy): ask your \
         operator"
    )]
    ForbiddenHost {
        /// Host, with its port unless the scheme implies it: the entry to add to the policy.
        authority: String,
    },
    /// The name resolves to no permitted address, or the URL contains an address that is not permitted.
    #[error("{host} is at no public address, and requests to private addresses are refused")]
    ForbiddenAddress {
        /// The host as requested, after normalisation.
        host: String,
    },
    /// Files are not captured from this port.
    #[error(
        "{authority} is at a port of other services: files are captured from the ports 80 and 443, and from \
         those from 1024 upwards that a browser would open"
    )]
    ForbiddenPort {
        /// Host and port.
        authority: String,
    },
    /// The URL, the method or the headers are not valid for an outbound request.
    #[error("the request cannot be sent: {reason}")]
    InvalidRequest {
        /// Reason for the refusal, without quoting the input.
        reason: &'static str,
    },
    /// The name could not be resolved.
    #[error("{host} could not be resolved: {source}")]
    Resolve {
        /// The host as requested, after normalisation.
        host: String,
        /// The resolver's error.
        source: LookupError,
    },
    /// No connection could be opened.
    #[error("{authority} could not be connected to")]
    Connect {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The error of the last address tried.
        source: Arc<io::Error>,
    },
    /// The TLS handshake failed.
    #[error("{authority} did not offer a trustworthy TLS connection")]
    Tls {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The handshake's error.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// A redirect cannot be followed.
    #[error("the redirect from {authority} cannot be followed: {reason}")]
    Redirect {
        /// Host that sent the redirect, with its port unless the scheme implies it.
        authority: String,
        /// Reason why the redirect is not followed, without quoting the input.
        reason: &'static str,
    },
    /// Connecting, or waiting for the response, took too long.
    #[error("{authority} did not answer in time")]
    Timeout {
        /// Host, with its port unless the scheme implies it.
        authority: String,
    },
    /// The response head exceeds the client's limits.
    #[error("the head of the response from {authority} is larger than 64 KiB or has more than 100 headers")]
    HeadTooLarge {
        /// Host, with its port unless the scheme implies it.
        authority: String,
    },
    /// The request body exceeds the sender's limit.
    #[error("the request's body is larger than {limit} bytes, the most that a server sends for a toolkit")]
    RequestTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The response body exceeds the caller's limit.
    #[error("{authority} sent more than {limit} bytes")]
    TooLarge {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The response to a request for a document has a status other than 2xx.
    #[error("{authority} answered {status}")]
    Status {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The response's status.
        status: StatusCode,
    },
    /// The connection broke, the response was not valid HTTP, or the request body failed.
    #[error("the exchange with {authority} failed")]
    Protocol {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The HTTP client's error.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl EgressError {
    /// Short label of the outcome, such as `timeout`, without details.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotListed { .. }
            | Self::ForbiddenHost { .. }
            | Self::ForbiddenAddress { .. }
            | Self::ForbiddenPort { .. }
            | Self::InvalidRequest { .. } => "refused",
            Self::Resolve { .. } | Self::Connect { .. } | Self::Tls { .. } => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::Redirect { .. }
            | Self::HeadTooLarge { .. }
            | Self::RequestTooLarge { .. }
            | Self::TooLarge { .. }
            | Self::Status { .. }
            | Self::Protocol { .. } => "failed",
        }
    }

    /// Whether the same request may succeed later: the server could not be reached, or the exchange broke off.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Resolve { .. } | Self::Connect { .. } | Self::Timeout { .. } | Self::Protocol { .. }
        )
    }

    /// Whether the TLS handshake failed because the server's certificate is not trusted.
    pub fn is_distrust(&self) -> bool {
        let Self::Tls { source, .. } = self else { return false };
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&**source);
        while let Some(error) = cause {
            if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref() {
                return true;
            }
            // `io::Error::source` skips the wrapped error; `get_ref` returns it.
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            cause = inner.map(|inner| inner as &(dyn StdError + 'static)).or_else(|| error.source());
        }
        false
    }

    /// Extracts the error that the request body raised, if any; otherwise wraps the HTTP client's error.
    pub(super) fn from_http(error: hyper::Error, target: &Target) -> Self {
        if error.is_parse_too_large() {
            return Self::HeadTooLarge { authority: target.authority() };
        }
        let mut cause = error.source();
        while let Some(current) = cause {
            if let Some(own) = current.downcast_ref::<Self>() {
                return own.clone();
            }
            cause = current.source();
        }
        Self::Protocol { authority: target.authority(), source: Arc::new(error) }
    }
}
