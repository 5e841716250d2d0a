//! Shutdown sequence of a server.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::listeners::Listeners;
use crate::settings::{DatabaseLocation, Settings};

/// Default drain time of a process whose load is taken over by other processes of the service.
const DRAIN: Duration = Duration::from_secs(5);
/// Default drain time of a process whose listening sockets pass to the next process. A connection ends with
/// the response to a request that arrives in this time; connections without a request are closed.
const HANDOVER_DRAIN: Duration = Duration::from_secs(1);

/// Shutdown state of a server.
pub(super) struct Stopping {
    /// Time between the stop signal and the shutdown, while `/readyz` reports not ready.
    drain: Duration,
    /// Cancelled at the stop signal: the server keeps serving for the drain time, and each response ends its
    /// connection.
    pub(super) draining: CancellationToken,
    /// Cancelled after the drain time: the server waits for requests in progress, and ends streams, which
    /// would otherwise last as long as their client listens.
    pub(super) begun: CancellationToken,
    /// Cancelled when the server starts to refuse new requests. Never cancelled if the next process takes
    /// over the sockets: then requests on all accepted connections are served.
    pub(super) refusing: CancellationToken,
    are_sockets_held: bool,
}

impl Stopping {
    pub(super) fn new(settings: &Settings, listeners: &Listeners) -> Self {
        let [draining, begun, refusing] = std::array::from_fn(|_| CancellationToken::new());
        let drain = drain(settings, listeners);
        Self { drain, draining, begun, refusing, are_sockets_held: listeners.are_held() }
    }

    /// Waits for the drain time, then begins the shutdown.
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

/// Drain time: how long a server keeps serving after a stop signal, so that load balancers and clients
/// notice.
fn drain(settings: &Settings, listeners: &Listeners) -> Duration {
    let default = match settings.database {
        DatabaseLocation::Server(_) => DRAIN,
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid if listeners.are_held() => HANDOVER_DRAIN,
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => Duration::ZERO,
    };
    settings.drain.get().map_or(default, |span| span.get())
}
