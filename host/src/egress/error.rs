//! Why a request did not leave, or did not come back.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use http::StatusCode;

use super::resolver::LookupError;
use super::target::Target;

/// A failed outbound request.
///
/// The text is for the author's log: it names the host and, where one line would help, that line.
/// It holds no resolved address, no path, no query and no header; what the network said is the
/// `source`, for the operator's log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EgressError {
    /// The toolkit did not declare the host (or not with this port).
    #[error("{authority} is not in the toolkit's egress list: to allow it, add {authority:?} to `egress`")]
    NotListed {
        /// Host, with its port unless the scheme implies it: the line to add.
        authority: String,
    },
    /// The name stands for no public address, or the URL holds an address that is not public.
    #[error("{host} is at no public address, and requests to private addresses are refused")]
    ForbiddenAddress {
        /// The host as requested, after normalisation.
        host: String,
    },
    /// A file is not captured from this port.
    #[error(
        "{authority} is at a port of other services: files are captured from the ports 80 and 443, and from \
         those from 1024 upwards that a browser would open"
    )]
    ForbiddenPort {
        /// Host and port.
        authority: String,
    },
    /// The URL, the method or the headers cannot be sent at all.
    #[error("the request cannot be sent: {reason}")]
    InvalidRequest {
        /// The part that is wrong, without quoting it.
        reason: &'static str,
    },
    /// The name could not be resolved.
    #[error("{host} could not be resolved: {source}")]
    Resolve {
        /// The host as requested, after normalisation.
        host: String,
        /// What the resolver met with.
        source: LookupError,
    },
    /// No connection came about.
    #[error("{authority} could not be connected to")]
    Connect {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The failure of the last address tried.
        source: Arc<io::Error>,
    },
    /// The TLS handshake failed.
    #[error("{authority} did not offer a trustworthy TLS connection")]
    Tls {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The handshake's failure.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// A redirect leads nowhere.
    #[error("the redirect from {authority} cannot be followed: {reason}")]
    Redirect {
        /// Where it came from: host, with its port unless the scheme implies it.
        authority: String,
        /// What is wrong with it, without quoting it.
        reason: &'static str,
    },
    /// Connecting, or waiting for the answer, took too long.
    #[error("{authority} did not answer in time")]
    Timeout {
        /// Host, with its port unless the scheme implies it.
        authority: String,
    },
    /// The response's head is larger than the client reads.
    #[error("the head of the response from {authority} is larger than 64 KiB or has more than 100 headers")]
    HeadTooLarge {
        /// Host, with its port unless the scheme implies it.
        authority: String,
    },
    /// The request's own body has more bytes than its sender may send.
    #[error(
        "the request's body is larger than {limit} bytes, the most that this server sends for a toolkit \
         (its setting --call-request-body)"
    )]
    RequestTooLarge {
        /// The most that would have been sent, in bytes.
        limit: usize,
    },
    /// The document has more bytes than its reader accepts.
    #[error("{authority} sent more than {limit} bytes")]
    TooLarge {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The most that would have been accepted, in bytes.
        limit: usize,
    },
    /// A document was asked for, and the answer was something else.
    #[error("{authority} answered {status}")]
    Status {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The answer's status.
        status: StatusCode,
    },
    /// The connection broke, or what came over it was no HTTP, or the request's own body failed.
    #[error("the exchange with {authority} failed")]
    Protocol {
        /// Host, with its port unless the scheme implies it.
        authority: String,
        /// The HTTP client's failure.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl EgressError {
    /// Recovers the connector's own error from inside the client's, or keeps the client's as it is.
    pub(super) fn from_client(error: hyper_util::client::legacy::Error, target: &Target) -> Self {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
        while let Some(current) = cause {
            if let Some(own) = current.downcast_ref::<Self>() {
                return own.clone();
            }
            if current.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse_too_large) {
                return Self::HeadTooLarge { authority: target.authority() };
            }
            cause = current.source();
        }
        Self::Protocol { authority: target.authority(), source: Arc::new(error) }
    }
}
