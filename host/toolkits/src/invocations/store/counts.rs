//! Counts calls and users in the transaction of the records, and reads the counts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kitbag_database::{StatementBuilder, Transaction, batches, sql};

use super::{Store, as_i64};
use crate::invocations::counts::{CallCounts, Period, ToolkitCounts, hour_of};
use crate::invocations::latency::RANGES;
use crate::invocations::record::Record;

/// Counts of each toolkit's calls, and the number of users.
pub(in crate::invocations) struct Counted {
    pub(in crate::invocations) toolkits: BTreeMap<String, ToolkitCounts>,
    pub(in crate::invocations) users: u64,
}

impl Store {
    /// Returns the counts of the period from the hour `first` on; users are counted from the hour
    /// `users_from` on.
    pub(in crate::invocations) async fn counts(
        &self,
        period: Period,
        first: i64,
        users_from: i64,
    ) -> kitbag_database::Result<Counted> {
        let mut snapshot = self.0.snapshot().await?;
        // One row for each toolkit, because each row of a result is passed between threads.
        let rows: Vec<(String, String)> = sql(
            "WITH intervals AS (
                 SELECT toolkit_id, (hour - $1) / $2 AS nth, SUM(calls) AS calls, SUM(failures) AS failures,
                        SUM(refused) AS refused, SUM(took_10) AS took_10, SUM(took_25) AS took_25,
                        SUM(took_50) AS took_50, SUM(took_100) AS took_100, SUM(took_250) AS took_250,
                        SUM(took_500) AS took_500, SUM(took_1000) AS took_1000, SUM(took_2500) AS took_2500,
                        SUM(took_5000) AS took_5000, SUM(took_10000) AS took_10000, SUM(took_30000) AS took_30000,
                        SUM(took_longer) AS took_longer
                 FROM call_counts WHERE hour >= $1 GROUP BY toolkit_id, nth)
             SELECT toolkit_id, string_agg(
                 concat_ws(',', nth, calls, failures, refused, took_10, took_25, took_50, took_100, took_250, took_500,
                           took_1000, took_2500, took_5000, took_10000, took_30000, took_longer), ';')
             FROM intervals GROUP BY toolkit_id",
        )
        .bind(first)
        .bind(period.interval_hours())
        .fetch_all(&mut snapshot)
        .await?;
        let mut toolkits = BTreeMap::new();
        for (toolkit, text) in rows {
            let intervals = intervals(period, &text);
            toolkits.insert(toolkit, ToolkitCounts { intervals, users: 0 });
        }
        let users: Vec<(String, i64)> =
            sql("SELECT toolkit_id, COUNT(*) FROM toolkit_users WHERE last_hour >= $1 GROUP BY toolkit_id")
                .bind(users_from)
                .fetch_all(&mut snapshot)
                .await?;
        for (toolkit, users) in users {
            toolkits.entry(toolkit).or_default().users = as_u64(users);
        }
        let users: i64 = sql("SELECT COUNT(DISTINCT user_id) FROM toolkit_users WHERE last_hour >= $1")
            .bind(users_from)
            .fetch_value(&mut snapshot)
            .await?;
        Ok(Counted { toolkits, users: as_u64(users) })
    }

    /// Removes counts of calls that began before the first hour, and users whose last call began before the
    /// second one.
    pub(in crate::invocations) async fn remove_counts_before(
        &self,
        calls: i64,
        users: i64,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(kitbag_database::Scope::Records).await?;
        sql("DELETE FROM call_counts WHERE hour < $1").bind(calls).execute(&mut transaction).await?;
        sql("DELETE FROM toolkit_users WHERE last_hour < $1").bind(users).execute(&mut transaction).await?;
        transaction.commit().await
    }
}

/// Takes a call back that was counted as interrupted.
pub(super) async fn uncount_interrupted(
    transaction: &mut Transaction,
    toolkit: &str,
    started_at: Timestamp,
) -> kitbag_database::Result<()> {
    sql("UPDATE call_counts SET calls = calls - 1, failures = failures - 1
         WHERE hour = $1 AND toolkit_id = $2 AND calls > 0 AND failures > 0")
    .bind(hour_of(started_at))
    .bind(toolkit)
    .execute(transaction)
    .await?;
    Ok(())
}

/// Adds records to the counts of their toolkits: one row per toolkit and hour, and one per user of a toolkit.
pub(super) async fn count(transaction: &mut Transaction, records: &[&Record]) -> kitbag_database::Result<()> {
    let mut counts = BTreeMap::new();
    let mut users = BTreeMap::new();
    for record in records {
        let hour = hour_of(record.call.started_at);
        let toolkit = record.call.toolkit.as_str();
        counts.entry((hour, toolkit)).or_insert_with(CallCounts::default).count(record);
        let last = users.entry((toolkit, record.call.user.as_str())).or_insert(hour);
        *last = hour.max(*last);
    }
    let counts: Vec<_> = counts.into_iter().collect();
    for rows in batches(&counts) {
        add_counts(transaction, rows).await?;
    }
    let users: Vec<_> = users.into_iter().collect();
    for rows in batches(&users) {
        note_users(transaction, rows).await?;
    }
    Ok(())
}

async fn add_counts(
    transaction: &mut Transaction,
    rows: &[((i64, &str), CallCounts)],
) -> kitbag_database::Result<()> {
    let mut statement = StatementBuilder::new(
        "INSERT INTO call_counts (hour, toolkit_id, calls, failures, refused, took_10, took_25, took_50, took_100,
             took_250, took_500, took_1000, took_2500, took_5000, took_10000, took_30000, took_longer) ",
    );
    statement.push_values(rows, |mut row, ((hour, toolkit), counts)| {
        row.push_bind(*hour).push_bind(*toolkit);
        for number in counts.columns() {
            row.push_bind(as_i64(number));
        }
    });
    statement.push(
        " ON CONFLICT (hour, toolkit_id) DO UPDATE SET
             calls = call_counts.calls + excluded.calls,
             failures = call_counts.failures + excluded.failures,
             refused = call_counts.refused + excluded.refused,
             took_10 = call_counts.took_10 + excluded.took_10,
             took_25 = call_counts.took_25 + excluded.took_25,
             took_50 = call_counts.took_50 + excluded.took_50,
             took_100 = call_counts.took_100 + excluded.took_100,
             took_250 = call_counts.took_250 + excluded.took_250,
             took_500 = call_counts.took_500 + excluded.took_500,
             took_1000 = call_counts.took_1000 + excluded.took_1000,
             took_2500 = call_counts.took_2500 + excluded.took_2500,
             took_5000 = call_counts.took_5000 + excluded.took_5000,
             took_10000 = call_counts.took_10000 + excluded.took_10000,
             took_30000 = call_counts.took_30000 + excluded.took_30000,
             took_longer = call_counts.took_longer + excluded.took_longer",
    );
    statement.build().execute(transaction).await?;
    Ok(())
}

async fn note_users(
    transaction: &mut Transaction,
    rows: &[((&str, &str), i64)],
) -> kitbag_database::Result<()> {
    let mut statement = StatementBuilder::new("INSERT INTO toolkit_users (toolkit_id, user_id, last_hour) ");
    statement.push_values(rows, |mut row, ((toolkit, user), hour)| {
        row.push_bind(*toolkit).push_bind(*user).push_bind(*hour);
    });
    statement.push(
        " ON CONFLICT (toolkit_id, user_id) DO UPDATE SET last_hour = excluded.last_hour
          WHERE toolkit_users.last_hour < excluded.last_hour",
    );
    statement.build().execute(transaction).await?;
    Ok(())
}

/// Parses the counts of each interval from `nth,calls,failures,…;…`. Hours after the period, which a clock
/// that was set back can cause, count towards its last interval.
fn intervals(period: Period, text: &str) -> Vec<CallCounts> {
    let mut intervals = vec![CallCounts::default(); period.intervals()];
    for interval in text.split(';') {
        let mut numbers = interval.split(',').map(|number| number.parse().unwrap_or_default());
        let nth = usize::try_from(numbers.next().unwrap_or(0)).unwrap_or(usize::MAX);
        let mut columns = [0; 3 + RANGES];
        columns.iter_mut().zip(numbers).for_each(|(column, number)| *column = number);
        intervals[nth.min(period.intervals() - 1)].add(&CallCounts::of_columns(columns));
    }
    intervals
}

/// Converts a count, which is never negative.
fn as_u64(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

/// Returns the first hours for which counts of calls and of users are retained, given the retention time
/// `age` of records.
pub(in crate::invocations) fn kept_from(now: Timestamp, age: std::time::Duration) -> (i64, i64) {
    let calls = Period::ThirtyDays.first_hour(now);
    let records = now.checked_sub(age).map_or(i64::MIN, hour_of);
    (calls, calls.max(records))
}
