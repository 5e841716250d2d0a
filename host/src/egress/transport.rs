//! One HTTP exchange: preparing the request, timeouts, and the runtime it runs on.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Version};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::TokioTimer;
use tokio::runtime::Handle;
use tokio::time::{error::Elapsed, timeout};

use super::connector::Connector;
use super::hygiene;
use super::target::Target;
use super::{BoxBody, BoxError, EgressError};

/// How long a connection may be idle in a pool.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Idle connections that a pool keeps per scheme, host and port.
const MAX_IDLE_PER_AUTHORITY: usize = 16;

/// Maximum size of a response head, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
/// Maximum number of headers of a response.
const MAX_HEADERS: usize = 100;

/// The caller's timeouts for one request. Those of the settings apply besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Option<Duration>,
    /// From the connection to the response head.
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
    parts.uri = target.apply(&parts.uri)?;
    parts.version = Version::HTTP_11;
    Ok(Request::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
}

/// The forbidden methods of the Fetch Standard. CONNECT would ask the server to open a tunnel to an
/// unchecked host; TRACE and TRACK would make it echo the request head, with the token that the host
/// attaches without the guest seeing it.
fn is_forbidden(method: &Method) -> bool {
    ["CONNECT", "TRACE", "TRACK"].iter().any(|forbidden| method.as_str().eq_ignore_ascii_case(forbidden))
}

/// Sends the request, waiting for the connection and then for the response head.
pub(super) async fn exchange(
    client: Client<Connector, BoxBody>,
    mut request: Request<BoxBody>,
    timeouts: Timeouts,
) -> Result<Result<Response<Incoming>, ClientError>, Elapsed> {
    let mut connection = capture_connection(&mut request);
    let mut answer = std::pin::pin!(client.request(request));
    let connected = async {
        connection.wait_for_connection_metadata().await;
    };
    tokio::select! {
        biased;
        answer = &mut answer => return Ok(answer),
        connected = within(timeouts.connect, connected) => connected?,
    }
    within(timeouts.first_byte, answer).await
}

async fn within<F: Future>(limit: Option<Duration>, future: F) -> Result<F::Output, Elapsed> {
    match limit {
        Some(limit) => timeout(limit, future).await,
        None => Ok(future.await),
    }
}

pub(super) fn client(connector: Connector, runtime: &Handle) -> Client<Connector, BoxBody> {
    Client::builder(OnRuntime(runtime.clone()))
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_PER_AUTHORITY)
        .http1_max_buf_size(MAX_HEAD_BYTES)
        .http1_max_headers(MAX_HEADERS)
        .build(connector)
}

/// Spawns on the given runtime, whichever runtime is current.
#[derive(Clone)]
struct OnRuntime(Handle);

impl<F> Executor<F> for OnRuntime
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn(future));
    }
}
