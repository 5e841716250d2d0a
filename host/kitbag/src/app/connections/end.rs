//! How connections end when the server stops.

use std::future::pending;
use std::time::Duration;

use kitbag_web::{ConnectionState, Priority};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How long requests in progress may take to end once the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection that was accepted shortly before the stop has for its first request, where others wait for the
/// next process meanwhile.
pub(super) const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// How long requests without a signed-in user may take to end once the server stops, and requests to arrive. While others
/// wait for the next process, a stranger must not make them wait longer.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(3);

/// Ends all connections of a server.
pub(super) struct Ends {
    begun: CancellationToken,
    /// How long each may stay without a request.
    age: Duration,
    /// Each connection has a sender.
    open: mpsc::Sender<Open>,
    all_closed: mpsc::Receiver<Open>,
}

/// Never sent.
enum Open {}

/// When one connection is to be closed as soon as it has no request in progress.
pub(super) struct End(Option<Closing>);

struct Closing {
    begun: CancellationToken,
    earliest: Instant,
    _open: mpsc::Sender<Open>,
}

impl Ends {
    /// Once the server stops, connections that are younger than `age` are kept until they have it.
    pub(super) fn new(age: Duration) -> Self {
        let (open, all_closed) = mpsc::channel(1);
        Self { begun: CancellationToken::new(), age, open, all_closed }
    }

    /// Of a connection that was accepted now.
    pub(super) fn of_connection(&self) -> End {
        // Its own token: connections that are served on several threads would wait for the lock of one.
        let begun = self.begun.child_token();
        End(Some(Closing { begun, earliest: Instant::now() + self.age, _open: self.open.clone() }))
    }

    /// Waits until all connections have ended, for at most 30 s.
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
    /// Of a connection that nobody waits for.
    pub(super) fn with_the_server() -> Self {
        Self(None)
    }

    /// Waits until the connection is to be closed.
    pub(super) async fn is_due(&self) {
        let Some(Closing { begun, earliest, .. }) = &self.0 else { return pending().await };
        begun.cancelled().await;
        sleep_until(*earliest).await;
    }

    /// Waits until the connection is to be closed although its request has not ended; then it is due already.
    pub(super) async fn is_overdue(&self, state: &ConnectionState) {
        sleep(STRANGER_TIMEOUT).await;
        if let (Priority::Serving(_), _) = state.priority() {
            pending::<()>().await;
        }
    }
}
