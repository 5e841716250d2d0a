//! All SQL that reads deployed versions.

use std::collections::HashMap;

use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_database::{Database, FromRow, Transaction, sql};
use kitbag_manifest::ToolkitDefinition;
use serde::Serialize;

use super::json::from_json;
use super::ownership::OwnershipRecord;
use super::publishers::{ProvenanceRow, Publishers};
use super::{icons, ownership, publishers};
use crate::difference::{Changes, Side};
use crate::error::ToolkitError;
use crate::icons::Picture;
use crate::provenance::{Provenance, SignedBy};
use crate::vouch::Vouch;

/// A toolkit with its versions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolkitRecord {
    /// Id of the toolkit.
    pub id: String,
    /// The operator who deployed the first version under the id, or took the toolkit over last.
    pub owner: String,
    /// Whether the owner has released the toolkit for any operator.
    pub released: bool,
    /// History of the toolkit's ownership, newest first.
    pub ownership: Vec<OwnershipRecord>,
    /// The live version.
    pub live_version: String,
    /// The only publisher who may sign further versions, if one version was signed.
    pub publisher: Option<SignedBy>,
    /// The operator who vouches for the live version, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Vouch>,
    /// Number of users whose calls wait for their consent; for operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_consents: Option<u64>,
    /// The manifest of the live version.
    pub manifest: serde_json::Value,
    /// All versions, newest deploy first.
    pub versions: Vec<VersionRecord>,
}

impl ToolkitRecord {
    /// Returns the record for a user who may see only the tools of `definition`.
    #[must_use]
    pub fn narrowed_to(self, definition: &ToolkitDefinition) -> Self {
        Self { manifest: serde_json::to_value(definition).unwrap_or_default(), ..self }
    }
}

/// One deployed version.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionRecord {
    /// Semantic version.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
    /// Size of the component in bytes.
    pub size: i64,
    /// The deploying user.
    pub deployed_by: String,
    /// Time of the deploy: RFC 3339, UTC.
    pub deployed_at: String,
    /// Changes of the capabilities since the previous live version.
    pub changes: Changes,
    /// Source and signer of the version.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A deployed version with its declaration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// Time and author of the deploy, and further metadata.
    #[serde(flatten)]
    pub record: VersionRecord,
    /// The declaration.
    pub manifest: ToolkitDefinition,
    /// SHA-256 of the declaration, hexadecimal, which a rollback can name.
    pub manifest_digest: String,
    /// Imported interfaces, without their versions.
    pub imports: Vec<String>,
}

impl<'a> From<&'a Version> for Side<'a> {
    fn from(Version { manifest, imports, .. }: &'a Version) -> Self {
        Self { manifest, imports }
    }
}

#[derive(FromRow)]
struct VersionRow {
    version: String,
    digest: String,
    size: i64,
    changes: String,
    deployed_by: String,
    deployed_at: i64,
    #[sqlx(flatten)]
    provenance: ProvenanceRow,
}

impl TryFrom<VersionRow> for VersionRecord {
    type Error = ToolkitError;

    fn try_from(row: VersionRow) -> Result<Self, ToolkitError> {
        Ok(Self {
            version: row.version,
            digest: row.digest,
            size: row.size,
            deployed_by: row.deployed_by,
            deployed_at: Timestamp::from_millisecond(row.deployed_at).unwrap_or_default().to_string(),
            changes: from_json(&row.changes)?,
            provenance: row.provenance.into(),
        })
    }
}

/// Returns the SHA-256 of a stored declaration, hexadecimal.
pub(super) fn manifest_digest(manifest: &str) -> String {
    hex::encode(Sha256::digest(manifest))
}

/// Deployed versions of toolkits, live and earlier ones.
#[derive(Clone, Debug)]
pub struct Versions(Database);

impl Versions {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the sizes of the live versions' components in bytes, by toolkit id.
    pub async fn component_sizes(&self) -> Result<HashMap<String, u64>, ToolkitError> {
        let sizes: Vec<(String, i64)> = sql("SELECT t.id, v.size FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version")
        .fetch_all(self.0.readers())
        .await?;
        Ok(sizes.into_iter().map(|(id, size)| (id, u64::try_from(size).unwrap_or_default())).collect())
    }

    /// Returns one toolkit with all its versions, newest deploy first.
    pub async fn record(&self, id: &str) -> Result<ToolkitRecord, ToolkitError> {
        #[derive(FromRow)]
        struct Row {
            owner: String,
            /// Manifest of the live version only: there may be many others.
            manifest: Option<String>,
            #[sqlx(flatten)]
            version: VersionRow,
        }
        let rows: Vec<Row> =
            sql("SELECT t.owner, CASE WHEN v.version = t.live_version THEN v.manifest END AS manifest,
                    v.version, v.digest, v.size, v.changes, v.deployed_by, v.deployed_at,
                    p.source, p.source_digest, p.source_pulled, p.publisher, p.publisher_key
             FROM toolkits t JOIN toolkit_versions v ON v.toolkit_id = t.id
             LEFT JOIN toolkit_provenance p ON p.toolkit_id = v.toolkit_id AND p.version = v.version
             WHERE t.id = $1 ORDER BY v.deployed_at DESC, (
                 SELECT min(a.sequence) FROM toolkit_activations a
                 WHERE a.toolkit_id = v.toolkit_id AND a.version = v.version) DESC")
            .bind(id)
            .fetch_all(self.0.readers())
            .await?;

        let live = rows.iter().find_map(|row| Some((row, row.manifest.as_deref()?)));
        let (live, manifest) = live.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let owner = live.owner.clone();
        let live_version = live.version.version.clone();
        let manifest = from_json(manifest)?;
        let mut versions =
            rows.into_iter().map(|row| row.version.try_into()).collect::<Result<Vec<VersionRecord>, _>>()?;
        let ownership = ownership::history(&self.0, id).await?;
        let publisher = publishers::bound_to(&mut self.0.snapshot().await?, id).await?;
        let known = Publishers::new(self.0.clone()).known_keys().await?;
        for version in &mut versions {
            version.provenance.mark_removed(&known);
        }
        let publisher =
            publisher.map(|publisher| SignedBy { removed: !known.contains(&publisher.key), ..publisher });
        let released = ownership.first().is_some_and(OwnershipRecord::is_release);
        Ok(ToolkitRecord {
            id: id.to_owned(),
            owner,
            released,
            ownership,
            live_version,
            publisher,
            vouched: None,
            waiting_consents: None,
            manifest,
            versions,
        })
    }

    /// Returns a version with its declaration.
    pub async fn get(&self, id: &str, version: &str) -> Result<Version, ToolkitError> {
        let found = read(&mut self.0.snapshot().await?, id, version).await?;
        found.ok_or_else(|| ToolkitError::UnknownVersion { id: id.to_owned(), version: version.to_owned() })
    }

    /// Returns the picture of a version, if it has one.
    pub async fn picture(&self, id: &str, version: &str) -> Result<Option<Picture>, ToolkitError> {
        Ok(icons::of_version(&self.0, id, version).await?)
    }

    /// Returns the hosts listed by the version that was live at this time; none if there was no version.
    pub async fn hosts_at(&self, id: &str, time: Timestamp) -> Result<Vec<String>, ToolkitError> {
        let manifest: Option<String> = sql("SELECT v.manifest FROM toolkit_activations a
             JOIN toolkit_versions v ON v.toolkit_id = a.toolkit_id AND v.version = a.version
             WHERE a.toolkit_id = $1 AND a.activated_at <= $2 ORDER BY a.sequence DESC LIMIT 1")
        .bind(id)
        .bind(time.as_millisecond())
        .fetch_optional_value(self.0.readers())
        .await?;
        let definition = manifest.as_deref().map(from_json::<ToolkitDefinition>).transpose()?;
        Ok(definition.map(|definition| definition.egress).unwrap_or_default())
    }
}

/// Returns a version with its declaration, if it exists.
pub(super) async fn read(
    snapshot: &mut Transaction,
    id: &str,
    version: &str,
) -> Result<Option<Version>, ToolkitError> {
    #[derive(FromRow)]
    struct Row {
        manifest: String,
        imports: String,
        #[sqlx(flatten)]
        version: VersionRow,
    }
    let row: Option<Row> = sql(
        "SELECT v.manifest, v.imports, v.version, v.digest, v.size, v.changes, v.deployed_by, v.deployed_at,
                p.source, p.source_digest, p.source_pulled, p.publisher, p.publisher_key
         FROM toolkit_versions v
         LEFT JOIN toolkit_provenance p ON p.toolkit_id = v.toolkit_id AND p.version = v.version
         WHERE v.toolkit_id = $1 AND v.version = $2",
    )
    .bind(id)
    .bind(version)
    .fetch_optional(snapshot)
    .await?;
    let version = |row: Row| {
        Ok(Version {
            record: row.version.try_into()?,
            manifest_digest: manifest_digest(&row.manifest),
            manifest: from_json(&row.manifest)?,
            imports: from_json(&row.imports)?,
        })
    };
    row.map(version).transpose()
}
