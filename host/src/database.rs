//! The embedded database: its connections, its schema, and what its failures mean.
//!
//! Invariants:
//! - this module and the `store` modules alone name the engine; everybody else sees [`Database`],
//!   `Transaction` and [`DatabaseError`];
//! - every write begins with `Database::begin`: what a statement has read is still so when the next one
//!   writes.

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

/// What the database answers, or why it did not.
pub type Result<T> = std::result::Result<T, DatabaseError>;

/// The database's file in the data directory.
const FILE: &str = "kitbag.sqlite";

/// The schema, as steps from nothing to the present.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// Connections that only read.
const MAX_READERS: u32 = 4;

/// How long a connection waits while another process has the file locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// `SQLite` in the data directory: one writer, several readers.
#[derive(Clone, Debug)]
pub struct Database {
    /// The one connection that writes; whoever holds it is alone.
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens the database in the folder `data`, makes it when it is not there, and brings its schema up to
    /// date.
    pub async fn open(data: &Path) -> Result<Self> {
        let options = options(data);
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        MIGRATIONS.run(&writer).await.map_err(sqlx::Error::from)?;
        let readers = SqlitePoolOptions::new().max_connections(MAX_READERS);
        Ok(Self { writer, readers: readers.connect_with(options.read_only(true)).await? })
    }

    /// Begins to write: nobody else does until the end.
    pub(crate) async fn begin(&self) -> Result<Transaction> {
        Ok(Transaction(self.writer.begin_with("BEGIN IMMEDIATE").await?))
    }

    /// Begins to read by several statements that all see the same state.
    pub(crate) async fn snapshot(&self) -> Result<Transaction> {
        Ok(Transaction(self.readers.begin().await?))
    }

    /// Connections for single statements that read.
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Whether it can be read, and written: nobody keeps it locked.
    pub async fn check(&self) -> Result<()> {
        sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&self.readers).await?;
        self.begin().await?.roll_back().await
    }

    /// Ends all connections, after what is under way.
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
        // What was acknowledged survives a power cut.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
}

/// Statements that count together: all of them once it is committed, or none.
#[derive(Debug)]
pub(crate) struct Transaction(sqlx::Transaction<'static, Sqlite>);

impl Transaction {
    /// Makes the statements count. Returns once they are durable.
    pub(crate) async fn commit(self) -> Result<()> {
        Ok(self.0.commit().await?)
    }

    /// Undoes the statements, and waits until that is done.
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
