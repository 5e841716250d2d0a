//! HTTP requests through `wasi:http` with pollables, so that several can be in flight at once.

use futures_util::future::join;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode, Uri};
use kitbag_manifest::egress::{Target, not_listed};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, OutgoingBody, OutgoingRequest,
    Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;
use wstd::io::{AsyncOutputStream, AsyncPollable};

use super::network::explain;
use super::platform::Platform;
use crate::{FetchError, Request, Response};

/// Maximum bytes of a response body per read.
const READ_CHUNK_BYTES: u64 = 64 * 1024;

impl Platform {
    pub(crate) async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let uri = request.check()?;
        let (method, mut headers, body) = request.into_parts();
        // Without a length the body would be sent in chunked transfer coding, which some servers refuse.
        if !body.is_empty() || [Method::POST, Method::PUT, Method::PATCH].contains(&method) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }

        let outgoing = head(&method, &uri, &headers)?;
        let outgoing_body = outgoing.body().expect("the body of a new request was not taken yet");
        let pending = handle(outgoing, None).map_err(|code| self.explain(&code, &uri))?;
        let ((), response) = join(send(outgoing_body, &body), receive(pending)).await;
        response.map_err(|code| self.explain(&code, &uri)).and_then(into_response)
    }

    /// Converts a network error. If the host refused the request because `egress` does not list its target,
    /// the message names the missing entry. A refused redirect to another host has its own message.
    fn explain(&self, code: &ErrorCode, uri: &Uri) -> FetchError {
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let target = Target::new(uri.scheme_str().unwrap_or_default(), &host, uri.port_u16());
        match code {
            ErrorCode::HttpRequestDenied if !target.is_listed(&self.egress) => {
                FetchError::Network(not_listed(&target.entry()))
            }
            _ => explain(code),
        }
    }
}

/// Reads a body to its end.
pub(crate) async fn read(body: IncomingBody) -> Result<Vec<u8>, FetchError> {
    let stream = body.stream().expect("the stream of a new body was not taken yet");
    let mut ready = None;
    let mut bytes = Vec::new();
    loop {
        match stream.read(READ_CHUNK_BYTES) {
            Ok(chunk) if chunk.is_empty() => {
                // Most bodies have arrived with their head, and need no subscription.
                ready.get_or_insert_with(|| AsyncPollable::new(stream.subscribe())).wait_for().await;
            }
            Ok(chunk) => bytes.extend(chunk),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => {
                // The error's own text is not shown: it may contain internal details of the host.
                return Err(http_error_code(&error).map_or_else(
                    || FetchError::Network("the connection was lost before the body's end".to_owned()),
                    |code| explain(&code),
                ));
            }
        }
    }
}

fn head(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<OutgoingRequest, FetchError> {
    // One call of the host for all headers.
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    let fields = Fields::from_list(&headers)
        .map_err(|_| FetchError::InvalidRequest("one of the headers may not be set".to_owned()))?;
    let scheme = if uri.scheme_str() == Some("http") { Scheme::Http } else { Scheme::Https };
    let request = OutgoingRequest::new(fields);
    request
        .set_method(&wasi_method(method))
        .and_then(|()| request.set_scheme(Some(&scheme)))
        .and_then(|()| request.set_authority(uri.authority().map(http::uri::Authority::as_str)))
        .and_then(|()| request.set_path_with_query(uri.path_and_query().map(http::uri::PathAndQuery::as_str)))
        .map_err(|()| FetchError::InvalidRequest("the host cannot send this method or URL".to_owned()))?;
    Ok(request)
}

/// Sends a body. Write errors are ignored: the server may have responded early, and if it has not,
/// the error is reported in place of the response.
async fn send(outgoing: OutgoingBody, body: &[u8]) {
    if !body.is_empty() {
        let stream =
            AsyncOutputStream::new(outgoing.write().expect("the stream of a new body was not taken yet"));
        if stream.write_all(body).await.is_err() {
            return;
        }
    }
    // Fails only if the length does not match, which the host then reports in place of the response.
    let _ = OutgoingBody::finish(outgoing, None);
}

async fn receive(pending: FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    AsyncPollable::new(pending.subscribe()).wait_for().await;
    pending.get().expect("the pollable said that the response is there").expect("the response is taken once")
}

fn into_response(incoming: IncomingResponse) -> Result<Response, FetchError> {
    let status = StatusCode::from_u16(incoming.status())
        .map_err(|_| FetchError::Network("the response has no valid status".to_owned()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in incoming.headers().entries() {
        // Skips a header that is not valid in HTTP: it could not be looked up by name.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    let body = incoming.consume().expect("the body of a new response was not taken yet");
    Ok(Response::from_sandbox(status, headers, body))
}

fn wasi_method(method: &Method) -> wasip2::http::types::Method {
    use wasip2::http::types::Method as Wasi;
    match method.as_str() {
        "GET" => Wasi::Get,
        "HEAD" => Wasi::Head,
        "POST" => Wasi::Post,
        "PUT" => Wasi::Put,
        "DELETE" => Wasi::Delete,
        "CONNECT" => Wasi::Connect,
        "OPTIONS" => Wasi::Options,
        "TRACE" => Wasi::Trace,
        "PATCH" => Wasi::Patch,
        other => Wasi::Other(other.to_owned()),
    }
}
