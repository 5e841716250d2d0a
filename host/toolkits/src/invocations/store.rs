//! All SQL about records of calls.

mod counts;
mod retention;
mod running;

use std::collections::HashSet;

use jiff::Timestamp;
use kitbag_database::audit::{CallEntry, append_calls};
use kitbag_database::{
    AssertSqlSafe, Database, DatabaseError, Executor, FromRow, RowBuilder, StatementBuilder, Transaction,
    batches, list, sql,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::filter::OutcomeFilter;
use super::reading::{Query, Scope};
use super::record::{Outcome, Record, Through};
use super::usage::{HOUR_MS, HOURS};

/// Maximum number of records in a page.
const MAX_PAGE_RECORDS: usize = 16;
/// Approximate size of a page in bytes, which a reader has in memory. A page has at least one record.
const MAX_PAGE_BYTES: usize = 512 << 10;
/// Maximum number of toolkits in the list of failing ones.
const MAX_FAILING: u32 = 20;

pub(super) use counts::kept_from;

#[derive(Clone)]
pub(super) struct Store(Database);

/// A row of the table.
#[derive(FromRow)]
pub(super) struct Row {
    /// Id, ascending in the order of commits.
    pub(super) id: i64,
    pub(super) toolkit_id: String,
    pub(super) version: String,
    pub(super) tool: String,
    pub(super) user_id: String,
    #[sqlx(flatten)]
    pub(super) through: Through,
    pub(super) account: Option<String>,
    pub(super) started_at: i64,
    pub(super) duration: i64,
    pub(super) outcome: String,
    pub(super) limit_hit: Option<String>,
    pub(super) requests: i64,
    pub(super) bytes_out: i64,
    pub(super) bytes_in: i64,
    pub(super) result_size: i64,
    pub(super) dropped: i64,
    pub(super) detail: Option<String>,
    pub(super) data: Option<String>,
    /// Log entries as JSON; `None` if the content is another user's.
    pub(super) entries: Option<String>,
    pub(super) run: Option<String>,
}

/// What is written in one transaction.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) records: &'a [Record],
    /// Ids of those calls whose beginning was written.
    pub(super) announced: &'a [String],
    /// Entries of the audit log.
    pub(super) entries: &'a [CallEntry],
}

/// Counts of the calls of an hour, as read from the database.
#[derive(FromRow)]
pub(super) struct Count {
    /// Index of the hour; 0 for the first.
    pub(super) hour: i64,
    pub(super) calls: i64,
    pub(super) failures: i64,
}

/// Counts of a toolkit's calls, as read from the database.
#[derive(FromRow)]
pub(super) struct FailingCount {
    pub(super) toolkit_id: String,
    pub(super) calls: i64,
    pub(super) failures: i64,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the newest id; 0 if there is no record.
    pub(super) async fn newest(&self) -> kitbag_database::Result<i64> {
        newest(self.0.readers()).await
    }

    /// Whether other processes may write records too.
    pub(super) fn has_other_writers(&self) -> bool {
        self.0.server().is_some()
    }

    /// Inserts and counts records in one transaction, and returns the newest id. Ids become visible in their
    /// order, also those of other processes: no other transaction of the scope runs between the choice of an
    /// id and its commit. Records of a toolkit that has been removed meanwhile are dropped: they could not be
    /// read. Entries of the audit log are appended last, since that locks their chain.
    pub(super) async fn insert(&self, batch: Batch<'_>) -> kitbag_database::Result<i64> {
        let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
        running::end(&mut transaction, batch.records, batch.announced).await?;
        let newest = insert_and_count(&mut transaction, batch.records).await?;
        append_calls(&mut transaction, batch.entries).await?;
        transaction.commit().await?;
        Ok(newest)
    }

    /// Whether `user` has called the toolkit.
    pub(super) async fn has_records_of(&self, toolkit: &str, user: &str) -> kitbag_database::Result<bool> {
        sql("SELECT EXISTS (SELECT 1 FROM invocations WHERE toolkit_id = $1 AND user_id = $2)")
            .bind(toolkit)
            .bind(user)
            .fetch_value(self.0.readers())
            .await
    }

    /// Returns the id before the first of the last `count` records, or `None` if there are none, and whether
    /// there are older ones.
    pub(super) async fn before_last(
        &self,
        query: &Query,
        scope: Scope,
        count: u32,
    ) -> kitbag_database::Result<(Option<i64>, bool)> {
        // Searches for one record more than wanted, whose presence shows that older ones were left out.
        let statement = format!(
            "SELECT MIN(id) - CASE WHEN COUNT(*) <= $9 THEN 1 ELSE 0 END, COUNT(*) > $9 FROM (
                 SELECT id FROM invocations
                 WHERE toolkit_id = $1 AND id > $2 AND {} AND {TIME_CONDITION} AND id < $5
                   AND {FILTER_CONDITION}
                 ORDER BY id DESC LIMIT $9 + 1) AS last",
            scope_condition(scope)
        );
        sql(AssertSqlSafe(statement))
            .bind(&query.toolkit)
            .bind(query.after)
            .bind(query.since.as_millisecond())
            .bind(&query.viewer)
            .bind(query.before.unwrap_or(i64::MAX))
            .bind(&query.filter.tool)
            .bind(query.filter.outcome.map(names))
            .bind(query.until.as_millisecond())
            .bind(count)
            .fetch_one(self.0.readers())
            .await
    }

    /// Returns the first records after `cursor` and up to `until`, oldest first: at most
    /// [`MAX_PAGE_RECORDS`], and about [`MAX_PAGE_BYTES`] in size. Empty only if there are no more.
    pub(super) async fn page(
        &self,
        query: &Query,
        scope: Scope,
        cursor: i64,
        until: i64,
    ) -> kitbag_database::Result<Vec<Row>> {
        // The content of other users' calls is not even read.
        let statement = format!(
            "WITH next AS (
                 SELECT id, size FROM invocations
                 WHERE toolkit_id = $1 AND id > $2 AND {TIME_CONDITION} AND id <= $5 AND {}
                   AND {FILTER_CONDITION}
                 ORDER BY id LIMIT {MAX_PAGE_RECORDS}),
             page AS (SELECT id, SUM(size) OVER (ORDER BY id) - size AS before FROM next)
             SELECT id, toolkit_id, version, tool, user_id, client, key_id, key_name, account, started_at, duration,
                    outcome, limit_hit, requests, bytes_out, bytes_in, result_size, dropped,
                    CASE WHEN user_id = $4 THEN detail END AS detail,
                    CASE WHEN user_id = $4 THEN data END AS data,
                    CASE WHEN user_id = $4 THEN entries END AS entries,
                    CASE WHEN user_id = $4 THEN run END AS run
             FROM invocations
             WHERE id IN (SELECT id FROM page WHERE before < {MAX_PAGE_BYTES})
             ORDER BY id",
            scope_condition(scope)
        );
        sql(AssertSqlSafe(statement))
            .bind(&query.toolkit)
            .bind(cursor)
            .bind(query.since.as_millisecond())
            .bind(&query.viewer)
            .bind(until)
            .bind(&query.filter.tool)
            .bind(query.filter.outcome.map(names))
            .bind(query.until.as_millisecond())
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns the counts of the calls that began in each of the [`HOURS`] hours from `first` on, without
    /// empty hours.
    pub(super) async fn usage(
        &self,
        toolkit: &str,
        viewer: &str,
        scope: Scope,
        first: Timestamp,
    ) -> kitbag_database::Result<Vec<Count>> {
        // Groups by the start time: the end time would reveal the duration.
        let statement = format!(
            "SELECT (started_at - $3) / {HOUR_MS} AS hour, COUNT(*) AS calls,
                    COUNT(*) FILTER (WHERE outcome IN (SELECT value FROM json_each($2))) AS failures
             FROM invocations
             WHERE toolkit_id = $1 AND {} AND started_at >= $3 AND started_at < $3 + {HOURS} * {HOUR_MS}
             GROUP BY hour",
            scope_condition(scope)
        );
        sql(AssertSqlSafe(statement))
            .bind(toolkit)
            .bind(names(OutcomeFilter::AnyFailure))
            .bind(first.as_millisecond())
            .bind(viewer)
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns the toolkits with failed calls that began at `first` or later, sorted by number of failures,
    /// descending; at most [`MAX_FAILING`].
    pub(super) async fn failing(&self, first: Timestamp) -> kitbag_database::Result<Vec<FailingCount>> {
        // Both counts are read from indexes alone. The first index has failures only: the expression keeps
        // SQLite from choosing an index of all records for its order.
        let statement = format!(
            "SELECT toolkit_id, failures,
                    (SELECT COUNT(*) FROM invocations i
                     WHERE i.toolkit_id = failing.toolkit_id AND i.started_at >= $1) AS calls
             FROM (
                 SELECT toolkit_id, COUNT(*) AS failures
                 FROM (SELECT toolkit_id || '' AS toolkit_id FROM invocations
                       WHERE started_at >= $1 AND outcome <> 'succeeded'
                         AND outcome IN (SELECT value FROM json_each($2))) AS failed
                 GROUP BY toolkit_id ORDER BY failures DESC, toolkit_id LIMIT {MAX_FAILING}) AS failing
             ORDER BY failures DESC, toolkit_id"
        );
        sql(AssertSqlSafe(statement))
            .bind(first.as_millisecond())
            .bind(names(OutcomeFilter::AnyFailure))
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns the ids of toolkits with calls that began at `first` or later, sorted by number of calls,
    /// descending.
    pub(super) async fn used(&self, first: Timestamp) -> kitbag_database::Result<Vec<String>> {
        sql("SELECT toolkit_id FROM invocations WHERE started_at >= $1
             GROUP BY toolkit_id ORDER BY COUNT(*) DESC, toolkit_id")
        .bind(first.as_millisecond())
        .fetch_values(self.0.readers())
        .await
    }
}

/// SQL condition for records of calls that ended at the time in parameter 3 or later. For other users' calls
/// the start, to the second, is compared: otherwise the exact end could be found by repeated queries.
const TIME_CONDITION: &str =
    "CASE WHEN user_id = $4 THEN ended_at ELSE started_at - started_at % 1000 END >= $3
     AND CASE WHEN user_id = $4 THEN ended_at ELSE started_at - started_at % 1000 END < $8";

/// SQL condition for the tool in parameter 6 and the list of outcomes in parameter 7. Without a value, all
/// records match.
const FILTER_CONDITION: &str = "($6 IS NULL OR tool = $6)
     AND ($7 IS NULL OR outcome IN (SELECT value FROM json_each($7)))";

/// Returns the names of the selected outcomes, as a JSON list.
fn names(filter: OutcomeFilter) -> String {
    list(&filter.outcomes())
}

/// Returns the SQL condition for the records in scope. Parameter 4 is the reading user.
fn scope_condition(scope: Scope) -> &'static str {
    match scope {
        Scope::Own => "user_id = $4",
        // Uses the parameter too, so that both statements have the same parameters.
        Scope::All | Scope::Owned => "$4 IS NOT NULL",
    }
}

/// Returns the newest id; 0 if there is no record.
async fn newest(executor: impl Into<Executor<'_>>) -> kitbag_database::Result<i64> {
    sql("SELECT COALESCE(MAX(id), 0) FROM invocations").fetch_value(executor).await
}

/// Inserts and counts records, except those of toolkits that have been removed. Returns the newest id.
async fn insert_and_count(transaction: &mut Transaction, records: &[Record]) -> kitbag_database::Result<i64> {
    let there = existing_toolkits(transaction, records).await?;
    let records: Vec<_> = records.iter().filter(|record| there.contains(&record.call.toolkit)).collect();
    for rows in batches(&records) {
        insert(transaction, rows).await?;
    }
    counts::count(transaction, &records).await?;
    newest(transaction).await
}

/// Returns those toolkits of the records that have not been removed, and the toolkit ids of the server's own
/// tools.
async fn existing_toolkits(
    transaction: &mut Transaction,
    records: &[Record],
) -> kitbag_database::Result<HashSet<String>> {
    let mut toolkits: Vec<_> = records.iter().map(|record| record.call.toolkit.as_str()).collect();
    toolkits.sort_unstable();
    toolkits.dedup();
    let there: Vec<String> = sql("SELECT id FROM toolkits WHERE id IN (SELECT value FROM json_each($1))")
        .bind(list(&toolkits))
        .fetch_values(transaction)
        .await?;
    Ok(there.into_iter().chain([kitbag_knowledge::TOOLS.to_owned()]).collect())
}

/// Inserts rows with one statement, because each statement is passed to another thread and back. Ids ascend
/// in the order of the records.
async fn insert(transaction: &mut Transaction, records: &[&Record]) -> kitbag_database::Result<()> {
    let entries = records.iter().map(|record| serde_json::to_string(&record.conclusion.transcript.entries));
    let entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(DatabaseError::unwritable)?;
    let mut statement = StatementBuilder::new(
        "INSERT INTO invocations
             (toolkit_id, version, tool, user_id, client, key_id, key_name, account, started_at, ended_at, duration,
              outcome, limit_hit, requests, bytes_out, bytes_in, result_size, dropped, detail, data, entries, size, run) ",
    );
    statement.push_values(records.iter().zip(entries), |mut row, (record, entries)| {
        let Record { call, duration, conclusion: end, .. } = record;
        let duration = as_i64(duration.as_micros());
        let started_at = call.started_at.as_millisecond();
        row.push_bind(&call.toolkit).push_bind(&call.version).push_bind(&call.tool).push_bind(&call.user);
        call.through.push(&mut row);
        row.push_bind(&call.account)
            .push_bind(started_at)
            .push_bind(started_at + duration / 1000)
            .push_bind(duration)
            .push_bind(end.outcome.as_str())
            .push_bind(&end.limit)
            .push_bind(as_i64(end.usage.requests))
            .push_bind(as_i64(end.usage.bytes_out))
            .push_bind(as_i64(end.usage.bytes_in))
            .push_bind(as_i64(end.result_size))
            .push_bind(as_i64(end.transcript.dropped))
            .push_bind(&end.detail)
            .push_bind(end.data.as_ref().map(|data| data.get()))
            .push_bind(entries)
            .push_bind(as_i64(record.size()))
            .push_bind(call.run.as_deref());
    });
    statement.build().execute(transaction).await?;
    Ok(())
}

impl Through {
    /// Appends the columns `client`, `key_id` and `key_name`.
    fn push<'v>(&'v self, row: &mut RowBuilder<'_, 'v>) {
        row.push_bind(&self.client).push_bind(&self.key_id).push_bind(&self.key_name);
    }
}

fn as_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

impl Row {
    /// Returns the duration in microseconds; `None` if the call was interrupted: nobody knows how long it ran.
    pub(super) fn known_duration(&self) -> Option<i64> {
        (self.outcome != Outcome::Interrupted.as_str()).then_some(self.duration)
    }
}

impl Serialize for Row {
    /// Serialises all fields as one JSON object, for the caller only. Fields without a value are omitted.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("toolkit", &self.toolkit_id)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("user", &self.user_id)?;
        let Through { client, key_id, key_name } = &self.through;
        let optional =
            [("client", client), ("key", key_id), ("keyName", key_name), ("account", &self.account)];
        for (key, value) in optional {
            if let Some(value) = value {
                map.serialize_entry(key, value)?;
            }
        }
        let started_at = Timestamp::from_millisecond(self.started_at).unwrap_or_default();
        map.serialize_entry("startedAt", &started_at.to_string())?;
        if let Some(duration) = self.known_duration() {
            #[expect(clippy::cast_precision_loss, reason = "no call lasts for centuries")]
            map.serialize_entry("durationMs", &(duration as f64 / 1e3))?;
        }
        map.serialize_entry("outcome", &self.outcome)?;
        if let Some(limit) = &self.limit_hit {
            map.serialize_entry("limit", limit)?;
        }
        map.serialize_entry("requests", &self.requests)?;
        map.serialize_entry("bytesOut", &self.bytes_out)?;
        map.serialize_entry("bytesIn", &self.bytes_in)?;
        map.serialize_entry("resultSize", &self.result_size)?;
        if let Some(detail) = &self.detail {
            map.serialize_entry("detail", detail)?;
        }
        if let Some(run) = &self.run {
            map.serialize_entry("run", run)?;
        }
        for (key, json) in [("data", &self.data), ("entries", &self.entries)] {
            if let Some(json) = json {
                let raw: &RawValue = serde_json::from_str(json).map_err(serde::ser::Error::custom)?;
                map.serialize_entry(key, raw)?;
            }
        }
        map.serialize_entry("dropped", &self.dropped)?;
        map.end()
    }
}
