//! Access to the database for tests.

use std::path::Path;

use sqlx::sqlite::{SqlitePoolOptions, SqliteRow};
use sqlx::{AssertSqlSafe, FromRow, Row, Sqlite, SqlitePool};

use super::{Database, MIGRATIONS, Migrator, options};

impl Database {
    /// Opens a database with the first `count` migrations only.
    pub(crate) async fn open_before_migration(data: &Path, count: usize) -> Self {
        let migrations = MIGRATIONS.migrations[..count].to_vec();
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options(data)).await;
        let pool = pool.expect("a database");
        Migrator { migrations: migrations.into(), ..Migrator::DEFAULT }
            .run(&pool)
            .await
            .expect("it migrates");
        Self { writer: pool.clone(), readers: pool }
    }

    /// Runs statements in one transaction.
    pub(crate) async fn execute(&self, sql: &str) {
        let mut transaction = self.begin().await.expect("nobody keeps the writer");
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut *transaction).await.expect("valid statements");
        transaction.commit().await.expect("they can be committed");
    }

    /// The rows that a statement finds.
    pub(crate) async fn rows<T>(&self, sql: &str) -> Vec<T>
    where
        T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::query_as(sql).fetch_all(self.readers()).await.expect("a valid statement")
    }

    /// The first column of the rows that a statement finds.
    pub(crate) async fn column<T>(&self, sql: &str) -> Vec<T>
    where
        T: for<'r> sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
    {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(self.readers()).await;
        rows.expect("a valid statement").iter().map(|row| row.get(0)).collect()
    }

    /// Whether the connection for writing is in use.
    pub(crate) fn is_being_written(&self) -> bool {
        are_taken(&self.writer)
    }

    /// Whether all connections for reading are in use.
    pub(crate) fn are_readers_taken(&self) -> bool {
        are_taken(&self.readers)
    }
}

fn are_taken(pool: &SqlitePool) -> bool {
    pool.size() == pool.options().get_max_connections() && pool.num_idle() == 0
}
