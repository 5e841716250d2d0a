//! Serves `/metrics` on a separate listener.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kitbag_access::Access;
use kitbag_base::memory::MemoryBudget;
use kitbag_base::metrics::{CONTENT_TYPE, Metrics, Reading};
use kitbag_net::certificate::LiveCertificate;
use kitbag_sandbox::InstancePool;
use kitbag_web::{Pace, is_direct};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use url::Url;

use super::address::Address;
use super::anchors::LastAnchor;
use super::connections::{self, ConnectionLimits, Service};
use super::listeners::{ListenError, Listeners};
use super::sandbox::Execution;
use crate::settings::Settings;

/// Limit on concurrent connections.
const CONNECTIONS: usize = 16;
/// Cache lifetime of readings from the stores: some of them count rows.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Response to a request under another host name (DNS rebinding): toolkit ids must not leak to another site's
/// page.
const OTHER_HOST: &str =
    "Ask for the metrics by the server's IP address, as localhost, or under the host of its base URL.\n";

/// Latest readings from the stores, with their time.
type LastReadings = Mutex<Option<(Instant, Vec<Reading>)>>;

/// Sources of the metrics.
#[derive(Clone)]
pub(super) struct Sources {
    metrics: Metrics,
    access: Access,
    memory: MemoryBudget,
    instances: InstancePool,
    certificate: Option<LiveCertificate>,
    base_url: Url,
    anchor: Option<LastAnchor>,
    last: Arc<LastReadings>,
}

impl Sources {
    pub(super) fn new(metrics: &Metrics, access: &Access, execution: &Execution, address: &Address) -> Self {
        let Address { base_url, certificate } = address.clone();
        Self {
            metrics: metrics.clone(),
            access: access.clone(),
            memory: execution.memory.clone(),
            instances: execution.sandbox.instance_pool(),
            certificate,
            base_url,
            anchor: None,
            last: Arc::default(),
        }
    }

    /// Adds the time of the last anchor of the audit log.
    pub(super) fn with_anchors(self, anchor: Option<LastAnchor>) -> Self {
        Self { anchor, ..self }
    }

    async fn of_stores(&self) -> Vec<Reading> {
        let mut last = self.last.lock().await;
        if let Some((at, readings)) = &*last
            && at.elapsed() < MAX_AGE
        {
            return readings.clone();
        }
        let readings = self.access.readings().await;
        *last = Some((Instant::now(), readings.clone()));
        readings
    }
}

/// The metrics listener and its router.
pub(super) struct Exposition {
    listeners: Listeners,
    router: Router,
}

impl Exposition {
    /// Opens the listener without serving yet. `None` if metrics are disabled.
    pub(super) fn open(settings: &Settings, sources: Sources) -> Result<Option<Self>, ListenError> {
        let Some(address) = settings.metrics_listen.get() else { return Ok(None) };
        let listeners = Listeners::on(*address)?;
        let router = Router::new().route("/metrics", get(expose)).with_state(sources);
        Ok(Some(Self { listeners, router }))
    }

    /// Serves until `stop` resolves. `pace`: minimum speed of clients.
    pub(super) async fn serve(self, pace: Pace, stop: impl Future<Output = ()>) {
        for address in self.listeners.addresses() {
            info!(%address, "metrics are at /metrics");
        }
        let limits = ConnectionLimits { total: CONNECTIONS, per_address: CONNECTIONS, proxies: Vec::new() };
        let draining = CancellationToken::new();
        let service = Service { handler: self.router, pace, limits, tls: None, draining };
        connections::serve(self.listeners, service, stop).await;
    }
}

async fn expose(State(sources): State<Sources>, headers: HeaderMap) -> Response {
    if !is_direct(&headers, &sources.base_url) {
        return (StatusCode::MISDIRECTED_REQUEST, OTHER_HOST).into_response();
    }
    let mut readings = sources.of_stores().await;
    let Sources { metrics, memory, instances, certificate, anchor, .. } = sources;
    let (held, total) = memory.held_and_total();
    readings.push(Reading::bytes("call_memory", "Memory that calls hold", held as u64));
    readings.push(Reading::bytes("call_memory_limit", "Memory that calls may hold", total as u64));
    readings.extend(instances.readings());
    readings.extend(anchor.map(|anchor| anchor.reading()));
    if let Some(certificate) = certificate {
        readings.push(Reading::timestamp(
            "tls_certificate_expiry_timestamp",
            "When the certificate expires, in seconds since 1970",
            certificate.not_after().as_second(),
        ));
    }
    match metrics.text(&readings) {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(cause) => {
            error!(%cause, "the metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
