//! The database: its connections, its schema and its errors.
//!
//! Invariants:
//! - only this crate names the engines; the `store` modules see statements (`sql`), all others [`Database`]
//!   and [`DatabaseError`];
//! - every write begins with `Database::begin`, which names its `Scope`, so that data read in the transaction is
//!   still current when a later statement writes; a `Session` has single statements only.
//!
//! # Modules
//!
//! - `statement`, `scope`: statements of text and values (docs/decisions/0027); what a transaction locks
//! - `audit`: who did what: entries that stores append in the transaction of an act, as a chain of
//!   hashes; read, followed, verified and removed when they are old (docs/audit.md, docs/decisions/0067)
//! - `peers`: several processes over one database: `peers/freshness` asks before each request whether
//!   what is in memory is still what is in the database (docs/decisions/0032); `peers/processes` says who
//!   lives, and so who has which job (docs/decisions/0034); `peers/profile` says who can work side by
//!   side (docs/decisions/0038); `peers/hints` tells the others what has changed, so that they wait less
//!   (docs/decisions/0040)
//! - `tables`, `rows`: what becomes of each table in a copy of a whole service; the rows of any table
//! - `postgres`: connections to a PostgreSQL database; `releases` refuses to change the schema under a
//!   release that is too old (docs/decisions/0028)

pub mod audit;
mod builder;
mod error;
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

pub use builder::StatementBuilder;
pub use error::DatabaseError;
pub use pool::PoolReading;
pub use postgres::{Lock, Server, Session};
pub use release::{NoVersion, Release};
pub use rows::{Column, Row};
pub use scope::Scope;
pub use sqlite::{CopyError, FrozenState};
use statement::Target;
pub use statement::{Executor, list, sql};
pub use tables::{EVERYONE, KEYS, SECRETS, SESSION_GRANTS, SESSIONS, TABLES, Table};
pub use value::Value;

/// A result of the database.
pub type Result<T> = std::result::Result<T, DatabaseError>;

/// The database of a process.
#[derive(Clone, Debug)]
pub struct Database(Pools);

#[derive(Clone, Debug)]
enum Pools {
    Sqlite(sqlite::Pools),
    Postgres(postgres::Pools),
}

impl Database {
    /// Opens the database in the folder `data`, creating it if missing, and runs the migrations.
    pub async fn open(data: &Path) -> Result<Self> {
        Ok(Self(Pools::Sqlite(sqlite::Pools::open(data).await?)))
    }

    /// Connects to a PostgreSQL database, such as `postgres://user@host/name`, and runs the migrations. Other processes
    /// may use it, if they are of this release or one next to it.
    pub async fn connect(url: &str, connections: u32) -> Result<Self> {
        Ok(Self(Pools::Postgres(Box::pin(postgres::Pools::connect(url, connections)).await?)))
    }

    /// Connects to a PostgreSQL database as it is, for commands that look at it: its schema is not changed.
    pub async fn connect_existing(url: &str, connections: u32) -> Result<Self> {
        Ok(Self(Pools::Postgres(Box::pin(postgres::Pools::connect_existing(url, connections)).await?)))
    }

    /// Begins a write transaction. Others cannot write in its scope until it ends.
    pub async fn begin(&self, scope: Scope<'_>) -> Result<Transaction> {
        Ok(Transaction(match &self.0 {
            Pools::Sqlite(pools) => Open::Sqlite(Box::pin(pools.begin()).await?),
            Pools::Postgres(pools) => {
                Open::Postgres(Box::pin(pools.begin(scope)).await?, pools.writer.clone())
            }
        }))
    }

    /// Begins a read transaction: all its statements see the same state.
    pub async fn snapshot(&self) -> Result<Transaction> {
        Ok(Transaction(match &self.0 {
            Pools::Sqlite(pools) => Open::Sqlite(Box::pin(pools.snapshot()).await?),
            Pools::Postgres(pools) => Open::Postgres(Box::pin(pools.snapshot()).await?, pools.writer.clone()),
        }))
    }

    /// Connections for single reading statements.
    pub fn readers(&self) -> Executor<'_> {
        match &self.0 {
            Pools::Sqlite(pools) => Executor(Target::Sqlite(pools.readers.wanted())),
            Pools::Postgres(pools) => Executor(Target::Postgres(pools.readers.wanted())),
        }
    }

    /// The server, if the database is not a file: other processes may change what is there.
    pub fn server(&self) -> Option<Server> {
        match &self.0 {
            Pools::Sqlite(_) => None,
            Pools::Postgres(pools) => Some(pools.server()),
        }
    }

    /// Whether no other process can be using the database.
    pub fn is_exclusive(&self) -> bool {
        matches!(self.0, Pools::Sqlite(_))
    }

    /// Takes the lock of this name, for work that one process does at a time; `None` if another process has it.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        match &self.0 {
            Pools::Sqlite(_) => Ok(Some(Lock::alone())),
            Pools::Postgres(pools) => pools.server().try_lock(name).await,
        }
    }

    /// The end of a `SELECT` whose rows the same transaction changes next: it locks them, and leaves out those that
    /// others have locked. `SQLite` has one writer, and nothing to lock.
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

    /// How full the pools are: of connections that write, and of those that only read.
    pub fn pools(&self) -> [PoolReading; 2] {
        match &self.0 {
            Pools::Sqlite(pools) => [pools.writer.reading("write"), pools.readers.reading("read")],
            Pools::Postgres(pools) => [pools.writers.reading("write"), pools.readers.reading("read")],
        }
    }

    /// Closes all connections, after running statements have ended.
    pub async fn close(&self) {
        match &self.0 {
            Pools::Sqlite(pools) => pools.close().await,
            Pools::Postgres(pools) => pools.close().await,
        }
    }
}

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction(Open);

#[derive(Debug)]
enum Open {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    /// With the name of the process that writes, which no other one has.
    Postgres(sqlx::Transaction<'static, Postgres>, Arc<str>),
}

impl Transaction {
    /// The name of the writer: of a server's database, a random one of this process; of a file, which one process has at a
    /// time, always the same.
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

    /// Rolls the transaction back, and waits until that is done.
    pub async fn roll_back(self) -> Result<()> {
        match self.0 {
            Open::Sqlite(transaction) => Box::pin(transaction.rollback()).await?,
            Open::Postgres(transaction, _) => Box::pin(transaction.rollback()).await?,
        }
        Ok(())
    }
}
