//! `SQLite` database in the data directory: one writer, several readers.

mod existing;
mod foreign;
mod frozen_state;

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Arguments, Sqlite};

use super::Result;
use super::pool::Pool;
use super::value::Value;
pub use frozen_state::{CopyError, FrozenState};

/// Name of the database file in the data directory.
const FILE: &str = "kitbag.sqlite";

/// The schema, as migrations from an empty database.
static MIGRATIONS: Migrator = sqlx_macros::migrate!("migrations/sqlite");

/// Size of the pool of read-only connections.
const MAX_READERS: u32 = 4;

/// Maximum wait for a file lock held by another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Pragma that is set to `OFF`: triggers, views and generated columns then cannot use functions and virtual
/// tables with side effects.
const TRUSTED_SCHEMA: &str = "trusted_schema";

#[derive(Clone, Debug)]
pub(super) struct Pools {
    /// Pool of the single write connection.
    pub(super) writer: Pool<Sqlite>,
    pub(super) readers: Pool<Sqlite>,
}

impl Pools {
    pub(super) async fn open(data: &Path) -> Result<Self> {
        let options = options(data);
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        MIGRATIONS.run(&writer).await.map_err(sqlx::Error::from)?;
        let readers = SqlitePoolOptions::new().max_connections(MAX_READERS);
        let readers = readers.connect_with(options.read_only(true)).await?;
        Ok(Self { writer: writer.into(), readers: readers.into() })
    }

    /// Begins a write transaction. At most one exists at a time.
    pub(super) async fn begin(&self) -> Result<sqlx::Transaction<'static, Sqlite>> {
        Ok(self.writer.wanted().begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Begins a read transaction on one snapshot.
    pub(super) async fn snapshot(&self) -> Result<sqlx::Transaction<'static, Sqlite>> {
        Ok(self.readers.wanted().begin().await?)
    }

    pub(super) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

pub(super) fn options(data: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(data.join(FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Committed data survives a power failure.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma(TRUSTED_SCHEMA, "OFF")
}

pub(super) fn arguments(values: Vec<Value<'_>>) -> Result<SqliteArguments> {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Integer(value) => arguments.add(value),
            Value::Boolean(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
