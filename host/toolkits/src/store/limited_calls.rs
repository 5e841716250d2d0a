//! All SQL about calls that count towards limits.

use kitbag_database::{Database, Scope, Transaction, sql};

use crate::audience::Limited;
use crate::limited_calls::{Counter, Period};

/// The database table of counts.
#[derive(Clone, Debug)]
pub(crate) struct CountStore(Database);

impl CountStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Counts a call towards all of these limits, or towards none if one is reached. Locks the rows in this
    /// order. Returns the index of a reached limit, of a daily one if there are several. `now` is in
    /// milliseconds since 1970.
    pub(crate) async fn count(
        &self,
        toolkit: &str,
        counters: &[Counter<'_>],
        now: i64,
    ) -> kitbag_database::Result<Option<usize>> {
        let mut transaction = self.0.begin(Scope::LimitedCalls).await?;
        let mut reached = None;
        for (index, counter) in counters.iter().enumerate() {
            let is_worse = reached.is_none() || counter.period == Period::Day;
            if !count_one(&mut transaction, toolkit, counter, now).await? && is_worse {
                reached = Some(index);
            }
        }
        // If a limit is reached, the transaction is not committed, so that nothing is counted.
        if reached.is_none() {
            transaction.commit().await?;
        }
        Ok(reached)
    }

    /// Returns the calls in the current minute and day that count towards a limit.
    pub(crate) async fn usage(
        &self,
        toolkit: &str,
        limited: &Limited,
        now: i64,
    ) -> kitbag_database::Result<[u32; 2]> {
        let (user, group) = keys(limited);
        let rows: Vec<(String, i64, i64)> = sql("SELECT period, began, calls FROM limited_calls
             WHERE toolkit_id = $1 AND user_id = $2 AND group_name = $3 AND tool = $4")
        .bind(toolkit)
        .bind(user)
        .bind(group)
        .bind(limited.grant.tool.as_deref().unwrap_or_default())
        .fetch_all(self.0.readers())
        .await?;
        Ok([Period::Minute, Period::Day].map(|period| {
            let present =
                rows.iter().find(|(name, began, _)| name == period.name() && *began >= period.began(now));
            present.map_or(0, |(_, _, calls)| u32::try_from(*calls).unwrap_or(u32::MAX))
        }))
    }

    /// Removes counts whose period began before this time.
    pub(crate) async fn remove_before(&self, time: i64) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::AllLimitedCalls).await?;
        sql("DELETE FROM limited_calls WHERE began < $1").bind(time).execute(&mut transaction).await?;
        transaction.commit().await
    }
}

/// Counts a call; returns `false` if the limit is reached. A later period, begun by another process whose
/// clock is ahead, counts as the current one.
async fn count_one(
    transaction: &mut Transaction,
    toolkit: &str,
    counter: &Counter<'_>,
    now: i64,
) -> kitbag_database::Result<bool> {
    let Counter { limited, period, limit } = counter;
    let (user, group) = keys(limited);
    let written = sql("INSERT INTO limited_calls (toolkit_id, user_id, group_name, tool, period, began, calls)
         VALUES ($1, $2, $3, $4, $5, $6, 1)
         ON CONFLICT (toolkit_id, user_id, group_name, tool, period) DO UPDATE SET
             calls = CASE WHEN limited_calls.began < excluded.began THEN 1 ELSE limited_calls.calls + 1 END,
             began = CASE WHEN limited_calls.began < excluded.began THEN excluded.began ELSE limited_calls.began END
         WHERE limited_calls.began < excluded.began OR limited_calls.calls < $7")
    .bind(toolkit)
    .bind(user)
    .bind(group)
    .bind(limited.grant.tool.as_deref().unwrap_or_default())
    .bind(period.name())
    .bind(period.began(now))
    .bind(i64::from(*limit))
    .execute(transaction)
    .await?;
    Ok(written > 0)
}

/// Returns the columns `user_id` and `group_name` of a counter.
pub(crate) fn keys(limited: &Limited) -> (&str, &str) {
    (limited.user.as_deref().unwrap_or_default(), limited.grant.subject.columns().1)
}

/// Deletes the counts of a toolkit that is removed.
pub(super) async fn forget(transaction: &mut Transaction, toolkit: &str) -> kitbag_database::Result<()> {
    sql("DELETE FROM limited_calls WHERE toolkit_id = $1").bind(toolkit).execute(transaction).await?;
    Ok(())
}
