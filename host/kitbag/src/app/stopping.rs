//! The steps in which a server stops.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::listeners::Listeners;

/// How far a server has stopped.
pub(super) struct Stopping {
    /// How long it goes on after it was asked to stop, while `/readyz` says so.
    drain: Duration,
    /// It was asked to stop, and goes on for a while: each response is the last of its connection.
    pub(super) draining: CancellationToken,
    /// It waits for requests in progress. Ends streams that would otherwise last as long as their client listens.
    pub(super) begun: CancellationToken,
    /// It refuses other requests. Never so if the next process takes over the sockets: then all connections that this one
    /// has accepted are served.
    pub(super) refusing: CancellationToken,
    are_sockets_held: bool,
}

impl Stopping {
    pub(super) fn new(drain: Duration, listeners: &Listeners) -> Self {
        let [draining, begun, refusing] = std::array::from_fn(|_| CancellationToken::new());
        Self { drain, draining, begun, refusing, are_sockets_held: listeners.are_held() }
    }

    /// Goes on for a while, and then begins to stop.
    pub(super) async fn drain_and_begin(&self) {
        self.draining.cancel();
        sleep(self.drain).await;
        info!("stopping: waiting for calls under way");
        if !self.are_sockets_held {
            self.refusing.cancel();
        }
        self.begun.cancel();
    }
}
