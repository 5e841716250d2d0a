//! The table of records: all SQL about them.

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use sqlx::{AssertSqlSafe, FromRow, QueryBuilder, SqliteConnection};

use super::reading::{Query, Scope};
use super::record::{Outcome, Record};
use crate::database::{self, Database, DatabaseError};

/// Records that are read at a time, at most.
const PAGE: usize = 16;
/// Bytes of records that are read at a time, about, and one record at least: what one reader holds in
/// memory.
const PAGE_BYTES: usize = 512 << 10;
/// Rows that one statement inserts, at most. It has many because each statement is handed to a thread and back; their
/// number is a power of two, so that few statements have to be prepared, and all stay so.
const MAX_ROWS: usize = 128;
/// Rows that are removed at a time: others write between.
const REMOVED_AT_ONCE: usize = 500;

#[derive(Clone)]
pub(super) struct Store(Database);

/// A row of the table.
#[derive(FromRow)]
pub(super) struct Row {
    /// Ascends in the order in which records became readable.
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
    /// Absent where the content is another user's.
    entries: Option<String>,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// The newest id, or 0 where there is no record.
    pub(super) async fn newest(&self) -> database::Result<i64> {
        Ok(sqlx::query_scalar("SELECT COALESCE(MAX(id), 0) FROM invocations")
            .fetch_one(self.0.readers())
            .await?)
    }

    /// Keeps records, in one transaction, and returns the newest id. Those of a toolkit that has been
    /// removed in the meantime are let go: nobody could read them.
    pub(super) async fn insert(&self, records: &[Record]) -> database::Result<i64> {
        let mut transaction = self.0.begin().await?;
        let (mut newest, mut rest) = (0, records);
        while let Some(exponent) = rest.len().min(MAX_ROWS).checked_ilog2() {
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

    /// The id before the first of the last `count` records, or nothing where there is none at all.
    pub(super) async fn before_last(
        &self,
        query: &Query,
        scope: Scope,
        count: u32,
    ) -> database::Result<Option<i64>> {
        let sql = format!(
            "SELECT MIN(id) - 1 FROM (
                 SELECT id FROM invocations
                 WHERE toolkit_id = ?1 AND id > ?2 AND {} AND {SINCE}
                 ORDER BY id DESC LIMIT ?5)",
            whose(scope)
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

    /// The first records after `cursor` and up to `until`, oldest first: at most [`PAGE`], of
    /// [`PAGE_BYTES`], and none only where there is none.
    pub(super) async fn page(
        &self,
        query: &Query,
        scope: Scope,
        cursor: i64,
        until: i64,
    ) -> database::Result<Vec<Row>> {
        // The content of others stays where it is: it is not even read.
        let sql = format!(
            "WITH next AS (
                 SELECT id, size FROM invocations
                 WHERE toolkit_id = ?1 AND id > ?2 AND {SINCE} AND id <= ?5 AND {}
                 ORDER BY id LIMIT {PAGE}),
             page AS (SELECT id, SUM(size) OVER (ORDER BY id) - size AS before FROM next)
             SELECT id, toolkit_id, version, tool, user_id, started_at, duration, outcome, limit_hit,
                    requests, bytes_out, bytes_in, result_size, dropped,
                    CASE WHEN user_id = ?4 THEN detail END AS detail,
                    CASE WHEN user_id = ?4 THEN data END AS data,
                    CASE WHEN user_id = ?4 THEN entries END AS entries
             FROM invocations
             WHERE id IN (SELECT id FROM page WHERE before < {PAGE_BYTES})
             ORDER BY id",
            whose(scope)
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
            .bind(as_i64(REMOVED_AT_ONCE))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            if removed.rows_affected() == 0 {
                return Ok(());
            }
        }
    }

    /// Removes a toolkit's records, so that `count` are left and they take `bytes` at most: first the
    /// oldest of whichever users have the most.
    pub(super) async fn remove_beyond(
        &self,
        toolkit: &str,
        count: u32,
        bytes: usize,
    ) -> database::Result<()> {
        // Ranked by how many, or how much, its own user has that is newer: the first of everybody come
        // first, then the second of everybody who has two, and so on.
        let too_many: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM (
                 SELECT id,
                        ROW_NUMBER() OVER (ORDER BY nth, id DESC) AS place,
                        SUM(size) OVER (ORDER BY taken, id DESC) AS total
                 FROM (
                     SELECT id, size, ROW_NUMBER() OVER newest_first AS nth, SUM(size) OVER newest_first AS taken
                     FROM invocations WHERE toolkit_id = ?
                     WINDOW newest_first AS (PARTITION BY user_id ORDER BY id DESC)))
             WHERE place > ? OR total > ? ORDER BY id",
        )
        .bind(toolkit)
        .bind(count)
        .bind(as_i64(bytes))
        .fetch_all(self.0.readers())
        .await?;
        self.remove(&too_many).await
    }

    /// Removes the oldest records of refused calls, so that `count` of each user are left.
    pub(super) async fn remove_refused_beyond(&self, toolkit: &str, count: u32) -> database::Result<()> {
        let too_many: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM (
                 SELECT id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id DESC) AS nth
                 FROM invocations WHERE toolkit_id = ? AND outcome IN (?, ?))
             WHERE nth > ? ORDER BY id",
        )
        .bind(toolkit)
        .bind(Outcome::Busy.as_str())
        .bind(Outcome::InvalidParams.as_str())
        .bind(count)
        .fetch_all(self.0.readers())
        .await?;
        self.remove(&too_many).await
    }

    async fn remove(&self, ids: &[i64]) -> database::Result<()> {
        for some in ids.chunks(REMOVED_AT_ONCE) {
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

/// The condition for the records of calls that ended since the time that is the third parameter. When a call
/// of another ended could be found out by asking for one time after the other: of those, when they began,
/// to the second.
const SINCE: &str = "CASE WHEN user_id = ?4 THEN ended_at ELSE started_at - started_at % 1000 END >= ?3";

/// The condition for the records that are in scope; the fourth parameter is the reading user.
fn whose(scope: Scope) -> &'static str {
    match scope {
        Scope::Own => "user_id = ?4",
        // Names the parameter as well, so that both statements take the same.
        Scope::All => "?4 IS NOT NULL",
    }
}

/// Inserts rows by one statement, and returns the id of the last.
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
    /// One JSON object, with everything: it is for the user whose call it was. What there is none of is absent.
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
