//! All SQL about publishers, the toolkits that are bound to one, and the provenance of versions.

use std::collections::HashSet;

use jiff::Timestamp;
use kitbag_base::signatures::PublicKey;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, refuse_ended, sql};

use super::ownership::CurrentOwnership;
use crate::error::ToolkitError;
use crate::provenance::{
    Provenance, Publisher, SignatureRule, SignedBy, Source, admit, admit_name, looks_like,
};

/// Maximum number of publishers: a signature is verified with the key of each.
const MAX_PUBLISHERS: usize = 100;

/// Database columns of a provenance. The text columns are null for a file that was uploaded without a
/// signature.
#[derive(Clone, Debug, FromRow)]
pub(super) struct ProvenanceRow {
    source: Option<String>,
    source_digest: Option<String>,
    source_pulled: Option<bool>,
    publisher: Option<String>,
    publisher_key: Option<String>,
}

impl From<ProvenanceRow> for Provenance {
    fn from(row: ProvenanceRow) -> Self {
        let source = match (row.source, row.source_digest) {
            (Some(reference), Some(digest)) => {
                Source::Registry { reference, digest, pulled: row.source_pulled.unwrap_or_default() }
            }
            _ => Source::Upload,
        };
        let signed_by = row.publisher.zip(row.publisher_key);
        Self {
            source,
            signed_by: signed_by.map(|(publisher, key)| SignedBy { publisher, key, removed: false }),
        }
    }
}

impl From<&Provenance> for ProvenanceRow {
    fn from(provenance: &Provenance) -> Self {
        let (source, source_digest, source_pulled) = match provenance.source.clone() {
            Source::Upload => (None, None, None),
            Source::Registry { reference, digest, pulled } => (Some(reference), Some(digest), Some(pulled)),
        };
        let (publisher, publisher_key) =
            provenance.signed_by.clone().map(|by| (by.publisher, by.key)).unzip();
        Self { source, source_digest, source_pulled, publisher, publisher_key }
    }
}

impl ProvenanceRow {
    /// Returns the values of the text columns, in their order, and of `source_pulled`.
    pub(super) fn columns(&self) -> ([&Option<String>; 4], bool) {
        let source_pulled = self.source_pulled.unwrap_or_default();
        ([&self.source, &self.source_digest, &self.publisher, &self.publisher_key], source_pulled)
    }
}

/// Checks whether a version of this provenance may become live. Returns the provenance, with the current name
/// of the publisher.
pub(super) async fn admit_version(
    transaction: &mut Transaction,
    id: &str,
    provenance: &Provenance,
    rule: SignatureRule,
) -> Result<Provenance, ToolkitError> {
    let mut provenance = provenance.clone();
    if let Some(signed_by) = &mut provenance.signed_by {
        let name: Option<String> = sql("SELECT name FROM publishers WHERE fingerprint = $1")
            .bind(&signed_by.key)
            .fetch_optional_value(&mut *transaction)
            .await?;
        signed_by.publisher = name.ok_or_else(|| ToolkitError::PublisherRemoved {
            id: id.to_owned(),
            publisher: signed_by.publisher.clone(),
        })?;
    }
    let bound = bound_to(transaction, id).await?;
    admit(id, rule, bound.as_ref(), provenance.signed_by.as_ref())?;
    Ok(provenance)
}

/// Records the provenance of an admitted version that is new, and binds the toolkit to the publisher who
/// signed it.
pub(super) async fn record(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    provenance: &Provenance,
) -> Result<(), ToolkitError> {
    bind(transaction, id, provenance).await?;
    replace(transaction, id, version, provenance).await
}

/// Same as [`record`], for a version that is deployed again: its source is that of the latest deploy. A
/// recorded signature is kept, and so is that the server itself has pulled the version from the same place.
pub(super) async fn record_again(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    provenance: &Provenance,
) -> Result<(), ToolkitError> {
    bind(transaction, id, provenance).await?;
    let recorded = of_version(transaction, id, version).await?;
    let signed_by = recorded.signed_by.or_else(|| provenance.signed_by.clone());
    let is_pulled = recorded.source.is_pulled() && recorded.source.is_same(&provenance.source);
    let source = if is_pulled { recorded.source } else { provenance.source.clone() };
    replace(transaction, id, version, &Provenance { source, signed_by }).await
}

/// Replaces the recorded provenance of a version.
async fn replace(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    provenance: &Provenance,
) -> Result<(), ToolkitError> {
    sql("DELETE FROM toolkit_provenance WHERE toolkit_id = $1 AND version = $2")
        .bind(id)
        .bind(version)
        .execute(&mut *transaction)
        .await?;
    let row = ProvenanceRow::from(provenance);
    let ([source, source_digest, publisher, publisher_key], source_pulled) = row.columns();
    if source.is_some() || publisher.is_some() {
        sql("INSERT INTO toolkit_provenance
                 (toolkit_id, version, source, source_digest, source_pulled, publisher, publisher_key)
             VALUES ($1, $2, $3, $4, $5, $6, $7)")
        .bind(id)
        .bind(version)
        .bind(source)
        .bind(source_digest)
        .bind(source_pulled)
        .bind(publisher)
        .bind(publisher_key)
        .execute(&mut *transaction)
        .await?;
    }
    Ok(())
}

/// Binds a toolkit to the publisher who signed the version that becomes live.
pub(super) async fn bind(
    transaction: &mut Transaction,
    id: &str,
    provenance: &Provenance,
) -> Result<(), ToolkitError> {
    if let Some(SignedBy { publisher, key, .. }) = &provenance.signed_by {
        sql("INSERT INTO toolkit_publishers (toolkit_id, publisher, publisher_key) VALUES ($1, $2, $3)
             ON CONFLICT (toolkit_id) DO UPDATE SET publisher = excluded.publisher")
        .bind(id)
        .bind(publisher)
        .bind(key)
        .execute(transaction)
        .await?;
    }
    Ok(())
}

/// Returns the provenance of a version.
pub(super) async fn of_version(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
) -> kitbag_database::Result<Provenance> {
    let row: Option<ProvenanceRow> =
        sql("SELECT source, source_digest, source_pulled, publisher, publisher_key FROM toolkit_provenance
             WHERE toolkit_id = $1 AND version = $2")
        .bind(id)
        .bind(version)
        .fetch_optional(transaction)
        .await?;
    Ok(row.map(Provenance::from).unwrap_or_default())
}

/// Returns the publisher that a toolkit is bound to, if any.
pub(super) async fn bound_to(
    transaction: &mut Transaction,
    id: &str,
) -> kitbag_database::Result<Option<SignedBy>> {
    let row: Option<(String, String)> =
        sql("SELECT publisher, publisher_key FROM toolkit_publishers WHERE toolkit_id = $1")
            .bind(id)
            .fetch_optional(transaction)
            .await?;
    Ok(row.map(|(publisher, key)| SignedBy { publisher, key, removed: false }))
}

/// The publishers whose signatures this server accepts, and the toolkits that are bound to one.
#[derive(Clone, Debug)]
pub struct Publishers(Database);

impl Publishers {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the SHA-256 of the keys of all publishers, hexadecimal.
    pub(crate) async fn known_keys(&self) -> kitbag_database::Result<HashSet<String>> {
        let known = sql("SELECT fingerprint FROM publishers").fetch_values(self.0.readers()).await?;
        Ok(known.into_iter().collect())
    }

    /// Returns the names of all publishers, with their keys in DER.
    pub(crate) async fn keys(&self) -> kitbag_database::Result<Vec<(String, Vec<u8>)>> {
        sql("SELECT name, public_key FROM publishers ORDER BY name").fetch_all(self.0.readers()).await
    }

    /// Returns all publishers, by name.
    pub async fn all(&self) -> Result<Vec<Publisher>, ToolkitError> {
        let rows: Vec<(String, String, String, i64)> =
            sql("SELECT name, fingerprint, added_by, added_at FROM publishers ORDER BY name")
                .fetch_all(self.0.readers())
                .await?;
        let publisher =
            |(name, key, added_by, added_at)| Publisher { name, key, added_by, added_at: shown(added_at) };
        Ok(rows.into_iter().map(publisher).collect())
    }

    /// Adds a publisher, unless the name or the key is already in use.
    pub async fn add(&self, name: &str, key: &PublicKey, by: &Actor) -> Result<Publisher, ToolkitError> {
        admit_name(name)?;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let fingerprint = key.fingerprint();
        let known: Vec<(String, String)> =
            sql("SELECT name, fingerprint FROM publishers ORDER BY name").fetch_all(&mut transaction).await?;
        if let Some((known, _)) = known.iter().find(|(known, _)| looks_like(known, name)) {
            return Err(ToolkitError::PublisherTaken(known.clone()));
        }
        if let Some((known, _)) = known.iter().find(|(_, known)| *known == fingerprint) {
            return Err(ToolkitError::PublisherKeyTaken(known.clone()));
        }
        if known.len() >= MAX_PUBLISHERS {
            return Err(ToolkitError::TooManyPublishers);
        }
        let now = Timestamp::now().as_millisecond();
        sql("INSERT INTO publishers (name, public_key, fingerprint, added_by, added_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(name)
            .bind(key.der())
            .bind(&fingerprint)
            .bind(by.user())
            .bind(now)
            .execute(&mut transaction)
            .await?;
        record_act(&mut transaction, Act::PublisherAdded, None, by, name, &fingerprint).await?;
        transaction.commit().await?;
        let name = name.to_owned();
        let added_by = by.user().to_owned();
        Ok(Publisher { name, key: fingerprint, added_by, added_at: shown(now) })
    }

    /// Removes a publisher: no version that it has signed can become live any more. Toolkits stay bound to it.
    pub async fn remove(&self, name: &str, by: &Actor) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let removed: Option<String> = sql("DELETE FROM publishers WHERE name = $1 RETURNING fingerprint")
            .bind(name)
            .fetch_optional_value(&mut transaction)
            .await?;
        let key = removed.ok_or_else(|| ToolkitError::UnknownPublisher(name.to_owned()))?;
        record_act(&mut transaction, Act::PublisherRemoved, None, by, name, &key).await?;
        Ok(transaction.commit().await?)
    }

    /// Unbinds a toolkit, also a removed one, from its publisher: the next version may be signed by another
    /// one, or by none. Returns the former publisher.
    pub async fn reset(&self, id: &str, by: &Actor) -> Result<SignedBy, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let ownership = CurrentOwnership::of_any(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        ownership.admit_management(by.user())?;
        let bound = bound_to(&mut transaction, id).await?;
        let bound = bound.ok_or_else(|| ToolkitError::NotBound(id.to_owned()))?;
        sql("DELETE FROM toolkit_publishers WHERE toolkit_id = $1")
            .bind(id)
            .execute(&mut transaction)
            .await?;
        let SignedBy { publisher, key, .. } = &bound;
        record_act(&mut transaction, Act::ToolkitPublisherReset, Some(id), by, publisher, key).await?;
        transaction.commit().await?;
        Ok(bound)
    }
}

/// Appends an act about a publisher to the audit log, with the publisher's name and key.
async fn record_act(
    transaction: &mut Transaction,
    act: Act,
    toolkit: Option<&str>,
    by: &Actor,
    publisher: &str,
    key: &str,
) -> Result<(), ToolkitError> {
    let name = format!("{publisher} {key}");
    audit::append(transaction, &Entry::new(act, by).toolkit(toolkit).name(&name)).await?;
    Ok(())
}

fn shown(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}
