//! SQL statements, with one text for all engines.
//!
//! Parameters are written `$1`, `$2`, and so on. A list is one parameter, made by [`list`] and read by
//! `json_each`: `IN (SELECT value FROM json_each($1))`, or `CAST(value AS BIGINT)` for numbers.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use sqlx::pool::MaybePoolConnection;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, FromRow, PgPool, Postgres, SqlSafeStr, SqlStr, Sqlite, SqlitePool};

use super::value::Value;
use super::{DatabaseError, Open, Result, Session, Transaction, postgres, sqlite};

/// Default time limit of a statement.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates a statement of this text. Parameters are bound in the order of their numbers.
pub fn sql<'v>(text: impl SqlSafeStr) -> Statement<'v> {
    Statement::new(Text::Whole(text.into_sql_str()), Vec::new())
}

/// Encodes a list of strings or numbers as one parameter, a JSON array.
pub fn list<T: Serialize>(values: &[T]) -> String {
    serde_json::to_string(values).expect("texts and numbers are valid in JSON")
}

/// A statement with its bound parameters.
#[must_use = "a statement does nothing until it is executed"]
pub struct Statement<'v> {
    text: Text,
    values: Vec<Value<'v>>,
    is_cached: bool,
    /// `None`: no time limit.
    timeout: Option<Duration>,
}

/// The text of a statement.
pub(super) enum Text {
    Whole(SqlStr),
    /// Text, and the byte offsets of its parameters in ascending order.
    Parts(String, Vec<usize>),
}

/// Runs an expression for the engine of the executor, within the timeout of the statement.
macro_rules! run {
    ($self:ident, $executor:ident, $query:ident, |$statement:ident, $connection:ident| $run:expr) => {{
        let Self { text, values, is_cached, timeout } = $self;
        match Box::pin($executor.into().connection()).await? {
            Connection::Sqlite(mut connection) => {
                let $statement =
                    sqlx::$query(text.for_sqlite(), sqlite::arguments(values)?).persistent(is_cached);
                let $connection = &mut *connection;
                within(timeout, Box::pin($run)).await?
            }
            Connection::Postgres(mut connection) => {
                let $statement =
                    sqlx::$query(text.for_postgres(), postgres::arguments(values)?).persistent(is_cached);
                let $connection = &mut *connection;
                within(timeout, Box::pin($run)).await?
            }
        }
    }};
}

impl<'v> Statement<'v> {
    pub(super) fn new(text: Text, values: Vec<Value<'v>>) -> Self {
        Self { text, values, is_cached: true, timeout: Some(TIMEOUT) }
    }

    /// Binds the value of the next parameter.
    pub fn bind(mut self, value: impl Into<Value<'v>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Disables caching of the prepared statement, for texts that vary.
    pub fn uncached(self) -> Self {
        Self { is_cached: false, ..self }
    }

    /// Removes the time limit, for reading a whole table. The transaction must allow it too
    /// ([`take_long`](Transaction::take_long)).
    pub fn unhurried(self) -> Self {
        Self { timeout: None, ..self }
    }

    /// Executes the statement and returns the number of affected rows.
    pub async fn execute(self, executor: impl Into<Executor<'_>>) -> Result<u64> {
        Ok(run!(self, executor, query_with, |statement, connection| async {
            statement.execute(connection).await.map(|done| done.rows_affected())
        }))
    }

    /// Returns all rows.
    pub async fn fetch_all<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<Vec<T>> {
        Ok(run!(self, executor, query_as_with, |statement, connection| statement.fetch_all(connection)))
    }

    /// Returns the first row, if any.
    pub async fn fetch_optional<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<Option<T>> {
        Ok(run!(self, executor, query_as_with, |statement, connection| statement.fetch_optional(connection)))
    }

    /// Returns the first row. Fails if there is none.
    pub async fn fetch_one<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<T> {
        self.fetch_optional(executor).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Returns the first column of all rows.
    pub async fn fetch_values<T>(self, executor: impl Into<Executor<'_>>) -> Result<Vec<T>>
    where
        (T,): Fetch,
    {
        let rows = self.fetch_all(executor).await?;
        Ok(rows.into_iter().map(|(value,)| value).collect())
    }

    /// Returns the first column of the first row, if any.
    pub async fn fetch_optional_value<T>(self, executor: impl Into<Executor<'_>>) -> Result<Option<T>>
    where
        (T,): Fetch,
    {
        Ok(self.fetch_optional(executor).await?.map(|(value,)| value))
    }

    /// Returns the first column of the first row. Fails if there is no row.
    pub async fn fetch_value<T>(self, executor: impl Into<Executor<'_>>) -> Result<T>
    where
        (T,): Fetch,
    {
        self.fetch_one(executor).await.map(|(value,)| value)
    }
}

impl Text {
    /// Returns the text with unnumbered parameters: `SQLite` compares a numbered one with all others.
    fn for_sqlite(self) -> SqlStr {
        match self {
            Self::Whole(text) => text,
            Self::Parts(text, places) => joined(&text, &places, |whole, _| whole.push('?')),
        }
    }

    fn for_postgres(self) -> SqlStr {
        match self {
            Self::Whole(text) => text,
            Self::Parts(text, places) => joined(&text, &places, |whole, number| {
                whole.push('$');
                whole.push_str(&number.to_string());
            }),
        }
    }
}

/// Inserts a parameter at each of the places; `parameter` appends it, given its number.
fn joined(text: &str, places: &[usize], parameter: impl Fn(&mut String, usize)) -> SqlStr {
    let mut whole = String::with_capacity(text.len() + places.len() * 5);
    let mut before = 0;
    for (number, place) in (1..).zip(places) {
        whole.push_str(&text[before..*place]);
        parameter(&mut whole, number);
        before = *place;
    }
    whole.push_str(&text[before..]);
    AssertSqlSafe(whole).into_sql_str()
}

/// Types that a row can be decoded into: tuples, and types that derive [`FromRow`].
pub trait Fetch: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> Fetch for T {}

/// Target of a statement: a transaction, a pool of read connections, or a connection outside the pools.
pub struct Executor<'e>(pub(super) Target<'e>);

pub(super) enum Target<'e> {
    Sqlite(&'e SqlitePool),
    Postgres(&'e PgPool),
    Transaction(&'e mut Transaction),
    Session(&'e mut Session),
}

enum Connection<'e> {
    Sqlite(MaybePoolConnection<'e, Sqlite>),
    Postgres(MaybePoolConnection<'e, Postgres>),
}

impl<'e> Executor<'e> {
    async fn connection(self) -> Result<Connection<'e>> {
        Ok(match self.0 {
            Target::Sqlite(pool) => Connection::Sqlite(pool.acquire().await?.into()),
            Target::Postgres(pool) => Connection::Postgres(pool.acquire().await?.into()),
            Target::Transaction(Transaction(Open::Sqlite(transaction), _)) => {
                Connection::Sqlite((&mut **transaction).into())
            }
            Target::Transaction(Transaction(Open::Postgres(transaction, _), _)) => {
                Connection::Postgres((&mut **transaction).into())
            }
            Target::Session(Session(connection)) => Connection::Postgres(connection.into()),
        })
    }
}

impl<'e> From<&'e mut Transaction> for Executor<'e> {
    fn from(transaction: &'e mut Transaction) -> Self {
        Self(Target::Transaction(transaction))
    }
}

impl<'e> From<&'e mut Session> for Executor<'e> {
    fn from(session: &'e mut Session) -> Self {
        Self(Target::Session(session))
    }
}

/// Applies the default statement timeout to one part of a result, such as the next row.
pub(super) async fn in_time<T>(part: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
    within(Some(TIMEOUT), part).await
}

async fn within<T>(timeout: Option<Duration>, statement: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
    let Some(timeout) = timeout else { return Ok(statement.await?) };
    match tokio::time::timeout(timeout, statement).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(DatabaseError::timed_out()),
    }
}
