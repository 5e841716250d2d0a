//! All SQL about uploads that wait for review. Times are in milliseconds since 1970.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, refuse_ended, sql};
use kitbag_files::objects::{FileLease, change_references};
use kitbag_files::stored_files::FileKind;
use kitbag_manifest::{Problem, ToolkitDefinition, ValidDefinition};

use super::conditions::{live_version, refuse_taken_version};
use super::json::{from_json, to_json};
use super::ownership::{CurrentOwnership, visibility};
use super::publishers::{self, ProvenanceRow};
use super::versions::{self, Version, manifest_digest};
use crate::error::ToolkitError;
use crate::provenance::{Provenance, SignatureRule};

/// Time that an upload waits before it expires.
pub(crate) const LIFETIME: Duration = Duration::from_hours(24);
/// Maximum number of waiting uploads.
const MAX_UPLOADS: usize = 8;
/// Maximum number of waiting uploads that the server itself has pulled: the other slots are for people.
const MAX_PULLED: usize = 4;

/// An upload that has passed all checks.
pub(crate) struct NewUpload<'a> {
    pub(crate) definition: &'a ValidDefinition,
    pub(crate) imports: &'a [String],
    pub(crate) digest: &'a str,
    pub(crate) size: u64,
    pub(crate) file: &'a FileLease,
    pub(crate) by: &'a Actor,
    pub(crate) provenance: &'a Provenance,
    pub(crate) rule: SignatureRule,
}

/// A waiting upload.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct UploadRow {
    pub(crate) digest: String,
    pub(crate) toolkit_id: String,
    pub(crate) version: String,
    pub(crate) size: i64,
    manifest: String,
    imports: String,
    pub(crate) uploaded_by: String,
    pub(crate) uploaded_at: i64,
    #[sqlx(flatten)]
    provenance: ProvenanceRow,
}

/// A waiting upload and the state that it would replace, read at the same moment.
pub(crate) struct Compared {
    pub(crate) upload: UploadRow,
    pub(crate) live: Option<Version>,
    /// The toolkit's owner, or its owner when it was removed.
    pub(crate) owner: Option<String>,
    /// Whether the owner has released the toolkit.
    pub(crate) released: bool,
    /// Whether only the owner may deploy the upload.
    pub(crate) needs_owner: bool,
}

impl UploadRow {
    pub(crate) fn definition(&self) -> Result<ToolkitDefinition, ToolkitError> {
        from_json(&self.manifest)
    }

    pub(crate) fn provenance(&self) -> Provenance {
        self.provenance.clone().into()
    }

    /// Returns the SHA-256 of what is reviewed, hexadecimal: the declaration and, unless it is a plain file
    /// without a signature, the source and the signer of the component.
    pub(crate) fn manifest_digest(&self) -> String {
        let provenance = self.provenance();
        if provenance == Provenance::default() {
            return manifest_digest(&self.manifest);
        }
        let key = provenance.signed_by.as_ref().map_or("", |by| &by.key);
        manifest_digest(&format!("{}\n{}\n{key}", self.manifest, provenance.told()))
    }

    pub(crate) fn imports(&self) -> Result<Vec<String>, ToolkitError> {
        from_json(&self.imports)
    }
}

/// Uploads that wait for review.
#[derive(Clone, Debug)]
pub(crate) struct UploadStore(Database);

impl UploadStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Stores an upload, unless the maximum number waits. If the same upload waits already, its waiting time
    /// starts anew and its provenance remains, also if the server has pulled it and a person uploads it from
    /// the same place, or the reverse.
    pub(crate) async fn keep(&self, new: NewUpload<'_>) -> Result<(), ToolkitError> {
        let NewUpload { definition, imports, digest, size, file, by, provenance, rule } = new;
        let manifest = to_json(&**definition)?;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        refuse_taken_version(&mut transaction, definition, digest, &manifest).await?;
        let mut provenance =
            publishers::admit_version(&mut transaction, &definition.id, provenance, rule).await?;
        let waiting: Vec<UploadRow> = sql("SELECT * FROM toolkit_uploads WHERE uploaded_at > $1")
            .bind(oldest())
            .fetch_all(&mut transaction)
            .await?;
        match waiting.iter().find(|waiting| waiting.digest == digest) {
            // The waiting upload may be under review: what is reviewed must be what is deployed.
            Some(waiting) if waiting.manifest != manifest => return Err(described_differently()),
            Some(waiting) if !waiting.provenance().is_same(&provenance) => {
                return Err(came_from_elsewhere(waiting));
            }
            Some(waiting) => provenance = waiting.provenance(),
            None => admit(waiting.iter().map(UploadRow::provenance), provenance.source.is_pulled())?,
        }
        let row = ProvenanceRow::from(&provenance);
        let ([source, source_digest, publisher, publisher_key], source_pulled) = row.columns();
        sql("INSERT INTO toolkit_uploads
                 (digest, toolkit_id, version, size, manifest, imports, uploaded_by, uploaded_at,
                  source, source_digest, source_pulled, publisher, publisher_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (digest) DO UPDATE
             SET toolkit_id = excluded.toolkit_id, version = excluded.version, size = excluded.size,
                 manifest = excluded.manifest, imports = excluded.imports,
                 uploaded_by = excluded.uploaded_by, uploaded_at = excluded.uploaded_at,
                 source = excluded.source, source_digest = excluded.source_digest,
                 source_pulled = excluded.source_pulled,
                 publisher = excluded.publisher, publisher_key = excluded.publisher_key")
        .bind(digest)
        .bind(&definition.id)
        .bind(&definition.version)
        .bind(i64::try_from(size).unwrap_or(i64::MAX))
        .bind(&manifest)
        .bind(to_json(&imports)?)
        .bind(by.user())
        .bind(Timestamp::now().as_millisecond())
        .bind(source)
        .bind(source_digest)
        .bind(source_pulled)
        .bind(publisher)
        .bind(publisher_key)
        .execute(&mut transaction)
        .await?;
        if !change_references(&mut transaction, FileKind::Component, Some(file), &[]).await? {
            return Err(ToolkitError::ComponentDropped);
        }
        let uploaded = Entry::new(Act::ToolkitUploaded, by);
        let uploaded = uploaded.toolkit(definition.id.as_str()).version(&definition.version).digest(digest);
        audit::append(&mut transaction, &uploaded.name(&provenance.told())).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Fails if the maximum number of other uploads waits.
    pub(crate) async fn has_place(&self, digest: &str) -> Result<(), ToolkitError> {
        let others: i64 = sql("SELECT count(*) FROM toolkit_uploads WHERE digest <> $1 AND uploaded_at > $2")
            .bind(digest)
            .bind(oldest())
            .fetch_value(self.0.readers())
            .await?;
        if others < i64::try_from(MAX_UPLOADS).unwrap_or(i64::MAX) {
            Ok(())
        } else {
            Err(ToolkitError::TooManyUploads)
        }
    }

    /// Fails if the maximum number of uploads waits, in total or of those that the server has pulled.
    pub(crate) async fn has_place_for_newer(&self) -> Result<(), ToolkitError> {
        admit(self.all().await?.iter().map(UploadRow::provenance), true)
    }

    /// Returns the waiting uploads, newest first.
    pub(crate) async fn all(&self) -> kitbag_database::Result<Vec<UploadRow>> {
        sql("SELECT * FROM toolkit_uploads WHERE uploaded_at > $1 ORDER BY uploaded_at DESC")
            .bind(oldest())
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns a waiting upload.
    pub(crate) async fn get(&self, digest: &str) -> Result<UploadRow, ToolkitError> {
        Ok(self.compared(digest).await?.upload)
    }

    /// Returns a waiting upload, with the state that it would replace.
    pub(crate) async fn compared(&self, digest: &str) -> Result<Compared, ToolkitError> {
        let mut snapshot = self.0.snapshot().await?;
        let upload: Option<UploadRow> =
            sql("SELECT * FROM toolkit_uploads WHERE digest = $1 AND uploaded_at > $2")
                .bind(digest)
                .bind(oldest())
                .fetch_optional(&mut snapshot)
                .await?;
        let upload = upload.ok_or_else(|| ToolkitError::UnknownUpload(digest.to_owned()))?;
        let id = &upload.toolkit_id;
        let live = match live_version(&mut snapshot, id).await? {
            Some(live) => versions::read(&mut snapshot, id, &live.version).await?,
            None => None,
        };
        let ownership = CurrentOwnership::of_any(&mut snapshot, id).await?;
        let released = ownership.as_ref().is_some_and(CurrentOwnership::is_released);
        let visibility = visibility(&upload.manifest);
        let needs_owner = ownership.as_ref().is_some_and(|ownership| ownership.needs_owner(visibility));
        let owner = ownership.map(|ownership| ownership.owner().to_owned());
        Ok(Compared { upload, live, owner, released, needs_owner })
    }

    /// Removes a waiting upload.
    pub(crate) async fn discard(&self, digest: &str, by: &Actor) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let discarded: Option<(String, String, Option<String>)> =
            sql("DELETE FROM toolkit_uploads WHERE digest = $1 RETURNING toolkit_id, version, source_digest")
                .bind(digest)
                .fetch_optional(&mut transaction)
                .await?;
        let (id, version, source_digest) =
            discarded.ok_or_else(|| ToolkitError::UnknownUpload(digest.to_owned()))?;
        change_references(&mut transaction, FileKind::Component, None, &[digest.to_owned()]).await?;
        // The server must not pull it again, even if it was not pulled yet or its pull has not ended.
        sql("UPDATE registry_questions SET discarded = TRUE
             WHERE toolkit_id = $1 AND (component = $2 OR newer_digest = $3)")
        .bind(&id)
        .bind(digest)
        .bind(source_digest)
        .execute(&mut transaction)
        .await?;
        let discarded = Entry::new(Act::ToolkitUploadDiscarded, by);
        let discarded = discarded.toolkit(id.as_str()).version(&version).digest(digest);
        audit::append(&mut transaction, &discarded).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Removes uploads that have waited for longer than [`LIFETIME`]. Returns their digests.
    pub(crate) async fn remove_expired(&self) -> Result<Vec<String>, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let removed = sql("DELETE FROM toolkit_uploads WHERE uploaded_at <= $1 RETURNING digest")
            .bind(oldest())
            .fetch_values(&mut transaction)
            .await?;
        change_references(&mut transaction, FileKind::Component, None, &removed).await?;
        transaction.commit().await?;
        Ok(removed)
    }
}

/// Removes an upload that is no longer needed. Returns the number of removed uploads.
pub(super) async fn remove(transaction: &mut Transaction, digest: &str) -> kitbag_database::Result<u64> {
    sql("DELETE FROM toolkit_uploads WHERE digest = $1").bind(digest).execute(transaction).await
}

/// Returns the time before which uploads have expired.
pub(super) fn oldest() -> i64 {
    before(LIFETIME)
}

/// Returns the time this long ago.
pub(super) fn before(time: Duration) -> i64 {
    let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millisecond().saturating_sub(time)
}

/// Fails if there is no slot for one more upload beside the waiting ones.
fn admit(waiting: impl Iterator<Item = Provenance>, is_pulled: bool) -> Result<(), ToolkitError> {
    let waiting: Vec<_> = waiting.collect();
    let pulled = waiting.iter().filter(|it| it.source.is_pulled()).count();
    if waiting.len() >= MAX_UPLOADS || (is_pulled && pulled >= MAX_PULLED) {
        Err(ToolkitError::TooManyUploads)
    } else {
        Ok(())
    }
}

fn came_from_elsewhere(waiting: &UploadRow) -> ToolkitError {
    let message = format!(
        "this component waits already, with another source or signature ({}); discard it first",
        waiting.provenance()
    );
    vec![Problem { path: "source".to_owned(), message }].into()
}

fn described_differently() -> ToolkitError {
    let message = "this component waits already, and has described itself differently; discard it first";
    vec![Problem { path: "describe".to_owned(), message: message.to_owned() }].into()
}
