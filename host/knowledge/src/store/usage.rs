//! Storage usage and quota checks. Triggers update the counts in the transaction of each document change.
//!
//! Invariant: no change exceeds its user's quota, nor do several concurrent ones: counts are compared in the
//! transaction of the change. A change that reduces an existing excess is accepted.

use kitbag_database::{Executor, Transaction, sql};

use super::Store;
use crate::quota::{Quota, QuotaExceeded, Usage};

impl Store {
    /// Sets the quota per user.
    pub(crate) fn with_quota(self, quota: Quota) -> Self {
        Self(self.0, quota)
    }

    /// Quota per user.
    pub(crate) fn quota(&self) -> Quota {
        self.1
    }

    /// Usage of one user.
    pub(crate) async fn usage(&self, user_id: &str) -> kitbag_database::Result<Usage> {
        usage(self.0.readers(), user_id).await
    }

    /// Usage of all users together.
    pub(crate) async fn usage_of_all(&self) -> kitbag_database::Result<Usage> {
        let (documents, bytes): (i64, i64) = sql("SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT),
                    CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM knowledge_usage")
        .fetch_one(self.0.readers())
        .await?;
        Ok(Usage { documents: count(documents), bytes: count(bytes) })
    }

    /// Checks whether the changes since usage `before` exceed the user's quota. The caller rolls back the
    /// transaction on refusal.
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

/// Usage of one user, including uncommitted changes of a transaction.
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

/// Converts a count, which is never negative.
fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests;
