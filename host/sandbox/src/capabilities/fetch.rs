//! `wasi:http/outgoing-handler`: outbound HTTP to the hosts that the declaration lists. Granted by `egress`.
//!
//! All requests go through `Hooks::send_request`; `egress` provides the allowlist and the address guard. The
//! host follows redirects, unless the guest wants to see them (`redirect`), and attaches the credentials that
//! `auth` declares, which the guest never sees. Each request that this needs is checked by the same policy
//! and counted for the call. A refused request is a network error for the guest, and a line in the toolkit's
//! log with the host and the line to add to the declaration. A host that the operator does not permit to toolkits is
//! also named to the caller, if the call fails.

mod ahead;
mod body;
mod exchange;
mod fields;
pub(crate) mod footprint;
mod head;
pub mod inner_calls;
mod redirect;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, header};
use http_body_util::BodyExt as _;
use kitbag_base::memory::Lease;
use kitbag_base::shares::Share;
use kitbag_net::egress::{Allowlist, Policy, Repeatable, Timeouts};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use self::exchange::{Exchange, Failure};
use self::inner_calls::Inner;
use super::{CallContext, Services};
use crate::observations::Observations;

/// Maximum size of the headers of one request, as wasmtime counts it. Their actual memory is measured
/// ([`footprint`]).
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum number of bytes of a request body that the host accepts from a guest at once.
const BODY_CHUNK_BYTES: usize = 16 << 10;
/// Waiting time for a free in-flight slot after which the wait is logged.
const LONG_WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Host memory charged for each response until the guest has finished with it: data read ahead, the head, and
/// buffers of the connection. An estimate.
const RESPONSE_MEMORY_BYTES: usize = 128 << 10;
/// Maximum time that a request waits for this memory.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of one invocation's requests. Sizes are in bytes.
#[derive(Clone, Debug, Default)]
pub struct FetchLimits {
    /// Maximum number of concurrent requests; further ones wait.
    pub in_flight: usize,
    /// Maximum total number of requests.
    pub requests: usize,
    /// Maximum body size of one request.
    pub request_body: usize,
    /// Maximum body size of one response.
    pub response_body: usize,
}

/// Network access of one invocation. The default gives none.
pub struct Fetch {
    context: WasiHttpCtx,
    hooks: Hooks,
}

/// The state for one host call.
pub type View<'a> = WasiHttpCtxView<'a>;

#[derive(Default)]
struct Hooks {
    /// `None` if the declaration grants no egress.
    exchange: Option<Arc<Exchange>>,
    /// Handler of requests in place of the network, for the component that runs code of models.
    inner: Option<Inner>,
    /// The call's lease on the memory budget for all calls. `None` outside a call.
    lease: Option<Arc<Lease>>,
}

impl Default for Fetch {
    fn default() -> Self {
        Self::through(Hooks::default())
    }
}

impl Fetch {
    /// Creates the access for a call: to the hosts that the declaration lists.
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let lease = Some(call.lease.clone());
        if let Some(calls) = call.inner_calls {
            let inner = Inner { calls: calls.clone(), egress: call.services.egress.clone() };
            return Self::through(Hooks { exchange: None, inner: Some(inner), lease });
        }
        let exchange = call.grants.allowlist().map(|allowlist| Arc::new(exchange(call, allowlist.clone())));
        Self::through(Hooks { exchange, inner: None, lease })
    }

    fn through(hooks: Hooks) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_HEADER_BYTES);
        Self { context, hooks }
    }

    /// Borrows the state for one host call.
    pub(super) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> View<'a> {
        WasiHttpCtxView { hooks: &mut self.hooks, table, ctx: &mut self.context }
    }
}

fn exchange(call: &CallContext<'_>, allowlist: Arc<Allowlist>) -> Exchange {
    let Services { egress, .. } = call.services;
    let Observations { log, usage, missing, sign_in: sign_in_failure, refused_hosts, trace, .. } =
        call.observations.clone();
    let policy =
        Policy::Toolkit { allowlist, user: call.user_id.clone(), membership: call.membership.clone() };
    let definition = call.grants.definition();
    let tokens = &call.observations.tokens;
    let sign_ins =
        call.services.outbound_auth.sign_ins(call.user_id, definition, call.secrets, &policy, tokens);
    let limits = call.fetch.clone();
    let in_flight = Arc::new(Semaphore::new(limits.in_flight));
    let egress = egress.clone();
    let secrets = call.secrets.clone();
    Exchange {
        egress,
        policy,
        sign_ins,
        limits,
        in_flight,
        usage,
        log,
        secrets,
        missing,
        sign_in_failure,
        refused_hosts,
        trace,
    }
}

/// Links the capability; `view` borrows the invocation's state from the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> View<'_>,
) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<T, WasiHttp>(linker, view)
}

/// Links the types of `wasi:http`. They give no access to anything.
pub fn add_types_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> View<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, WasiHttp>(linker, &LinkOptions::default().into(), view)?;
    head::bound(linker, view)?;
    fields::compact_after_removal(linker, view)
}

impl Hooks {
    /// Counts a request against the invocation's budget.
    fn admit(&mut self) -> Result<Arc<Exchange>, Error> {
        let exchange = self.exchange.clone().ok_or(Error::HttpRequestDenied)?;
        exchange.count_request().map_err(|failure| {
            exchange.log.note(format!("fetch: {failure}"));
            failure.guest_error()
        })?;
        Ok(exchange)
    }
}

/// Waits for a free in-flight slot. A long wait is logged for the author: a guest that leaves long responses
/// unread may be blocking itself.
async fn wait_for_permit(exchange: &Exchange) -> OwnedSemaphorePermit {
    let mut permit = pin!(exchange.in_flight.clone().acquire_owned());
    let permit = match timeout(LONG_WAIT_TIMEOUT, &mut permit).await {
        Ok(permit) => permit,
        Err(_elapsed) => {
            let most = exchange.limits.in_flight;
            let waited = LONG_WAIT_TIMEOUT.as_secs();
            exchange.log.note(format!(
                "fetch: a request has waited for {waited} s, for {most} are in flight; \
                 a long answer is in flight until it is read or cancelled"
            ));
            permit.await
        }
    };
    permit.expect("the semaphore is never closed")
}

/// Claims the memory that the host needs for one request.
async fn claim(
    exchange: &Exchange,
    lease: Option<&Arc<Lease>>,
    bytes: usize,
) -> Result<Option<Share>, Error> {
    let Some(lease) = lease else { return Ok(None) };
    claim_from(lease, bytes).await.map(Some).inspect_err(|_| {
        exchange.log.note("fetch: there is no memory left for calls".to_owned());
    })
}

async fn claim_from(lease: &Arc<Lease>, bytes: usize) -> Result<Share, Error> {
    lease.claim(bytes, MEMORY_TIMEOUT).await.map_err(|_shortage| Error::ConnectionLimitReached)
}

/// Upper bound of the memory for recording a request's body, which may have to be sent again, in bytes.
fn recorded_bytes(request: &Request<WasiBody>) -> usize {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let is_bodiless = [Method::GET, Method::HEAD].contains(request.method());
    length.unwrap_or(if is_bodiless { 0 } else { usize::MAX }).min(Repeatable::MAX_RECORDED_BYTES)
}

/// The result type of `wasi:http`: the response, and a future that drives the connection. The client's pool
/// drives its connections itself, so that future does nothing.
type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

fn nothing_to_drive() -> Box<dyn Future<Output = Result<(), Error>> + Send> {
    Box::new(std::future::ready(Ok(())))
}

impl WasiHttpHooks for Hooks {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _response_processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let lease = self.lease.clone();
        if let Some(inner) = self.inner.clone() {
            return Box::new(async move { Ok((inner.respond(request, lease).await?, nothing_to_drive())) });
        }
        let admitted = self.admit();
        // Until now this memory was counted as a resource's.
        let request_memory = lease.as_ref().map(|lease| lease.count_existing(footprint::waiting(&request)));
        let options = options.unwrap_or_default();
        Box::new(async move {
            let exchange = admitted?;
            let permit = wait_for_permit(&exchange).await;
            let body_memory = claim(&exchange, lease.as_ref(), recorded_bytes(&request)).await?;
            let response_memory = claim(&exchange, lease.as_ref(), RESPONSE_MEMORY_BYTES).await?;
            let limits = exchange.limits.clone();
            let log = exchange.log.clone();
            let request = request.map(|body| body::outgoing(body, limits.request_body));
            let timeouts =
                Timeouts { connect: options.connect_timeout, first_byte: options.first_byte_timeout };
            // Not on the guest's own thread, which may wait long for the processor: the request takes locks
            // that calls share.
            let egress = exchange.egress.clone();
            let pause = options.between_bytes_timeout;
            let answer =
                egress.run_on_runtime(Box::pin(exchange.respond(request, timeouts, pause, permit))).await;
            let answer = answer.unwrap_or_else(|cause| Err(Failure::Broken(cause)));
            drop((request_memory, body_memory));
            let response = answer.map_err(|failure| {
                log.note(format!("fetch: {failure}"));
                failure.guest_error()
            })?;
            let response = response.map(|body| {
                body::with_logged_errors(body, limits.response_body, log)
                    .map_frame(move |frame| {
                        // Claimed until the guest has finished with the body.
                        let _held = &response_memory;
                        frame
                    })
                    .boxed_unsync()
            });
            Ok((response, nothing_to_drive()))
        })
    }
}
