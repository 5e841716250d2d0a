//! All SQL of the table of calls. Times are milliseconds since 1970.

use jiff::Timestamp;

use super::{CHAIN, CallEntry, CallFilter, CallRow, second};
use crate::builder::batches;
use crate::{Database, StatementBuilder, Transaction, list, sql};

/// The columns of an entry.
macro_rules! columns {
    () => {
        "sequence, call, at, actor, client, program_key, toolkit, version, tool, account, outcome, arguments, result, \
         duration, hash"
    };
}

/// SQL condition of a [`CallFilter`], with its values as parameters 1 to 5.
macro_rules! filter {
    () => {
        "at >= $1 AND at <= $2
         AND (CAST($3 AS TEXT) IS NULL OR actor = $3)
         AND (CAST($4 AS TEXT) IS NULL OR toolkit = $4)
         AND (CAST($5 AS TEXT) IS NULL OR outcome = $5)"
    };
}

/// Binds the values of a [`CallFilter`].
macro_rules! bind_filter {
    ($statement:expr, $filter:expr) => {{
        let CallFilter { since, until, user, toolkit, outcome } = $filter;
        $statement
            .bind(since.map_or(i64::MIN, Timestamp::as_millisecond))
            .bind(until.map_or(i64::MAX, Timestamp::as_millisecond))
            .bind(user)
            .bind(toolkit)
            .bind(outcome)
    }};
}

/// Inserts rows.
pub(super) async fn insert(transaction: &mut Transaction, rows: &[CallRow]) -> crate::Result<()> {
    for some in batches(rows) {
        let mut statement = StatementBuilder::new(concat!("INSERT INTO audit_calls (", columns!(), ") "));
        statement.push_values(some, |mut values, row| {
            values
                .push_bind(row.sequence)
                .push_bind(&row.call)
                .push_bind(row.at)
                .push_bind(&row.actor)
                .push_bind(&row.client)
                .push_bind(&row.program_key)
                .push_bind(&row.toolkit)
                .push_bind(&row.version)
                .push_bind(&row.tool)
                .push_bind(&row.account)
                .push_bind(&row.outcome)
                .push_bind(row.arguments)
                .push_bind(row.result)
                .push_bind(row.duration)
                .push_bind(&row.hash[..]);
        });
        statement.build().execute(&mut *transaction).await?;
    }
    Ok(())
}

/// Returns ids and outcomes of the calls of these entries that are stored.
pub(super) async fn outcomes(
    transaction: &mut Transaction,
    entries: &[CallEntry],
) -> crate::Result<Vec<(String, String)>> {
    let times = || entries.iter().map(|entry| second(entry.at));
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return Ok(Vec::new()) };
    let calls: Vec<_> = entries.iter().map(|entry| entry.call.as_str()).collect();
    sql("SELECT call, outcome FROM audit_calls
         WHERE at >= $1 AND at <= $2 AND call IN (SELECT value FROM json_each($3))")
    .bind(first)
    .bind(last)
    .bind(list(&calls))
    .fetch_all(transaction)
    .await
}

/// Returns up to `limit` entries with `sequence > after`, oldest first.
pub(in crate::audit) async fn links(
    snapshot: &mut Transaction,
    after: i64,
    limit: u32,
) -> crate::Result<Vec<CallRow>> {
    sql(concat!("SELECT ", columns!(), " FROM audit_calls WHERE sequence > $1 ORDER BY sequence LIMIT $2"))
        .bind(after)
        .bind(limit)
        .fetch_all(snapshot)
        .await
}

/// Returns whether there is any entry.
pub(in crate::audit) async fn are_there(database: &Database) -> crate::Result<bool> {
    sql("SELECT EXISTS (SELECT 1 FROM audit_calls)").fetch_value(database.readers()).await
}

/// Returns the time of an entry.
pub(in crate::audit) async fn time_of(
    snapshot: &mut Transaction,
    sequence: i64,
) -> crate::Result<Option<i64>> {
    sql("SELECT at FROM audit_calls WHERE sequence = $1").bind(sequence).fetch_optional_value(snapshot).await
}

/// Removes entries up to a sequence number.
pub(in crate::audit) async fn remove_until(
    transaction: &mut Transaction,
    sequence: i64,
) -> crate::Result<()> {
    sql("DELETE FROM audit_calls WHERE sequence <= $1").bind(sequence).execute(transaction).await?;
    Ok(())
}

/// Returns the newest sequence number; 0 before the first entry.
pub(super) async fn newest(database: &Database) -> crate::Result<i64> {
    let newest: Option<i64> = sql("SELECT newest FROM audit_chains WHERE chain = $1")
        .bind(CHAIN)
        .fetch_optional_value(database.readers())
        .await?;
    Ok(newest.unwrap_or_default())
}

/// Returns the sequence number before the newest `count` matching entries below `before` (0 if there is none), and
/// whether older ones exist.
pub(super) async fn before_last(
    database: &Database,
    filter: &CallFilter,
    [after, before]: [i64; 2],
    count: u32,
) -> crate::Result<(i64, bool)> {
    let statement = sql(concat!(
        "SELECT sequence FROM audit_calls WHERE ",
        filter!(),
        " AND sequence > $6 AND sequence < $7 ORDER BY sequence DESC LIMIT $8"
    ));
    let found: Vec<i64> = bind_filter!(statement, filter)
        .bind(after)
        .bind(before)
        .bind(i64::from(count) + 1)
        .fetch_values(database.readers())
        .await?;
    let shown = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(found.get(shown).map_or((after, false), |older| (*older, true)))
}

/// Returns up to `limit` matching entries with `after < sequence <= until`, oldest first.
pub(super) async fn page(
    database: &Database,
    filter: &CallFilter,
    [after, until]: [i64; 2],
    limit: u32,
) -> crate::Result<Vec<CallRow>> {
    let statement = sql(concat!(
        "SELECT ",
        columns!(),
        " FROM audit_calls WHERE ",
        filter!(),
        " AND sequence > $6 AND sequence <= $7 ORDER BY sequence LIMIT $8"
    ));
    bind_filter!(statement, filter).bind(after).bind(until).bind(limit).fetch_all(database.readers()).await
}

/// Returns the sequence number before the first entry of `time` or later; `None` if there is none.
pub(super) async fn before_time(database: &Database, time: i64) -> crate::Result<Option<i64>> {
    let first: Option<i64> = sql("SELECT min(sequence) FROM audit_calls WHERE at >= $1")
        .bind(time)
        .fetch_value(database.readers())
        .await?;
    Ok(first.map(|first| first.saturating_sub(1)))
}
