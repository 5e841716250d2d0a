//! Opens an existing database for inspection: it is neither created nor migrated.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use super::{BUSY_TIMEOUT, FILE, MAX_READERS, MIGRATIONS, TRUSTED_SCHEMA};
use crate::{AssertSqlSafe, Database, Open, Pools, Result, Transaction, sql};

/// Maximum number of reported problems of a damaged database.
const MAX_PROBLEMS: u32 = 20;

impl Database {
    /// Name of the database file in a data directory.
    pub const FILE: &'static str = FILE;

    /// Opens the existing database in the folder `data`. A server may be using it at the same time.
    pub async fn open_existing(data: &Path) -> Result<Self> {
        Self::open_as_it_is(existing(&data.join(FILE))).await
    }

    /// As [`open_existing`](Self::open_existing), but read-only.
    pub async fn open_read_only(data: &Path) -> Result<Self> {
        Self::open_as_it_is(existing(&data.join(FILE)).read_only(true)).await
    }

    /// Opens a copy made by [`FrozenState`](crate::FrozenState), which must not change meanwhile. Creates no
    /// files beside it.
    pub async fn open_copy(file: &Path) -> Result<Self> {
        Self::open_as_it_is(existing(file).read_only(true).immutable(true)).await
    }

    async fn open_as_it_is(options: SqliteConnectOptions) -> Result<Self> {
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        let readers = SqlitePoolOptions::new().max_connections(MAX_READERS);
        let readers = readers.connect_with(options.read_only(true)).await?;
        Ok(Self::over(Pools::Sqlite(super::Pools { writer: writer.into(), readers: readers.into() })))
    }

    /// Returns the schema version of this program: the number of its last migration.
    pub fn program_schema() -> i64 {
        MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
    }

    /// Returns the schema version of this database: the number of its last successful migration, 0 if none.
    pub async fn schema(&self) -> Result<i64> {
        let has_migrations = match &self.0 {
            // `type = 'table'`: a view of that name is not from the migrations.
            Pools::Sqlite(_) => {
                "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations' AND type = 'table')"
            }
            Pools::Postgres(_) => "SELECT to_regclass('_sqlx_migrations') IS NOT NULL",
        };
        if !sql(has_migrations).fetch_value(self.readers()).await? {
            return Ok(0);
        }
        let last = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success";
        sql(last).fetch_value(self.readers()).await
    }

    /// Returns whether a table has never had a row. Its key has to be a counter with the name `sequence`.
    pub async fn never_had_rows(transaction: &mut Transaction, table: &str) -> Result<bool> {
        let never = match &transaction.0 {
            Open::Sqlite(_) => "SELECT NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)",
            Open::Postgres(..) => {
                "SELECT pg_sequence_last_value(pg_get_serial_sequence($1, 'sequence')::regclass) IS NULL"
            }
        };
        sql(never).bind(table).fetch_value(transaction).await
    }

    /// Checks the integrity of the whole database and returns at most twenty problems. Does nothing for
    /// PostgreSQL.
    pub async fn problems(&self) -> Result<Vec<String>> {
        let check = AssertSqlSafe(format!("PRAGMA quick_check({MAX_PROBLEMS})"));
        // PostgreSQL checks itself.
        let Pools::Sqlite(pools) = &self.0 else { return Ok(Vec::new()) };
        // No timeout: it takes as long as reading the whole database.
        let mut found: Vec<String> = sqlx::query_scalar(check).fetch_all(pools.readers.wanted()).await?;
        found.retain(|line| line != "ok");
        Ok(found)
    }
}

fn existing(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma(TRUSTED_SCHEMA, "OFF")
}
