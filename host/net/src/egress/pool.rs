//! Idle connections, kept for the next request of the same user and toolkit to the same server.
//!
//! Invariant: a connection only ever serves requests of one key: one user, one deployed version of one toolkit
//! (or that user's captures, or the operator), and one scheme, host and port.
//!
//! The number of idle connections is limited for each key, for each user, and in total; beyond a limit the one
//! that has been idle longest is closed. An idle connection has no other work than to notice that its server
//! closes it.

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
    /// How long a connection may be idle.
    idle_timeout: Duration,
    /// Age from which a connection serves no further request: its address was checked when it was opened.
    max_age: Duration,
    /// Maximum numbers of idle connections.
    per_key: usize,
    per_user: usize,
    total: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Servers usually wait longer before they close a connection.
            idle_timeout: Duration::from_secs(15),
            // An answer of the name servers is cached for no longer either.
            max_age: Duration::from_mins(5),
            per_key: 2,
            per_user: 16,
            total: 256,
        }
    }
}

/// Which requests may use a connection.
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

/// The idle connections. Clones share them; they are closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    idle: Arc<Mutex<Idle>>,
    limits: Limits,
}

/// In the order in which they became idle. A scan of so few is quicker than to maintain an index.
type Idle = VecDeque<Entry>;

#[derive(Debug)]
struct Entry {
    key: Arc<Key>,
    since: Instant,
    connection: Connection,
}

impl Pool {
    /// A pool whose idle connections are closed in time by a task on `runtime`.
    pub(super) fn new(limits: Limits, runtime: &Handle) -> Self {
        let idle = Arc::default();
        drop(runtime.spawn(sweep_regularly(Arc::downgrade(&idle), limits)));
        Self { idle, limits }
    }

    /// Takes the connection of this key that was used last.
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

    /// Keeps an idle connection.
    pub(super) fn put(&self, key: Arc<Key>, connection: Connection) {
        let entry = Entry { key, since: Instant::now(), connection };
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

impl Entry {
    fn is_usable(&self, limits: &Limits) -> bool {
        self.connection.is_idle()
            && self.since.elapsed() < limits.idle_timeout
            && self.connection.age() < limits.max_age
    }
}

/// Makes room for one more of `limit` entries that are counted.
fn drop_oldest(idle: &mut Idle, limit: usize, is_counted: impl Fn(&Entry) -> bool) {
    if idle.len() < limit || idle.iter().filter(|entry| is_counted(entry)).count() < limit {
        return;
    }
    if let Some(oldest) = idle.iter().position(is_counted) {
        idle.remove(oldest);
    }
}

/// Closes connections that may serve no further request, until the pool is dropped.
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
