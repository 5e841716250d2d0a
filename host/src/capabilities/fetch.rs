//! `wasi:http/outgoing-handler`: outbound HTTP, to the hosts that the declaration lists.
//! Granted by `egress`.
//!
//! Every byte that leaves goes through `Hooks::send_request`; the allowlist and the address guard
//! are those of `egress`. Redirects are followed, and a declared `auth` signs in, where the guest
//! does not see it: each request on the way passes the same policy and counts as one of the call's.
//! A refused request is a network error for the guest, and a line in the toolkit's log that names
//! the host and the line to add.

mod ahead;
mod body;
mod exchange;
mod head;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, header};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use self::ahead::reading_ahead;
use self::exchange::{Exchange, Failure};
use super::{CallContext, Services};
use crate::egress::{Allowlist, Policy, Repeatable, Timeouts};
use crate::memory::{Claim, Lease};
use crate::observations::Observations;
use crate::outbound_auth::{Account, Credentials, SignIn};

/// Size in memory of the headers of one request. With [`BODY_CHUNK_BYTES`], the bounds in
/// [`head`] and the limit on handles it bounds what a guest can make the host keep without ever sending it.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Bytes of a request's body that the host takes from a guest at once.
const BODY_CHUNK_BYTES: usize = 16 << 10;
/// How long a request waits for its turn before the log says so.
const LONG_WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Host memory of each response until the guest is done with it: what is read ahead, its head, and buffers of the
/// connection. An estimate.
const RESPONSE_MEMORY_BYTES: usize = 128 << 10;
/// How long a request waits for that memory.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bounds of one invocation's requests. Sizes are in bytes.
#[derive(Clone, Debug, Default)]
pub struct FetchLimits {
    /// Requests in flight; another one waits.
    pub in_flight: usize,
    /// Requests in all.
    pub requests: usize,
    /// Body of one request.
    pub request_body: usize,
    /// Body of one response.
    pub response_body: usize,
}

/// One invocation's access to the network. By default it reaches nothing.
pub struct Fetch {
    context: WasiHttpCtx,
    hooks: Hooks,
}

/// The state for one host call.
pub type View<'a> = WasiHttpCtxView<'a>;

#[derive(Default)]
struct Hooks {
    /// Nothing, when the declaration grants no egress at all.
    exchange: Option<Arc<Exchange>>,
    /// What the call holds of the memory for all calls. `None` outside a call.
    lease: Option<Arc<Lease>>,
}

impl Default for Fetch {
    fn default() -> Self {
        Self::through(Hooks::default())
    }
}

impl Fetch {
    /// Grants what the call's declaration lists, and notes what comes of it.
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let exchange = call.grants.allowlist().map(|allowlist| Arc::new(exchange(call, allowlist.clone())));
        Self::through(Hooks { exchange, lease: Some(call.lease.clone()) })
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
    let Observations { log, usage, missing, sign_in: sign_in_failure, .. } = call.observations.clone();
    let policy = Policy::Toolkit { allowlist, user: call.user_id.clone() };
    let sign_in = sign_in(call, policy.clone());
    let limits = call.fetch.clone();
    let in_flight = Arc::new(Semaphore::new(limits.in_flight));
    let (egress, secrets) = (egress.clone(), call.secrets.clone());
    Exchange { egress, policy, sign_in, limits, in_flight, usage, log, secrets, missing, sign_in_failure }
}

/// The sign-in that the host does for the toolkit, where it declares one.
fn sign_in(call: &CallContext<'_>, policy: Policy) -> Option<SignIn> {
    let definition = call.grants.definition();
    let declaration = definition.auth.clone()?;
    let value = |name| call.secrets.get(&definition.id, name).cloned();
    let credentials = Credentials {
        client_id: value(&declaration.client_id_secret),
        client_secret: value(&declaration.client_secret_secret),
    };
    let account = Account { user_id: call.user_id.to_string(), toolkit_id: definition.id.as_str().into() };
    let sign_in = call.services.outbound_auth.sign_in(account, Arc::new(declaration), credentials, policy)?;
    Some(sign_in.recording_in(call.observations.tokens.clone()))
}

/// Links the capability; `view` borrows the invocation's state from the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> View<'_>,
) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<T, WasiHttp>(linker, view)
}

/// Links the types that `wasi:http` is spoken in. They reach nothing, and hold little.
pub fn add_types_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> View<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, WasiHttp>(linker, &LinkOptions::default().into(), view)?;
    head::bound(linker, view)
}

impl Hooks {
    /// Counts a request against the invocation's budget.
    fn admit(&mut self) -> Result<Arc<Exchange>, Error> {
        let exchange = self.exchange.clone().ok_or(Error::HttpRequestDenied)?;
        exchange.pay().map_err(|failure| {
            exchange.log.note(format!("fetch: {failure}"));
            failure.as_guest_sees()
        })?;
        Ok(exchange)
    }
}

/// Waits for a place among the requests in flight. The author is told of a long wait, since a guest that leaves long
/// answers unread waits for itself.
async fn wait_for_place(exchange: &Exchange) -> OwnedSemaphorePermit {
    let mut place = pin!(exchange.in_flight.clone().acquire_owned());
    let place = match timeout(LONG_WAIT_TIMEOUT, &mut place).await {
        Ok(place) => place,
        Err(_elapsed) => {
            let most = exchange.limits.in_flight;
            let waited = LONG_WAIT_TIMEOUT.as_secs();
            exchange.log.note(format!(
                "fetch: a request has waited for {waited} s, for {most} are in flight; \
                 a long answer is in flight until it is read or cancelled"
            ));
            place.await
        }
    };
    place.expect("the semaphore is never closed")
}

/// Claims the memory that the host needs for one request.
async fn claim(
    exchange: &Exchange,
    lease: Option<&Arc<Lease>>,
    bytes: usize,
) -> Result<Option<Claim>, Error> {
    let Some(lease) = lease else { return Ok(None) };
    let claimed = lease.claim(bytes, MEMORY_TIMEOUT).await;
    claimed.map(Some).map_err(|_shortage| {
        exchange.log.note("fetch: there is no memory left for calls".to_owned());
        Error::ConnectionLimitReached
    })
}

/// How much of a request's body may be kept, in case that it has to be sent again.
fn remembered(request: &Request<WasiBody>) -> usize {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let is_bodiless = [Method::GET, Method::HEAD].contains(request.method());
    length.unwrap_or(if is_bodiless { 0 } else { usize::MAX }).min(Repeatable::MAX_RECORDED_BYTES)
}

/// What `wasi:http` wants of a request: the response, and the connection's own work. Our
/// connections belong to the pool, so the second part has nothing to do.
type Sent = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

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
        let admitted = self.admit();
        let lease = self.lease.clone();
        let options = options.unwrap_or_default();
        Box::new(async move {
            let exchange = admitted?;
            let place = wait_for_place(&exchange).await;
            let of_body = claim(&exchange, lease.as_ref(), remembered(&request)).await?;
            let of_answer = claim(&exchange, lease.as_ref(), RESPONSE_MEMORY_BYTES).await?;
            let (limits, usage, log) =
                (exchange.limits.clone(), exchange.usage.clone(), exchange.log.clone());
            let request = request.map(|body| body::outgoing(body, limits.request_body));
            let timeouts =
                Timeouts { connect: options.connect_timeout, first_byte: options.first_byte_timeout };
            // Never on the guest's own thread: that may have to wait long for the processor, and on the
            // way there are locks that calls share.
            let egress = exchange.egress.clone();
            let answer = egress.run_on_runtime(Box::pin(exchange.answer(request, timeouts))).await;
            let answer = answer.unwrap_or_else(|cause| Err(Failure::Broken(cause)));
            drop(of_body);
            let response = answer.map_err(|failure| {
                log.note(format!("fetch: {failure}"));
                failure.as_guest_sees()
            })?;
            let (most, pause) = (limits.response_body, options.between_bytes_timeout);
            let response = response.map(|body| {
                let (body, reading) = reading_ahead(body::incoming(body, most, pause, usage), place);
                egress.spawn_on_runtime(reading);
                body::explained(body, most, log)
                    .map_frame(move |frame| {
                        // Counted until the guest is done with the body.
                        let _held = &of_answer;
                        frame
                    })
                    .boxed_unsync()
            });
            let nothing_to_drive = Box::new(std::future::ready(Ok(()))) as Box<_>;
            Ok((response, nothing_to_drive))
        })
    }
}
