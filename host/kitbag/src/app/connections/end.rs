//! Shutdown of connections when the server stops.

use std::future::pending;
use std::time::Duration;

use kitbag_web::{ConnectionState, Priority};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Time limit for requests in progress once the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the first request on a connection that was accepted shortly before the stop. Applies if later
/// connections wait for the next process.
pub(super) const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit, once the server stops, for requests without a signed-in user and for receiving requests. Other
/// connections may be waiting for the next process, and an anonymous client must not delay them.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(3);

/// Shutdown of all connections of a server.
pub(super) struct Ends {
    begun: CancellationToken,
    /// Minimum age of a connection before it may be closed without a request.
    age: Duration,
    /// Cloned into each connection: the channel closes when all have ended.
    open: mpsc::Sender<Open>,
    all_closed: mpsc::Receiver<Open>,
}

/// Uninhabited message type: nothing is ever sent.
enum Open {}

/// Point in time from which a connection is closed once it has no request in progress. `None`: when the
/// process ends.
pub(super) struct End(Option<Closing>);

struct Closing {
    begun: CancellationToken,
    earliest: Instant,
    _open: mpsc::Sender<Open>,
}

impl Ends {
    /// `age`: time that each connection stays open without a request, even if the server stops.
    pub(super) fn new(age: Duration) -> Self {
        let (open, all_closed) = mpsc::channel(1);
        Self { begun: CancellationToken::new(), age, open, all_closed }
    }

    /// Creates the end of a connection that has just been accepted.
    pub(super) fn of_connection(&self) -> End {
        // A child token for each connection: threads would contend for the lock of a shared one.
        let begun = self.begun.child_token();
        End(Some(Closing { begun, earliest: Instant::now() + self.age, _open: self.open.clone() }))
    }

    /// Closes all connections, and waits for their end for at most 30 s.
    pub(super) async fn end(self) {
        let Self { begun, open, mut all_closed, .. } = self;
        begun.cancel();
        drop(open);
        if timeout(DRAIN_TIMEOUT, all_closed.recv()).await.is_err() {
            warn!("some calls did not end in time and were cut off");
        }
    }
}

impl End {
    /// Creates the end of a connection that the shutdown does not wait for.
    pub(super) fn with_the_server() -> Self {
        Self(None)
    }

    /// Waits until the connection should close as soon as it has no request in progress.
    pub(super) async fn is_due(&self) {
        let Some(Closing { begun, earliest, .. }) = &self.0 else { return pending().await };
        begun.cancelled().await;
        sleep_until(*earliest).await;
    }

    /// Waits until a connection that is due must close even though a request is in progress.
    pub(super) async fn is_overdue(&self, state: &ConnectionState) {
        sleep(STRANGER_TIMEOUT).await;
        if let (Priority::Serving(_), _) = state.priority() {
            pending::<()>().await;
        }
    }
}
