//! `wasi:http/outgoing-handler`: outbound HTTP, to the hosts that the declaration lists.
//! Granted by `egress`.
//!
//! Every byte that leaves goes through `Gate::send_request`; the allowlist and the address guard
//! are those of [`Egress`]. A refused request is a network error for the guest, and a line in the
//! toolkit's log that names the host and the line to add.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use super::log::Log;
use crate::egress::{Allowlist, BoxError, Egress, EgressError, Policy};

/// Headers of one request or response, as they lie in memory. With [`BODY_CHUNK`] and the limit on
/// handles it bounds what a guest can make the host keep without ever sending it.
const HEADERS: usize = 64 << 10;
/// What the host takes from a guest at once of a request's body.
const BODY_CHUNK: usize = 64 << 10;

/// Bounds of one invocation's requests. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct FetchLimits {
    /// Requests in flight.
    pub in_flight: usize,
    /// Requests in all.
    pub requests: usize,
    /// Body of one request.
    pub request_body: usize,
    /// Body of one response.
    pub response_body: usize,
}

/// One invocation's access to the network.
pub struct Fetch {
    context: WasiHttpCtx,
    gate: Gate,
}

struct Gate {
    egress: Egress,
    /// Nothing, when the declaration grants no egress at all.
    policy: Option<Policy>,
    in_flight: Arc<Semaphore>,
    requests_left: usize,
    request_body: usize,
    response_body: usize,
    log: Log,
}

impl Fetch {
    /// Grants the hosts of `allowlist`.
    pub fn new(egress: &Egress, allowlist: Option<Arc<Allowlist>>, limits: &FetchLimits, log: Log) -> Self {
        let gate = Gate {
            egress: egress.clone(),
            policy: allowlist.map(Policy::Allowlist),
            in_flight: Arc::new(Semaphore::new(limits.in_flight)),
            requests_left: limits.requests,
            request_body: limits.request_body,
            response_body: limits.response_body,
            log,
        };
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(HEADERS);
        Self { context, gate }
    }

    /// Borrows the state for one host call.
    pub fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { hooks: &mut self.gate, table, ctx: &mut self.context }
    }
}

/// Links the capability; `view` borrows the invocation's state from the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<T, WasiHttp>(linker, view)
}

/// Links the types that `wasi:http` is spoken in. They reach nothing.
pub fn add_types_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, WasiHttp>(linker, &LinkOptions::default().into(), view)
}

impl Gate {
    /// Counts a request against the invocation's budget.
    fn admit(&mut self) -> Result<(Policy, OwnedSemaphorePermit), Error> {
        let policy = self.policy.clone().ok_or(Error::HttpRequestDenied)?;
        let permit = self.in_flight.clone().try_acquire_owned().map_err(|_| {
            self.log.note("fetch: too many requests in flight; wait for one to finish".to_owned());
            Error::ConnectionLimitReached
        })?;
        self.requests_left = self.requests_left.checked_sub(1).ok_or_else(|| {
            self.log.note("fetch: this call has made all the requests it may make".to_owned());
            Error::ConnectionLimitReached
        })?;
        Ok((policy, permit))
    }
}

/// What `wasi:http` wants of a request: the response, and the connection's own work. Our
/// connections belong to the pool, so the second part has nothing to do.
type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Gate {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        _options: Option<RequestOptions>,
        _response_processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let admitted = self.admit();
        let egress = self.egress.clone();
        let log = self.log.clone();
        let (most_out, most_in) = (self.request_body, self.response_body);
        Box::new(async move {
            let (policy, permit) = admitted?;
            let request = request.map(|body| Limited::new(body, most_out));
            let response = egress.send(request, &policy).await.map_err(|error| {
                log.note(format!("fetch: {error}"));
                as_guest_sees(&error)
            })?;
            let response = response.map(|body| bounded(body, most_in, log, permit));
            let nothing_to_drive = Box::new(std::future::ready(Ok(()))) as Box<_>;
            Ok((response, nothing_to_drive))
        })
    }
}

/// Cuts a response off at `most` bytes. The request counts as in flight until its body is gone.
fn bounded<B>(body: B, most: usize, log: Log, permit: OwnedSemaphorePermit) -> WasiBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    Limited::new(body, most)
        .map_frame(move |frame| {
            let _in_flight = &permit;
            frame
        })
        .map_err(move |error| {
            if error.is::<LengthLimitError>() {
                log.note(format!("fetch: the response is larger than {most} bytes and was cut off"));
                Error::HttpResponseBodySize(Some(most as u64))
            } else {
                Error::HttpResponseIncomplete
            }
        })
        .boxed_unsync()
}

/// The guest learns the kind of network error and nothing about the network behind the host.
fn as_guest_sees(error: &EgressError) -> Error {
    match error {
        EgressError::NotListed { .. } => Error::HttpRequestDenied,
        EgressError::ForbiddenAddress { .. } => Error::DestinationIpProhibited,
        EgressError::Resolve { .. } => Error::DnsError { rcode: None, info_code: None },
        EgressError::Connect { .. } => Error::ConnectionRefused,
        EgressError::Tls { .. } => Error::TlsProtocolError,
        EgressError::Timeout { .. } => Error::ConnectionTimeout,
        _ => Error::HttpProtocolError,
    }
}
