//! One HTTP exchange: preparing the request, the connection it uses, and timeouts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::connection::{Connection, ResponseBody};
use super::connector::Connector;
use super::hygiene;
use super::led::FromPrivateAddress;
use super::pool::{Key, Pool};
use super::target::Target;
use super::{BoxBody, BoxError, EgressError};

/// Timeouts of one request, in addition to those of the settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// Time limit for opening a connection.
    pub connect: Option<Duration>,
    /// Time limit from the connection to the response head.
    pub first_byte: Option<Duration>,
}

/// Rewrites the request so that it can only go to `target`.
pub(super) fn prepare<B>(request: Request<B>, target: &Target) -> Result<Request<BoxBody>, EgressError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if is_forbidden(request.method()) {
        return Err(EgressError::InvalidRequest { reason: "CONNECT, TRACE and TRACK are not possible" });
    }
    let (mut parts, body) = request.into_parts();
    hygiene::check_length(&parts.headers, &body.size_hint())?;
    hygiene::clean(&mut parts.headers);
    let host = HeaderValue::try_from(target.authority());
    parts
        .headers
        .insert(HOST, host.map_err(|_| EgressError::InvalidRequest { reason: "its host is malformed" })?);
    parts.uri = origin_form(&parts.uri);
    parts.version = Version::HTTP_11;
    Ok(Request::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}

/// Returns the origin form of the request target (RFC 9112, section 3.2.1): path and query only.
fn origin_form(uri: &Uri) -> Uri {
    uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")).into()
}

/// The forbidden methods of the Fetch Standard. CONNECT would ask the server to open a tunnel to an
/// unchecked host; TRACE and TRACK would make it echo the request head, with the token that the host
/// attaches without the guest seeing it.
fn is_forbidden(method: &Method) -> bool {
    ["CONNECT", "TRACE", "TRACK"].iter().any(|forbidden| method.as_str().eq_ignore_ascii_case(forbidden))
}

/// Sends requests over idle connections of the pool, or over new ones.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) connector: Connector,
    pub(super) pool: Pool,
    /// Runtime of the tasks that drive the connections.
    pub(super) runtime: Handle,
}

impl Client {
    /// Sends the request, waiting for the connection and then for the response head.
    ///
    /// A server may close an idle connection while a request is on its way to it. The request is then sent
    /// again on a new connection, once, if nothing of it was sent, or if it has no body and its method changes
    /// nothing on the server (RFC 9110, section 9.2.1).
    pub(super) async fn exchange(
        &self,
        mut request: Request<BoxBody>,
        key: Key,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, EgressError> {
        let key = Arc::new(key);
        if let Some(connection) = self.pool.take(&key) {
            let copy = copy_if_safe(&request);
            match within(timeouts.first_byte, &key, connection.send(request)).await? {
                Ok((response, connection)) => return Ok(self.streaming(response, connection, key)),
                Err(mut error) => {
                    let unsent = error.take_message();
                    let again = unsent.or_else(|| copy.filter(|_| is_closed_by_server(error.error())));
                    request = again.ok_or_else(|| failure(error, &key))?;
                }
            }
        }
        let connection = within(timeouts.connect, &key, self.connect(&key)).await??;
        let sent = within(timeouts.first_byte, &key, connection.send(request)).await?;
        let (response, connection) = sent.map_err(|error| failure(error, &key))?;
        Ok(self.streaming(response, connection, key))
    }

    async fn connect(&self, key: &Key) -> Result<Connection, EgressError> {
        let connected = self.connector.connect(&key.target, &key.policy.user()).await?;
        let connection = Connection::over(connected, &self.runtime).await;
        connection.map_err(|error| EgressError::from_http(error, &key.target))
    }

    fn streaming(
        &self,
        mut response: Response<Incoming>,
        connection: Connection,
        key: Arc<Key>,
    ) -> Response<ResponseBody> {
        if connection.is_private() {
            response.extensions_mut().insert(FromPrivateAddress);
        }
        let pool = self.pool.clone();
        let runtime = self.runtime.clone();
        response.map(|incoming| ResponseBody::new(incoming, connection, key, pool, runtime))
    }
}

fn failure(error: TrySendError<Request<BoxBody>>, key: &Key) -> EgressError {
    EgressError::from_http(error.into_error(), &key.target)
}

/// Returns a copy of a request that may be sent twice: safe method, no body.
fn copy_if_safe(request: &Request<BoxBody>) -> Option<Request<BoxBody>> {
    if !request.method().is_safe() || !request.body().is_end_stream() {
        return None;
    }
    let mut copy = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Whether the connection ended before the response head.
fn is_closed_by_server(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    let kinds = [io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionAborted, io::ErrorKind::BrokenPipe];
    error.is_incomplete_message() || cause.is_some_and(|cause| kinds.contains(&cause.kind()))
}

async fn within<F: Future>(limit: Option<Duration>, key: &Key, future: F) -> Result<F::Output, EgressError> {
    match limit {
        Some(limit) => timeout(limit, future)
            .await
            .map_err(|_elapsed| EgressError::Timeout { authority: key.target.authority() }),
        None => Ok(future.await),
    }
}
