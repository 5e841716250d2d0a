//! Outbound requests, and the traces of calls, which are exported by them.

use kitbag_base::metrics::Metrics;
use kitbag_net::egress::{Egress, EgressSettings, Nat64Prefix, Proxy};
use kitbag_net::traces::{Parents, TraceSettings, Traces};
use secrecy::ExposeSecret;

use crate::settings::{Settings, SettingsError};

/// Creates the client for all outbound requests, and the exporter of traces, which uses it.
pub(super) fn start(settings: &Settings, metrics: &Metrics) -> Result<(Egress, Traces), SettingsError> {
    let egress = Egress::new(egress_settings(settings)?).with_metrics(metrics.clone());
    let traces = traces(settings, &egress, metrics)?;
    Ok((egress, traces))
}

/// Converts the settings to those of outbound requests.
pub fn egress_settings(settings: &Settings) -> Result<EgressSettings, SettingsError> {
    let prefix = |&range| Nat64Prefix::new(range).ok_or(SettingsError::Nat64Prefix(range));
    let proxy = settings.https_proxy.get().map(|url| Proxy::parse(url.get().expose_secret()));
    Ok(EgressSettings {
        toolkit_ranges: settings.allow_private_ranges.iter().map(|range| range.get()).collect(),
        host_policy: settings.egress_policy.policy(),
        capture_ranges: settings.capture_private_ranges.iter().map(|range| range.get()).collect(),
        name_servers: settings.name_servers.iter().map(|server| server.address()).collect(),
        proxy: proxy.transpose().map_err(|_| SettingsError::Proxy)?,
        nat64_prefixes: settings.nat64_prefixes.iter().map(prefix).collect::<Result<_, _>>()?,
        ..EgressSettings::default()
    })
}

/// Starts exporting traces of calls if the settings name a collector.
fn traces(settings: &Settings, egress: &Egress, metrics: &Metrics) -> Result<Traces, SettingsError> {
    let Some(url) = settings.traces.get() else { return Ok(Traces::default()) };
    let settings = TraceSettings {
        endpoint: url.as_str().parse().map_err(|_| SettingsError::Traces)?,
        headers: settings.trace_headers()?,
        sample: settings.traces_sample.get(),
        parents: if settings.accept_traceparent { Parents::Accepted } else { Parents::Ignored },
    };
    Ok(Traces::start(settings, egress.clone(), metrics.clone()))
}
