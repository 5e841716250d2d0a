//! The claim of one server on a database: an advisory lock of a session that lasts as long as the server.
//!
//! Files, records of calls, links and keys are not shared yet: a second server on the same database would delete
//! files of the first.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

use crate::database::{DatabaseError, Result};

/// The lock's key: "kitbag", as a number.
const KEY: i64 = 0x6b69_7462_6167;

/// How long the database may take to answer when a server starts.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server waits for the claim of a predecessor that was killed.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// How often the session is asked whether it is still there, and how long it may take to answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// A claim that is kept until it is given up, or until all copies are dropped.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    is_exclusive: bool,
    given_up: Arc<DropGuard>,
    ended: CancellationToken,
    lost: CancellationToken,
}

/// Takes the claim for the session that it returns. Fails if another server has it.
pub(super) async fn take(options: &PgConnectOptions) -> Result<PgConnection> {
    let connecting = timeout(START_TIMEOUT, PgConnection::connect_with(options));
    let mut connection = connecting.await.map_err(|_| DatabaseError::timed_out())??;
    let deadline = Instant::now() + CLAIM_TIMEOUT;
    loop {
        let is_ours: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(KEY)
            .fetch_one(&mut connection)
            .await?;
        if is_ours {
            return Ok(connection);
        }
        if Instant::now() > deadline {
            return Err(DatabaseError::claimed());
        }
        sleep(RETRY_INTERVAL).await;
    }
}

impl Claim {
    /// Keeps the claim that this session has.
    pub(super) fn keep(mut session: PgConnection) -> Self {
        let given_up = CancellationToken::new();
        let claim = Self {
            is_exclusive: true,
            given_up: Arc::new(given_up.clone().drop_guard()),
            ended: CancellationToken::new(),
            lost: CancellationToken::new(),
        };
        let (ended, lost) = (claim.ended.clone().drop_guard(), claim.lost.clone());
        tokio::spawn(async move {
            let _ended = ended;
            while given_up.run_until_cancelled(sleep(CHECK_INTERVAL)).await.is_some() {
                if !matches!(timeout(CHECK_TIMEOUT, session.ping()).await, Ok(Ok(()))) {
                    error!("the session that claims the database was lost; another server may use it now");
                    lost.cancel();
                    return;
                }
            }
            // A session that does not end by itself ends with its connection.
            let _ = timeout(CHECK_TIMEOUT, session.close()).await;
        });
        claim
    }

    /// No claim: several processes of a test may use its database.
    #[cfg(test)]
    pub(super) fn of_test() -> Self {
        let ended = CancellationToken::new();
        ended.cancel();
        Self {
            is_exclusive: false,
            given_up: Arc::new(CancellationToken::new().drop_guard()),
            ended,
            lost: CancellationToken::new(),
        }
    }

    /// Whether it keeps other servers out.
    pub(super) fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Returns once another server may have the claim.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Gives the claim up, so that another server can start at once.
    pub(super) async fn give_up(&self) {
        self.given_up.token().cancel();
        self.ended.cancelled().await;
    }
}
