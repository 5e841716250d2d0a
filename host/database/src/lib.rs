//! The database: connections, schema, statements and errors, for `SQLite` and PostgreSQL.
//!
//! Invariants:
//! - only this crate names the engines; the `store` modules use statements (`sql`), all others only
//!   [`Database`] and [`DatabaseError`];
//! - every write begins with `Database::begin`, which names its `Scope`, so that data read in the transaction
//!   is still current when a later statement writes; a `Session` has single statements only.
//!
//! # Modules
//!
//! - `statement`, `scope`: statements of text and values (docs/decisions/0027); the locks of a transaction
//! - `audit`: the audit log: entries that stores append in the transaction of the recorded act, as a chain of
//!   hashes with sealed ends; reading, following, verification, retention (docs/audit.md, docs/decisions/0067)
//! - `peers`: several processes over one database: `peers/freshness` checks before each request whether the
//!   copies in memory are current (docs/decisions/0032); `peers/processes` tracks live processes, which own
//!   jobs (docs/decisions/0034); `peers/profile` decides which processes can run at the same time
//!   (docs/decisions/0038); `peers/hints` notifies other processes of changes, to shorten their polling delay
//!   (docs/decisions/0040)
//! - `ended`: users for whom nothing is stored any more
//! - `holder`: whose documents they are, as rows name it
//! - `tables`, `rows`: how each table is treated when a whole service is copied; the rows of any table
//! - `postgres`: connections to a PostgreSQL database; `releases` refuses to change the schema while a
//!   process of an incompatible release uses it (docs/decisions/0028)

pub mod audit;
mod builder;
mod ended;
mod error;
mod holder;
pub mod peers;
mod pool;
mod postgres;
mod release;
mod rows;
mod scope;
mod sqlite;
mod statement;
mod tables;
#[cfg(any(test, feature = "testing"))]
mod testing;
#[cfg(test)]
mod tests;
mod value;

use std::path::Path;
use std::sync::Arc;

pub use sqlx::{AssertSqlSafe, FromRow};
use sqlx::{Postgres, Sqlite};
pub use sqlx_macros::FromRow;

pub use builder::{RowBuilder, StatementBuilder, batches};
pub use ended::{is_ended, refuse_ended, wait_for_writers};
pub use error::DatabaseError;
pub use holder::Holder;
pub use pool::PoolReading;
pub use postgres::{Lock, Server, Session};
pub use release::{NoVersion, Release};
pub use rows::{Column, Row};
pub use scope::Scope;
pub use sqlite::{CopyError, FrozenState};
use statement::Target;
pub use statement::{Executor, list, sql};
pub use tables::{ERASED_USER, EVERYONE, KEYS, SECRETS, SESSION_GRANTS, SESSIONS, TABLES, Table, USERS};
pub use value::Value;

/// Result of a database operation.
pub type Result<T> = std::result::Result<T, DatabaseError>;

/// Connection pools of the process's database, `SQLite` or PostgreSQL, and the keys that seal its audit log.
/// Clones share both.
#[derive(Clone, Debug)]
pub struct Database(Pools, audit::Sealing);

#[derive(Clone, Debug)]
enum Pools {
    Sqlite(sqlite::Pools),
    Postgres(postgres::Pools),
}

impl Database {
    /// Opens the database in the folder `data`, creating it if missing, and runs the migrations.
    pub async fn open(data: &Path) -> Result<Self> {
        Ok(Self::over(Pools::Sqlite(sqlite::Pools::open(data).await?)))
    }

    /// Connects to a PostgreSQL database, such as `postgres://user@host/name`, and runs the migrations. Other
    /// processes may use it at the same time if their release is the same or adjacent.
    pub async fn connect(url: &str, connections: u32) -> Result<Self> {
        Ok(Self::over(Pools::Postgres(Box::pin(postgres::Pools::connect(url, connections)).await?)))
    }

    /// Connects to a PostgreSQL database without running migrations, for commands that only inspect it.
    pub async fn connect_existing(url: &str, connections: u32) -> Result<Self> {
        Ok(Self::over(Pools::Postgres(Box::pin(postgres::Pools::connect_existing(url, connections)).await?)))
    }

    fn over(pools: Pools) -> Self {
        Self(pools, audit::Sealing::default())
    }

    /// Begins a write transaction. No other transaction can write in its scope until it ends.
    pub async fn begin(&self, scope: Scope<'_>) -> Result<Transaction> {
        let open = match &self.0 {
            Pools::Sqlite(pools) => Open::Sqlite(Box::pin(pools.begin()).await?),
            Pools::Postgres(pools) => {
                Open::Postgres(Box::pin(pools.begin(scope)).await?, pools.writer.clone())
            }
        };
        Ok(Transaction(open, self.1.clone()))
    }

    /// Begins a read transaction: all its statements read the same snapshot.
    pub async fn snapshot(&self) -> Result<Transaction> {
        let open = match &self.0 {
            Pools::Sqlite(pools) => Open::Sqlite(Box::pin(pools.snapshot()).await?),
            Pools::Postgres(pools) => Open::Postgres(Box::pin(pools.snapshot()).await?, pools.writer.clone()),
        };
        Ok(Transaction(open, self.1.clone()))
    }

    /// Returns an executor for single statements that only read.
    pub fn readers(&self) -> Executor<'_> {
        match &self.0 {
            Pools::Sqlite(pools) => Executor(Target::Sqlite(pools.readers.wanted())),
            Pools::Postgres(pools) => Executor(Target::Postgres(pools.readers.wanted())),
        }
    }

    /// Returns the PostgreSQL server, or `None` for a `SQLite` file. On a server, other processes may change
    /// the data.
    pub fn server(&self) -> Option<Server> {
        match &self.0 {
            Pools::Sqlite(_) => None,
            Pools::Postgres(pools) => Some(pools.server()),
        }
    }

    /// Returns whether this process is the only possible user of the database (`SQLite`).
    pub fn is_exclusive(&self) -> bool {
        matches!(self.0, Pools::Sqlite(_))
    }

    /// Tries to acquire the named lock, for work that only one process may do at a time. `None`: another
    /// process holds it.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        match &self.0 {
            Pools::Sqlite(_) => Ok(Some(Lock::alone())),
            Pools::Postgres(pools) => pools.server().try_lock(name).await,
        }
    }

    /// Returns the suffix of a `SELECT` whose rows the same transaction changes next: it locks them and skips
    /// rows locked by others. Empty for `SQLite`, which has a single writer.
    pub fn skipping_locked(&self) -> &'static str {
        match &self.0 {
            Pools::Sqlite(_) => "",
            Pools::Postgres(_) => "FOR UPDATE SKIP LOCKED",
        }
    }

    /// Fails if the database cannot be read, or is locked for writing.
    pub async fn check(&self) -> Result<()> {
        let _: i64 = sql("SELECT count(*) FROM issuers").fetch_value(self.readers()).await?;
        self.begin(Scope::Processes).await?.roll_back().await
    }

    /// Returns the usage of the pool of write connections and of the pool of read connections.
    pub fn pools(&self) -> [PoolReading; 2] {
        match &self.0 {
            Pools::Sqlite(pools) => [pools.writer.reading("write"), pools.readers.reading("read")],
            Pools::Postgres(pools) => [pools.writers.reading("write"), pools.readers.reading("read")],
        }
    }

    /// Closes all connections after running statements have finished.
    pub async fn close(&self) {
        match &self.0 {
            Pools::Sqlite(pools) => pools.close().await,
            Pools::Postgres(pools) => pools.close().await,
        }
    }
}

/// An open transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction(Open, audit::Sealing);

#[derive(Debug)]
enum Open {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    /// Transaction and the unique name of the writing process.
    Postgres(sqlx::Transaction<'static, Postgres>, Arc<str>),
}

impl Transaction {
    /// Returns the name of the writer: random per process on a server; constant for a `SQLite` file, which
    /// only one process uses at a time.
    pub(crate) fn writer(&self) -> &str {
        match &self.0 {
            Open::Sqlite(_) => "file",
            Open::Postgres(_, writer) => writer,
        }
    }

    /// Commits the transaction. Returns once it is durable.
    pub async fn commit(self) -> Result<()> {
        match self.0 {
            Open::Sqlite(transaction) => Box::pin(transaction.commit()).await?,
            Open::Postgres(transaction, _) => Box::pin(transaction.commit()).await?,
        }
        Ok(())
    }

    /// Rolls the transaction back and waits until the rollback is complete.
    pub async fn roll_back(self) -> Result<()> {
        match self.0 {
            Open::Sqlite(transaction) => Box::pin(transaction.rollback()).await?,
            Open::Postgres(transaction, _) => Box::pin(transaction.rollback()).await?,
        }
        Ok(())
    }
}
