//! Converts the settings to the configuration of each part of a server.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use kitbag_access::Roles;
use kitbag_base::local_mode;
use kitbag_base::memory::{MemoryBudget, machine_memory};
use kitbag_base::metrics::Metrics;
use kitbag_base::sha256::Sha256;
use kitbag_base::workers::Workers;
use kitbag_files::objects::{BucketLocation, Location};
use kitbag_identity::{
    Algorithms, IdentitySettings, SessionAudience, SessionLifetime, UntypedTokens, WebClient,
};
use kitbag_knowledge::MAX_FILES_IN_MEMORY;
use kitbag_net::certificate::CertificateFiles;
use kitbag_net::egress::{Egress, EgressSettings, Nat64Prefix, Proxy};
use kitbag_net::oci::{Reference, SCHEME};
use kitbag_net::traces::{Parents, TraceSettings, Traces};
use kitbag_sandbox::Limits;
use kitbag_sandbox::capabilities::fetch::FetchLimits;
use kitbag_sandbox::compiler::CompileLimits;
use kitbag_toolkits::dispatch::AdmissionLimits;
use kitbag_toolkits::invocations::RetentionLimits;
use kitbag_toolkits::{ConsentBy, SignatureRule};
use kitbag_vault::KeySource;
use kitbag_web::{Pace, RequestShares};
use secrecy::ExposeSecret;
use tracing::{info, warn};
use url::Url;

use super::connections::{ConnectionLimits, MAX_BUFFERED_BYTES};
use super::listeners::Listeners;
use crate::settings::{
    self, ConsentSetting, DatabaseLocation, Issuer, MasterKey, ObjectsLocation, Operator, Settings,
    SettingsError,
};

/// Default drain time of a process whose load is taken over by other processes of the service.
const DRAIN: Duration = Duration::from_secs(5);
/// Default drain time of a process whose listening sockets pass to the next process. A connection ends with
/// the response to a request that arrives in this time; connections without a request are closed.
const HANDOVER_DRAIN: Duration = Duration::from_secs(1);

/// Converts the settings to the limits of the sandbox.
pub fn limits(settings: &Settings) -> Limits {
    let bounds = &settings.bounds;
    let runs = AdmissionLimits::runs(settings.concurrent_calls as usize);
    Limits {
        call_time: settings.call_time.get(),
        memory: settings.call_memory.bytes(),
        table_elements: bounds.call_table_elements,
        resources: bounds.call_resources,
        result: bounds.call_result,
        log: bounds.call_log,
        // Code runs need instances besides those of the calls they make.
        instances: settings.concurrent_calls + u32::try_from(runs).unwrap_or(u32::MAX / 2),
        kept_memory: Limits::max_kept_memory(settings.concurrent_calls).min(memory_of_machine() / 8),
        fetch: FetchLimits {
            in_flight: bounds.call_requests_in_flight,
            requests: bounds.call_requests,
            request_body: bounds.call_request_body,
            response_body: bounds.call_response_body,
        },
    }
}

/// Memory of the machine in bytes, or 4 GiB if it is unknown.
fn memory_of_machine() -> usize {
    const DEFAULT: usize = 4 << 30;

    machine_memory().map_or(DEFAULT, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Converts the settings to the limits of one compilation.
pub fn compile_limits(settings: &Settings) -> CompileLimits {
    CompileLimits::new(settings.compile_time.get(), settings.compile_memory.bytes())
}

/// Creates the memory budget for calls from the settings. Logs the sum of memory that all settings allow;
/// `requests` are the bytes of it for users' requests.
pub(super) fn memory_for_calls(settings: &Settings, requests: usize) -> Result<MemoryBudget, SettingsError> {
    let machine = memory_of_machine();
    let limits = limits(settings);
    let of_one_call = limits.memory_of_one_call();
    let calls = match settings.memory_for_calls.get().map(|size| size.bytes()) {
        Some(bytes) if bytes < of_one_call => return Err(SettingsError::MemoryForCalls(of_one_call)),
        Some(bytes) => bytes,
        None => (machine / 2).max(of_one_call),
    };
    let of_user = (calls / 4).max(of_one_call);

    let extraction =
        MAX_FILES_IN_MEMORY * (settings.extraction_memory.bytes() + settings.capture_size.bytes());
    let (deploy, search) = (settings.compile_memory.bytes(), settings.search_memory.bytes());
    let kept = limits.kept_memory;
    // Each connection buffers the head of a request or a part of a response.
    let connections = settings.connections.saturating_mul(MAX_BUFFERED_BYTES);
    let all = [kept, extraction, deploy, search, requests, connections];
    let all = all.into_iter().fold(calls, usize::saturating_add);
    let mebibytes = |bytes: usize| bytes >> 20;
    let (calls_mib, of_user_mib, kept_mib) = (mebibytes(calls), mebibytes(of_user), mebibytes(kept));
    let (extraction_mib, deploy_mib, search_mib) =
        (mebibytes(extraction), mebibytes(deploy), mebibytes(search));
    let (requests_mib, connections_mib) = (mebibytes(requests), mebibytes(connections));
    let (all_mib, machine_mib) = (mebibytes(all), mebibytes(machine));
    info!(
        calls_mib,
        of_user_mib,
        kept_mib,
        extraction_mib,
        deploy_mib,
        search_mib,
        requests_mib,
        connections_mib,
        all_mib,
        machine_mib,
        "memory, at most"
    );
    if all > machine {
        warn!(
            all_mib,
            machine_mib,
            "the settings allow more memory than there is: lower memory-for-calls, compile-memory, \
             extraction-memory, capture-size, search-memory, mcp-request-size or connections"
        );
    }
    Ok(MemoryBudget::new(calls, of_user))
}

/// Converts the settings to those of outbound requests.
pub(super) fn egress_settings(settings: &Settings) -> Result<EgressSettings, SettingsError> {
    let prefix = |&range| Nat64Prefix::new(range).ok_or(SettingsError::Nat64Prefix(range));
    let proxy = settings.https_proxy.get().map(|url| Proxy::parse(url.get().expose_secret()));
    Ok(EgressSettings {
        toolkit_ranges: settings.allow_private_ranges.iter().map(|range| range.get()).collect(),
        capture_ranges: settings.capture_private_ranges.iter().map(|range| range.get()).collect(),
        name_servers: settings.name_servers.iter().map(|server| server.address()).collect(),
        proxy: proxy.transpose().map_err(|_| SettingsError::Proxy)?,
        nat64_prefixes: settings.nat64_prefixes.iter().map(prefix).collect::<Result<_, _>>()?,
        ..EgressSettings::default()
    })
}

/// Starts exporting traces of calls if the settings name a collector.
pub(super) fn traces(
    settings: &Settings,
    egress: &Egress,
    metrics: &Metrics,
) -> Result<Traces, SettingsError> {
    let Some(url) = settings.traces.get() else { return Ok(Traces::default()) };
    let settings = TraceSettings {
        endpoint: url.as_str().parse().map_err(|_| SettingsError::Traces)?,
        headers: settings.trace_headers()?,
        sample: settings.traces_sample.get(),
        parents: if settings.accept_traceparent { Parents::Accepted } else { Parents::Ignored },
    };
    Ok(Traces::start(settings, egress.clone(), metrics.clone()))
}

/// Returns the source of the master keys.
pub fn key_source(settings: &Settings) -> Result<KeySource, SettingsError> {
    Ok(match &settings.master_key {
        MasterKey::File(path) => {
            let path = path.clone().unwrap_or_else(|| settings.data.join("master-key"));
            match settings.database {
                DatabaseLocation::Server(_) => KeySource::GivenFile(path),
                DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => KeySource::File(path),
            }
        }
        MasterKey::Variable(name) => KeySource::Text(settings::variable(name)?),
        MasterKey::Command(line) => KeySource::Command(line.clone()),
        MasterKey::Invalid => return Err(SettingsError::MasterKey),
    })
}

/// Fingerprints, by setting name, of the settings that must be equal in all processes of a service: sign-in,
/// operators, and limits on stored data.
pub(super) fn shared_settings(settings: &Settings) -> BTreeMap<String, String> {
    let shared: [(&str, &dyn Debug); 23] = [
        ("accept-missing-audience", &settings.accept_missing_audience),
        ("accept-untyped-tokens", &settings.accept_untyped_tokens),
        ("allow-private-ranges", &settings.allow_private_ranges),
        ("allowed-origins", &settings.allowed_origins),
        ("audience", &settings.audience),
        ("audit-retention", &settings.audit_retention),
        ("base-url", &settings.base_url),
        ("capture-private-ranges", &settings.capture_private_ranges),
        ("component-size", &settings.component_size),
        ("consent", &settings.consent),
        ("documents-per-user", &settings.documents_per_user),
        ("documents-size-per-user", &settings.documents_size_per_user),
        ("follow-registries", &settings.follow_registries),
        ("groups-claim", &settings.groups_claim),
        ("issuer", &settings.issuer),
        ("log-records-per-toolkit", &settings.log_records_per_toolkit),
        ("log-retention", &settings.log_retention),
        ("mcp-client-id", &settings.mcp_client_id),
        ("operators", &settings.operators),
        ("require-signature", &settings.require_signature),
        ("scopes", &settings.scopes),
        ("token-algorithms", &settings.token_algorithms),
        ("web-client-id", &settings.web_client_id),
    ];
    let fingerprint = |value: &dyn Debug| hex::encode(&Sha256::digest(format!("{value:?}"))[..8]);
    shared.map(|(name, value)| (name.to_owned(), fingerprint(value))).into()
}

/// Paths of the TLS certificate and its key; `None` if the server speaks plain HTTP.
pub fn certificate_files(settings: &Settings) -> Option<CertificateFiles> {
    let (certificate, key) = settings.tls()?;
    Some(CertificateFiles { certificate: certificate.to_owned(), key: key.to_owned() })
}

/// Drain time: how long a server keeps serving after a stop signal, so that load balancers and clients
/// notice.
pub(super) fn drain(settings: &Settings, listeners: &Listeners) -> Duration {
    let default = match settings.database {
        DatabaseLocation::Server(_) => DRAIN,
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid if listeners.are_held() => HANDOVER_DRAIN,
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => Duration::ZERO,
    };
    settings.drain.get().map_or(default, |span| span.get())
}

pub(super) fn identity_settings(settings: &Settings, base_url: &Url) -> IdentitySettings {
    IdentitySettings {
        base_url: base_url.to_string(),
        algorithms: Algorithms::default(),
        allowed_origins: settings.allowed_origins.to_vec(),
        session_audience: if settings.accept_missing_audience {
            SessionAudience::Optional
        } else {
            SessionAudience::Required
        },
        audiences: settings.audience.to_vec(),
        untyped_tokens: if settings.accept_untyped_tokens {
            UntypedTokens::Accepted
        } else {
            UntypedTokens::Refused
        },
        // OAuth separates scopes by blanks, and lists of settings have commas.
        scopes: settings
            .scopes
            .iter()
            .flat_map(|scopes| scopes.split_whitespace())
            .map(str::to_owned)
            .collect(),
        mcp_client_id: settings.mcp_client_id.get().cloned(),
        groups_claim: settings.groups_claim.get().cloned(),
    }
}

/// Returns the location of components and captured files.
pub fn objects_location(settings: &Settings) -> Location {
    match &settings.objects {
        ObjectsLocation::Default | ObjectsLocation::DataDirectory => Location::Folder(settings.data.clone()),
        ObjectsLocation::Folder(folder) => Location::Folder(folder.clone()),
        ObjectsLocation::Bucket { name, prefix } => Location::Bucket(BucketLocation {
            bucket: name.clone(),
            prefix: prefix.clone(),
            endpoint: settings.objects_endpoint.clone().into_inner(),
            region: settings.objects_region.clone(),
            key_id: settings.objects_key_id.get().cloned().unwrap_or_default(),
            secret: settings.objects_secret.get().map(|secret| secret.get().clone()).unwrap_or_default(),
        }),
    }
}

/// OAuth client of the server's web pages at the identity provider, if one is configured.
pub(super) fn web_client(settings: &Settings) -> Option<WebClient> {
    match settings.web_client_id.get()?.as_str() {
        settings::REGISTER => Some(WebClient::Registers),
        id => {
            let secret = settings.web_client_secret.get().map(|secret| secret.get().clone());
            Some(WebClient::Named { id: id.to_owned(), secret })
        }
    }
}

/// Party that consents when a toolkit extends its reach: by default the users, or in local mode the
/// operators, because the local user is usually the operator.
pub(super) fn consent_by(settings: &Settings) -> ConsentBy {
    match settings.consent.get() {
        Some(ConsentSetting::Operators) => ConsentBy::Operators,
        None if settings.issuer == Issuer::Local => ConsentBy::Operators,
        Some(ConsentSetting::Users) | None => ConsentBy::Users,
    }
}

/// Whether toolkit versions must be signed.
pub(super) fn signature_rule(settings: &Settings) -> SignatureRule {
    if settings.require_signature { SignatureRule::Required } else { SignatureRule::Optional }
}

/// Registries that are polled for newer versions. A value that is not a registry name is an error: otherwise
/// it would be ignored silently.
pub(super) fn followed_registries(settings: &Settings) -> Result<Vec<String>, SettingsError> {
    let is_registry = |name: &String| {
        let reference = format!("{SCHEME}{name}/a").parse::<Reference>();
        reference.is_ok_and(|reference| reference.registry() == name)
    };
    match settings.follow_registries.iter().find(|name| !is_registry(name)) {
        Some(other) => Err(SettingsError::FollowRegistries(other.clone())),
        None => Ok(settings.follow_registries.to_vec()),
    }
}

/// Lifetime of browser sessions: by default 12 hours, or 30 days in local mode, which serves one machine and
/// whose sign-in code few users remember.
pub(super) fn session_lifetime(settings: &Settings) -> SessionLifetime {
    const DEFAULT: Duration = Duration::from_hours(12);
    const DEFAULT_LOCAL: Duration = Duration::from_hours(24 * 30);

    let default = if settings.issuer == Issuer::Local { DEFAULT_LOCAL } else { DEFAULT };
    SessionLifetime::of(settings.web_session_lifetime.get().map_or(default, |span| span.get()))
}

pub(super) fn retention(settings: &Settings) -> RetentionLimits {
    RetentionLimits {
        age: settings.log_retention.get(),
        records: settings.log_records_per_toolkit,
        bytes: settings.bounds.log_size_per_toolkit,
    }
}

/// Memory shares of users' requests: in total at most an eighth of the machine's memory, but at least one
/// user's share. `workers` process large requests and answers.
pub(super) fn request_shares(settings: &Settings, workers: Workers) -> RequestShares {
    let calls = settings.concurrent_calls_per_user();
    RequestShares::new(memory_of_machine() / 8, settings.mcp_request_size.bytes(), calls, workers)
}

pub(super) fn pace(settings: &Settings) -> Pace {
    Pace { pause: settings.request_timeout.get(), rate: settings.bounds.request_rate }
}

pub(super) fn connection_limits(settings: &Settings) -> ConnectionLimits {
    ConnectionLimits {
        total: settings.connections,
        per_address: settings.connections_per_address,
        proxies: settings.trusted_proxies.iter().map(|range| range.get()).collect(),
    }
}

pub(super) fn admission(settings: &Settings) -> AdmissionLimits {
    AdmissionLimits {
        per_user: settings.concurrent_calls_per_user(),
        per_toolkit: settings.concurrent_calls_per_toolkit(),
        total: settings.concurrent_calls as usize,
    }
}

/// Converts the settings to operators and, in local mode, group memberships. In local mode, the user of this
/// machine's commands is an operator too.
pub(super) fn roles(settings: &Settings) -> Roles {
    let mut roles = Roles::default();
    for operator in settings.operators.iter().cloned() {
        match operator {
            Operator::User(id) => roles.operators.insert(id),
            Operator::Group(name) => roles.operator_groups.insert(name),
        };
    }
    if settings.issuer == Issuer::Local {
        roles.operators.insert(local_mode::USER.to_owned());
    }
    let groups = settings.local_groups.iter();
    roles.local_groups =
        groups.map(|(user, names)| (user.clone(), names.iter().cloned().collect())).collect();
    roles
}
