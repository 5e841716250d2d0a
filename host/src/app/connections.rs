//! Accepts connections and serves HTTP/1.1 on them, within bounds that no client can overstay.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

/// From the first byte a client could send to the end of its request's head; also how long a
/// connection may wait unused.
const HEAD: Duration = Duration::from_secs(30);
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
        let connection = under_way.watch(http.serve_connection(TokioIo::new(stream), service.clone()));
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

/// Out of file descriptors, say: trying again at once would only spin.
async fn refused(error: &io::Error) {
    warn!(%error, "cannot accept connections");
    sleep(Duration::from_millis(100)).await;
}
