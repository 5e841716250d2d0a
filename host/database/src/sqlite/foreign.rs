//! Detects schema objects that the migrations of this program did not create.
//!
//! Triggers, views, generated columns and indexes are code that runs when the program uses the database. A
//! database from elsewhere, such as a backup, must have no such additions.

use std::collections::BTreeSet;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Pool, Sqlite};

use super::MIGRATIONS;
use crate::{Database, Pools, Result};

/// Maximum number of reported objects.
const MAX_NAMED: usize = 20;

/// Query for all schema objects, except the statistics of `ANALYZE` and the table of migrations, which `sqlx`
/// creates.
const PARTS: &str = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
    WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4', '_sqlx_migrations'))
        AND NOT (type = 'index' AND name = 'sqlite_autoindex__sqlx_migrations_1' AND sql IS NULL)";

/// Type, name, table and statement.
type Part = (String, String, String, String);

impl Database {
    /// Returns the schema objects that differ from those created by the migrations up to number `schema`, at
    /// most twenty, as type and name. Always empty for PostgreSQL, whose schema its operator is responsible
    /// for.
    pub async fn foreign_parts(&self, schema: i64) -> Result<Vec<String>> {
        let Pools::Sqlite(pools) = &self.0 else { return Ok(Vec::new()) };
        let own = own_parts(schema).await?;
        let found = parts(pools.readers.wanted()).await?;
        let added = found.difference(&own).map(|(kind, name, ..)| format!("{kind} {name}"));
        let missing = own.difference(&found).map(|(kind, name, ..)| format!("{kind} {name}"));
        let differing: BTreeSet<_> = added.chain(missing).collect();
        Ok(differing.into_iter().take(MAX_NAMED).collect())
    }
}

async fn own_parts(schema: i64) -> Result<BTreeSet<Part>> {
    let memory = SqliteConnectOptions::new().in_memory(true);
    // One connection, as each one would have its own in-memory database.
    let memory = SqlitePoolOptions::new().max_connections(1).connect_with(memory).await?;
    let migrations: Vec<_> = MIGRATIONS.iter().filter(|it| it.version <= schema).cloned().collect();
    let migrations = Migrator { migrations: migrations.into(), ..Migrator::DEFAULT };
    migrations.run(&memory).await.map_err(sqlx::Error::from)?;
    let own = parts(&memory).await?;
    memory.close().await;
    Ok(own)
}

async fn parts(pool: &Pool<Sqlite>) -> Result<BTreeSet<Part>> {
    Ok(sqlx::query_as(PARTS).fetch_all(pool).await?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whatever_the_migrations_have_not_made_is_found() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::open(data.path()).await.expect("a database");
        let schema = Database::program_schema();
        database.execute("ANALYZE").await;
        assert_eq!(database.foreign_parts(schema).await.expect("it can be read"), [""; 0]);

        for (planted, removed, named) in [
            (
                "CREATE TRIGGER evil AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
                "DROP TRIGGER evil",
                "trigger evil",
            ),
            ("CREATE TEMP VIEW own AS SELECT 1; CREATE VIEW evil AS SELECT 1", "DROP VIEW evil", "view evil"),
            ("CREATE INDEX evil ON documents (title)", "DROP INDEX evil", "index evil"),
            ("CREATE TABLE evil (a)", "DROP TABLE evil", "table evil"),
            ("CREATE VIRTUAL TABLE evil USING fts5(a)", "DROP TABLE evil", "table evil"),
            ("ALTER TABLE issuers ADD evil TEXT", "ALTER TABLE issuers DROP evil", "table issuers"),
        ] {
            database.execute(planted).await;
            let found = database.foreign_parts(schema).await.expect("it can be read");
            assert!(found.iter().any(|it| it == named), "{named}: {found:?}");
            database.execute(removed).await;
        }
        database.execute("DROP TRIGGER documents_usage_insert").await;
        let found = database.foreign_parts(schema).await.expect("it can be read");
        assert_eq!(found, ["trigger documents_usage_insert"]);
    }
}
