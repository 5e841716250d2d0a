//! All SQL that makes an earlier version live again.

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{FromRow, Scope, Transaction, refuse_ended, sql};
use serde::{Deserialize, Serialize};

use super::conditions::{Expected, LiveVersion, expect_live, live_version};
use super::deploys::{DeployStore, record_activation, record_vouch};
use super::ownership::{self, Claim, CurrentOwnership, TakenOver};
use super::versions::manifest_digest;
use super::{publishers, revisions};
use crate::error::ToolkitError;
use crate::provenance::SignatureRule;
use crate::vouch::VouchReason;

/// Selection of the version to make live again. All given values have to match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rollback {
    /// Version number; by default the version that was live before.
    pub version: Option<String>,
    /// SHA-256 of the component, hexadecimal.
    pub digest: Option<String>,
    /// SHA-256 of the declaration, hexadecimal.
    pub manifest_digest: Option<String>,
    /// The live version with which the version was compared.
    pub live: Option<LiveVersion>,
    /// The reason if the operator vouches for the version.
    pub vouch: Option<VouchReason>,
}

#[derive(FromRow)]
struct Target {
    version: String,
    digest: String,
    manifest: String,
}

impl Rollback {
    /// Selects the version with this number, or the one that was live before.
    pub fn to(version: Option<&str>) -> Self {
        Self { version: version.map(str::to_owned), ..Self::default() }
    }

    fn matches(&self, target: &Target) -> bool {
        let is_digest = self.digest.as_ref().is_none_or(|digest| *digest == target.digest);
        let is_manifest =
            self.manifest_digest.as_ref().is_none_or(|digest| *digest == manifest_digest(&target.manifest));
        is_digest && is_manifest
    }
}

impl DeployStore {
    /// Makes a version live again. Returns its number, and the former owner if the owner changed.
    pub(crate) async fn activate(
        &self,
        id: &str,
        wanted: &Rollback,
        rule: SignatureRule,
        by: &Actor,
    ) -> Result<(String, Option<TakenOver>), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let live = live_version(&mut transaction, id).await?;
        let live = live.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?.version;
        if let Some(compared) = &wanted.live {
            expect_live(&mut transaction, id, &Expected::Live(Some(compared.clone()))).await?;
        }
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let target = target(&mut transaction, id, wanted.version.as_deref(), &live).await?;
        if !wanted.matches(&target) {
            return Err(ToolkitError::VersionChanged { id: id.to_owned(), version: target.version });
        }
        let provenance = publishers::of_version(&mut transaction, id, &target.version).await?;
        let provenance = publishers::admit_version(&mut transaction, id, &provenance, rule).await?;
        publishers::bind(&mut transaction, id, &provenance).await?;
        let visibility = ownership::visibility(&target.manifest);
        let taken_over = ownership.admit_version(&mut transaction, by, visibility, Claim::OwnOnly).await?;
        sql("UPDATE toolkits SET live_version = $1 WHERE id = $2")
            .bind(&target.version)
            .bind(id)
            .execute(&mut transaction)
            .await?;
        let vouch = wanted.vouch.as_ref();
        record_activation(&mut transaction, id, &target.version, by, vouch).await?;
        revisions::count_change(&mut transaction).await?;
        let rolled_back = Entry::new(Act::ToolkitRolledBack, by).toolkit(id);
        let rolled_back = rolled_back.version(&target.version).digest(&target.digest);
        audit::append(&mut transaction, &rolled_back).await?;
        record_vouch(&mut transaction, id, &target.version, by, vouch).await?;
        transaction.commit().await?;
        Ok((target.version, taken_over))
    }
}

/// Returns the version with this number, or the one that was live before `live`.
async fn target(
    transaction: &mut Transaction,
    id: &str,
    version: Option<&str>,
    live: &str,
) -> Result<Target, ToolkitError> {
    let found = match version {
        Some(version) => sql(
            "SELECT version, digest, manifest FROM toolkit_versions WHERE toolkit_id = $1 AND version = $2",
        )
        .bind(id)
        .bind(version),
        None => sql("SELECT v.version, v.digest, v.manifest FROM toolkit_activations a
             JOIN toolkit_versions v ON v.toolkit_id = a.toolkit_id AND v.version = a.version
             WHERE a.toolkit_id = $1 AND a.version <> $2 ORDER BY a.sequence DESC LIMIT 1")
        .bind(id)
        .bind(live),
    };
    let none = || match version {
        Some(version) => format!("{id} has no version {version}"),
        None => format!("{id} has no version other than {live} to go back to"),
    };
    found.fetch_optional(transaction).await?.ok_or_else(|| ToolkitError::NoSuchVersion(none()))
}
