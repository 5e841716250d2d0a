//! Accepts connections and serves HTTP/1.1 on them, over TLS or plain, with limits on number and time.
//!
//! Invariant: if a service manager owns the sockets, a stopping server answers each request that arrives in
//! time on an accepted connection, and leaves all other connections to the next process.

mod descriptors;
mod end;
mod paced;
mod sending;
mod slots;
mod tls;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kitbag_web::{AnswerShare, ConnectionState, Pace};
use rustix::io::Errno;
use tokio::time::sleep;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::{debug, warn};

use super::listeners::{Listeners, Stream};
use end::{End, Ends};
use paced::Paced;
use sending::Sending;
pub(super) use slots::ConnectionLimits;
use slots::{ConnectionSlot, ConnectionSlots, Phase};
use tls::Secured;
pub(super) use tls::Tls;

/// Longest pause of a client while it reads a response.
const READ_PAUSE: Duration = Duration::from_mins(1);
/// Bytes that a connection buffers in each direction: the limit for the head of a request, and for the part
/// of a response that is read from its body ahead of time.
pub(super) const MAX_BUFFERED_BYTES: usize = 64 << 10;

/// What answers the requests of connections.
pub(super) trait Handler: Send + Sync + 'static {
    fn answer(&self, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send;
}

impl Handler for Router {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        self.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

impl Handler for kitbag_web::Service {
    fn answer(&self, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send {
        kitbag_web::Service::answer(self, request)
    }
}

/// A handler, and the limits within which connections are served.
pub(super) struct Service<H> {
    pub(super) handler: H,
    /// Minimum speed of clients. The allowed pause is also the time limit for the head of a request, and so
    /// for an idle connection.
    pub(super) pace: Pace,
    pub(super) limits: ConnectionLimits,
    /// TLS for TCP connections; `None`: plain HTTP.
    pub(super) tls: Option<Tls>,
    /// Cancelled when the server is asked to stop: from then on, each connection ends with its next response.
    pub(super) draining: CancellationToken,
}

/// Serves until `stop` resolves, then waits at most 30 s for requests in progress.
///
/// Meanwhile new connections are still accepted, and their requests are refused because the server is
/// stopping. If a service manager owns the sockets, none are accepted: they wait for the next process.
pub(super) async fn serve<H: Handler>(
    listeners: Listeners,
    service: Service<H>,
    stop: impl Future<Output = ()>,
) {
    let Service { handler, pace, mut limits, tls, draining } = service;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(pace.pause).max_buf_size(MAX_BUFFERED_BYTES);
    let pace = Pace { pause: READ_PAUSE, ..pace };
    limits.total = descriptors::room_for_connections(limits.total);
    let ends = Ends::new(if listeners.are_held() { end::FIRST_REQUEST_TIMEOUT } else { Duration::ZERO });
    let handler = Arc::new(handler);
    let slots = ConnectionSlots::new(limits);
    let server = Server { listeners, http, pace, handler, tls, draining, slots };

    let mut stop = pin!(stop);
    loop {
        let (stream, slot) = tokio::select! {
            accepted = server.accept() => accepted,
            () = &mut stop => break,
        };
        tokio::spawn(server.serve(stream, slot, ends.of_connection()));
    }
    let mut ended = pin!(ends.end());
    while !server.listeners.are_held() {
        let (stream, slot) = tokio::select! {
            accepted = server.accept() => accepted,
            () = &mut ended => return,
        };
        tokio::spawn(server.serve(stream, slot, End::with_the_server()));
    }
    ended.await;
}

/// State shared by all connections.
struct Server<H> {
    listeners: Listeners,
    http: http1::Builder,
    pace: Pace,
    handler: Arc<H>,
    tls: Option<Tls>,
    draining: CancellationToken,
    slots: ConnectionSlots,
}

impl<H: Handler> Server<H> {
    /// Waits for a connection, and returns it with a slot. Connections for which there is no slot are closed.
    async fn accept(&self) -> (Stream, ConnectionSlot) {
        loop {
            match self.listeners.accept().await {
                Ok((stream, peer)) => {
                    let is_secured = self.tls.is_some() && matches!(stream, Either::Left(_));
                    let phase = if is_secured { Phase::Handshake } else { Phase::Http };
                    if let Some(slot) = self.slots.take(peer, phase) {
                        return (stream, slot);
                    }
                    debug!(?peer, "closed a connection: there are too many, and all are in use");
                }
                Err(error) => handle_accept_error(&error, &self.slots).await,
            }
        }
    }

    /// Serves a connection until it ends or is evicted.
    fn serve(
        &self,
        stream: Stream,
        slot: ConnectionSlot,
        end: End,
    ) -> impl Future<Output = ()> + Send + use<H> {
        // Replies are small and written whole, so Nagle's algorithm only delays them.
        if let Either::Left(stream) = &stream {
            let _ = stream.set_nodelay(true);
        }
        let http = self.http.clone();
        let tls = self.tls.clone();
        let handler = self.handler.clone();
        // In an `Arc`, since cloning the token itself takes its lock.
        let draining = Arc::new(self.draining.clone());
        let connection_state = slot.state.clone();
        let pace = self.pace;
        let service =
            move |request| answer(handler.clone(), connection_state.clone(), draining.clone(), request);
        async move {
            let serving = async {
                let stream = tokio::select! {
                    stream = prepared(stream, tls.as_ref(), pace) => stream,
                    () = end.is_due() => None,
                };
                let Some(stream) = stream else { return };
                slot.end_handshake();
                let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service_fn(service)));
                let ended = tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = end.is_due() => {
                        connection.as_mut().graceful_shutdown();
                        tokio::select! {
                            ended = connection.as_mut() => ended,
                            () = end.is_overdue(&slot.state) => return,
                        }
                    }
                };
                if let Err(error) = ended {
                    debug!(%error, "connection ended");
                }
            };
            tokio::select! {
                () = serving => {}
                () = slot.evicted.cancelled() => debug!("connection gave way to another"),
            }
        }
    }
}

/// Sets up TLS on the connection if configured; `None` if the handshake fails.
async fn prepared(stream: Stream, tls: Option<&Tls>, pace: Pace) -> Option<Either<Secured, Plain>> {
    match (stream, tls) {
        (Either::Left(stream), Some(tls)) => tls.secure(stream, pace).await.map(Either::Left),
        (stream, _) => Some(Either::Right(Paced::new(stream, pace))),
    }
}

/// Answers a request. It counts as in progress until its response has been sent.
///
/// Once the server is asked to stop, each response ends its connection (`Connection: close`): a client that
/// finds the connection closed without a response cannot know whether its request was executed.
async fn answer<H: Handler>(
    handler: Arc<H>,
    connection_state: ConnectionState,
    draining: Arc<CancellationToken>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let under_way = connection_state.begin();
    request.extensions_mut().insert(connection_state);
    let mut response = handler.answer(request.map(Body::new)).await;
    if draining.is_cancelled() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let share = response.extensions_mut().remove::<AnswerShare>();
    Ok(response.map(|body| Body::new(Sending::new(body, share, under_way))))
}

/// A connection without TLS.
type Plain = Paced<Stream>;

/// Handles an error of `accept`: evicts a connection if the machine has no resources for another. Other
/// errors affect only the connection that was to be accepted.
async fn handle_accept_error(error: &io::Error, slots: &ConnectionSlots) {
    if !is_exhausted(error) {
        debug!(%error, "a connection ended before it was accepted");
        return;
    }
    warn!(%error, "cannot accept connections");
    slots.make_room();
    // A retry without a pause would be a busy loop.
    sleep(Duration::from_millis(100)).await;
}

/// Whether the process or the machine has run out of descriptors or memory (accept(2)).
fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| exhausted.contains(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_machine_without_room_ends_a_connection_for_another() {
        for (error, exhausted) in [
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::NOBUFS, true),
            (Errno::NOMEM, true),
            (Errno::CONNABORTED, false),
            (Errno::PERM, false),
            (Errno::INTR, false),
        ] {
            assert_eq!(is_exhausted(&error.into()), exhausted, "{error}");
        }
    }
}
