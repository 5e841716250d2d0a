//! All SQL about toolkits, their versions and which one is live.

mod asked_calls;
mod audience;
mod code_tools;
mod conditions;
mod consents;
mod hidden;
mod icons;
mod limited_calls;
mod ownership;
mod publishers;
mod revisions;
mod rollback;
mod updates;
mod uploads;
mod versions;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, list, sql};
use kitbag_files::objects::{FileLease, change_references};
use kitbag_files::stored_files::FileKind;
use kitbag_identity::revoke_keys_for;
use kitbag_manifest::{ToolkitDefinition, ValidDefinition};
use serde::{Deserialize, Serialize};

use super::ToolkitError;
use super::audience::Audience;
use super::difference::Changes;
use super::icons::Picture;
use super::provenance::{Provenance, SignatureRule};
use super::vouch::VouchReason;
pub use asked_calls::{AskedCall, AskedCalls};
pub use conditions::{Expected, LiveVersion};
use conditions::{expect_live, refuse_taken_version};
pub(super) use consents::{AgreedReach, NewConsent, StoredConsent};
pub(super) use limited_calls::{CountStore, keys};
use ownership::CurrentOwnership;
pub use ownership::{Claim, OwnershipRecord, TakenOver};
pub use rollback::Rollback;
pub(super) use updates::{FoundNewer, TrackedRow};
pub(super) use uploads::{Compared, LIFETIME, NewUpload, UploadRow};
pub use versions::{ToolkitRecord, Version, VersionRecord};

/// The database tables of toolkits.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

/// A version that has passed all checks.
pub(super) struct NewVersion<'a> {
    pub(super) definition: &'a ValidDefinition,
    pub(super) imports: &'a [String],
    pub(super) picture: Option<&'a Picture>,
    pub(super) digest: &'a str,
    pub(super) size: u64,
    /// The stored component; `None` for an upload that waits already.
    pub(super) file: Option<&'a FileLease>,
    pub(super) by: &'a Actor,
    pub(super) claim: Claim,
    pub(super) vouch: Option<&'a VouchReason>,
    pub(super) expected: &'a Expected,
    pub(super) provenance: &'a Provenance,
    pub(super) rule: SignatureRule,
}

/// The live toolkits at one moment.
pub(super) struct LiveState {
    /// Number that differs after each change.
    pub(super) generation: i64,
    pub(super) toolkits: Vec<LiveRow>,
    /// Manifests by toolkit id, of the rows that the caller does not know.
    pub(super) manifests: HashMap<String, String>,
}

/// The live version of a toolkit.
#[derive(Clone, PartialEq, Eq, FromRow)]
pub(super) struct LiveRow {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) version: String,
    pub(super) digest: String,
    /// Id of the activation, new each time a version becomes live: after a removal, the same version may
    /// describe itself differently.
    pub(super) activation: i64,
    /// The former owner, if the toolkit was taken over, and the time in milliseconds since 1970.
    pub(super) taken_from: Option<String>,
    pub(super) taken_at: Option<i64>,
    /// Digest of the picture, if there is one.
    pub(super) picture: Option<String>,
    /// The users who may use the toolkit.
    #[sqlx(skip)]
    pub(super) audience: Audience,
    /// The reason why an operator vouches for the live version, and the operator; `None` if none does.
    pub(super) vouched: Option<String>,
    pub(super) vouched_by: Option<String>,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the live version of every toolkit. Manifests are read only for rows for which `is_known`
    /// returns `false`.
    pub(super) async fn live(
        &self,
        is_known: impl Fn(&LiveRow) -> bool,
    ) -> kitbag_database::Result<LiveState> {
        let mut snapshot = self.0.snapshot().await?;
        let generation = sql("SELECT generation FROM registry").fetch_value(&mut snapshot).await?;
        let mut toolkits: Vec<LiveRow> = sql("SELECT t.id, t.owner, v.version, v.digest,
                    COALESCE(a.sequence, 0) AS activation,
                    o.owner_before AS taken_from, o.at AS taken_at, i.digest AS picture,
                    a.vouched, CASE WHEN a.vouched IS NOT NULL THEN a.activated_by END AS vouched_by
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
             LEFT JOIN toolkit_activations a ON a.sequence = (
                 SELECT max(sequence) FROM toolkit_activations WHERE toolkit_id = t.id)
             LEFT JOIN toolkit_icons i ON i.toolkit_id = t.id AND i.version = t.live_version
             LEFT JOIN toolkit_ownership o ON o.sequence = (
                 SELECT max(sequence) FROM toolkit_ownership
                 WHERE toolkit_id = t.id AND event IN ('taken-over', 'removed')
             ) AND o.event = 'taken-over' AND o.by_user = t.owner")
        .fetch_all(&mut snapshot)
        .await?;
        let mut audiences = audience::audiences(&mut snapshot).await?;
        for row in &mut toolkits {
            row.audience = audiences.remove(&row.id).unwrap_or_default();
        }
        let unknown: Vec<_> =
            toolkits.iter().filter(|row| !is_known(row)).map(|row| row.id.as_str()).collect();
        let manifests: Vec<(String, String)> = if unknown.is_empty() {
            Vec::new()
        } else {
            sql("SELECT t.id, v.manifest FROM toolkits t
                 JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
                 WHERE t.id IN (SELECT value FROM json_each($1))")
            .bind(list(&unknown))
            .fetch_all(&mut snapshot)
            .await?
        };
        Ok(LiveState { generation, toolkits, manifests: manifests.into_iter().collect() })
    }

    /// Fails if the tables cannot be read.
    pub(super) async fn check(&self) -> kitbag_database::Result<()> {
        let any = sql("SELECT t.id FROM toolkits t JOIN toolkit_versions v ON v.toolkit_id = t.id LIMIT 1");
        let _: Option<String> = any.fetch_optional_value(self.0.readers()).await?;
        Ok(())
    }

    /// Returns the digests of the components of all versions and all waiting uploads.
    pub(super) async fn digests(&self) -> kitbag_database::Result<HashSet<String>> {
        let digests = sql("SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads");
        Ok(digests.fetch_values(self.0.readers()).await?.into_iter().collect())
    }

    /// Records a version and makes it live, in one transaction. This may change the toolkit's owner. Returns
    /// the changed capabilities, the recorded provenance, and the former owner.
    pub(super) async fn record(
        &self,
        new: NewVersion<'_>,
    ) -> Result<(Changes, Provenance, Option<TakenOver>), ToolkitError> {
        let NewVersion { definition, imports, picture, digest, size, file, by, claim, vouch, .. } = new;
        let (id, version) = (&definition.id, &definition.version);
        let manifest = to_json(&**definition)?;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;

        expect_live(&mut transaction, id, new.expected).await?;
        let ownership = match CurrentOwnership::of(&mut transaction, id).await? {
            Some(ownership) => Some(ownership),
            None => CurrentOwnership::of_removed(&mut transaction, id).await?,
        };
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
        publishers::record(&mut transaction, id, (version, added > 0), &provenance).await?;
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
        Ok((changes, provenance, taken_over))
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
    pub(super) async fn remove(&self, id: &str, by: &Actor) -> Result<Vec<String>, ToolkitError> {
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

async fn record_activation(
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
async fn record_vouch(
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

fn to_json(value: &impl Serialize) -> Result<String, ToolkitError> {
    serde_json::to_string(value).map_err(|error| ToolkitError::Storage(error.to_string()))
}

fn from_json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, ToolkitError> {
    serde_json::from_str(text).map_err(|error| ToolkitError::Storage(error.to_string()))
}
