//! This process among those that share the database.

use std::collections::BTreeMap;
use std::fmt::Debug;

use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use kitbag_database::peers::{Process, Profile};
use kitbag_vault::Vault;

use super::error::StartError;
use crate::settings::Settings;

/// Registers this process with the other processes on the database.
pub(super) async fn join(
    settings: &Settings,
    database: &Database,
    vault: &Vault,
    job_settings: &str,
) -> Result<Process, StartError> {
    let profile = Profile {
        master_keys: vault.master_keys(),
        settings: shared_settings(settings),
        ..Profile::of_this_program(job_settings)
    };
    Ok(Process::register(database, profile, &settings.data).await?)
}

/// Fingerprints, by setting name, of the settings that must be equal in all processes of a service: sign-in,
/// operators, and limits on stored data.
fn shared_settings(settings: &Settings) -> BTreeMap<String, String> {
    let shared: [(&str, &dyn Debug); 39] = [
        ("accept-missing-audience", &settings.accept_missing_audience),
        ("accept-untyped-tokens", &settings.accept_untyped_tokens),
        ("allow-private-ranges", &settings.allow_private_ranges),
        ("allowed-origins", &settings.allowed_origins),
        ("audience", &settings.audience),
        ("audit-calls-retention", &settings.audit_calls_retention),
        ("audit-retention", &settings.audit_retention),
        ("base-url", &settings.base_url),
        ("bin", &settings.bin),
        ("capture-private-ranges", &settings.capture_private_ranges),
        ("collections", &settings.collections),
        ("component-size", &settings.component_size),
        ("consent", &settings.consent),
        ("dlp-unavailable", &settings.dlp_unavailable),
        ("dlp-url", &settings.dlp_url),
        ("documents-per-collection", &settings.documents_per_collection),
        ("documents-per-user", &settings.documents_per_user),
        ("documents-size-per-collection", &settings.documents_size_per_collection),
        ("documents-size-per-user", &settings.documents_size_per_user),
        ("egress-policy", &settings.egress_policy),
        ("follow-registries", &settings.follow_registries),
        ("groups-claim", &settings.groups_claim),
        ("groups-remembered", &settings.groups_remembered),
        ("issuer", &settings.issuer),
        ("key-lifetime", &settings.key_lifetime),
        ("keys", &settings.keys),
        ("keys-without-sign-in", &settings.keys_without_sign_in),
        ("log-records-per-toolkit", &settings.log_records_per_toolkit),
        ("log-retention", &settings.log_retention),
        ("log-size", &settings.log_size),
        ("mcp-client-id", &settings.mcp_client_id),
        ("operators", &settings.operators),
        ("record-callers", &settings.record_callers),
        ("require-signature", &settings.require_signature),
        ("scim-user-id", &settings.scim_user_id),
        ("scopes", &settings.scopes),
        ("token-algorithms", &settings.token_algorithms),
        ("user-id-claim", &settings.user_id_claim),
        ("web-client-id", &settings.web_client_id),
    ];
    let fingerprint = |value: &dyn Debug| hex::encode(&Sha256::digest(format!("{value:?}"))[..8]);
    shared.map(|(name, value)| (name.to_owned(), fingerprint(value))).into()
}
