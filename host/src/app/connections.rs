//! Accepts connections and serves HTTP/1.1 on them, within limits of number and time.

mod descriptors;
mod places;

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
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;
use tracing::{debug, warn};

use crate::web::Standing;
pub(super) use places::ConnectionLimits;
use places::{Place, Places};

/// How long a client may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long requests in progress may take to end once the server was asked to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `stop` resolves, then lets requests under way end, for half a minute at most. Until they have, new
/// connections are served too: whoever asks is told that the server stops.
///
/// A client has `head` for the head of a request, from when the server could read it; also an unused
/// connection lasts no longer.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    head: Duration,
    mut limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head);
    limits.in_all = descriptors::room_for_connections(limits.in_all);
    let server = Server { listener, http, router, places: Places::new(limits) };
    let under_way = GracefulShutdown::new();

    let mut stop = pin!(stop);
    loop {
        let (stream, place) = tokio::select! {
            accepted = server.accept() => accepted,
            () = &mut stop => break,
        };
        spawn(under_way.watch(server.serve(stream, &place)), place);
    }
    let mut drained = pin!(timeout(DRAIN_TIMEOUT, under_way.shutdown()));
    loop {
        let (stream, place) = tokio::select! {
            accepted = server.accept() => accepted,
            drained = &mut drained => {
                if drained.is_err() {
                    warn!("some calls did not end in time and were cut off");
                }
                return;
            }
        };
        spawn(server.serve(stream, &place), place);
    }
}

/// What every connection is served with.
struct Server {
    listener: TcpListener,
    http: http1::Builder,
    router: Router,
    places: Places,
}

impl Server {
    /// Waits for a connection that there is a place for.
    async fn accept(&self) -> (TcpStream, Place) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    if let Some(place) = self.places.take(peer.ip()) {
                        return (stream, place);
                    }
                    debug!(%peer, "closed a connection: there are too many, and all are in use");
                }
                Err(error) => not_accepted(&error, &self.places).await,
            }
        }
    }

    fn serve(
        &self,
        stream: TcpStream,
        place: &Place,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + use<> {
        // A reply is small and complete: waiting for more to send only delays it.
        let _ = stream.set_nodelay(true);
        let stream = TokioIo::new(read_or_closed(stream, WRITE_TIMEOUT));
        let (router, standing) = (self.router.clone(), place.standing.clone());
        let service = service_fn(move |request| answer(router.clone(), standing.clone(), request));
        self.http.serve_connection(stream, service)
    }
}

/// Serves a connection until it ends, or gives way to another.
fn spawn(connection: impl Future<Output = hyper::Result<()>> + Send + 'static, place: Place) {
    tokio::spawn(async move {
        tokio::select! {
            ended = connection => {
                if let Err(error) = ended {
                    debug!(%error, "connection ended");
                }
            }
            () = place.evicted.cancelled() => debug!("connection gave way to another"),
        }
    });
}

/// Answers one request; it is under way until its answer has been sent.
async fn answer(
    router: Router,
    standing: Standing,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let under_way = standing.begin();
    request.extensions_mut().insert(standing);
    let response = router.oneshot(request).await?;
    // The closure holds it for as long as there is a body to send.
    Ok(response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _ = &under_way;
            error
        }))
    }))
}

/// A connection that breaks when its client takes nothing of what is written for as long as `stalled`:
/// what waits for such a client is held in memory, and so is its place among those who may read.
fn read_or_closed(stream: TcpStream, stalled: Duration) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(stalled));
    Box::pin(stream)
}

/// Makes room where the machine has none for another connection. Other errors are of the one connection.
async fn not_accepted(error: &io::Error, places: &Places) {
    if !is_exhausted(error) {
        debug!(%error, "a connection ended before it was accepted");
        return;
    }
    warn!(%error, "cannot accept connections");
    places.make_room();
    // Trying again at once would only spin.
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

    /// Writes to a client until the connection breaks; the client takes something every `pause`.
    async fn write_to_a_client_that_reads_every(pause: Duration) -> Option<io::Error> {
        const TEST_TIMEOUT: Duration = Duration::from_secs(2);

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let (stream, _) = listener.accept().await.expect("a client");
        let mut stream = read_or_closed(stream, Duration::from_millis(300));
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
