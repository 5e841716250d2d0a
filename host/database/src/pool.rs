//! Connection pools with usage statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::Database;

/// Connection pool that counts requests for a connection while all were in use. Clones share it.
#[derive(Debug)]
pub(super) struct Pool<D: Database> {
    connections: sqlx::Pool<D>,
    waits: Arc<AtomicU64>,
}

/// Usage of one connection pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReading {
    /// Purpose of the pool: `read` or `write`.
    pub pool: &'static str,
    /// Number of connections in use or being opened.
    pub in_use: u64,
    /// Number of open, unused connections.
    pub idle: u64,
    /// Maximum number of connections.
    pub limit: u64,
    /// Number of requests for a connection, since the start of the process, while all were in use.
    pub waits: u64,
}

impl<D: Database> Pool<D> {
    /// Returns the inner pool to acquire a connection from; counts a wait if all are in use.
    pub(super) fn wanted(&self) -> &sqlx::Pool<D> {
        // sqlx reports how full a pool is, but not the number of waiters.
        if self.is_taken() {
            self.waits.fetch_add(1, Ordering::Relaxed);
        }
        &self.connections
    }

    /// Returns the inner pool without counting a wait, for uses that acquire no connection.
    pub(super) fn connections(&self) -> &sqlx::Pool<D> {
        &self.connections
    }

    /// Returns whether all connections are in use.
    pub(super) fn is_taken(&self) -> bool {
        self.connections.num_idle() == 0
            && self.connections.size() >= self.connections.options().get_max_connections()
    }

    /// Returns the current usage; `pool` is the purpose to report.
    pub(super) fn reading(&self, pool: &'static str) -> PoolReading {
        let idle = self.connections.num_idle() as u64;
        PoolReading {
            pool,
            // `size` and `idle` are not read atomically.
            in_use: u64::from(self.connections.size()).saturating_sub(idle),
            idle,
            limit: self.connections.options().get_max_connections().into(),
            waits: self.waits.load(Ordering::Relaxed),
        }
    }

    pub(super) async fn close(&self) {
        self.connections.close().await;
    }
}

impl<D: Database> From<sqlx::Pool<D>> for Pool<D> {
    fn from(connections: sqlx::Pool<D>) -> Self {
        Self { connections, waits: Arc::default() }
    }
}

impl<D: Database> Clone for Pool<D> {
    fn clone(&self) -> Self {
        Self { connections: self.connections.clone(), waits: self.waits.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{sleep, timeout};

    use crate::Database;

    #[tokio::test]
    async fn a_pool_says_how_full_it_is_and_how_often_it_had_nothing_to_give() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(folder.path()).await;
        let readers = || database.pools()[1];
        let before = readers();
        assert_eq!((before.pool, before.in_use, before.waits), ("read", 0, 0));

        let mut held = Vec::new();
        for _ in 0..before.limit {
            held.push(database.snapshot().await.expect("there is a connection"));
        }
        let full = readers();
        assert_eq!((full.in_use, full.idle, full.waits), (before.limit, 0, 0));
        let waiting = timeout(Duration::from_millis(50), database.snapshot()).await;
        assert!(waiting.is_err(), "there is none left");
        assert_eq!(readers().waits, 1);

        held.pop().expect("one is held").roll_back().await.expect("it ends");
        while readers().idle == 0 {
            // It comes back in a task of its own.
            sleep(Duration::from_millis(1)).await;
        }
        database.snapshot().await.expect("there is one again");
        assert_eq!(readers().waits, 1);
    }
}
