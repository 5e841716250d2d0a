//! Documents, as their users read and delete them.

use std::collections::HashMap;

use kitbag_database::{AssertSqlSafe, FromRow, Holder, StatementBuilder, list, sql};

use super::rows::{FROM, SUMMARY, SummaryRow};
use super::{Store, holders_list};
use crate::document::{Counts, Document, DocumentPart, Listing, Page, StateName, Summary};

/// Largest number of documents per page, whatever the caller requests.
const MAX_PAGE: u32 = 200;

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
    /// Returns one document of these holders.
    pub(crate) async fn document(
        &self,
        holders: &[Holder],
        id: &str,
    ) -> kitbag_database::Result<Option<Document>> {
        let statement = format!(
            "SELECT {SUMMARY}, d.text, d.captured FROM {FROM} WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.id = $2"
        );
        let row: Option<DocumentRow> = sql(AssertSqlSafe(statement))
            .bind(holders_list(holders))
            .bind(id)
            .fetch_optional(self.0.readers())
            .await?;
        Ok(row.map(|row| Document { summary: row.summary.into(), text: body(row.text, row.captured) }))
    }

    /// One document of these holders with `count` characters of its text from `offset` on. The rest of the text is
    /// not read.
    pub(crate) async fn document_part(
        &self,
        holders: &[Holder],
        id: &str,
        offset: u32,
        count: u32,
    ) -> kitbag_database::Result<Option<DocumentPart>> {
        let statement = format!(
            "SELECT {SUMMARY}, substr({BODY}, CAST($3 AS INTEGER), CAST($4 AS INTEGER)) AS part,
                    CAST(length({BODY}) AS BIGINT) AS characters
             FROM {FROM} WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.id = $2"
        );
        let row: Option<PartRow> = sql(AssertSqlSafe(statement))
            .bind(holders_list(holders))
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

    /// One document of these holders without its text, which may have megabytes and is not read.
    pub(crate) async fn summary(
        &self,
        holders: &[Holder],
        id: &str,
    ) -> kitbag_database::Result<Option<Summary>> {
        let statement = format!(
            "SELECT {SUMMARY} FROM {FROM} WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.id = $2"
        );
        let row: Option<SummaryRow> = sql(AssertSqlSafe(statement))
            .bind(holders_list(holders))
            .bind(id)
            .fetch_optional(self.0.readers())
            .await?;
        Ok(row.map(Into::into))
    }

    /// Number of the holder's documents in each state.
    pub(crate) async fn counts(&self, holder: &Holder) -> kitbag_database::Result<Counts> {
        let rows: Vec<(String, i64)> =
            sql("SELECT state, COUNT(*) FROM documents WHERE holder = $1 GROUP BY state")
                .bind(holder)
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

    /// Some of these holders' documents, by their sequence numbers. Documents that were deleted, or belong to
    /// others, are left out.
    pub(crate) async fn summaries(
        &self,
        holders: &[Holder],
        sequences: &[i64],
    ) -> kitbag_database::Result<HashMap<i64, Summary>> {
        // `CROSS JOIN` fixes the order of the tables: otherwise SQLite would scan all documents of the holders.
        let statement = format!(
            "SELECT d.sequence, {SUMMARY} FROM json_each($2) wanted CROSS JOIN {FROM}
             WHERE d.holder IN (SELECT value FROM json_each($1)) AND d.sequence = CAST(wanted.value AS BIGINT)"
        );
        let rows: Vec<SequenceRow> = sql(AssertSqlSafe(statement))
            .bind(holders_list(holders))
            .bind(list(sequences))
            .fetch_all(self.0.readers())
            .await?;
        Ok(rows.into_iter().map(|row| (row.sequence, row.summary.into())).collect())
    }

    /// One page of the holder's documents, newest first.
    pub(crate) async fn documents(
        &self,
        holder: &Holder,
        listing: &Listing,
    ) -> kitbag_database::Result<Page> {
        // Both statements read one snapshot.
        let mut transaction = self.0.snapshot().await?;
        let mut count = StatementBuilder::new("SELECT COUNT(*) FROM documents d");
        push_conditions(&mut count, holder, listing);
        let total: i64 = count.build().fetch_value(&mut transaction).await?;

        let limit = listing.limit.min(MAX_PAGE);
        let mut page = StatementBuilder::new("SELECT ");
        page.push(SUMMARY).push(" FROM ").push(FROM);
        push_conditions(&mut page, holder, listing);
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
}

/// SQL expression for the text of a document, equal to the result of [`body`].
pub(super) const BODY: &str =
    "(CASE WHEN COALESCE(d.captured, '') = '' THEN d.text WHEN d.text = '' THEN d.captured
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

fn push_conditions<'v>(statement: &mut StatementBuilder<'v>, holder: &'v Holder, listing: &'v Listing) {
    statement.push(" WHERE d.holder = ").push_bind(holder);
    if let Some(source) = &listing.source {
        statement.push(" AND d.source = ").push_bind(source);
    }
    if let Some(state) = listing.state {
        statement.push(" AND d.state = ").push_bind(state.as_str());
    }
    if let Some(key) = &listing.feed {
        statement.push(" AND d.feed_id IN (SELECT id FROM feeds WHERE holder = ").push_bind(holder);
        statement.push(" AND key = ").push_bind(key);
        statement.push(")");
    }
}
