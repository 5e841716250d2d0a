//! A pool of connections that says how full it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::Database;

/// A pool, and how often it had no connection to give. Clones share it.
#[derive(Debug)]
pub(super) struct Pool<D: Database> {
    connections: sqlx::Pool<D>,
    waits: Arc<AtomicU64>,
}

/// How full one pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReading {
    /// What its connections are for.
    pub pool: &'static str,
    /// Connections that somebody uses, or that are being opened.
    pub in_use: u64,
    /// Open connections that nobody uses.
    pub idle: u64,
    /// The most connections that there may be.
    pub limit: u64,
    /// How often all of them were in use when one was wanted, since the start.
    pub waits: u64,
}

impl<D: Database> Pool<D> {
    /// The connections, for somebody who wants one now.
    pub(super) fn wanted(&self) -> &sqlx::Pool<D> {
        // sqlx does not tell who waits, only how full the pool is.
        if self.is_taken() {
            self.waits.fetch_add(1, Ordering::Relaxed);
        }
        &self.connections
    }

    /// The connections, for somebody who wants none.
    pub(super) fn connections(&self) -> &sqlx::Pool<D> {
        &self.connections
    }

    /// Whether all connections are in use.
    pub(super) fn is_taken(&self) -> bool {
        self.connections.num_idle() == 0
            && self.connections.size() >= self.connections.options().get_max_connections()
    }

    /// How full it is; `pool` says what it is for.
    pub(super) fn reading(&self, pool: &'static str) -> PoolReading {
        let idle = self.connections.num_idle() as u64;
        PoolReading {
            pool,
            // The two are read one after the other.
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
