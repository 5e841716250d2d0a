//! `wasi:http/outgoing-handler`: outbound HTTP, to the hosts that the declaration lists.
//! Granted by `egress`.
//!
//! Every byte that leaves goes through `Gate::send_request`; the allowlist and the address guard
//! are those of [`Egress`]. Redirects are followed, and a declared `auth` signs in, where the guest
//! does not see it: each request on the way passes the same policy and counts as one of the call's.
//! A refused request is a network error for the guest, and a line in the toolkit's log that names
//! the host and the line to add.

mod ahead;
mod body;
mod exchange;
mod head;
#[cfg(test)]
mod tests;
mod usage;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, header};
use http_body_util::BodyExt as _;
use kitbag_manifest::OAuth2ClientCredentials;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi_http::p2::bindings::LinkOptions;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

pub use self::usage::{Usage, UsageSnapshot};

use self::ahead::reading_ahead;
use self::exchange::{Exchange, Failure};
use super::Trail;
use crate::egress::{Allowlist, Egress, Policy, Repeatable, Timeouts};
use crate::memory::{Claim, Lease};
use crate::outbound_auth::{Account, Credentials, OutboundAuth};
use crate::vault::UserSecrets;

/// Headers that a guest makes for one request, as they lie in memory. With [`BODY_CHUNK`], the bounds in
/// [`head`] and the limit on handles it bounds what a guest can make the host keep without ever sending it.
const HEADERS: usize = 16 << 10;
/// What the host takes from a guest at once of a request's body.
const BODY_CHUNK: usize = 16 << 10;
/// How long a request waits for its place before its author is told.
const LONG_WAIT: Duration = Duration::from_secs(10);
/// What the host keeps of each answer until its guest is done with it, about: what is read ahead, its head,
/// and buffers of the connection.
const ANSWER_MEMORY: usize = 128 << 10;
/// How long a request waits for that memory.
const MEMORY_WAIT: Duration = Duration::from_secs(5);

/// Bounds of one invocation's requests. Sizes are in bytes.
#[derive(Clone, Debug)]
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

/// What one invocation may reach, and as whom. The default reaches nothing.
#[derive(Clone, Default)]
pub struct Access {
    /// The caller.
    pub user: Arc<str>,
    /// Nothing, when the declaration grants no egress at all.
    pub allowlist: Option<Arc<Allowlist>>,
    /// The sign-in that the host does for the toolkit, where it declares one.
    pub sign_in: Option<SignInAccess>,
    /// The caller's secrets, which a redirect does not carry to another origin.
    pub secrets: Arc<UserSecrets>,
}

/// With what the host signs in for a toolkit.
#[derive(Clone, Debug)]
pub struct SignInAccess {
    /// Whose tokens they are.
    pub account: Account,
    /// Where to sign in, and who receives the token.
    pub declaration: Arc<OAuth2ClientCredentials>,
    /// The values of the two secrets that the declaration names.
    pub credentials: Credentials,
}

/// One invocation's access to the network.
pub struct Fetch {
    context: WasiHttpCtx,
    gate: Gate,
}

struct Gate {
    /// Nothing, when the declaration grants no egress at all.
    exchange: Option<Arc<Exchange>>,
    in_flight: Arc<Semaphore>,
    /// What the call holds of the memory for all calls. `None` outside a call.
    lease: Option<Arc<Lease>>,
}

impl Fetch {
    /// Grants what `access` says, and notes in `trail` what comes of it.
    pub fn new(
        egress: &Egress,
        outbound_auth: &OutboundAuth,
        access: Access,
        limits: &FetchLimits,
        trail: Trail,
    ) -> Self {
        let Trail { log, usage, tokens, missing } = trail;
        let in_flight = Arc::new(Semaphore::new(limits.in_flight));
        let Access { user, allowlist, sign_in, secrets } = access;
        let exchange = allowlist.map(|allowlist| {
            let policy = Policy::Toolkit { allowlist, user };
            let sign_in = sign_in.and_then(|SignInAccess { account, declaration, credentials }| {
                let sign_in = outbound_auth.sign_in(account, declaration, credentials, policy.clone())?;
                Some(sign_in.noting_in(tokens))
            });
            let (egress, limits) = (egress.clone(), limits.clone());
            Arc::new(Exchange { egress, policy, sign_in, limits, usage, log, secrets, missing })
        });
        Self { context: context(), gate: Gate { exchange, in_flight, lease: None } }
    }

    /// Grants nothing, without a client that could send anything.
    pub(crate) fn none() -> Self {
        let in_flight = Arc::new(Semaphore::new(0));
        Self { context: context(), gate: Gate { exchange: None, in_flight, lease: None } }
    }

    /// Takes what the host keeps of requests and answers from `lease`.
    #[must_use]
    pub fn leasing(mut self, lease: Arc<Lease>) -> Self {
        self.gate.lease = Some(lease);
        self
    }

    /// Borrows the state for one host call.
    pub fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { hooks: &mut self.gate, table, ctx: &mut self.context }
    }
}

fn context() -> WasiHttpCtx {
    let mut context = WasiHttpCtx::new();
    context.set_field_size_limit(HEADERS);
    context
}

/// Links the capability; `view` borrows the invocation's state from the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<T, WasiHttp>(linker, view)
}

/// Links the types that `wasi:http` is spoken in. They reach nothing, and hold little.
pub fn add_types_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, WasiHttp>(linker, &LinkOptions::default().into(), view)?;
    head::bound(linker, view)
}

impl Gate {
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
async fn wait_for_place(exchange: &Exchange, in_flight: Arc<Semaphore>) -> OwnedSemaphorePermit {
    let mut place = pin!(in_flight.acquire_owned());
    let place = match timeout(LONG_WAIT, &mut place).await {
        Ok(place) => place,
        Err(_elapsed) => {
            let most = exchange.limits.in_flight;
            let waited = LONG_WAIT.as_secs();
            exchange.log.note(format!(
                "fetch: a request has waited for {waited} s, for {most} are in flight; \
                 a long answer is in flight until it is read or cancelled"
            ));
            place.await
        }
    };
    place.expect("nobody closes the gate")
}

/// Claims the memory that the host needs for one request.
async fn claim(
    exchange: &Exchange,
    lease: Option<&Arc<Lease>>,
    bytes: usize,
) -> Result<Option<Claim>, Error> {
    let Some(lease) = lease else { return Ok(None) };
    let claimed = lease.claim(bytes, MEMORY_WAIT).await;
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
    length.unwrap_or(if is_bodiless { 0 } else { usize::MAX }).min(Repeatable::MAX_REMEMBERED)
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
        options: Option<RequestOptions>,
        _response_processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let admitted = self.admit();
        let (in_flight, lease) = (self.in_flight.clone(), self.lease.clone());
        let options = options.unwrap_or_default();
        Box::new(async move {
            let exchange = admitted?;
            let place = wait_for_place(&exchange, in_flight).await;
            let of_body = claim(&exchange, lease.as_ref(), remembered(&request)).await?;
            let of_answer = claim(&exchange, lease.as_ref(), ANSWER_MEMORY).await?;
            let (limits, usage, log) =
                (exchange.limits.clone(), exchange.usage.clone(), exchange.log.clone());
            let request = request.map(|body| body::outgoing(body, limits.request_body));
            let timeouts =
                Timeouts { connect: options.connect_timeout, first_byte: options.first_byte_timeout };
            // Never on the guest's own thread: that may have to wait long for the processor, and on the
            // way there are locks that calls share.
            let egress = exchange.egress.clone();
            let answer = egress.at_home(Box::pin(exchange.answer(request, timeouts))).await;
            let answer = answer.unwrap_or_else(|cause| Err(Failure::Broken(cause)));
            drop(of_body);
            let response = answer.map_err(|failure| {
                log.note(format!("fetch: {failure}"));
                failure.as_guest_sees()
            })?;
            let (most, pause) = (limits.response_body, options.between_bytes_timeout);
            let response = response.map(|body| {
                let (body, reading) = reading_ahead(body::incoming(body, most, pause, usage), place);
                egress.spawn_at_home(reading);
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
