//! Storage usage and quota checks. Triggers update the counts in the transaction of each document change.
//!
//! Invariant: no change exceeds its holder's quota, nor do several concurrent ones: counts are compared in the
//! transaction of the change. A change that reduces an existing excess is accepted.

use std::collections::HashMap;

use kitbag_database::{Executor, Holder, Transaction, sql};

use super::{Store, holders_list};
use crate::quota::{HolderKind, Quota, QuotaExceeded, Quotas, Usage};

impl Store {
    /// Sets the quotas.
    pub(crate) fn with_quotas(self, quotas: Quotas) -> Self {
        Self(self.0, quotas)
    }

    /// Quota of a holder.
    pub(crate) fn quota(&self, holder: &Holder) -> Quota {
        match HolderKind::of(holder) {
            HolderKind::User => self.1.per_user,
            HolderKind::Collection => self.1.per_collection,
        }
    }

    /// Refuses a change that exceeds the holder's quota.
    pub(crate) fn check(&self, holder: &Holder, before: Usage, after: Usage) -> Result<(), QuotaExceeded> {
        self.quota(holder).check(HolderKind::of(holder), before, after)
    }

    /// Usage of one holder, with its bin.
    pub(crate) async fn usage(&self, holder: &Holder) -> kitbag_database::Result<Usage> {
        usage(self.0.readers(), holder).await
    }

    /// Usage of each of these holders that has documents, with its bin.
    pub(crate) async fn usages(&self, holders: &[Holder]) -> kitbag_database::Result<HashMap<Holder, Usage>> {
        let with_bins: Vec<_> = holders.iter().flat_map(|holder| [holder.clone(), holder.bin()]).collect();
        let rows: Vec<(String, i64, i64)> = sql("SELECT holder, documents, bytes FROM knowledge_usage
             WHERE holder IN (SELECT value FROM json_each($1))")
        .bind(holders_list(&with_bins))
        .fetch_all(self.0.readers())
        .await?;
        let mut usages: HashMap<_, Usage> = HashMap::new();
        for (holder, documents, bytes) in rows {
            let usage = usages.entry(Holder::from(holder).without_bin()).or_default();
            usage.documents += count(documents);
            usage.bytes += count(bytes);
        }
        Ok(usages)
    }

    /// Usage of all users together.
    pub(crate) async fn usage_of_all(&self) -> kitbag_database::Result<Usage> {
        let (documents, bytes): (i64, i64) = sql("SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT),
                    CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM knowledge_usage")
        .fetch_one(self.0.readers())
        .await?;
        Ok(Usage { documents: count(documents), bytes: count(bytes) })
    }

    /// Checks whether the changes since usage `before` exceed the holder's quota. The caller rolls back the
    /// transaction on refusal.
    pub(super) async fn check_quota(
        &self,
        transaction: &mut Transaction,
        holder: &Holder,
        before: Usage,
    ) -> kitbag_database::Result<Result<(), QuotaExceeded>> {
        let after = usage(transaction, holder).await?;
        Ok(self.check(holder, before, after))
    }
}

/// Usage of one holder and its bin, including uncommitted changes of a transaction.
pub(super) async fn usage(
    executor: impl Into<Executor<'_>>,
    holder: &Holder,
) -> kitbag_database::Result<Usage> {
    let bin = holder.bin();
    let (documents, bytes): (i64, i64) = sql("SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT),
            CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM knowledge_usage WHERE holder IN ($1, $2)")
    .bind(holder)
    .bind(&bin)
    .fetch_one(executor)
    .await?;
    Ok(Usage { documents: count(documents), bytes: count(bytes) })
}

/// Converts a count, which is never negative.
fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests;
