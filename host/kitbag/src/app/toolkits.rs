//! Toolkits, their calls, and the records of calls.

use std::sync::Arc;

use kitbag_database::peers::Process;
use kitbag_net::oci::{Reference, SCHEME};
use kitbag_toolkits::code_runner::CodeRunner;
use kitbag_toolkits::dispatch::{
    AdmissionLimits, CallServices, Dispatch, Inspection, InspectionSettings, WhenUnavailable,
};
use kitbag_toolkits::invocations::{Auditing, Invocations, RetentionLimits};
use kitbag_toolkits::user_config::UserConfig;
use kitbag_toolkits::{ConsentBy, Dependencies, Options, SignatureRule, Toolkits};
use kitbag_vault::Vault;
use tokio_util::sync::CancellationToken;

use super::error::StartError;
use super::resources::Resources;
use super::sandbox::Execution;
use super::storage::call_entries;
use crate::settings::{ConsentSetting, DlpUnavailable, Issuer, Settings, SettingsError};

/// The toolkits, and what their calls need and leave behind.
pub(super) struct ToolkitParts {
    pub(super) toolkits: Arc<Toolkits>,
    pub(super) user_config: Arc<UserConfig>,
    pub(super) invocations: Arc<Invocations>,
    pub(super) dispatch: Dispatch,
    pub(super) code_runner: Arc<CodeRunner>,
}

impl ToolkitParts {
    /// Reads the deployed toolkits, and starts their regular tasks, which end when `stopping` is cancelled.
    pub(super) async fn open(
        settings: &Settings,
        resources: &Resources,
        process: &Process,
        vault: &Arc<Vault>,
        execution: &Execution,
        stopping: &CancellationToken,
    ) -> Result<Self, StartError> {
        let toolkits = open(settings, resources, vault, execution).await?;
        toolkits.reviews.keep_removing_expired();
        toolkits.updates.keep_asking_registries(stopping.clone());
        let user_config = Arc::new(UserConfig::new(resources.database.clone()));
        let Resources { database, hints, .. } = resources;
        let auditing = Auditing { entries: call_entries(settings), data: &settings.data };
        let limits = retention(settings);
        let invocations =
            Invocations::open(database.clone(), hints.clone(), process, limits, auditing).await?;
        let invocations = Arc::new(invocations);
        let services = CallServices {
            toolkits: toolkits.clone(),
            vault: vault.clone(),
            user_config: user_config.clone(),
            invocations: invocations.clone(),
            inspection: inspection(settings, resources)?,
            workers: resources.workers.clone(),
            metrics: resources.metrics.clone(),
            traces: resources.traces.clone(),
        };
        let dispatch = Dispatch::new(services, admission(settings)).map_err(StartError::Threads)?;
        let code_runner = code_runner(settings, resources, execution).await?;
        Ok(Self { toolkits, user_config, invocations, dispatch, code_runner })
    }
}

/// Creates the inspection of calls, if the operator has set up a service for it.
fn inspection(settings: &Settings, resources: &Resources) -> Result<Option<Inspection>, SettingsError> {
    let Some(url) = settings.dlp_url.get() else { return Ok(None) };
    let inspection = InspectionSettings {
        url: url.as_str().parse().map_err(|_| SettingsError::DlpUrl)?,
        key: settings.dlp_key.get().map(|key| key.get().clone()),
        timeout: settings.dlp_timeout.get(),
        when_unavailable: match settings.dlp_unavailable.get() {
            Some(DlpUnavailable::Pass) => WhenUnavailable::Pass,
            Some(DlpUnavailable::Refuse) | None => WhenUnavailable::Refuse,
        },
    };
    let Resources { egress, metrics, .. } = resources;
    let inspection = Inspection::new(inspection, egress.clone(), metrics.clone());
    inspection.map(Some).map_err(|_| SettingsError::DlpKey)
}

async fn open(
    settings: &Settings,
    resources: &Resources,
    vault: &Arc<Vault>,
    execution: &Execution,
) -> Result<Arc<Toolkits>, StartError> {
    let forgetting = vault.clone();
    let dependencies = Dependencies {
        components: resources.objects.components(),
        database: resources.database.clone(),
        sandbox: execution.sandbox.clone(),
        compiler: resources.compiler.clone(),
        disk: resources.disk.clone(),
        egress: resources.egress.clone(),
        on_removal: Arc::new(move || forgetting.clear_cache()),
    };
    let options = Options {
        consent_by: consent_by(settings),
        signature_rule: signature_rule(settings),
        followed_registries: followed_registries(settings)?,
        component_limit: settings.component_size.bytes() as u64,
    };
    Ok(Arc::new(Toolkits::open(&settings.data, dependencies, options).await?))
}

/// Creates the runner for code written by models, if its component is installed.
async fn code_runner(
    settings: &Settings,
    resources: &Resources,
    execution: &Execution,
) -> Result<Arc<CodeRunner>, StartError> {
    let sandbox = execution.sandbox.clone();
    let compiler = resources.compiler.clone();
    let runner = CodeRunner::open(&settings.data, settings.extractors.clone(), sandbox, compiler).await;
    runner.map(Arc::new).map_err(|cause| StartError::Data { path: settings.data.clone(), cause })
}

/// Party that consents when a toolkit extends its reach: by default the users, or in local mode the
/// operators, because the local user is usually the operator.
fn consent_by(settings: &Settings) -> ConsentBy {
    match settings.consent.get() {
        Some(ConsentSetting::Operators) => ConsentBy::Operators,
        None if settings.issuer == Issuer::Local => ConsentBy::Operators,
        Some(ConsentSetting::Users) | None => ConsentBy::Users,
    }
}

/// Whether toolkit versions must be signed.
fn signature_rule(settings: &Settings) -> SignatureRule {
    if settings.require_signature { SignatureRule::Required } else { SignatureRule::Optional }
}

/// Registries that are polled for newer versions. A value that is not a registry name is an error: otherwise
/// it would be ignored silently.
fn followed_registries(settings: &Settings) -> Result<Vec<String>, SettingsError> {
    let is_registry = |name: &String| {
        let reference = format!("{SCHEME}{name}/a").parse::<Reference>();
        reference.is_ok_and(|reference| reference.registry() == name)
    };
    match settings.follow_registries.iter().find(|name| !is_registry(name)) {
        Some(other) => Err(SettingsError::FollowRegistries(other.clone())),
        None => Ok(settings.follow_registries.to_vec()),
    }
}

fn retention(settings: &Settings) -> RetentionLimits {
    RetentionLimits {
        age: settings.log_retention.get(),
        records: settings.log_records_per_toolkit,
        bytes: settings.log_size.bytes(),
    }
}

fn admission(settings: &Settings) -> AdmissionLimits {
    AdmissionLimits {
        per_user: settings.concurrent_calls_per_user(),
        per_toolkit: settings.concurrent_calls_per_toolkit(),
        total: settings.concurrent_calls as usize,
    }
}
