//! The simulation's own connection to the database: fills tables, counts rows, and explains statements.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, Row, SqliteConnection};
use tokio::time::sleep;
use url::Url;

use crate::Outcome;

/// Wait for PostgreSQL's statistics: sessions report them after ten idle seconds.
const REPORT_TIME: Duration = Duration::from_secs(11);

/// Connection to the database of either engine.
pub(crate) enum Database {
    File(SqliteConnection),
    Server(PgConnection),
}

/// Numbers by table.
pub(crate) type ByTable = BTreeMap<String, u64>;

impl Database {
    /// Connects to the PostgreSQL database at a URL, or else to the `SQLite` file in a data directory.
    pub(crate) async fn open(data: &Path, url: Option<&Url>) -> Outcome<Self> {
        Ok(match url {
            Some(url) => Self::Server(PgConnection::connect(url.as_str()).await?),
            None => {
                Self::File(SqliteConnectOptions::new().filename(data.join("kitbag.sqlite")).connect().await?)
            }
        })
    }

    /// Runs statements.
    pub(crate) async fn run(&mut self, sql: &str) -> Outcome<()> {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = match self {
            Self::File(file) => file.execute(statements).await.map(drop),
            Self::Server(session) => session.execute(statements).await.map(drop),
        };
        done.map_err(|error| format!("{error}, in: {sql}").into())
    }

    /// Returns all columns of a query's rows as text.
    pub(crate) async fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<String>>> {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let rows = match self {
            Self::File(file) => {
                file.fetch_all(statement).await.map(|rows| rows.iter().map(of_file).collect::<Result<_, _>>())
            }
            Self::Server(session) => session
                .fetch_all(statement)
                .await
                .map(|rows| rows.iter().map(of_server).collect::<Result<_, _>>()),
        };
        match rows.and_then(|rows| rows) {
            Ok(rows) => Ok(rows),
            Err(error) => Err(format!("{error}, in: {sql}").into()),
        }
    }

    /// Returns the number that a query yields.
    pub(crate) async fn number(&mut self, sql: &str) -> Outcome<u64> {
        let rows = self.rows(&format!("SELECT CAST(({sql}) AS TEXT)")).await?;
        let number =
            rows.first().and_then(|row| row.first()).ok_or_else(|| format!("nothing found by: {sql}"))?;
        Ok(number.parse()?)
    }

    /// Names of a table's writable columns.
    pub(crate) async fn columns(&mut self, table: &str) -> Outcome<Vec<String>> {
        let sql = match self {
            Self::File(_) => {
                format!("SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0 ORDER BY cid")
            }
            Self::Server(_) => format!(
                "SELECT column_name::TEXT FROM information_schema.columns
                 WHERE table_schema = 'public' AND table_name = '{table}' AND is_generated = 'NEVER'
                 ORDER BY ordinal_position"
            ),
        };
        Ok(self.rows(&sql).await?.into_iter().flatten().collect())
    }

    /// Rows and bytes (indexes included) of each table.
    pub(crate) async fn sizes(&mut self) -> Outcome<(ByTable, ByTable)> {
        let bytes = match self {
            Self::File(_) => {
                "SELECT s.tbl_name, CAST(SUM(d.pgsize) AS TEXT) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
                 WHERE d.aggregate = TRUE AND s.tbl_name NOT LIKE 'sqlite_%' GROUP BY s.tbl_name"
            }
            Self::Server(_) => {
                "SELECT relname::TEXT, pg_total_relation_size(relid)::TEXT FROM pg_stat_user_tables"
            }
        };
        let mut sizes = ByTable::new();
        for row in self.rows(bytes).await? {
            let [table, bytes] = <[String; 2]>::try_from(row).map_err(|_| "two columns")?;
            sizes.insert(table, bytes.parse()?);
        }
        let mut rows = ByTable::new();
        for table in sizes.keys() {
            rows.insert(table.clone(), self.number(&format!("SELECT COUNT(*) FROM {table}")).await?);
        }
        Ok((rows, sizes))
    }

    /// Sequential scans of each table so far, including those by triggers and foreign keys, which appear in
    /// no plan. Empty for `SQLite`, which does not count them.
    pub(crate) async fn sequential_scans(&mut self) -> Outcome<ByTable> {
        let Self::Server(_) = self else { return Ok(ByTable::new()) };
        let mut scans = ByTable::new();
        self.run("SELECT pg_stat_force_next_flush()").await?;
        sleep(REPORT_TIME).await;
        for row in self.rows("SELECT relname::TEXT, seq_scan::TEXT FROM pg_stat_user_tables").await? {
            let [table, count] = <[String; 2]>::try_from(row).map_err(|_| "two columns")?;
            scans.insert(table, count.parse()?);
        }
        Ok(scans)
    }

    /// Does what PostgreSQL does by itself after some time: vacuums and gathers statistics.
    pub(crate) async fn analyze(&mut self) -> Outcome<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Server(_) => self.run("VACUUM ANALYZE").await,
        }
    }

    /// Size of the whole database, in bytes.
    pub(crate) async fn total_bytes(&mut self) -> Outcome<u64> {
        let sql = match self {
            Self::File(_) => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            Self::Server(_) => "SELECT pg_database_size(current_database())",
        };
        self.number(sql).await
    }
}

fn of_file(row: &SqliteRow) -> sqlx::Result<Vec<String>> {
    (0..row.len()).map(|column| row.try_get_unchecked(column)).collect()
}

fn of_server(row: &PgRow) -> sqlx::Result<Vec<String>> {
    (0..row.len()).map(|column| row.try_get_unchecked(column)).collect()
}
