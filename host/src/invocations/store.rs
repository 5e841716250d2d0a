//! All SQL about records of calls.

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use sqlx::{AssertSqlSafe, FromRow, QueryBuilder, SqliteConnection};

use super::reading::{Query, Scope};
use super::record::{Outcome, Record};
use crate::database::{self, Database, DatabaseError};

/// Maximum number of records in a page.
const MAX_PAGE_RECORDS: usize = 16;
/// Approximate size of a page in bytes, which a reader holds in memory. A page has at least one record.
const MAX_PAGE_BYTES: usize = 512 << 10;
/// Maximum number of rows per `INSERT` statement. Statements have a power of two of them, so that few have to be
/// prepared and all stay in the cache of prepared statements.
const MAX_ROWS_PER_INSERT: usize = 128;
/// Rows per `DELETE` transaction, so that others can write in between.
const ROWS_PER_DELETE: usize = 500;

#[derive(Clone)]
pub(super) struct Store(Database);

/// A row of the table.
#[derive(FromRow)]
pub(super) struct Row {
    /// Ascends in the order of commits.
    pub(super) id: i64,
    pub(super) toolkit_id: String,
    pub(super) version: String,
    pub(super) tool: String,
    pub(super) user_id: String,
    pub(super) started_at: i64,
    pub(super) duration: i64,
    pub(super) outcome: String,
    pub(super) limit_hit: Option<String>,
    pub(super) requests: i64,
    pub(super) bytes_out: i64,
    pub(super) bytes_in: i64,
    pub(super) result_size: i64,
    pub(super) dropped: i64,
    detail: Option<String>,
    data: Option<String>,
    /// `None` if the content is another user's.
    entries: Option<String>,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// The newest id; 0 if there is no record.
    pub(super) async fn newest(&self) -> database::Result<i64> {
        Ok(sqlx::query_scalar("SELECT COALESCE(MAX(id), 0) FROM invocations")
            .fetch_one(self.0.readers())
            .await?)
    }

    /// Inserts records in one transaction, and returns the newest id. Those of a toolkit that has been
    /// removed meanwhile are dropped: they could not be read.
    pub(super) async fn insert(&self, records: &[Record]) -> database::Result<i64> {
        let mut transaction = self.0.begin().await?;
        let (mut newest, mut rest) = (0, records);
        while let Some(exponent) = rest.len().min(MAX_ROWS_PER_INSERT).checked_ilog2() {
            let (rows, later) = rest.split_at(1 << exponent);
            newest = insert(&mut transaction, rows).await?.unwrap_or(newest);
            rest = later;
        }
        transaction.commit().await?;
        Ok(newest)
    }

    /// Whether `user` has called the toolkit.
    pub(super) async fn has_records_of(&self, toolkit: &str, user: &str) -> database::Result<bool> {
        Ok(sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM invocations WHERE toolkit_id = ? AND user_id = ?)",
        )
        .bind(toolkit)
        .bind(user)
        .fetch_one(self.0.readers())
        .await?)
    }

    /// The id before the first of the last `count` records; `None` if there are none.
    pub(super) async fn before_last(
        &self,
        query: &Query,
        scope: Scope,
        count: u32,
    ) -> database::Result<Option<i64>> {
        let sql = format!(
            "SELECT MIN(id) - 1 FROM (
                 SELECT id FROM invocations
                 WHERE toolkit_id = ?1 AND id > ?2 AND {} AND {SINCE_CONDITION}
                 ORDER BY id DESC LIMIT ?5)",
            scope_condition(scope)
        );
        Ok(sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&query.toolkit)
            .bind(query.after)
            .bind(query.since.as_millisecond())
            .bind(&query.viewer)
            .bind(count)
            .fetch_one(self.0.readers())
            .await?)
    }

    /// The first records after `cursor` and up to `until`, oldest first: at most [`MAX_PAGE_RECORDS`], and
    /// about [`MAX_PAGE_BYTES`] in size. Empty only if there are no more.
    pub(super) async fn page(
        &self,
        query: &Query,
        scope: Scope,
        cursor: i64,
        until: i64,
    ) -> database::Result<Vec<Row>> {
        // The content of other users' calls is not even read.
        let sql = format!(
            "WITH next AS (
                 SELECT id, size FROM invocations
                 WHERE toolkit_id = ?1 AND id > ?2 AND {SINCE_CONDITION} AND id <= ?5 AND {}
                 ORDER BY id LIMIT {MAX_PAGE_RECORDS}),
             page AS (SELECT id, SUM(size) OVER (ORDER BY id) - size AS before FROM next)
             SELECT id, toolkit_id, version, tool, user_id, started_at, duration, outcome, limit_hit,
                    requests, bytes_out, bytes_in, result_size, dropped,
                    CASE WHEN user_id = ?4 THEN detail END AS detail,
                    CASE WHEN user_id = ?4 THEN data END AS data,
                    CASE WHEN user_id = ?4 THEN entries END AS entries
             FROM invocations
             WHERE id IN (SELECT id FROM page WHERE before < {MAX_PAGE_BYTES})
             ORDER BY id",
            scope_condition(scope)
        );
        Ok(sqlx::query_as(AssertSqlSafe(sql))
            .bind(&query.toolkit)
            .bind(cursor)
            .bind(query.since.as_millisecond())
            .bind(&query.viewer)
            .bind(until)
            .fetch_all(self.0.readers())
            .await?)
    }

    /// Ids of all toolkits.
    pub(super) async fn toolkits(&self) -> database::Result<Vec<String>> {
        Ok(sqlx::query_scalar("SELECT id FROM toolkits").fetch_all(self.0.readers()).await?)
    }

    /// Removes records of calls that ended before `ended_at`, in milliseconds since 1970.
    pub(super) async fn remove_before(&self, ended_at: i64) -> database::Result<()> {
        loop {
            let mut transaction = self.0.begin().await?;
            let removed = sqlx::query(
                "DELETE FROM invocations WHERE id IN (
                     SELECT id FROM invocations WHERE ended_at < ? ORDER BY ended_at LIMIT ?)",
            )
            .bind(ended_at)
            .bind(as_i64(ROWS_PER_DELETE))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            if removed.rows_affected() == 0 {
                return Ok(());
            }
        }
    }

    /// Removes a toolkit's records beyond `count` records and `bytes` bytes: first the oldest of the users
    /// with the most records.
    pub(super) async fn remove_beyond(
        &self,
        toolkit: &str,
        count: u32,
        bytes: usize,
    ) -> database::Result<()> {
        // Each record is ranked by the number, and the size, of its own user's newer records: the newest
        // of every user come first, then the second newest of every user, and so on.
        let too_many: String = sqlx::query_scalar(
            "SELECT json_group_array(id ORDER BY id) FROM (
                 SELECT id,
                        ROW_NUMBER() OVER (ORDER BY nth, id DESC) AS place,
                        SUM(size) OVER (ORDER BY taken, id DESC) AS total
                 FROM (
                     SELECT id, size, ROW_NUMBER() OVER newest_first AS nth, SUM(size) OVER newest_first AS taken
                     FROM invocations WHERE toolkit_id = ?
                     WINDOW newest_first AS (PARTITION BY user_id ORDER BY id DESC)))
             WHERE place > ? OR total > ?",
        )
        .bind(toolkit)
        .bind(count)
        .bind(as_i64(bytes))
        .fetch_one(self.0.readers())
        .await?;
        self.remove(&too_many).await
    }

    /// Removes the oldest records of refused calls beyond `count` for each user.
    pub(super) async fn remove_refused_beyond(&self, toolkit: &str, count: u32) -> database::Result<()> {
        let too_many: String = sqlx::query_scalar(
            "SELECT json_group_array(id ORDER BY id) FROM (
                 SELECT id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id DESC) AS nth
                 FROM invocations WHERE toolkit_id = ? AND outcome IN (?, ?))
             WHERE nth > ?",
        )
        .bind(toolkit)
        .bind(Outcome::Busy.as_str())
        .bind(Outcome::InvalidParams.as_str())
        .bind(count)
        .fetch_one(self.0.readers())
        .await?;
        self.remove(&too_many).await
    }

    /// Removes records by their ids, a JSON array: as one value, because each row of a result is passed between threads.
    async fn remove(&self, ids: &str) -> database::Result<()> {
        let ids: Vec<i64> = serde_json::from_str(ids).map_err(DatabaseError::unreadable)?;
        for some in ids.chunks(ROWS_PER_DELETE) {
            let some = serde_json::to_string(some).map_err(DatabaseError::unwritable)?;
            let mut transaction = self.0.begin().await?;
            sqlx::query("DELETE FROM invocations WHERE id IN (SELECT value FROM json_each(?))")
                .bind(some)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
        }
        Ok(())
    }
}

/// The SQL condition for records of calls that ended at the time in the third parameter or later. For other
/// users' calls the start, to the second, is compared: else the exact end could be found by repeated
/// queries.
const SINCE_CONDITION: &str =
    "CASE WHEN user_id = ?4 THEN ended_at ELSE started_at - started_at % 1000 END >= ?3";

/// The SQL condition for the records in scope. The fourth parameter is the reading user.
fn scope_condition(scope: Scope) -> &'static str {
    match scope {
        Scope::Own => "user_id = ?4",
        // Uses the parameter too, so that both statements have the same parameters.
        Scope::All => "?4 IS NOT NULL",
    }
}

/// Inserts rows with one statement, because each statement goes to another thread and back. Returns the id
/// of the last row.
async fn insert(transaction: &mut SqliteConnection, records: &[Record]) -> database::Result<Option<i64>> {
    let entries = records.iter().map(|record| serde_json::to_string(&record.conclusion.transcript.entries));
    let entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(DatabaseError::unwritable)?;
    let mut statement = QueryBuilder::new(
        "INSERT INTO invocations
             (toolkit_id, version, tool, user_id, started_at, ended_at, duration, outcome, limit_hit, requests,
              bytes_out, bytes_in, result_size, dropped, detail, data, entries, size)
         SELECT * FROM (",
    );
    statement.push_values(records.iter().zip(entries), |mut row, (record, entries)| {
        let end = &record.conclusion;
        let duration = as_i64(record.duration.as_micros());
        let started_at = record.started_at.as_millisecond();
        row.push_bind(&record.toolkit)
            .push_bind(&record.version)
            .push_bind(&record.tool)
            .push_bind(&record.user)
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
            .push_bind(as_i64(record.size()));
    });
    statement.push(") WHERE column1 IN (SELECT id FROM toolkits)");
    let inserted = statement.build().execute(transaction).await?;
    Ok((inserted.rows_affected() > 0).then(|| inserted.last_insert_rowid()))
}

fn as_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

impl Serialize for Row {
    /// One JSON object with all fields, for the caller only. Fields without a value are omitted.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("toolkit", &self.toolkit_id)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("user", &self.user_id)?;
        let started_at = Timestamp::from_millisecond(self.started_at).unwrap_or_default();
        map.serialize_entry("startedAt", &started_at.to_string())?;
        #[expect(clippy::cast_precision_loss, reason = "no call lasts for centuries")]
        map.serialize_entry("durationMs", &(self.duration as f64 / 1e3))?;
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
