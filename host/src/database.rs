//! The embedded database: its connections, its schema and its errors.
//!
//! Invariants:
//! - only this module and the `store` modules name the engine; all others see [`Database`], `Transaction`
//!   and [`DatabaseError`];
//! - every write begins with `Database::begin`, so that data read in the transaction is still current when a
//!   later statement writes.

mod error;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

pub use error::DatabaseError;

/// A result of the database.
pub type Result<T> = std::result::Result<T, DatabaseError>;

/// The database's file in the data directory.
const FILE: &str = "kitbag.sqlite";

/// The schema, as migrations from an empty database.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// Connections that only read.
const MAX_READERS: u32 = 4;

/// How long a connection waits while another process has the file locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// `SQLite` in the data directory: one writer, several readers.
#[derive(Clone, Debug)]
pub struct Database {
    /// A pool of the single connection for writing.
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens the database in the folder `data`, creating it if missing, and runs the migrations.
    pub async fn open(data: &Path) -> Result<Self> {
        let options = options(data);
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        MIGRATIONS.run(&writer).await.map_err(sqlx::Error::from)?;
        let readers = SqlitePoolOptions::new().max_connections(MAX_READERS);
        Ok(Self { writer, readers: readers.connect_with(options.read_only(true)).await? })
    }

    /// Begins a write transaction. Others cannot write until it ends.
    pub(crate) async fn begin(&self) -> Result<Transaction> {
        Ok(Transaction(self.writer.begin_with("BEGIN IMMEDIATE").await?))
    }

    /// Begins a read transaction: all its statements see the same state.
    pub(crate) async fn snapshot(&self) -> Result<Transaction> {
        Ok(Transaction(self.readers.begin().await?))
    }

    /// Connections for single reading statements.
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Fails if the database cannot be read, or is locked for writing.
    pub async fn check(&self) -> Result<()> {
        sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&self.readers).await?;
        self.begin().await?.roll_back().await
    }

    /// Closes all connections, after running statements have ended.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn options(data: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(data.join(FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Committed data survives a power failure.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
}

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub(crate) struct Transaction(sqlx::Transaction<'static, Sqlite>);

impl Transaction {
    /// Commits the transaction. Returns once it is durable.
    pub(crate) async fn commit(self) -> Result<()> {
        Ok(self.0.commit().await?)
    }

    /// Rolls the transaction back, and waits until that is done.
    pub(crate) async fn roll_back(self) -> Result<()> {
        Ok(self.0.rollback().await?)
    }
}

impl Deref for Transaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.0
    }
}
