//! Messages for network errors, for people and models.

use wasip2::http::types::ErrorCode;

use crate::FetchError;

/// Converts an error of `wasi:http` into a message.
pub(super) fn explain(code: &ErrorCode) -> FetchError {
    let words = match code {
        ErrorCode::HttpRequestDenied => "a redirect leads to a host that is not listed in egress",
        ErrorCode::DnsTimeout | ErrorCode::DnsError(_) => "the host name cannot be resolved",
        ErrorCode::DestinationNotFound
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable => "the server cannot be reached",
        ErrorCode::DestinationIpProhibited => "the server's address is not one that toolkits may reach",
        ErrorCode::ConnectionRefused => "the server refused the connection",
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
            "the server closed the connection"
        }
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => "the server took too long",
        ErrorCode::ConnectionLimitReached => {
            "too many requests are in flight, or the call has made all that it may"
        }
        ErrorCode::ConfigurationError => "the host could not sign in at the server",
        ErrorCode::HttpProtocolError => "the exchange with the server failed",
        ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError | ErrorCode::TlsAlertReceived(_) => {
            "no secure connection could be made"
        }
        ErrorCode::HttpRequestBodySize(_) => "the request is too large",
        ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseHeaderSize(_)
        | ErrorCode::HttpResponseHeaderSectionSize(_) => "the response is too large",
        ErrorCode::InternalError(Some(why)) => why,
        other => return FetchError::Network(format!("{other:?}").replace("ErrorCode::", "")),
    };
    FetchError::Network(words.to_owned())
}
