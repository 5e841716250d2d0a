//! Pool of idle connections, reused by requests of the same user and toolkit to the same server.
//!
//! Invariant: a connection only ever serves requests of one key: one user, one deployed version of one toolkit
//! (or that user's captures, or the operator), and one scheme, host and port.
//!
//! The number of idle connections is limited per key, per user, and in total; beyond a limit, the one that
//! has been idle longest is closed. The task of an idle connection only detects that the server closes it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::Policy;
use super::connection::Connection;
use super::target::Target;

/// Bounds of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum idle time of a connection.
    idle_timeout: Duration,
    /// Maximum age of a reused connection: its address was checked only when it was opened.
    max_age: Duration,
    /// Maximum numbers of idle connections.
    per_key: usize,
    per_user: usize,
    total: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Shorter than the usual keep-alive timeout of servers.
            idle_timeout: Duration::from_secs(15),
            // Equal to the maximum cache time of name look-ups.
            max_age: Duration::from_mins(5),
            per_key: 2,
            per_user: 16,
            total: 256,
        }
    }
}

/// Policy and target of the requests that a connection may serve.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) policy: Policy,
    pub(super) target: Target,
}

impl Key {
    fn matches(&self, other: &Self) -> bool {
        self.target == other.target && self.policy.has_same_connections(&other.policy)
    }
}

/// Pool of idle connections. Clones share it; dropping the last clone closes the connections.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    idle: Arc<Mutex<Idle>>,
    limits: Limits,
}

/// Idle connections, longest idle first. A linear scan of so few is faster than an index.
type Idle = VecDeque<IdleConnection>;

#[derive(Debug)]
struct IdleConnection {
    key: Arc<Key>,
    since: Instant,
    connection: Connection,
}

impl Pool {
    /// Creates a pool. A task on `runtime` closes expired connections.
    pub(super) fn new(limits: Limits, runtime: &Handle) -> Self {
        let idle = Arc::default();
        drop(runtime.spawn(sweep_regularly(Arc::downgrade(&idle), limits)));
        Self { idle, limits }
    }

    /// Removes and returns the most recently used connection of this key.
    pub(super) fn take(&self, key: &Key) -> Option<Connection> {
        let mut idle = self.lock();
        while let Some(position) = idle.iter().rposition(|entry| entry.key.matches(key)) {
            let entry = idle.remove(position)?;
            if entry.is_usable(&self.limits) {
                return Some(entry.connection);
            }
        }
        None
    }

    /// Adds an idle connection. Beyond a limit, closes the one that has been idle longest.
    pub(super) fn put(&self, key: Arc<Key>, connection: Connection) {
        let entry = IdleConnection { key, since: Instant::now(), connection };
        if !entry.is_usable(&self.limits) {
            return;
        }
        let mut idle = self.lock();
        drop_oldest(&mut idle, self.limits.per_key, |other| other.key.matches(&entry.key));
        drop_oldest(&mut idle, self.limits.per_user, |other| {
            other.key.policy.has_same_user(&entry.key.policy)
        });
        drop_oldest(&mut idle, self.limits.total, |_| true);
        idle.push_back(entry);
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleConnection {
    fn is_usable(&self, limits: &Limits) -> bool {
        self.connection.is_idle()
            && self.since.elapsed() < limits.idle_timeout
            && self.connection.age() < limits.max_age
    }
}

/// Removes the oldest counted entry if there are at least `limit`.
fn drop_oldest(idle: &mut Idle, limit: usize, is_counted: impl Fn(&IdleConnection) -> bool) {
    if idle.len() < limit || idle.iter().filter(|entry| is_counted(entry)).count() < limit {
        return;
    }
    if let Some(oldest) = idle.iter().position(is_counted) {
        idle.remove(oldest);
    }
}

/// Closes expired connections regularly, until the pool is dropped.
async fn sweep_regularly(idle: Weak<Mutex<Idle>>, limits: Limits) {
    loop {
        sleep(limits.idle_timeout / 3).await;
        let Some(idle) = idle.upgrade() else { return };
        let pool = Pool { idle, limits };
        pool.lock().retain(|entry| entry.is_usable(&limits));
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
impl Pool {
    /// Number of idle connections.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}
