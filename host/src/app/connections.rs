//! Accepts connections and serves HTTP/1.1 on them, within bounds that no client can overstay.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, warn};

/// From the first byte a client could send to the end of its request's head; also how long a
/// connection may wait unused.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer that waits for it.
const STALLED: Duration = Duration::from_mins(1);
/// Connections that are open at the same time. Beyond them a client waits to be accepted.
const MOST: usize = 4096;
/// How long calls under way may take to end once the server was asked to stop.
const DRAIN: Duration = Duration::from_secs(30);

/// Serves until `stop` resolves, then lets requests under way end, for half a minute at most.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    let room = Arc::new(Semaphore::new(MOST));
    let under_way = GracefulShutdown::new();

    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            let place = room.clone().acquire_owned().await.expect("the semaphore is never closed");
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                refused(&error).await;
                continue;
            }
        };
        // A reply is small and complete: waiting for more to send only delays it.
        let _ = stream.set_nodelay(true);
        let stream = TokioIo::new(read_or_closed(stream, STALLED));
        let connection = under_way.watch(http.serve_connection(stream, service.clone()));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    if timeout(DRAIN, under_way.shutdown()).await.is_err() {
        warn!("some calls did not end in time and were cut off");
    }
}

/// A connection that breaks when its client takes nothing of what is written for as long as `stalled`:
/// what waits for such a client is held in memory, and so is its place among those who may read.
fn read_or_closed(stream: TcpStream, stalled: Duration) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(stalled));
    Box::pin(stream)
}

/// Out of file descriptors, say: trying again at once would only spin.
async fn refused(error: &io::Error) {
    warn!(%error, "cannot accept connections");
    sleep(Duration::from_millis(100)).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Writes to a client until the connection breaks; the client takes something every `pause`.
    async fn write_to_a_client_that_reads_every(pause: Duration) -> Option<io::Error> {
        const PATIENCE: Duration = Duration::from_secs(2);

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
        let broken = timeout(PATIENCE, writing).await.ok();
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
