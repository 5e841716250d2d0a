//! All SQL that makes versions live, and removes toolkits. `rollback` makes earlier versions live again.

use std::collections::HashSet;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, Scope, Transaction, refuse_ended, sql};
use kitbag_files::objects::{FileLease, change_references};
use kitbag_files::stored_files::FileKind;
use kitbag_identity::revoke_keys_for;
use kitbag_manifest::{ToolkitDefinition, ValidDefinition};

use super::conditions::{Expected, expect_live, refuse_taken_version};
use super::json::{from_json, to_json};
use super::ownership::{Claim, CurrentOwnership, TakenOver};
use super::{code_tools, hidden, icons, limited_calls, publishers, revisions, uploads};
use crate::difference::Changes;
use crate::error::ToolkitError;
use crate::icons::Picture;
use crate::provenance::{Provenance, SignatureRule};
use crate::vouch::VouchReason;

/// A version that has passed all checks.
pub(crate) struct NewVersion<'a> {
    pub(crate) definition: &'a ValidDefinition,
    pub(crate) imports: &'a [String],
    pub(crate) picture: Option<&'a Picture>,
    pub(crate) digest: &'a str,
    pub(crate) size: u64,
    /// The stored component; `None` for an upload that waits already.
    pub(crate) file: Option<&'a FileLease>,
    pub(crate) by: &'a Actor,
    pub(crate) claim: Claim,
    pub(crate) vouch: Option<&'a VouchReason>,
    pub(crate) expected: &'a Expected,
    pub(crate) provenance: &'a Provenance,
    pub(crate) rule: SignatureRule,
}

/// A version that was recorded and made live.
pub(crate) struct Recorded {
    /// Changes of the capabilities since the previous live version.
    pub(crate) changes: Changes,
    /// The recorded provenance.
    pub(crate) provenance: Provenance,
    /// The former owner, if the owner changed.
    pub(crate) taken_over: Option<TakenOver>,
}

/// Writes which version of a toolkit is live.
#[derive(Clone, Debug)]
pub(crate) struct DeployStore(pub(super) Database);

impl DeployStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the digests of the components of all versions and all waiting uploads.
    pub(crate) async fn digests(&self) -> kitbag_database::Result<HashSet<String>> {
        let digests = sql("SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads");
        Ok(digests.fetch_values(self.0.readers()).await?.into_iter().collect())
    }

    /// Records a version and makes it live, in one transaction. This may change the toolkit's owner.
    pub(crate) async fn record(&self, new: NewVersion<'_>) -> Result<Recorded, ToolkitError> {
        let NewVersion { definition, imports, picture, digest, size, file, by, claim, vouch, .. } = new;
        let id = &definition.id;
        let version = &definition.version;
        let manifest = to_json(&**definition)?;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;

        expect_live(&mut transaction, id, new.expected).await?;
        let ownership = CurrentOwnership::of_any(&mut transaction, id).await?;
        let taken_over = match &ownership {
            Some(ownership) => {
                ownership.admit_version(&mut transaction, by, definition.visibility, claim).await?
            }
            None => None,
        };
        let owner =
            ownership.as_ref().filter(|_| taken_over.is_none()).map_or(by.user(), CurrentOwnership::owner);
        refuse_taken_version(&mut transaction, definition, digest, &manifest).await?;
        let provenance = publishers::admit_version(&mut transaction, id, new.provenance, new.rule).await?;
        let before = live_definition(&mut transaction, id).await?;
        let changes = Changes::between(before.as_ref(), definition);
        sql("INSERT INTO toolkits (id, owner, live_version) VALUES ($1, $2, $3)
             ON CONFLICT (id) DO UPDATE SET live_version = excluded.live_version")
        .bind(id)
        .bind(owner)
        .bind(version)
        .execute(&mut transaction)
        .await?;
        let added = sql("INSERT INTO toolkit_versions
                 (toolkit_id, version, digest, size, manifest, imports, changes, deployed_by, deployed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (toolkit_id, version) DO NOTHING")
        .bind(id)
        .bind(version)
        .bind(digest)
        .bind(i64::try_from(size).unwrap_or(i64::MAX))
        .bind(&manifest)
        .bind(to_json(&imports)?)
        .bind(to_json(&changes)?)
        .bind(by.user())
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        if added > 0 {
            publishers::record(&mut transaction, id, version, &provenance).await?;
        } else {
            publishers::record_again(&mut transaction, id, version, &provenance).await?;
        }
        if let Some(picture) = picture {
            icons::keep(&mut transaction, id, version, picture).await?;
        }
        record_activation(&mut transaction, id, version, by, vouch).await?;
        // A waiting upload already has a reference to its component, so the version needs no new one.
        let waited = uploads::remove(&mut transaction, digest).await? > 0;
        let is_kept = change_references(&mut transaction, FileKind::Component, file, &[]).await?;
        match file {
            Some(_) if !is_kept => return Err(ToolkitError::ComponentDropped),
            None if !waited => return Err(ToolkitError::UnknownUpload(digest.to_owned())),
            _ => {}
        }
        revisions::count_change(&mut transaction).await?;
        let deployed = Entry::new(Act::ToolkitDeployed, by).toolkit(id.as_str());
        let origin = provenance.told();
        audit::append(&mut transaction, &deployed.version(version).digest(digest).name(&origin)).await?;
        record_vouch(&mut transaction, id, version, by, vouch).await?;
        transaction.commit().await?;
        Ok(Recorded { changes, provenance, taken_over })
    }

    /// Begins the transaction that removes a toolkit, if this actor may remove it.
    async fn begin_removal(&self, id: &str, by: &Actor) -> Result<Transaction, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        ownership.admit_removal(&mut transaction, by.user()).await?;
        Ok(transaction)
    }

    /// Removes a toolkit and everything that belongs to it, except the history of its ownership. Returns the
    /// digests of its components.
    pub(crate) async fn remove(&self, id: &str, by: &Actor) -> Result<Vec<String>, ToolkitError> {
        drop(self.begin_removal(id, by).await?);
        kitbag_vault::forget_most(&self.0, id).await?;
        let mut transaction = self.begin_removal(id, by).await?;
        let digests: Vec<String> = sql("SELECT DISTINCT digest FROM toolkit_versions WHERE toolkit_id = $1")
            .bind(id)
            .fetch_values(&mut transaction)
            .await?;
        sql("DELETE FROM toolkits WHERE id = $1").bind(id).execute(&mut transaction).await?;
        // No foreign keys, because not all calls belong to toolkits.
        sql("DELETE FROM invocations WHERE toolkit_id = $1").bind(id).execute(&mut transaction).await?;
        sql("DELETE FROM call_counts WHERE toolkit_id = $1").bind(id).execute(&mut transaction).await?;
        sql("DELETE FROM toolkit_users WHERE toolkit_id = $1").bind(id).execute(&mut transaction).await?;
        code_tools::forget(&mut transaction, id).await?;
        hidden::forget(&mut transaction, id).await?;
        limited_calls::forget(&mut transaction, id).await?;
        revoke_keys_for(&mut transaction, id).await?;
        change_references(&mut transaction, FileKind::Component, None, &digests).await?;
        revisions::count_change(&mut transaction).await?;
        revisions::count_removal(&mut transaction).await?;
        audit::append(&mut transaction, &Entry::new(Act::ToolkitRemoved, by).toolkit(id)).await?;
        transaction.commit().await?;
        Ok(digests)
    }
}

async fn live_definition(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<ToolkitDefinition>, ToolkitError> {
    let manifest: Option<String> = sql("SELECT v.manifest FROM toolkits t
         JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version WHERE t.id = $1")
    .bind(id)
    .fetch_optional_value(transaction)
    .await?;
    manifest.as_deref().map(from_json).transpose()
}

pub(super) async fn record_activation(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    by: &Actor,
    vouch: Option<&VouchReason>,
) -> Result<(), ToolkitError> {
    sql("INSERT INTO toolkit_activations (toolkit_id, version, activated_by, activated_at, vouched)
         VALUES ($1, $2, $3, $4, $5)")
    .bind(id)
    .bind(version)
    .bind(by.user())
    .bind(Timestamp::now().as_millisecond())
    .bind(vouch.map(VouchReason::as_str))
    .execute(transaction)
    .await?;
    Ok(())
}

/// Appends to the audit log that `by` vouches for a version, after the entry of the act that makes it live.
pub(super) async fn record_vouch(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    by: &Actor,
    vouch: Option<&VouchReason>,
) -> Result<(), ToolkitError> {
    if let Some(reason) = vouch {
        let vouched = Entry::new(Act::ToolkitVouched, by).toolkit(id).version(version);
        audit::append(transaction, &vouched.name(reason.as_str())).await?;
    }
    Ok(())
}
