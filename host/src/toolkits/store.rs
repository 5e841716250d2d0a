//! All SQL about toolkits, their versions and which one is live.

mod ownership;

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use kitbag_manifest::{ToolkitDefinition, ValidDefinition};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, SqliteConnection};

use super::ToolkitError;
use crate::database::{self, Database, DatabaseError};
use ownership::CurrentOwnership;
pub use ownership::{Claim, OwnershipRecord, TakenOver};

/// The tables of toolkits.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

/// The difference between the capabilities of two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// New capabilities.
    pub added: Vec<String>,
    /// Capabilities that were dropped.
    pub removed: Vec<String>,
}

/// A toolkit with its versions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolkitRecord {
    /// Its id.
    pub id: String,
    /// Who deployed the first version under its id, or took it over last.
    pub owner: String,
    /// Whether its owner has released it for any operator.
    pub released: bool,
    /// The history of its ownership, newest first.
    pub ownership: Vec<OwnershipRecord>,
    /// The version that is live.
    pub live_version: String,
    /// The manifest of the live version.
    pub manifest: serde_json::Value,
    /// Newest deploy first.
    pub versions: Vec<VersionRecord>,
}

/// One deployed version.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionRecord {
    /// Semantic version.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
    /// In bytes.
    pub size: i64,
    /// The deploying user.
    pub deployed_by: String,
    /// RFC 3339, UTC.
    pub deployed_at: String,
    /// Since the version that was live before.
    pub changes: Changes,
}

pub(super) struct NewVersion<'a> {
    pub(super) definition: &'a ValidDefinition,
    pub(super) digest: &'a str,
    pub(super) size: u64,
    pub(super) by: &'a str,
    pub(super) claim: Claim,
}

#[derive(FromRow)]
pub(super) struct LiveRow {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) digest: String,
    pub(super) manifest: String,
    /// The owner before the present one, if that one took it over, and when: milliseconds since 1970.
    pub(super) taken_from: Option<String>,
    pub(super) taken_at: Option<i64>,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// The live version of every toolkit.
    pub(super) async fn live(&self) -> database::Result<Vec<LiveRow>> {
        Ok(sqlx::query_as(
            "SELECT t.id, t.owner, v.digest, v.manifest, o.owner_before AS taken_from, o.at AS taken_at
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
             LEFT JOIN toolkit_ownership o ON o.sequence = (
                 SELECT max(sequence) FROM toolkit_ownership
                 WHERE toolkit_id = t.id AND event IN ('taken-over', 'removed')
             ) AND o.event = 'taken-over' AND o.by_user = t.owner",
        )
        .fetch_all(self.0.readers())
        .await?)
    }

    /// Fails if the tables cannot be read.
    pub(super) async fn check(&self) -> database::Result<()> {
        let any =
            sqlx::query("SELECT 1 FROM toolkits t JOIN toolkit_versions v ON v.toolkit_id = t.id LIMIT 1");
        any.execute(self.0.readers()).await?;
        Ok(())
    }

    /// The digests of the components of all versions.
    pub(super) async fn digests(&self) -> database::Result<HashSet<String>> {
        let digests = sqlx::query_scalar("SELECT DISTINCT digest FROM toolkit_versions");
        Ok(digests.fetch_all(self.0.readers()).await?.into_iter().collect())
    }

    /// Records a version and makes it live, in one transaction. This may change the toolkit's owner.
    pub(super) async fn record(
        &self,
        new: NewVersion<'_>,
    ) -> Result<(Changes, Option<TakenOver>), ToolkitError> {
        let NewVersion { definition, digest, size, by, claim } = new;
        let (id, version) = (&definition.id, &definition.version);
        let manifest = to_json(&**definition)?;
        let mut transaction = self.0.begin().await?;

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
        let owner = ownership.as_ref().filter(|_| taken_over.is_none()).map_or(by, CurrentOwnership::owner);
        let known: Option<(String, String)> = sqlx::query_as(
            "SELECT digest, manifest FROM toolkit_versions WHERE toolkit_id = ? AND version = ?",
        )
        .bind(id)
        .bind(version)
        .fetch_optional(&mut *transaction)
        .await?;
        // The manifest is compared too: `describe` could return another one each time.
        if known.is_some_and(|known| known != (digest.to_owned(), manifest.clone())) {
            return Err(ToolkitError::VersionTaken { id: id.clone(), version: version.clone() });
        }
        let changes = changes(live_definition(&mut transaction, id).await?.as_ref(), definition);
        sqlx::query(
            "INSERT INTO toolkits (id, owner, live_version) VALUES (?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET live_version = excluded.live_version",
        )
        .bind(id)
        .bind(owner)
        .bind(version)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO toolkit_versions
                 (toolkit_id, version, digest, size, manifest, changes, deployed_by, deployed_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (toolkit_id, version) DO NOTHING",
        )
        .bind(id)
        .bind(version)
        .bind(digest)
        .bind(i64::try_from(size).unwrap_or(i64::MAX))
        .bind(&manifest)
        .bind(to_json(&changes)?)
        .bind(by)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut *transaction)
        .await?;
        record_activation(&mut transaction, id, version, by).await?;
        transaction.commit().await?;
        Ok((changes, taken_over))
    }

    /// Makes `version` live, or by default the version that was live before the present one. Returns the
    /// version, and the former owner if the owner changed.
    pub(super) async fn activate(
        &self,
        id: &str,
        version: Option<&str>,
        by: &str,
    ) -> Result<(String, Option<TakenOver>), ToolkitError> {
        let mut transaction = self.0.begin().await?;
        let live: Option<String> = sqlx::query_scalar("SELECT live_version FROM toolkits WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await?;
        let live = live.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let wanted: Option<String> = match version {
            Some(version) => {
                sqlx::query_scalar(
                    "SELECT version FROM toolkit_versions WHERE toolkit_id = ? AND version = ?",
                )
                .bind(id)
                .bind(version)
                .fetch_optional(&mut *transaction)
                .await?
            }
            None => {
                sqlx::query_scalar(
                    "SELECT version FROM toolkit_activations WHERE toolkit_id = ? AND version <> ?
                     ORDER BY sequence DESC LIMIT 1",
                )
                .bind(id)
                .bind(&live)
                .fetch_optional(&mut *transaction)
                .await?
            }
        };
        let wanted = wanted.ok_or_else(|| {
            ToolkitError::NoSuchVersion(match version {
                Some(version) => format!("{id} has no version {version}"),
                None => format!("{id} has no version other than {live} to go back to"),
            })
        })?;
        let manifest: String =
            sqlx::query_scalar("SELECT manifest FROM toolkit_versions WHERE toolkit_id = ? AND version = ?")
                .bind(id)
                .bind(&wanted)
                .fetch_one(&mut *transaction)
                .await?;
        let visibility = ownership::visibility(&manifest);
        let taken_over = ownership.admit_version(&mut transaction, by, visibility, Claim::OwnOnly).await?;
        sqlx::query("UPDATE toolkits SET live_version = ? WHERE id = ?")
            .bind(&wanted)
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        record_activation(&mut transaction, id, &wanted, by).await?;
        transaction.commit().await?;
        Ok((wanted, taken_over))
    }

    /// Removes a toolkit and everything that belongs to it, except the history of its ownership.
    pub(super) async fn remove(&self, id: &str, by: &str) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin().await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        ownership.admit_removal(&mut transaction, by).await?;
        sqlx::query("DELETE FROM toolkits WHERE id = ?").bind(id).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// One toolkit with all its versions.
    pub(super) async fn toolkit(&self, id: &str) -> Result<ToolkitRecord, ToolkitError> {
        #[derive(FromRow)]
        struct Row {
            owner: String,
            live_version: String,
            version: String,
            digest: String,
            size: i64,
            manifest: String,
            changes: String,
            deployed_by: String,
            deployed_at: i64,
        }
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT t.owner, t.live_version, v.version, v.digest, v.size, v.manifest, v.changes,
                    v.deployed_by, v.deployed_at
             FROM toolkits t JOIN toolkit_versions v ON v.toolkit_id = t.id
             WHERE t.id = ? ORDER BY v.deployed_at DESC, v.rowid DESC",
        )
        .bind(id)
        .fetch_all(self.0.readers())
        .await?;

        let live = rows.iter().find(|row| row.version == row.live_version);
        let live = live.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let (owner, live_version, manifest) =
            (live.owner.clone(), live.live_version.clone(), from_json(&live.manifest)?);
        let versions = rows
            .into_iter()
            .map(|row| {
                Ok(VersionRecord {
                    version: row.version,
                    digest: row.digest,
                    size: row.size,
                    deployed_by: row.deployed_by,
                    deployed_at: Timestamp::from_millisecond(row.deployed_at).unwrap_or_default().to_string(),
                    changes: from_json(&row.changes)?,
                })
            })
            .collect::<Result<_, ToolkitError>>()?;
        let ownership = self.ownership(id).await?;
        let released = ownership.first().is_some_and(OwnershipRecord::is_release);
        Ok(ToolkitRecord { id: id.to_owned(), owner, released, ownership, live_version, manifest, versions })
    }
}

impl From<sqlx::Error> for ToolkitError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

/// The capabilities that a declaration grants, one line each.
pub fn capabilities(definition: &ToolkitDefinition) -> Vec<String> {
    let lines = |kind: &str, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{kind} {name}")).collect()
    };
    [
        lines("egress", &definition.egress),
        lines("secret", &definition.secrets),
        lines("scope", &definition.scopes),
        definition.auth.iter().map(|auth| format!("sign-in at {}", auth.api_host)).collect(),
    ]
    .concat()
}

fn changes(before: Option<&ToolkitDefinition>, after: &ToolkitDefinition) -> Changes {
    let before: BTreeSet<_> = before.map(capabilities).unwrap_or_default().into_iter().collect();
    let after: BTreeSet<_> = capabilities(after).into_iter().collect();
    Changes {
        added: after.difference(&before).cloned().collect(),
        removed: before.difference(&after).cloned().collect(),
    }
}

async fn live_definition(
    transaction: &mut SqliteConnection,
    id: &str,
) -> Result<Option<ToolkitDefinition>, ToolkitError> {
    let manifest: Option<String> = sqlx::query_scalar(
        "SELECT v.manifest FROM toolkits t
         JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version WHERE t.id = ?",
    )
    .bind(id)
    .fetch_optional(transaction)
    .await?;
    manifest.as_deref().map(from_json).transpose()
}

async fn record_activation(
    transaction: &mut SqliteConnection,
    id: &str,
    version: &str,
    by: &str,
) -> Result<(), ToolkitError> {
    sqlx::query(
        "INSERT INTO toolkit_activations (toolkit_id, version, activated_by, activated_at) VALUES (?, ?, ?, ?)",
    )
    .bind(id)
    .bind(version)
    .bind(by)
    .bind(Timestamp::now().as_millisecond())
    .execute(transaction)
    .await?;
    Ok(())
}

fn to_json(value: &impl Serialize) -> Result<String, ToolkitError> {
    serde_json::to_string(value).map_err(|error| ToolkitError::Storage(error.to_string()))
}

fn from_json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, ToolkitError> {
    serde_json::from_str(text).map_err(|error| ToolkitError::Storage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_capability_shows_as_a_change() {
        let before = ToolkitDefinition { egress: vec!["a.example".into()], ..ToolkitDefinition::default() };
        let after = ToolkitDefinition { secrets: vec!["KEY".into()], ..ToolkitDefinition::default() };

        let found = changes(Some(&before), &after);

        assert_eq!(
            found,
            Changes { added: vec!["secret KEY".into()], removed: vec!["egress a.example".into()] }
        );
    }
}
