//! Rows of calls that run. A row goes in the transaction of the call's record. One whose process has ended gets the record
//! that the process could not write.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::audit::{CallEntries, append_calls, missing_calls};
use kitbag_database::{FromRow, StatementBuilder, Transaction, batches, list, sql};

use super::{Store, counts, insert_and_count};
use crate::invocations::entries::entry;
use crate::invocations::record::{BegunCall, Conclusion, Lost, Outcome, Record, Through};

/// Maximum number of interrupted calls that are recorded in one transaction.
const MAX_INTERRUPTED: u32 = 500;
/// Maximum number of recovered calls that are recorded in one transaction.
const MAX_RECOVERED: usize = 500;

/// A row of the table.
#[derive(FromRow)]
struct RunningRow {
    id: String,
    toolkit_id: String,
    version: String,
    tool: String,
    user_id: String,
    #[sqlx(flatten)]
    through: Through,
    account: Option<String>,
    run: Option<String>,
    started_at: i64,
}

impl Store {
    /// Writes that calls have begun in a process; nothing if that process is not registered any more.
    pub(in crate::invocations) async fn announce(
        &self,
        process: &str,
        calls: &[Arc<BegunCall>],
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
        let is_registered: bool = sql("SELECT EXISTS (SELECT 1 FROM processes WHERE id = $1)")
            .bind(process)
            .fetch_value(&mut transaction)
            .await?;
        if !is_registered {
            return Ok(());
        }
        for some in batches(calls) {
            let mut statement = StatementBuilder::new(
                "INSERT INTO running_calls
                     (id, process, toolkit_id, version, tool, user_id, client, key_id, key_name, account, run, started_at) ",
            );
            statement.push_values(some, |mut row, call| {
                row.push_bind(&call.id)
                    .push_bind(process)
                    .push_bind(&call.toolkit)
                    .push_bind(&call.version)
                    .push_bind(&call.tool)
                    .push_bind(&call.user);
                call.through.push(&mut row);
                row.push_bind(&call.account)
                    .push_bind(call.run.as_deref())
                    .push_bind(call.started_at.as_millisecond());
            });
            statement.build().execute(&mut transaction).await?;
        }
        transaction.commit().await
    }

    /// Records calls that were running in processes which have ended. Returns the newest id of a record; `None` if there were none.
    pub(in crate::invocations) async fn record_interrupted(
        &self,
        entries: CallEntries,
    ) -> kitbag_database::Result<Option<i64>> {
        let mut newest = None;
        loop {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            let rows: Vec<RunningRow> = sql(
                "SELECT id, toolkit_id, version, tool, user_id, client, key_id, key_name, account, run, started_at
                 FROM running_calls WHERE process IS NULL ORDER BY started_at, id LIMIT $1",
            )
            .bind(MAX_INTERRUPTED)
            .fetch_all(&mut transaction)
            .await?;
            if rows.is_empty() {
                return Ok(newest);
            }
            let records: Vec<_> = rows.into_iter().map(Record::from).collect();
            let ids: Vec<_> = records.iter().map(|record| record.call.id.clone()).collect();
            remove(&mut transaction, &ids).await?;
            newest = Some(insert_and_count(&mut transaction, &records).await?);
            if entries == CallEntries::WithCallers {
                append_calls(&mut transaction, &records.iter().map(entry).collect::<Vec<_>>()).await?;
            }
            transaction.commit().await?;
        }
    }

    /// Records calls that an earlier process has answered and could not record any more, without their content, and
    /// appends their entries to the audit log. Those that it had recorded are left out.
    pub(in crate::invocations) async fn recover(&self, records: Vec<Record>) -> kitbag_database::Result<()> {
        for some in records.chunks(MAX_RECOVERED) {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            let missing = missing_calls(&mut transaction, some.iter().map(entry).collect()).await?;
            let calls: HashSet<_> = missing.iter().map(|entry| entry.call.as_str()).collect();
            let records: Vec<_> =
                some.iter().filter(|record| calls.contains(record.call.id.as_str())).cloned().collect();
            let ids: Vec<_> = records.iter().map(|record| record.call.id.clone()).collect();
            end(&mut transaction, &records, &ids).await?;
            insert_and_count(&mut transaction, &records).await?;
            append_calls(&mut transaction, &missing).await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}

/// Removes the rows of calls that have ended, before their records are inserted. A call without its row was recorded as
/// interrupted, by a process that took this one for ended: that record goes.
pub(super) async fn end(
    transaction: &mut Transaction,
    records: &[Record],
    announced: &[String],
) -> kitbag_database::Result<()> {
    if announced.is_empty() {
        return Ok(());
    }
    let removed: HashSet<String> =
        sql("DELETE FROM running_calls WHERE id IN (SELECT value FROM json_each($1)) RETURNING id")
            .bind(list(announced))
            .fetch_values(&mut *transaction)
            .await?
            .into_iter()
            .collect();
    let announced: HashSet<_> = announced.iter().filter(|id| !removed.contains(*id)).collect();
    for record in records.iter().filter(|record| announced.contains(&record.call.id)) {
        let BegunCall { toolkit, user, tool, started_at, .. } = &*record.call;
        let interrupted = sql("DELETE FROM invocations WHERE id IN (
                 SELECT id FROM invocations
                 WHERE toolkit_id = $1 AND user_id = $2 AND tool = $3 AND started_at = $4 AND outcome = $5
                 ORDER BY id LIMIT 1)")
        .bind(toolkit)
        .bind(user)
        .bind(tool)
        .bind(started_at.as_millisecond())
        .bind(Outcome::Interrupted.as_str())
        .execute(&mut *transaction)
        .await?;
        if interrupted > 0 {
            counts::uncount_interrupted(transaction, toolkit, *started_at).await?;
        }
    }
    Ok(())
}

/// Removes the rows of calls.
async fn remove(transaction: &mut Transaction, ids: &[String]) -> kitbag_database::Result<()> {
    if !ids.is_empty() {
        sql("DELETE FROM running_calls WHERE id IN (SELECT value FROM json_each($1))")
            .bind(list(ids))
            .execute(transaction)
            .await?;
    }
    Ok(())
}

/// Removes the rows of a user's calls.
pub(super) async fn remove_of(transaction: &mut Transaction, user: &str) -> kitbag_database::Result<()> {
    sql("DELETE FROM running_calls WHERE user_id = $1").bind(user).execute(transaction).await?;
    Ok(())
}

impl From<RunningRow> for Record {
    fn from(row: RunningRow) -> Self {
        let call = BegunCall {
            id: row.id,
            toolkit: row.toolkit_id,
            version: row.version,
            tool: row.tool,
            user: row.user_id,
            through: row.through,
            account: row.account,
            run: row.run.map(Into::into),
            started_at: Timestamp::from_millisecond(row.started_at).unwrap_or_default(),
            lost: Lost::default(),
        };
        // Nobody knows how long it ran.
        let conclusion = Conclusion {
            detail: Some("the server ended while the call ran".to_owned()),
            ..Outcome::Interrupted.into()
        };
        Self { call: Arc::new(call), duration: Duration::ZERO, argument_size: None, conclusion }
    }
}
