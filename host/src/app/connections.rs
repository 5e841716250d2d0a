//! Accepts connections and serves HTTP/1.1 on them, with limits of number and time.

mod descriptors;
mod slots;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use rustix::io::Errno;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::either::Either;
use tower::ServiceExt;
use tracing::{debug, warn};

use super::listeners::{Listeners, Stream};
use crate::web::ConnectionState;
pub(super) use slots::ConnectionLimits;
use slots::{ConnectionSlot, ConnectionSlots};

/// How long a client may not read from a response.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long requests in progress may take to end once the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `stop` resolves, then waits at most 30 s for requests in progress. Meanwhile new connections
/// are accepted too, and their requests are answered that the server is stopping.
///
/// `head` is the time limit for reading the head of a request, and so for an idle connection.
pub(super) async fn serve(
    listeners: Listeners,
    router: Router,
    head: Duration,
    mut limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head);
    limits.total = descriptors::room_for_connections(limits.total);
    let server = Server { listeners, http, router, slots: ConnectionSlots::new(limits) };
    let under_way = GracefulShutdown::new();

    let mut stop = pin!(stop);
    loop {
        let (stream, slot) = tokio::select! {
            accepted = server.accept() => accepted,
            () = &mut stop => break,
        };
        spawn(under_way.watch(server.serve(stream, &slot)), slot);
    }
    let mut drained = pin!(timeout(DRAIN_TIMEOUT, under_way.shutdown()));
    loop {
        let (stream, slot) = tokio::select! {
            accepted = server.accept() => accepted,
            drained = &mut drained => {
                if drained.is_err() {
                    warn!("some calls did not end in time and were cut off");
                }
                return;
            }
        };
        spawn(server.serve(stream, &slot), slot);
    }
}

/// What all connections share.
struct Server {
    listeners: Listeners,
    http: http1::Builder,
    router: Router,
    slots: ConnectionSlots,
}

impl Server {
    /// Waits for a connection that gets a slot.
    async fn accept(&self) -> (Stream, ConnectionSlot) {
        loop {
            match self.listeners.accept().await {
                Ok((stream, peer)) => {
                    if let Some(slot) = self.slots.take(peer) {
                        return (stream, slot);
                    }
                    debug!(?peer, "closed a connection: there are too many, and all are in use");
                }
                Err(error) => handle_accept_error(&error, &self.slots).await,
            }
        }
    }

    fn serve(
        &self,
        stream: Stream,
        slot: &ConnectionSlot,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + use<> {
        // Replies are small and written whole, so Nagle's algorithm only delays them.
        if let Either::Left(stream) = &stream {
            let _ = stream.set_nodelay(true);
        }
        let stream = TokioIo::new(with_write_timeout(stream, WRITE_TIMEOUT));
        let (router, connection_state) = (self.router.clone(), slot.state.clone());
        let service = service_fn(move |request| answer(router.clone(), connection_state.clone(), request));
        self.http.serve_connection(stream, service)
    }
}

/// Serves a connection until it ends, or is evicted for another.
fn spawn(connection: impl Future<Output = hyper::Result<()>> + Send + 'static, slot: ConnectionSlot) {
    tokio::spawn(async move {
        tokio::select! {
            ended = connection => {
                if let Err(error) = ended {
                    debug!(%error, "connection ended");
                }
            }
            () = slot.evicted.cancelled() => debug!("connection gave way to another"),
        }
    });
}

/// Answers one request, which is in progress until its response has been sent.
async fn answer(
    router: Router,
    connection_state: ConnectionState,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let under_way = connection_state.begin();
    request.extensions_mut().insert(connection_state);
    let response = router.oneshot(request).await?;
    // The closure keeps it until the body has been sent.
    Ok(response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _ = &under_way;
            error
        }))
    }))
}

/// A connection that fails if its client reads nothing for the time `stalled`: until then its response is
/// held in memory, and its permit to read logs is not free for others.
fn with_write_timeout(stream: Stream, stalled: Duration) -> Pin<Box<TimeoutStream<Stream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(stalled));
    Box::pin(stream)
}

/// Handles an error of `accept`: if the machine has no resources for another connection, evicts one. Other
/// errors concern the single connection.
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

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

    /// Writes to a client until the connection fails. The client reads once every `pause`.
    async fn write_to_a_client_that_reads_every(pause: Duration) -> Option<io::Error> {
        const TEST_TIMEOUT: Duration = Duration::from_secs(2);

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream = with_write_timeout(Either::Left(stream), Duration::from_millis(300));
        let client = tokio::spawn(async move {
            let mut taken = vec![0; 8 << 20];
            loop {
                sleep(pause).await;
                if client.read(&mut taken).await.unwrap_or_default() == 0 {
                    return;
                }
            }
        });
        let piece = vec![0; 64 << 10];
        let writing = async {
            loop {
                if let Err(error) = stream.write_all(&piece).await {
                    return error;
                }
            }
        };
        let broken = timeout(TEST_TIMEOUT, writing).await.ok();
        client.abort();
        broken
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off_and_a_slow_one_is_not() {
        let stalled = write_to_a_client_that_reads_every(Duration::from_hours(1)).await;
        let slow = write_to_a_client_that_reads_every(Duration::from_millis(20)).await;

        assert_eq!(stalled.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        assert!(slow.is_none(), "{slow:?}");
    }
}
