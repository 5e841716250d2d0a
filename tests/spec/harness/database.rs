//! Databases of servers: `SQLite` files, or databases on the PostgreSQL server at the URL in `TEST_DATABASE`.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use kitbag::settings::DatabaseLocation;
use secrecy::ExposeSecret;
use sqlx::postgres::PgRow;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, FromRow, PgConnection, Postgres, SqlSafeStr, Sqlite,
    SqliteConnection,
};
use url::Url;

/// Tables of local sign-in. `kitbag serve` rejects local sign-in with PostgreSQL, but tests get their tokens
/// from it.
const LOCAL_SIGN_IN: &str = "
    CREATE TABLE oauth_clients (
        id TEXT PRIMARY KEY, name TEXT, redirect_uris TEXT NOT NULL, used_at BIGINT NOT NULL);
    CREATE TABLE oauth_grants (
        id TEXT PRIMARY KEY, client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
        user_id TEXT NOT NULL, scopes TEXT NOT NULL, refresh_digest BYTEA NOT NULL, expires_at BIGINT NOT NULL);
";

/// Connection of a test to a server's database.
pub(crate) enum Database {
    File(SqliteConnection),
    Server(PgConnection),
}

/// Database location of a server with this data directory.
pub(crate) fn location(data: &Path) -> DatabaseLocation {
    let Ok(server) = std::env::var("TEST_DATABASE") else { return DatabaseLocation::DataDirectory };
    DatabaseLocation::Server(url(&server, name(data)).into())
}

/// Whether tests use a PostgreSQL server.
pub(crate) fn is_server() -> bool {
    std::env::var_os("TEST_DATABASE").is_some()
}

/// SQL type of byte strings.
pub(crate) fn type_of_bytes() -> &'static str {
    if is_server() { "BYTEA" } else { "BLOB" }
}

/// Prepares a PostgreSQL server's database for a data directory, with the master key that its operator
/// provides. Does nothing for a file.
pub(crate) async fn create(data: &Path) {
    let Ok(server) = std::env::var("TEST_DATABASE") else { return };
    let key_file = data.join("master-key");
    if !key_file.exists() {
        let mut file =
            File::options().write(true).create_new(true).mode(0o600).open(key_file).expect("it is new");
        file.write_all(hex::encode([7; 32]).as_bytes()).expect("the disk has room");
    }
    let mut session = PgConnection::connect(&server).await.expect("the server runs");
    let name = name(data);
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)")
        .bind(name)
        .fetch_one(&mut session)
        .await
        .expect("it can be asked");
    if !exists {
        let create = AssertSqlSafe(format!("CREATE DATABASE \"{name}\" TEMPLATE template0"));
        sqlx::query(create).execute(&mut session).await.expect("a database");
        let mut session = PgConnection::connect(&url(&server, name)).await.expect("it was just created");
        sqlx::raw_sql(LOCAL_SIGN_IN).execute(&mut session).await.expect("the tables are new");
    }
}

impl Database {
    /// Connects to the database of a server that has run with this data directory.
    pub(crate) async fn of(data: &Path) -> Self {
        if let DatabaseLocation::Server(url) = location(data) {
            return Self::Server(
                PgConnection::connect(url.expose_secret()).await.expect("there is a database"),
            );
        }
        let file = SqliteConnectOptions::new().filename(data.join("kitbag.sqlite"));
        Self::File(file.connect().await.expect("there is a database"))
    }

    /// Executes a statement with text parameters.
    pub(crate) async fn execute(&mut self, sql: impl SqlSafeStr, parameters: &[&str]) {
        match self {
            Self::File(file) => {
                let statement = parameters.iter().fold(sqlx::query::<Sqlite>(sql), |it, text| it.bind(*text));
                statement.execute(file).await.map(drop)
            }
            Self::Server(session) => {
                let statement =
                    parameters.iter().fold(sqlx::query::<Postgres>(sql), |it, text| it.bind(*text));
                statement.execute(session).await.map(drop)
            }
        }
        .expect("the change is possible");
    }

    /// Returns the rows of a query with text parameters.
    pub(crate) async fn rows<T>(&mut self, sql: &'static str, parameters: &[&str]) -> Vec<T>
    where
        T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        match self {
            Self::File(file) => {
                let statement =
                    parameters.iter().fold(sqlx::query_as::<Sqlite, _>(sql), |it, text| it.bind(*text));
                statement.fetch_all(file).await
            }
            Self::Server(session) => {
                let statement =
                    parameters.iter().fold(sqlx::query_as::<Postgres, _>(sql), |it, text| it.bind(*text));
                statement.fetch_all(session).await
            }
        }
        .expect("a valid statement")
    }
}

fn url(server: &str, name: &str) -> String {
    let mut url = Url::parse(server).expect("the URL of a server");
    url.set_path(name);
    url.into()
}

fn name(data: &Path) -> &str {
    data.file_name().and_then(|name| name.to_str()).expect("a folder with a name")
}
