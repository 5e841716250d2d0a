//! Removes records from the database.

use kitbag_database::{AssertSqlSafe, Lock, list, sql};

use super::{Store, as_i64, running};
use crate::invocations::record::Outcome;

/// Maximum number of rows per `DELETE` transaction, so that other transactions can write in between.
const ROWS_PER_DELETE: usize = 500;

impl Store {
    /// Acquires the lock for removing records; `None` if another process has it.
    pub(in crate::invocations) async fn lock_for_retention(&self) -> kitbag_database::Result<Option<Lock>> {
        self.0.try_lock("retention of records").await
    }

    /// Returns the ids of all toolkits, and those of the server's own tools.
    pub(in crate::invocations) async fn toolkits(&self) -> kitbag_database::Result<Vec<String>> {
        let mut toolkits: Vec<_> = sql("SELECT id FROM toolkits").fetch_values(self.0.readers()).await?;
        toolkits.push(kitbag_knowledge::TOOLS.to_owned());
        Ok(toolkits)
    }

    /// Removes records of calls that ended before `ended_at`, in milliseconds since 1970.
    pub(in crate::invocations) async fn remove_before(&self, ended_at: i64) -> kitbag_database::Result<()> {
        loop {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            let removed = sql("DELETE FROM invocations WHERE id IN (
                     SELECT id FROM invocations WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)")
            .bind(ended_at)
            .bind(as_i64(ROWS_PER_DELETE))
            .execute(&mut transaction)
            .await?;
            transaction.commit().await?;
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Returns the approximate size of each toolkit's records, in bytes.
    pub(in crate::invocations) async fn sizes(&self) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT toolkit_id, CAST(SUM(size) AS BIGINT) FROM invocations GROUP BY toolkit_id")
            .fetch_all(self.0.readers())
            .await
    }

    /// Removes a toolkit's records beyond `bytes` bytes: first the oldest records of the users with the most.
    pub(in crate::invocations) async fn remove_beyond_size(
        &self,
        toolkit: &str,
        bytes: i64,
    ) -> kitbag_database::Result<()> {
        let users: i64 = sql("SELECT COUNT(DISTINCT user_id) FROM invocations WHERE toolkit_id = $1")
            .bind(toolkit)
            .fetch_value(self.0.readers())
            .await?;
        self.remove_beyond_limit(toolkit, "size", bytes, users).await
    }

    /// Removes a toolkit's records beyond `count` records: first the oldest records of the users with the most.
    pub(in crate::invocations) async fn remove_beyond_number(
        &self,
        toolkit: &str,
        count: u32,
    ) -> kitbag_database::Result<()> {
        let heaviest: Vec<(String, i64, i64, i64)> =
            sql("SELECT user_id, records, CAST(SUM(records) OVER () AS BIGINT), COUNT(*) OVER ()
             FROM (SELECT user_id, COUNT(*) AS records FROM invocations
                   WHERE toolkit_id = $1 GROUP BY user_id) AS of_users
             ORDER BY records DESC, user_id LIMIT 2")
            .bind(toolkit)
            .fetch_all(self.0.readers())
            .await?;
        let Some((user, _, records, users)) = heaviest.first() else { return Ok(()) };
        let count = i64::from(count);
        let others_have_no_more_than_their_share =
            heaviest.get(1).is_none_or(|(_, records, ..)| *records <= count / users);
        if *records > count && others_have_no_more_than_their_share {
            self.remove_oldest(toolkit, user, records - count).await?;
        } else if *records > count {
            self.remove_beyond_limit(toolkit, "1", count, *users).await?;
        }
        Ok(())
    }

    /// Removes a user's oldest records of calls of a toolkit. Returns their number.
    async fn remove_oldest(&self, toolkit: &str, user: &str, count: i64) -> kitbag_database::Result<u64> {
        let mut left = count;
        while left > 0 {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            let removed = sql(
                "DELETE FROM invocations WHERE id IN (
                     SELECT id FROM invocations WHERE toolkit_id = $1 AND user_id = $2 ORDER BY id LIMIT $3)",
            )
            .bind(toolkit)
            .bind(user)
            .bind(left.min(as_i64(ROWS_PER_DELETE)))
            .execute(&mut transaction)
            .await?;
            transaction.commit().await?;
            if removed == 0 {
                break;
            }
            left -= as_i64(removed);
        }
        Ok(u64::try_from(count - left).unwrap_or_default())
    }

    /// Removes all records of a user's calls, and when the user called each toolkit last. Returns the number of records.
    pub(in crate::invocations) async fn remove_all_of(&self, user: &str) -> kitbag_database::Result<u64> {
        let mut removed = 0;
        for toolkit in self.toolkits().await? {
            removed += self.remove_oldest(&toolkit, user, i64::MAX).await?;
        }
        let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
        running::remove_of(&mut transaction, user).await?;
        sql("DELETE FROM toolkit_users WHERE user_id = $1").bind(user).execute(&mut transaction).await?;
        transaction.commit().await?;
        Ok(removed)
    }

    /// Removes a toolkit's records beyond `limit`, as measured by the SQL expression `weight`. `users` is the
    /// number of users with records.
    async fn remove_beyond_limit(
        &self,
        toolkit: &str,
        weight: &'static str,
        limit: i64,
        users: i64,
    ) -> kitbag_database::Result<()> {
        // Records are retained in ascending order of the total weight of their user's records from the newest
        // down to them: the newest record of every user comes first, then the second newest of every user,
        // and so on. Records within an equal share of the limit all fit, so that only the others have to be
        // ranked across users. If users have been added since they were counted, a few records more than the
        // limit remain until the next sweep.
        let statement = format!(
            "WITH of_users AS MATERIALIZED (
                 SELECT id, {weight} AS weight, SUM({weight}) OVER (PARTITION BY user_id ORDER BY id DESC) AS taken
                 FROM invocations WHERE toolkit_id = $1)
             SELECT string_agg(CAST(id AS TEXT), ',' ORDER BY id) FROM (
                 SELECT id, SUM(weight) OVER (ORDER BY taken, id DESC) AS total FROM of_users WHERE taken > $2) AS rest
             WHERE total > $3 - (SELECT COALESCE(SUM(weight), 0) FROM of_users WHERE taken <= $2)"
        );
        let too_many: Option<String> = sql(AssertSqlSafe(statement))
            .bind(toolkit)
            .bind(limit / users.max(1))
            .bind(limit)
            .fetch_value(self.0.readers())
            .await?;
        self.remove(too_many.as_deref().unwrap_or_default()).await
    }

    /// Removes the oldest records of refused calls beyond `count` for each user.
    pub(in crate::invocations) async fn remove_refused_beyond(
        &self,
        toolkit: &str,
        count: u32,
    ) -> kitbag_database::Result<()> {
        let too_many: Option<String> = sql("SELECT string_agg(CAST(id AS TEXT), ',' ORDER BY id) FROM (
                 SELECT id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id DESC) AS nth
                 FROM invocations WHERE toolkit_id = $1 AND outcome IN (SELECT value FROM json_each($2))) AS ranked
             WHERE nth > $3")
        .bind(toolkit)
        .bind(list(&Outcome::REFUSED.map(Outcome::as_str)))
        .bind(count)
        .fetch_value(self.0.readers())
        .await?;
        self.remove(too_many.as_deref().unwrap_or_default()).await
    }

    /// Removes records by their ids, separated by commas: as one value, because each row of a result is
    /// passed between threads.
    async fn remove(&self, ids: &str) -> kitbag_database::Result<()> {
        let ids: Vec<_> = ids.split_terminator(',').collect();
        for some in ids.chunks(ROWS_PER_DELETE) {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            sql("DELETE FROM invocations WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each($1))")
                .bind(list(some))
                .execute(&mut transaction)
                .await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}
