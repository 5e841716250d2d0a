//! Pools over the embedded database, and its schema.

use std::path::Path;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

/// `SQLite` in the data directory: one writer, several readers.
#[derive(Clone, Debug)]
pub struct Database {
    /// The one connection that writes; whoever holds it is alone.
    pub(crate) writer: SqlitePool,
    /// Connections that only read.
    pub(crate) readers: SqlitePool,
}

impl Database {
    /// Opens the database at `path`, makes it when it is not there, and brings its schema up to date.
    pub async fn open(path: &Path) -> sqlx::Result<Self> {
        // Full: what was acknowledged survives a power cut.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10));
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        sqlx::migrate!().run(&writer).await?;
        let readers =
            SqlitePoolOptions::new().max_connections(4).connect_with(options.read_only(true)).await?;
        Ok(Self { writer, readers })
    }

    /// Whether it can be read, and written: nobody keeps it locked.
    pub async fn check(&self) -> sqlx::Result<()> {
        sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&self.readers).await?;
        self.writer.begin_with("BEGIN IMMEDIATE").await?.rollback().await
    }

    /// Ends all connections, after what is under way.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Whether a statement failed for want of room on the disk. Its transaction is undone, whole.
pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    // `SQLITE_FULL`, https://sqlite.org/rescode.html#full
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("13"))
}
