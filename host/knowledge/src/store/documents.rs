//! Documents, as their users read and delete them.

use std::collections::HashMap;

use kitbag_database::{AssertSqlSafe, FromRow, Scope, StatementBuilder, list, sql};
use kitbag_files::objects::change_references;
use kitbag_files::stored_files::FileKind;

use super::Store;
use super::rows::{FROM, SUMMARY, SummaryRow};
use crate::document::{Counts, Document, DocumentPart, Listing, Page, StateName, Summary};

/// Largest number of documents per page, whatever the caller requests.
const MAX_PAGE: u32 = 200;

/// Resources of a deleted document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Deleted {
    /// Digest of the document's captured file.
    pub(crate) artifact: Option<String>,
}

#[derive(FromRow)]
struct DocumentRow {
    #[sqlx(flatten)]
    summary: SummaryRow,
    text: String,
    captured: Option<String>,
}

#[derive(FromRow)]
struct PartRow {
    #[sqlx(flatten)]
    summary: SummaryRow,
    part: String,
    characters: i64,
}

#[derive(FromRow)]
struct SequenceRow {
    sequence: i64,
    #[sqlx(flatten)]
    summary: SummaryRow,
}

impl Store {
    /// Returns one document of the user.
    pub(crate) async fn document(
        &self,
        user_id: &str,
        id: &str,
    ) -> kitbag_database::Result<Option<Document>> {
        let statement =
            format!("SELECT {SUMMARY}, d.text, d.captured FROM {FROM} WHERE d.user_id = $1 AND d.id = $2");
        let row: Option<DocumentRow> =
            sql(AssertSqlSafe(statement)).bind(user_id).bind(id).fetch_optional(self.0.readers()).await?;
        Ok(row.map(|row| Document { summary: row.summary.into(), text: body(row.text, row.captured) }))
    }

    /// One document of the user with `count` characters of its text from `offset` on. The rest of the text is
    /// not read.
    pub(crate) async fn document_part(
        &self,
        user_id: &str,
        id: &str,
        offset: u32,
        count: u32,
    ) -> kitbag_database::Result<Option<DocumentPart>> {
        let statement = format!(
            "SELECT {SUMMARY}, substr({BODY}, CAST($3 AS INTEGER), CAST($4 AS INTEGER)) AS part,
                    CAST(length({BODY}) AS BIGINT) AS characters
             FROM {FROM} WHERE d.user_id = $1 AND d.id = $2"
        );
        let row: Option<PartRow> = sql(AssertSqlSafe(statement))
            .bind(user_id)
            .bind(id)
            // SQL numbers characters from 1.
            .bind(i64::from(offset) + 1)
            .bind(i64::from(count))
            .fetch_optional(self.0.readers())
            .await?;
        Ok(row.map(|PartRow { summary, part, characters }| DocumentPart {
            summary: summary.into(),
            text: part,
            characters: u64::try_from(characters).unwrap_or_default(),
        }))
    }

    /// One document of the user without its text, which may have megabytes and is not read.
    pub(crate) async fn summary(&self, user_id: &str, id: &str) -> kitbag_database::Result<Option<Summary>> {
        let statement = format!("SELECT {SUMMARY} FROM {FROM} WHERE d.user_id = $1 AND d.id = $2");
        let row: Option<SummaryRow> =
            sql(AssertSqlSafe(statement)).bind(user_id).bind(id).fetch_optional(self.0.readers()).await?;
        Ok(row.map(Into::into))
    }

    /// Number of the user's documents in each state.
    pub(crate) async fn counts(&self, user_id: &str) -> kitbag_database::Result<Counts> {
        let rows: Vec<(String, i64)> =
            sql("SELECT state, COUNT(*) FROM documents WHERE user_id = $1 GROUP BY state")
                .bind(user_id)
                .fetch_all(self.0.readers())
                .await?;
        let of = |state: StateName| {
            let count = rows.iter().find(|(name, _)| name == state.as_str()).map(|(_, count)| *count);
            count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
        };
        Ok(Counts {
            pending: of(StateName::Pending),
            ready: of(StateName::Ready),
            failed: of(StateName::Failed),
        })
    }

    /// Some of the user's documents, by their sequence numbers. Documents that were deleted, or belong to
    /// other users, are left out.
    pub(crate) async fn summaries(
        &self,
        user_id: &str,
        sequences: &[i64],
    ) -> kitbag_database::Result<HashMap<i64, Summary>> {
        // `CROSS JOIN` fixes the order of the tables: otherwise SQLite would scan all documents of the user.
        let statement = format!(
            "SELECT d.sequence, {SUMMARY} FROM json_each($2) wanted CROSS JOIN {FROM}
             WHERE d.user_id = $1 AND d.sequence = CAST(wanted.value AS BIGINT)"
        );
        let rows: Vec<SequenceRow> = sql(AssertSqlSafe(statement))
            .bind(user_id)
            .bind(list(sequences))
            .fetch_all(self.0.readers())
            .await?;
        Ok(rows.into_iter().map(|row| (row.sequence, row.summary.into())).collect())
    }

    /// One page of the user's documents, newest first.
    pub(crate) async fn documents(&self, user_id: &str, listing: &Listing) -> kitbag_database::Result<Page> {
        // Both statements read one snapshot.
        let mut transaction = self.0.snapshot().await?;
        let mut count = StatementBuilder::new("SELECT COUNT(*) FROM documents d");
        push_conditions(&mut count, user_id, listing);
        let total: i64 = count.build().fetch_value(&mut transaction).await?;

        let limit = listing.limit.min(MAX_PAGE);
        let mut page = StatementBuilder::new("SELECT ");
        page.push(SUMMARY).push(" FROM ").push(FROM);
        push_conditions(&mut page, user_id, listing);
        if let Some(after) = listing.after {
            page.push(" AND d.number < ").push_bind(after);
        }
        page.push(" ORDER BY d.number DESC LIMIT ").push_bind(i64::from(limit) + 1);
        let mut rows: Vec<SummaryRow> = page.build().fetch_all(&mut transaction).await?;
        transaction.commit().await?;

        let limit = usize::try_from(limit).expect("200 fits a usize");
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Ok(Page {
            documents: rows.into_iter().map(|row| (row.number, row.into())).collect(),
            has_more,
            total: total.try_into().unwrap_or_default(),
        })
    }

    /// Deletes one document of the user with its chunks and its job, and its feed with the last document;
    /// `None` if there is no such document.
    pub(crate) async fn delete(&self, user_id: &str, id: &str) -> kitbag_database::Result<Option<Deleted>> {
        let mut transaction = self.0.begin(Scope::Users(&[user_id])).await?;
        let found: Option<(i64, Option<i64>, Option<String>, bool)> =
            sql("SELECT d.sequence, d.feed_id, d.artifact,
                    EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.sequence AND c.user_id = d.user_id)
             FROM documents d WHERE d.user_id = $1 AND d.id = $2")
            .bind(user_id)
            .bind(id)
            .fetch_optional(&mut transaction)
            .await?;
        let Some((sequence, feed, artifact, has_chunks)) = found else { return Ok(None) };

        sql("DELETE FROM documents WHERE sequence = $1 AND user_id = $2")
            .bind(sequence)
            .bind(user_id)
            .execute(&mut transaction)
            .await?;
        if has_chunks {
            Self::next_revision(&mut transaction, user_id, 1).await?;
        }
        if let Some(feed) = feed {
            Self::remove_empty_feed(&mut transaction, user_id, feed).await?;
        }
        change_references(&mut transaction, FileKind::Artifact, None, artifact.as_slice()).await?;
        transaction.commit().await?;
        Ok(Some(Deleted { artifact }))
    }
}

/// SQL expression for the text of a document, equal to the result of [`body`].
const BODY: &str = "(CASE WHEN COALESCE(d.captured, '') = '' THEN d.text WHEN d.text = '' THEN d.captured
     ELSE d.text || '

' || d.captured END)";

/// Given text, followed by the text of the captured file.
pub(super) fn body(text: String, captured: Option<String>) -> String {
    match captured {
        Some(captured) if text.is_empty() => captured,
        Some(captured) if !captured.is_empty() => format!("{text}\n\n{captured}"),
        _ => text,
    }
}

fn push_conditions<'v>(statement: &mut StatementBuilder<'v>, user_id: &'v str, listing: &'v Listing) {
    statement.push(" WHERE d.user_id = ").push_bind(user_id);
    if let Some(source) = &listing.source {
        statement.push(" AND d.source = ").push_bind(source);
    }
    if let Some(state) = listing.state {
        statement.push(" AND d.state = ").push_bind(state.as_str());
    }
    if let Some(key) = &listing.feed {
        statement.push(" AND d.feed_id IN (SELECT id FROM feeds WHERE user_id = ").push_bind(user_id);
        statement.push(" AND key = ").push_bind(key);
        statement.push(")");
    }
}
