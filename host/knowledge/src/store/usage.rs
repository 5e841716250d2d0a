//! What a user's documents take, and whether that is too much. The counts are kept by triggers, in the
//! transaction of whatever changes a document.
//!
//! Invariant: no change exceeds its user's quota, nor do several at once: counts are compared in the transaction of the
//! change. One that makes less of what is too much is let through.

use kitbag_database::{Executor, Transaction, sql};

use super::Store;
use crate::quota::{Quota, QuotaExceeded, Usage};

impl Store {
    /// The same store under a quota for each user.
    pub(crate) fn with_quota(self, quota: Quota) -> Self {
        Self(self.0, quota)
    }

    /// What one user may have.
    pub(crate) fn quota(&self) -> Quota {
        self.1
    }

    /// What one user has.
    pub(crate) async fn usage(&self, user_id: &str) -> kitbag_database::Result<Usage> {
        usage(self.0.readers(), user_id).await
    }

    /// What all users have.
    pub(crate) async fn usage_of_all(&self) -> kitbag_database::Result<Usage> {
        let (documents, bytes): (i64, i64) = sql("SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT),
                    CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM knowledge_usage")
        .fetch_one(self.0.readers())
        .await?;
        Ok(Usage { documents: count(documents), bytes: count(bytes) })
    }

    /// Refuses what has made a user's documents more, since there were `before`, than they may be. Whoever
    /// calls it holds the transaction that did so, and rolls it back.
    pub(super) async fn check_quota(
        &self,
        transaction: &mut Transaction,
        user_id: &str,
        before: Usage,
    ) -> kitbag_database::Result<Result<(), QuotaExceeded>> {
        let after = usage(transaction, user_id).await?;
        Ok(self.1.check(before, after))
    }
}

/// What one user has, also in the middle of a transaction.
pub(super) async fn usage(
    executor: impl Into<Executor<'_>>,
    user_id: &str,
) -> kitbag_database::Result<Usage> {
    let row: Option<(i64, i64)> = sql("SELECT documents, bytes FROM knowledge_usage WHERE user_id = $1")
        .bind(user_id)
        .fetch_optional(executor)
        .await?;
    let (documents, bytes) = row.unwrap_or_default();
    Ok(Usage { documents: count(documents), bytes: count(bytes) })
}

/// A count, which is never negative.
fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests;
