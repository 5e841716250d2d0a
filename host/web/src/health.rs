//! Liveness and readiness endpoints for load balancers.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::{Health, PeersHealth};
use kitbag_net::certificate::CertificateStatus;
use serde::Serialize;

use super::direct_host::is_direct;
use super::error::WebError;
use super::pages::NOT_STORED;
use super::state::Shared;
use crate::json::Json;

/// Response of `/readyz`.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Readiness {
    Ready(Parts),
    Failing(Parts),
    /// Asked to stop, but still serving requests that load balancers route here.
    Draining,
    /// Stopping: waiting for calls in progress.
    Stopping,
}

/// Status of each dependency, `ok` or `failing`; the log has the cause.
#[derive(Serialize)]
struct Parts {
    database: &'static str,
    vault: &'static str,
    registry: &'static str,
    /// TLS certificate, if this server terminates TLS: `ok`, `not-renewed`, `expires-soon` or `not-valid`.
    /// Only a warning that does not affect the status: taking this process out of service would help no user.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'static str>,
    #[serde(flatten)]
    peers: Option<Peers>,
    /// Places without room to store anything: `data` (the data directory), `objects` (the folder of components
    /// and captured files). Only a warning, like `certificate`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    full: Vec<&'static str>,
}

/// State of this process relative to the others of the same deployment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Peers {
    processes: &'static str,
    /// `ok`, or `preparing` while the code of toolkits in use is loaded.
    toolkits: &'static str,
    /// Names of settings that differ between this process and others. Only a warning that does not affect the
    /// status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differing_settings: Vec<String>,
}

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 503 while a part of the server fails, while the server starts, or when it stops. Accepts
/// any `Host`; for one that may belong to another site, the response has no body, only the status.
pub(super) async fn ready(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let readiness = if shared.stopping.is_cancelled() {
        Readiness::Stopping
    } else if shared.draining.is_cancelled() {
        Readiness::Draining
    } else {
        let health = Box::pin(shared.access.health()).await;
        let is_good = health.is_good();
        let certificate = shared.certificate.as_ref().map(|certificate| shown(certificate.status()));
        let parts = Parts { certificate, ..health.into() };
        if is_good { Readiness::Ready(parts) } else { Readiness::Failing(parts) }
    };
    let status = match readiness {
        Readiness::Ready(_) => StatusCode::OK,
        Readiness::Failing(_) | Readiness::Draining | Readiness::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    if is_direct(&headers, &shared.base_url) {
        (status, NOT_STORED, Json(readiness)).into_response()
    } else {
        (status, NOT_STORED).into_response()
    }
}

/// Refusal of a request that arrives while the server stops.
pub(super) fn stopping() -> Response {
    let refusal = WebError::new(StatusCode::SERVICE_UNAVAILABLE, "The server is stopping. Try again soon.");
    let mut response = refusal.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn shown(status: CertificateStatus) -> &'static str {
    match status {
        CertificateStatus::Good => "ok",
        CertificateStatus::NotRenewed => "not-renewed",
        CertificateStatus::ExpiresSoon => "expires-soon",
        CertificateStatus::NotValid => "not-valid",
    }
}

impl From<Health> for Parts {
    fn from(Health { database, vault, registry, peers, full }: Health) -> Self {
        let shown = |answers| if answers { "ok" } else { "failing" };
        let peers = peers.map(|PeersHealth { is_heard, is_prepared, differing_settings }| Peers {
            processes: shown(is_heard),
            toolkits: if is_prepared { "ok" } else { "preparing" },
            differing_settings,
        });
        let [database, vault, registry] = [database, vault, registry].map(shown);
        Self { database, vault, registry, certificate: None, peers, full }
    }
}
