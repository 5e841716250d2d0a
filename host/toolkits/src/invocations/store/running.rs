//! Rows of calls that run. A row goes in the transaction of the call's record. One whose process has ended gets the record
//! that the process could not write.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::{FromRow, StatementBuilder, Transaction, list, sql};
use kitbag_identity::CallerKey;

use super::counts::statements;
use super::{Store, insert_and_count};
use crate::invocations::record::{BegunCall, Conclusion, Outcome, Record};

/// Maximum number of interrupted calls that are recorded in one transaction.
const MAX_INTERRUPTED: u32 = 500;

/// A row of the table.
#[derive(FromRow)]
struct RunningRow {
    id: String,
    toolkit_id: String,
    version: String,
    tool: String,
    user_id: String,
    client: Option<String>,
    key_id: Option<String>,
    key_name: Option<String>,
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
        for some in statements(calls) {
            let mut statement = StatementBuilder::new(
                "INSERT INTO running_calls
                     (id, process, toolkit_id, version, tool, user_id, client, key_id, key_name, run, started_at) ",
            );
            statement.push_values(some, |mut row, call| {
                row.push_bind(&call.id)
                    .push_bind(process)
                    .push_bind(&call.toolkit)
                    .push_bind(&call.version)
                    .push_bind(&call.tool)
                    .push_bind(&call.user)
                    .push_bind(&call.client)
                    .push_bind(call.key.as_ref().map(|key| key.id.as_str()))
                    .push_bind(call.key.as_ref().map(|key| key.name.as_str()))
                    .push_bind(call.run.as_deref())
                    .push_bind(call.started_at.as_millisecond());
            });
            statement.build().execute(&mut transaction).await?;
        }
        transaction.commit().await
    }

    /// Records calls that were running in processes which have ended. Returns the newest id of a record; `None` if there were none.
    pub(in crate::invocations) async fn record_interrupted(&self) -> kitbag_database::Result<Option<i64>> {
        let mut newest = None;
        loop {
            let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
            let rows: Vec<RunningRow> = sql(
                "SELECT id, toolkit_id, version, tool, user_id, client, key_id, key_name, run, started_at
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
            transaction.commit().await?;
        }
    }
}

/// Removes the rows of calls.
pub(super) async fn remove(transaction: &mut Transaction, ids: &[String]) -> kitbag_database::Result<()> {
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
            client: row.client,
            key: row.key_id.zip(row.key_name).map(|(id, name)| CallerKey { id, name }),
            run: row.run.map(Into::into),
            started_at: Timestamp::from_millisecond(row.started_at).unwrap_or_default(),
        };
        // Nobody knows how long it ran.
        let conclusion = Conclusion {
            detail: Some("the server ended while the call ran".to_owned()),
            ..Outcome::Interrupted.into()
        };
        Self { call: Arc::new(call), duration: Duration::ZERO, conclusion }
    }
}
