//! Who added, changed and deleted documents, of a user who is erased.

use kitbag_database::{ERASED_USER, Scope, list, sql};

use super::Store;

/// Largest number of documents per transaction.
const BATCH: i64 = 500;

/// Documents in which a user's name was replaced.
#[derive(Debug, Default)]
pub(crate) struct Anonymised {
    pub(crate) count: u64,
    /// The last of them; `None` if there are no more.
    pub(crate) last: Option<i64>,
}

impl Store {
    /// Replaces the name of a user in documents of all holders that come after `after`, at most [`BATCH`] of them.
    pub(crate) async fn anonymise_documents(
        &self,
        user: &str,
        after: i64,
    ) -> kitbag_database::Result<Anonymised> {
        // Read without a lock: it looks at all documents, and who names the user has ended or is refused
        // (`wait_for_writers`).
        let sequences: Vec<i64> = sql("SELECT sequence FROM documents
             WHERE sequence > $1 AND (added_by = $2 OR changed_by = $2 OR deleted_by = $2)
             ORDER BY sequence LIMIT $3")
        .bind(after)
        .bind(user)
        .bind(BATCH)
        .fetch_values(self.0.readers())
        .await?;
        let Some(last) = sequences.last().copied() else { return Ok(Anonymised::default()) };
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        let count = sql("UPDATE documents SET
                 added_by = CASE WHEN added_by = $1 THEN $2 ELSE added_by END,
                 changed_by = CASE WHEN changed_by = $1 THEN $2 ELSE changed_by END,
                 deleted_by = CASE WHEN deleted_by = $1 THEN $2 ELSE deleted_by END
             WHERE sequence IN (SELECT CAST(value AS BIGINT) FROM json_each($3))")
        .bind(user)
        .bind(ERASED_USER)
        .bind(list(&sequences))
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(Anonymised { count, last: Some(last) })
    }

    /// Replaces the name of a user in earlier texts of documents that come after `after`, at most [`BATCH`] documents.
    pub(crate) async fn anonymise_versions(
        &self,
        user: &str,
        after: i64,
    ) -> kitbag_database::Result<Anonymised> {
        let documents: Vec<i64> = sql("SELECT DISTINCT document FROM document_versions
             WHERE document > $1 AND changed_by = $2 ORDER BY document LIMIT $3")
        .bind(after)
        .bind(user)
        .bind(BATCH)
        .fetch_values(self.0.readers())
        .await?;
        let Some(last) = documents.last().copied() else { return Ok(Anonymised::default()) };
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        let count = sql("UPDATE document_versions SET changed_by = $2
             WHERE changed_by = $1 AND document IN (SELECT CAST(value AS BIGINT) FROM json_each($3))")
        .bind(user)
        .bind(ERASED_USER)
        .bind(list(&documents))
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(Anonymised { count, last: Some(last) })
    }
}
