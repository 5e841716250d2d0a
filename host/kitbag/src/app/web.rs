//! The HTTP service, and the connections on which it is served.

use kitbag_access::Access;
use kitbag_web::{Pace, RequestShares, Shared};

use super::address::Address;
use super::connections::{ConnectionLimits, Service, Tls};
use super::identity::SignIn;
use super::resources::Resources;
use super::stopping::Stopping;
use crate::settings::Settings;

/// Creates the HTTP service with its limits.
pub(super) fn service(
    settings: &Settings,
    address: &Address,
    resources: &Resources,
    sign_in: SignIn,
    access: Access,
    request_shares: RequestShares,
    stopping: &Stopping,
) -> Service<kitbag_web::Service> {
    let Address { base_url, certificate } = address.clone();
    let metrics = resources.metrics.clone();
    let tls = certificate.clone().map(|it| Tls::new(it, settings.request_timeout.get(), metrics.clone()));
    let handler = kitbag_web::Service::new(Shared {
        identity: sign_in.identity,
        authorization_server: sign_in.authorization_server,
        browser_sessions: sign_in.browser_sessions,
        program_keys: sign_in.program_keys,
        provider_sign_in: sign_in.provider,
        access,
        base_url,
        allowed_origins: settings.allowed_origins.as_slice().into(),
        pace: pace(settings),
        component_size: settings.component_size.bytes() as u64,
        request_shares,
        mcp_request_size: settings.mcp_request_size.bytes(),
        mcp_requests_per_minute: settings.mcp_requests_per_minute,
        metrics,
        certificate,
        traces: resources.traces.clone(),
        draining: stopping.draining.clone(),
        stopping: stopping.begun.clone(),
        refusing: stopping.refusing.clone(),
    });
    Service {
        handler,
        pace: pace(settings),
        limits: connection_limits(settings),
        tls,
        draining: stopping.draining.clone(),
    }
}

fn pace(settings: &Settings) -> Pace {
    Pace { pause: settings.request_timeout.get(), rate: settings.bounds.request_rate }
}

fn connection_limits(settings: &Settings) -> ConnectionLimits {
    ConnectionLimits {
        total: settings.connections,
        per_address: settings.connections_per_address,
        proxies: settings.trusted_proxies.iter().map(|range| range.get()).collect(),
    }
}
