//! PostgreSQL database, which any number of processes may use.

mod listener;
mod lock;
mod releases;

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions};
use sqlx::{Arguments, Connection, PgConnection, Postgres};
use tokio::time::timeout;

use super::pool::Pool;
use super::value::Value;
use super::{DatabaseError, Result, Scope};
pub use lock::Lock;

/// The schema, as migrations from an empty database. Unknown migrations of later releases are accepted.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrations = sqlx_macros::migrate!("migrations/postgres");
    migrations.set_ignore_missing(true);
    migrations
});

/// Time limit for the first connection when a process starts.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Oldest supported version, in the format of `server_version_num`.
const OLDEST_VERSION: i32 = 160_000;

/// Server-side timeouts of each session: statements, idle transactions, lock waits.
const SESSION: [(&str, &str); 3] =
    [("statement_timeout", "30s"), ("idle_in_transaction_session_timeout", "30s"), ("lock_timeout", "10s")];

#[derive(Clone, Debug)]
pub(super) struct Pools {
    /// Separate pool, so that transactions that wait for each other do not block readers.
    pub(super) writers: Pool<Postgres>,
    pub(super) readers: Pool<Postgres>,
    /// Random name of this process, unique among all processes.
    pub(super) writer: Arc<str>,
}

/// Connection options of the server, for connections outside the pools.
#[derive(Clone)]
pub struct Server(Arc<PgConnectOptions>);

/// A connection outside the pools, for single statements that must not wait for a free pool connection.
/// Dropping it closes it at once, even while a statement runs.
pub struct Session(pub(super) PgConnection);

impl Server {
    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Session> {
        Ok(Session(Box::pin(PgConnection::connect_with(&self.0)).await?))
    }
}

impl Pools {
    /// Connects with at most `connections` connections, and runs the migrations.
    pub(super) async fn connect(url: &str, connections: u32) -> Result<Self> {
        let options = options(url)?;
        let mut session = first_session(&options).await?;
        releases::check(&mut session).await?;
        MIGRATIONS.run_direct(None, &mut session, false).await.map_err(sqlx::Error::from)?;
        Self::open(options, connections).await
    }

    /// As [`connect`](Self::connect), without migrations.
    pub(super) async fn connect_existing(url: &str, connections: u32) -> Result<Self> {
        let options = options(url)?;
        first_session(&options).await?;
        Self::open(options, connections).await
    }

    async fn open(options: PgConnectOptions, connections: u32) -> Result<Self> {
        let options = options.options(SESSION);
        let writers = (connections / 2).max(1);
        let readers = connections.saturating_sub(writers).max(1);
        let pool = |size| PgPoolOptions::new().max_connections(size).connect_with(options.clone());
        let mut writer = [0; 16];
        aws_lc_rs::rand::fill(&mut writer).expect("the system has random numbers");
        Ok(Self {
            writers: pool(writers).await?.into(),
            readers: pool(readers).await?.into(),
            writer: hex::encode(writer).into(),
        })
    }

    /// Begins a write transaction and takes the locks of its scope.
    pub(super) async fn begin(&self, scope: Scope<'_>) -> Result<sqlx::Transaction<'static, Postgres>> {
        let mut transaction = self.writers.wanted().begin().await?;
        let (shared, exclusive) = scope.locks();
        sqlx::query("SELECT lock_scope($1, $2)")
            .bind(shared)
            .bind(exclusive)
            .execute(&mut *transaction)
            .await?;
        Ok(transaction)
    }

    /// Begins a read-only transaction with isolation level `REPEATABLE READ`.
    pub(super) async fn snapshot(&self) -> Result<sqlx::Transaction<'static, Postgres>> {
        Ok(self.readers.wanted().begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
    }

    pub(super) fn server(&self) -> Server {
        Server(self.readers.connections().connect_options())
    }

    pub(super) async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

fn options(url: &str) -> Result<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(url)?.application_name("kitbag"))
}

/// Opens a connection and checks that the server is supported.
async fn first_session(options: &PgConnectOptions) -> Result<PgConnection> {
    let connecting = timeout(START_TIMEOUT, PgConnection::connect_with(options));
    let mut session = connecting.await.map_err(|_| DatabaseError::timed_out())??;
    check_server(&mut session).await?;
    Ok(session)
}

/// Fails for servers whose version or encoding would make later statements fail.
async fn check_server(connection: &mut PgConnection) -> Result<()> {
    let (version, encoding): (i32, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::INTEGER, current_setting('server_encoding')",
    )
    .fetch_one(connection)
    .await?;
    if version < OLDEST_VERSION || encoding != "UTF8" {
        return Err(DatabaseError::unfit(version / 10_000, encoding));
    }
    Ok(())
}

pub(super) fn arguments(values: Vec<Value<'_>>) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Integer(value) => arguments.add(value),
            Value::Boolean(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value.map(without_nul)),
            Value::Bytes(value) => arguments.add(value),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// Replaces NUL, which PostgreSQL does not allow in texts. Stored values are validated before; a lookup by
/// such a text finds nothing.
fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text }
}
