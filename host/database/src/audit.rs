//! The audit log: records who did what to which toolkit, secret, account, key or session, and the outcome.
//!
//! ```text
//! hash of an entry = SHA-256 of [hash of the entry before it, chain, sequence, time, act, …]
//! ```
//!
//! The entries of one writer form a hash chain. `SQLite` has one writer, and so one chain; with PostgreSQL
//! each process has its own chain, so that processes do not wait for each other. `verify` detects entries
//! that were changed or removed.
//!
//! Invariants:
//! - an entry is written in the transaction of its act: neither exists without the other. Exceptions with a
//!   transaction of their own: refusals, and the rotation of the master key, which ends in a file; it is
//!   recorded before the old key is removed from that file;
//! - entries are appended, and removed from the beginning of a chain when they are too old; none is changed;
//! - an entry contains no values of secrets, no arguments or results of calls, and no content of documents;
//! - the texts of an entry are bounded, and so is the number of refusals that one user can cause.

mod act;
mod chain;
mod entry;
mod reading;
mod refusals;
mod retention;
mod store;
#[cfg(test)]
mod tests;
mod verification;

use std::time::Duration;

use kitbag_base::shares::{Share, Shares};

use crate::Database;
pub use act::Act;
pub use entry::{Actor, AuditRecord, Entry, Outcome};
pub use reading::{AuditFilter, AuditQuery, AuditReading};
use refusals::Refusals;
use store::Store;
pub use store::append;
pub use verification::verify;

/// Limits of concurrent requests that read the log, and of those that follow it: in total and per user.
const MAX_READERS: usize = 64;
const MAX_READERS_PER_USER: usize = 8;

/// Reads the audit log, records refusals, and removes old entries.
pub struct Audit {
    store: Store,
    refusals: Refusals,
    readers: Shares,
    followers: Shares,
}

impl Audit {
    /// Creates the audit log stored in `database`.
    pub fn new(database: Database) -> Self {
        Self {
            store: Store::new(database),
            refusals: Refusals::default(),
            readers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
            followers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
        }
    }

    /// Starts a task that removes entries older than `age`, now and regularly, until the log is dropped.
    pub fn keep_for(self: &std::sync::Arc<Self>, age: Duration) {
        retention::start(std::sync::Arc::downgrade(self), age);
    }

    /// Starts to read. Includes all acts that were committed before.
    pub async fn read(&self, query: AuditQuery) -> crate::Result<AuditReading> {
        AuditReading::start(self.store.clone(), query).await
    }

    /// Returns a permit to read; `None` if there are too many readers. Dropping it releases it.
    pub fn reader_permit(&self, user: &str) -> Option<Share> {
        self.readers.take(user, 1).ok()
    }

    /// Returns a permit to follow the log; `None` if there are too many followers. Dropping it releases it.
    pub fn follower_permit(&self, user: &str) -> Option<Share> {
        self.followers.take(user, 1).ok()
    }

    /// Records that an operator's act was refused. `what` is an act or a route, `toolkit` the toolkit
    /// concerned. The same refusal of the same user is recorded at most once a minute.
    pub async fn refused(&self, by: &Actor, what: &str, toolkit: Option<&str>) {
        if !self.refusals.is_new(by, what, toolkit) {
            return;
        }
        let entry = Entry::new(Act::OperatorRefused, by).refused().toolkit(toolkit).name(what);
        if let Err(cause) = self.store.append_alone(&entry).await {
            tracing::error!(%cause, user = %by.user(), what, "a refusal was not recorded in the audit log");
        }
    }
}
