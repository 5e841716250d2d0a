//! `/metrics`, on a listener of its own.

use std::future::Future;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tracing::{error, info};

use super::connections::{self, ConnectionLimits};
use super::listeners::{ListenError, Listeners};
use crate::access::Access;
use crate::memory::MemoryBudget;
use crate::metrics::{CONTENT_TYPE, Metrics, Reading};
use crate::settings::Settings;

/// Connections at the same time.
const CONNECTIONS: usize = 16;

/// What the metrics are read from.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) metrics: Metrics,
    pub(super) access: Access,
    pub(super) memory: MemoryBudget,
}

/// The listener, and what it serves.
pub(super) struct Exposition {
    listeners: Listeners,
    router: Router,
}

impl Exposition {
    /// Listens, and does not serve yet. `None` if the settings want no metrics.
    pub(super) fn open(settings: &Settings, sources: Sources) -> Result<Option<Self>, ListenError> {
        let Some(address) = settings.metrics_listen.get() else { return Ok(None) };
        let listeners = Listeners::on(*address)?;
        let router = Router::new().route("/metrics", get(expose)).with_state(sources);
        Ok(Some(Self { listeners, router }))
    }

    /// Serves until `stop` resolves. `head` is how long a client has for the head of a request.
    pub(super) async fn serve(self, head: Duration, stop: impl Future<Output = ()>) {
        for address in self.listeners.addresses() {
            info!(%address, "metrics are at /metrics");
        }
        let limits = ConnectionLimits { total: CONNECTIONS, per_address: CONNECTIONS, proxies: Vec::new() };
        connections::serve(self.listeners, self.router, head, limits, stop).await;
    }
}

async fn expose(State(Sources { metrics, access, memory }): State<Sources>) -> Response {
    let mut readings = access.readings().await;
    let (held, total) = memory.held_and_total();
    readings.push(Reading::bytes("call_memory", "Memory that calls hold", held as u64));
    readings.push(Reading::bytes("call_memory_limit", "Memory that calls may hold", total as u64));
    match metrics.text(&readings) {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(cause) => {
            error!(%cause, "the metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
