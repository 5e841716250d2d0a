//! `wasi:http`, through pollables: several requests may be in flight at once.

use http::header::{CONTENT_LENGTH, HeaderValue};
use http::Method;
use wstd::http::Client;
use wstd::http::error::{ErrorCode, HeaderError};

use super::Platform;
use crate::{FetchError, Request, Response};

impl Platform {
    pub(crate) async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let uri = request.check()?;
        let (method, mut headers, body) = request.into_parts();
        // Without a length the body would travel in chunks, which some servers refuse.
        if !body.is_empty() || [Method::POST, Method::PUT, Method::PATCH].contains(&method) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }

        let mut outgoing = http::Request::new(body);
        *outgoing.method_mut() = method;
        *outgoing.uri_mut() = uri;
        *outgoing.headers_mut() = headers;
        match Client::new().send(outgoing).await {
            Ok(response) => Ok(Response::from_sandbox(response)),
            Err(error) => Err(network_error(&error)),
        }
    }
}

/// Spells an error of the transport.
pub(crate) fn network_error(error: &wstd::http::Error) -> FetchError {
    if error.is::<HeaderError>() {
        return FetchError::InvalidRequest(format!("{error:#}"));
    }
    FetchError::Network(match error.downcast_ref::<ErrorCode>() {
        Some(ErrorCode::HttpRequestDenied) => "the host refused the request; is it listed in egress?".to_owned(),
        Some(ErrorCode::InternalError(Some(why))) => why.clone(),
        Some(code) => format!("{code:?}").trim_start_matches("ErrorCode::").to_owned(),
        None => format!("{error:#}"),
    })
}
