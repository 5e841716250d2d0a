//! Statements: one text for all engines.
//!
//! Parameters are written `$1`, `$2`, and so on. A list is one parameter, made by [`list`] and read by
//! `json_each`: `IN (SELECT value FROM json_each($1))`, or `CAST(value AS BIGINT)` where it has numbers.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use sqlx::pool::MaybePoolConnection;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, FromRow, PgPool, Postgres, SqlSafeStr, SqlStr, Sqlite, SqlitePool};

use super::value::Value;
use super::{DatabaseError, Open, Result, Session, Transaction, postgres, sqlite};

/// How long one statement may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A statement of this text. Its parameters are bound in the order of their numbers.
pub fn sql<'v>(text: impl SqlSafeStr) -> Statement<'v> {
    Statement::new(Text::Whole(text.into_sql_str()), Vec::new())
}

/// A list of texts or numbers as a parameter.
pub fn list<T: Serialize>(values: &[T]) -> String {
    serde_json::to_string(values).expect("texts and numbers are valid in JSON")
}

/// A statement with its parameters.
#[must_use = "a statement does nothing until it is executed"]
pub struct Statement<'v> {
    text: Text,
    values: Vec<Value<'v>>,
    is_cached: bool,
    /// `None` for as long as it takes.
    timeout: Option<Duration>,
}

/// The text of a statement.
pub(super) enum Text {
    Whole(SqlStr),
    /// With a parameter at each of these bytes, in ascending order.
    Parts(String, Vec<usize>),
}

/// Runs an expression for the engine of the executor, within the time that a statement may take.
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

    /// Adds the value of the next parameter.
    pub fn bind(mut self, value: impl Into<Value<'v>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Does not keep the prepared statement for the next time. For texts that vary.
    pub fn uncached(self) -> Self {
        Self { is_cached: false, ..self }
    }

    /// Lets the statement take as long as reading a whole table does, in a transaction that may
    /// ([`take_long`](Transaction::take_long)).
    pub fn unhurried(self) -> Self {
        Self { timeout: None, ..self }
    }

    /// Executes the statement. Returns the number of rows that were written.
    pub async fn execute(self, executor: impl Into<Executor<'_>>) -> Result<u64> {
        Ok(run!(self, executor, query_with, |statement, connection| async {
            statement.execute(connection).await.map(|done| done.rows_affected())
        }))
    }

    /// All rows.
    pub async fn fetch_all<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<Vec<T>> {
        Ok(run!(self, executor, query_as_with, |statement, connection| statement.fetch_all(connection)))
    }

    /// The first row, if there is one.
    pub async fn fetch_optional<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<Option<T>> {
        Ok(run!(self, executor, query_as_with, |statement, connection| statement.fetch_optional(connection)))
    }

    /// The first row. Fails if there is none.
    pub async fn fetch_one<T: Fetch>(self, executor: impl Into<Executor<'_>>) -> Result<T> {
        self.fetch_optional(executor).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// The first column of all rows.
    pub async fn fetch_values<T>(self, executor: impl Into<Executor<'_>>) -> Result<Vec<T>>
    where
        (T,): Fetch,
    {
        let rows = self.fetch_all(executor).await?;
        Ok(rows.into_iter().map(|(value,)| value).collect())
    }

    /// The first column of the first row, if there is one.
    pub async fn fetch_optional_value<T>(self, executor: impl Into<Executor<'_>>) -> Result<Option<T>>
    where
        (T,): Fetch,
    {
        Ok(self.fetch_optional(executor).await?.map(|(value,)| value))
    }

    /// The first column of the first row. Fails if there is no row.
    pub async fn fetch_value<T>(self, executor: impl Into<Executor<'_>>) -> Result<T>
    where
        (T,): Fetch,
    {
        self.fetch_one(executor).await.map(|(value,)| value)
    }
}

impl Text {
    /// Without numbers: `SQLite` finds a numbered parameter by comparing it with all others.
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

/// The text with `parameter`, which gets its number, at each of the places.
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

/// What rows can be read as: a tuple, or whatever derives [`FromRow`].
pub trait Fetch: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> Fetch for T {}

/// What executes a statement: a transaction, a connection for reading, or one outside the pools.
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
            Target::Transaction(Transaction(Open::Sqlite(transaction))) => {
                Connection::Sqlite((&mut **transaction).into())
            }
            Target::Transaction(Transaction(Open::Postgres(transaction, _))) => {
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

/// Waits for a part of the answer to a statement, as long as a whole one may take.
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
