//! Earlier texts of documents: of each the latest ten, for 90 days. They count towards the quota of the holder.

use kitbag_database::{AssertSqlSafe, FromRow, Holder, Scope, Transaction, list, refuse_ended, sql};

use super::documents::BODY;
use super::jobs::Kind;
use super::usage::usage;
use super::{Store, holders_list, now};
use crate::KnowledgeError;
use crate::document::{USER_SOURCE, Version};
use crate::ingest::content_digest;

/// Largest number of earlier texts of a document.
const MAX_VERSIONS: i64 = 10;
/// Time after which an earlier text is removed, in milliseconds.
const MAX_AGE: i64 = 90 * DAY;
const DAY: i64 = 24 * 60 * 60 * 1000;

#[derive(FromRow)]
struct VersionRow {
    number: i64,
    title: String,
    changed_at: i64,
    replaced_at: i64,
    changed_by: String,
    characters: i64,
}

impl From<VersionRow> for Version {
    fn from(row: VersionRow) -> Self {
        Self {
            number: u32::try_from(row.number).unwrap_or(u32::MAX),
            title: row.title,
            changed_at: row.changed_at,
            replaced_at: row.replaced_at,
            changed_by: row.changed_by,
            characters: u64::try_from(row.characters).unwrap_or_default(),
        }
    }
}

impl Store {
    /// Earlier texts of one document of these holders, newest first.
    pub(crate) async fn versions(
        &self,
        holders: &[Holder],
        id: &str,
    ) -> kitbag_database::Result<Vec<Version>> {
        let rows: Vec<VersionRow> =
            sql("SELECT v.number, v.title, v.changed_at, v.replaced_at, v.changed_by,
                 CAST(length(v.text) AS BIGINT) AS characters
             FROM documents d JOIN document_versions v ON v.document = d.sequence
             WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.id = $2 ORDER BY v.number DESC")
            .bind(holders_list(holders))
            .bind(id)
            .fetch_all(self.0.readers())
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// An earlier text of one document of these holders with at most `count` characters from `offset` on.
    pub(crate) async fn version_part(
        &self,
        holders: &[Holder],
        id: &str,
        number: u32,
        offset: u32,
        count: u32,
    ) -> kitbag_database::Result<Option<(Version, String)>> {
        #[derive(FromRow)]
        struct Row {
            #[sqlx(flatten)]
            version: VersionRow,
            part: String,
        }

        let row: Option<Row> = sql("SELECT v.number, v.title, v.changed_at, v.replaced_at, v.changed_by,
                 CAST(length(v.text) AS BIGINT) AS characters,
                 substr(v.text, CAST($4 AS INTEGER), CAST($5 AS INTEGER)) AS part
             FROM documents d JOIN document_versions v ON v.document = d.sequence
             WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.id = $2 AND v.number = $3")
        .bind(holders_list(holders))
        .bind(id)
        .bind(number)
        // SQL numbers characters from 1.
        .bind(i64::from(offset) + 1)
        .bind(i64::from(count))
        .fetch_optional(self.0.readers())
        .await?;
        Ok(row.map(|row| (row.version.into(), row.part)))
    }

    /// Makes an earlier text the text of a document again; the present one becomes an earlier one. Returns whether there
    /// is such a version.
    pub(crate) async fn restore_version(
        &self,
        holder: &Holder,
        id: &str,
        number: u32,
        by: &str,
    ) -> Result<bool, KnowledgeError> {
        let now = now();
        let mut transaction = self.0.begin(Scope::Holders(&[holder])).await?;
        refuse_ended(&mut transaction, by).await?;
        let before = usage(&mut transaction, holder).await?;
        let found: Option<(i64, String, String)> = sql("SELECT d.sequence, v.title, v.text
             FROM documents d JOIN document_versions v ON v.document = d.sequence
             WHERE d.holder = $1 AND d.id = $2 AND v.number = $3")
        .bind(holder)
        .bind(id)
        .bind(number)
        .fetch_optional(&mut transaction)
        .await?;
        let Some((sequence, title, text)) = found else { return Ok(false) };
        keep(&mut transaction, sequence, now).await?;
        let digest = content_digest(&title, &text);
        sql("UPDATE documents SET title = $2, title_origin = 'given', text = $3, captured = NULL, digest = $4,
                 changed_by = $5, updated_at = $6, revision = revision + 1, state = 'pending', failed_job = NULL,
                 reason = NULL, lacking = NULL
             WHERE sequence = $1")
        .bind(sequence)
        .bind(title)
        .bind(text)
        .bind(digest.as_slice())
        .bind(by)
        .bind(now)
        .execute(&mut transaction)
        .await?;
        sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (document) DO UPDATE
             SET kind = excluded.kind, tries = 0, run_at = excluded.run_at, taken_by = NULL")
        .bind(sequence)
        .bind(holder)
        .bind(Kind::Index.as_str())
        .bind(now)
        .execute(&mut transaction)
        .await?;
        self.check_quota(&mut transaction, holder, before).await??;
        transaction.commit().await?;
        Ok(true)
    }

    /// Removes earlier texts that are older than 90 days.
    pub(crate) async fn remove_old_versions(&self) -> kitbag_database::Result<()> {
        let documents: Vec<i64> =
            sql("SELECT DISTINCT document FROM document_versions WHERE replaced_at < $1")
                .bind(now() - MAX_AGE)
                .fetch_values(self.0.readers())
                .await?;
        for some in documents.chunks(500) {
            let mut transaction = self.0.begin(Scope::AllHolders).await?;
            let some = list(some);
            sql("DELETE FROM document_versions WHERE replaced_at < $1
                 AND document IN (SELECT CAST(value AS BIGINT) FROM json_each($2))")
            .bind(now() - MAX_AGE)
            .bind(&some)
            .execute(&mut transaction)
            .await?;
            count_bytes(&mut transaction, &some).await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}

/// Keeps the present text of a document, which is about to change, unless there is none. A source that changes a
/// document several times a day leaves its last text of the day.
pub(super) async fn keep(
    transaction: &mut Transaction,
    document: i64,
    now: i64,
) -> kitbag_database::Result<()> {
    let today = now - now.rem_euclid(DAY);
    let statement = format!(
        "INSERT INTO document_versions (document, number, title, changed_at, replaced_at, changed_by, text)
         SELECT d.sequence, d.version, d.title, d.updated_at, $2, d.changed_by, {BODY}
         FROM documents d
         WHERE d.sequence = $1 AND {BODY} <> '' AND (d.source = $3 OR d.updated_at < $4)"
    );
    sql(AssertSqlSafe(statement))
        .bind(document)
        .bind(now)
        .bind(USER_SOURCE)
        .bind(today)
        .execute(&mut *transaction)
        .await?;
    sql("UPDATE documents SET version = version + 1 WHERE sequence = $1")
        .bind(document)
        .execute(&mut *transaction)
        .await?;
    sql("DELETE FROM document_versions WHERE document = $1 AND (replaced_at < $2 OR number <= (
             SELECT MAX(v.number) FROM document_versions v WHERE v.document = $1) - $3)")
    .bind(document)
    .bind(now - MAX_AGE)
    .bind(MAX_VERSIONS)
    .execute(&mut *transaction)
    .await?;
    count_bytes(transaction, &list(&[document])).await
}

/// Counts what the earlier texts of documents take.
async fn count_bytes(transaction: &mut Transaction, documents: &str) -> kitbag_database::Result<()> {
    sql("UPDATE documents SET version_bytes = COALESCE((
             SELECT CAST(SUM(octet_length(v.title) + octet_length(v.text)) AS BIGINT)
             FROM document_versions v WHERE v.document = documents.sequence), 0)
         WHERE sequence IN (SELECT CAST(value AS BIGINT) FROM json_each($1))")
    .bind(documents)
    .execute(transaction)
    .await?;
    Ok(())
}
