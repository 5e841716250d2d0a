//! Removing records.

use super::{Store, as_i64};
use crate::database::{self, Lock, list, sql};
use crate::invocations::record::Outcome;

/// Rows per `DELETE` transaction, so that others can write in between.
const ROWS_PER_DELETE: usize = 500;

impl Store {
    /// Takes the lock of the process that removes records; `None` if another one has it.
    pub(in crate::invocations) async fn lock_for_retention(&self) -> database::Result<Option<Lock>> {
        self.0.try_lock("retention of records").await
    }

    /// Ids of all toolkits.
    pub(in crate::invocations) async fn toolkits(&self) -> database::Result<Vec<String>> {
        sql("SELECT id FROM toolkits").fetch_values(self.0.readers()).await
    }

    /// Removes records of calls that ended before `ended_at`, in milliseconds since 1970.
    pub(in crate::invocations) async fn remove_before(&self, ended_at: i64) -> database::Result<()> {
        loop {
            let mut transaction = self.0.begin(database::Scope::Records).await?;
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

    /// Removes a toolkit's records beyond `count` records and `bytes` bytes: first the oldest of the users
    /// with the most records.
    pub(in crate::invocations) async fn remove_beyond(
        &self,
        toolkit: &str,
        count: u32,
        bytes: usize,
    ) -> database::Result<()> {
        // Each record is ranked by the number, and the size, of its own user's newer records: the newest
        // of every user come first, then the second newest of every user, and so on.
        let too_many: Option<String> = sql(
            "SELECT string_agg(CAST(id AS TEXT), ',' ORDER BY id) FROM (
                 SELECT id,
                        ROW_NUMBER() OVER (ORDER BY nth, id DESC) AS place,
                        SUM(size) OVER (ORDER BY taken, id DESC) AS total
                 FROM (
                     SELECT id, size, ROW_NUMBER() OVER newest_first AS nth, SUM(size) OVER newest_first AS taken
                     FROM invocations WHERE toolkit_id = $1
                     WINDOW newest_first AS (PARTITION BY user_id ORDER BY id DESC)) AS of_users) AS ranked
             WHERE place > $2 OR total > $3",
        )
        .bind(toolkit)
        .bind(count)
        .bind(as_i64(bytes))
        .fetch_value(self.0.readers())
        .await?;
        self.remove(too_many.as_deref().unwrap_or_default()).await
    }

    /// Removes the oldest records of refused calls beyond `count` for each user.
    pub(in crate::invocations) async fn remove_refused_beyond(
        &self,
        toolkit: &str,
        count: u32,
    ) -> database::Result<()> {
        let too_many: Option<String> = sql("SELECT string_agg(CAST(id AS TEXT), ',' ORDER BY id) FROM (
                 SELECT id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id DESC) AS nth
                 FROM invocations WHERE toolkit_id = $1 AND outcome IN ($2, $3)) AS ranked
             WHERE nth > $4")
        .bind(toolkit)
        .bind(Outcome::Busy.as_str())
        .bind(Outcome::InvalidParams.as_str())
        .bind(count)
        .fetch_value(self.0.readers())
        .await?;
        self.remove(too_many.as_deref().unwrap_or_default()).await
    }

    /// Removes records by their ids, separated by commas: as one value, because each row of a result is passed
    /// between threads.
    async fn remove(&self, ids: &str) -> database::Result<()> {
        let ids: Vec<_> = ids.split_terminator(',').collect();
        for some in ids.chunks(ROWS_PER_DELETE) {
            let mut transaction = self.0.begin(database::Scope::Records).await?;
            sql("DELETE FROM invocations WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each($1))")
                .bind(list(some))
                .execute(&mut transaction)
                .await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}
