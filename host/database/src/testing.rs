//! Databases of tests: `SQLite`, or PostgreSQL if `TEST_DATABASE` is the URL of a server, such as
//! `postgres://postgres@127.0.0.1/postgres`.

use std::path::Path;

use sqlx::{Connection, PgConnection};
use url::Url;

use super::statement::{Fetch, Statement};
use super::{AssertSqlSafe, Database, Open, Pools, Scope, sql};

/// SQLSTATE `duplicate_database`.
const DUPLICATE_DATABASE: &str = "42P04";

/// Returns the URL of the database for a test's folder, created if missing; `None` if tests use files.
pub(super) async fn server_url(folder: &Path) -> Option<String> {
    let mut url = Url::parse(&std::env::var("TEST_DATABASE").ok()?).expect("the URL of a server");
    let name = folder.file_name().and_then(|name| name.to_str()).expect("a folder with a name");
    let mut session = PgConnection::connect(url.as_str()).await.expect("the server runs");
    let create = AssertSqlSafe(format!("CREATE DATABASE \"{name}\" TEMPLATE template0"));
    if let Err(error) = sqlx::query(create).execute(&mut session).await {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        assert_eq!(code.as_deref(), Some(DUPLICATE_DATABASE), "{error}");
    }
    url.set_path(name);
    Some(url.into())
}

impl Database {
    /// Opens the database of a test's folder.
    pub async fn of_test(folder: &Path) -> Self {
        match Box::pin(server_url(folder)).await {
            Some(url) => Box::pin(Self::connect(&url, 8)).await.expect("a database"),
            None => Box::pin(Self::open(folder)).await.expect("a database"),
        }
    }

    /// Opens the PostgreSQL database of a test's folder. Panics without `TEST_DATABASE`.
    pub async fn of_test_server(folder: &Path) -> Self {
        let database = Self::of_test(folder).await;
        assert!(!database.is_file(), "`TEST_DATABASE` has to be the URL of a PostgreSQL server");
        database
    }

    /// Returns whether the database is a `SQLite` file.
    pub fn is_file(&self) -> bool {
        matches!(self.0, Pools::Sqlite(_))
    }

    /// Runs statements in one transaction.
    pub async fn execute(&self, statements: &str) {
        let mut transaction = self.begin(Scope::Toolkits).await.expect("nobody keeps the writer");
        let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
        let done = match &mut transaction.0 {
            Open::Sqlite(transaction) => statements.execute(&mut **transaction).await.map(drop),
            Open::Postgres(transaction, _) => statements.execute(&mut **transaction).await.map(drop),
        };
        done.expect("valid statements");
        transaction.commit().await.expect("they can be committed");
    }

    /// Executes one statement.
    pub async fn write(&self, statement: Statement<'_>) {
        let mut transaction = self.begin(Scope::Toolkits).await.expect("nobody keeps the writer");
        statement.execute(&mut transaction).await.expect("a valid statement");
        transaction.commit().await.expect("it can be committed");
    }

    /// Returns the rows of a query.
    pub async fn rows<T: Fetch>(&self, statement: &str) -> Vec<T> {
        sql(AssertSqlSafe(statement.to_owned())).fetch_all(self.readers()).await.expect("a valid statement")
    }

    /// Returns the first column of a query.
    pub async fn column<T>(&self, statement: &str) -> Vec<T>
    where
        (T,): Fetch,
    {
        let values = sql(AssertSqlSafe(statement.to_owned())).fetch_values(self.readers()).await;
        values.expect("a valid statement")
    }

    /// Returns, for each table of a `SQLite` file, its name and each row as text.
    pub async fn all_rows(&self) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        for table in self.column::<String>(tables).await {
            let columns = format!("SELECT name FROM pragma_table_xinfo('{table}') ORDER BY cid");
            let columns: Vec<String> = self.column(&columns).await;
            let values: Vec<_> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
            let rows = format!("SELECT {} FROM \"{table}\" ORDER BY 1", values.join(" || ', ' || "));
            all.push((table, self.column(&rows).await));
        }
        all
    }

    /// Marks a `SQLite` file as migrated exactly up to `version`.
    pub async fn claim_schema(&self, version: i64) {
        self.execute(&format!(
            "DELETE FROM _sqlx_migrations WHERE version > {version};
             INSERT OR IGNORE INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES ({version}, 'claimed', 1, x'00', 0)"
        ))
        .await;
    }

    /// Deletes the rows of a table of a `SQLite` file and resets its id counter.
    pub async fn forget_rows(&self, table: &str) {
        self.execute(&format!("DELETE FROM {table}; DELETE FROM sqlite_sequence WHERE name = '{table}'"))
            .await;
    }

    /// Returns whether all write connections are in use.
    pub fn is_being_written(&self) -> bool {
        match &self.0 {
            Pools::Sqlite(pools) => pools.writer.is_taken(),
            Pools::Postgres(pools) => pools.writers.is_taken(),
        }
    }

    /// Returns whether all read connections are in use.
    pub fn are_readers_taken(&self) -> bool {
        match &self.0 {
            Pools::Sqlite(pools) => pools.readers.is_taken(),
            Pools::Postgres(pools) => pools.readers.is_taken(),
        }
    }
}
