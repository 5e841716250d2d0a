//! The audit log: records who did what to which toolkit, secret, account, key or session, and the outcome.
//!
//! ```text
//! hash of an entry = SHA-256 of [hash of the entry before it, chain, sequence, time, act, …]
//! ```
//!
//! The entries of one writer form a hash chain. `SQLite` has one writer, and so one chain; with PostgreSQL
//! each process has its own chain, so that processes do not wait for each other. The ends of each chain and
//! the list of chains are sealed with a key that is not in the database. `verify` detects entries that were
//! changed or removed; anchors that are kept elsewhere detect an older state of the whole log.
//!
//! Invariants:
//! - an entry is written in the transaction of its act: neither exists without the other. Exceptions: calls, which
//!   are no acts and have a chain of their own (`calls`); and, with a transaction of their own, refusals, and the rotation of the master key, which ends in a file; it is
//!   recorded before the old key is removed from that file;
//! - entries are appended, and removed from the beginning of a chain when they are too old; none is changed;
//! - whoever seals a row again has verified its seal before, and records a fault in the same transaction;
//! - an entry contains no values of secrets, no arguments or results of calls, and no content of documents;
//! - the texts of an entry are bounded, and so is the number of refusals that one user can cause.

mod act;
mod anchors;
mod calls;
mod chain;
mod ends;
mod entry;
mod reading;
mod refusals;
mod retention;
mod seals;
mod store;
#[cfg(test)]
mod tests;
mod verification;

use std::time::Duration;

use kitbag_base::shares::{Share, Shares};

use crate::{Database, Transaction};
pub use act::Act;
pub use anchors::{Anchor, AnchorKey, AnchoredEnd, Anchoring, NewAnchor, NoAnchor, SignedAnchor};
pub use calls::{
    CHAIN as CALLS, CallEntry, CallFilter, CallQuery, CallReading, CallRecord, append_calls, missing_calls,
};
pub use entry::{Actor, AuditRecord, Entry, Outcome};
pub use reading::{AuditFilter, AuditQuery, AuditReading};
use refusals::Refusals;
pub(crate) use seals::Sealing;
pub use seals::{SealingKey, SealingKeys};
use store::Store;
pub use store::append;
pub use verification::{ChainEnds, ChainFault, Verification, verify};

/// Limits of concurrent requests that read the log, and of those that follow it: in total and per user.
const MAX_READERS: usize = 64;
const MAX_READERS_PER_USER: usize = 8;

/// Ages before which no entry is removed.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Entries about acts.
    pub acts: Duration,
    /// Entries about calls.
    pub calls: Duration,
}

impl Retention {
    /// Creates the retention of entries that are all kept for this time.
    pub const fn of_all(age: Duration) -> Self {
        Self { acts: age, calls: age }
    }
}

/// Whether calls have entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEntries {
    /// They have none.
    Off,
    /// Each call has one, with its caller.
    WithCallers,
}

/// Reads the audit log, records refusals, and removes old entries.
pub struct Audit {
    store: Store,
    refusals: Refusals,
    readers: Shares,
    followers: Shares,
    verifiers: Shares,
    retention: Retention,
    calls: CallEntries,
}

impl Audit {
    /// Creates the audit log stored in `database`, whose entries are kept for `retention`.
    pub fn new(database: Database, retention: Retention, calls: CallEntries) -> Self {
        Self {
            store: Store::new(database),
            refusals: Refusals::default(),
            readers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
            followers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
            verifiers: Shares::new(1, 1),
            retention,
            calls,
        }
    }

    /// Starts a task that removes entries older than the retention, now and regularly, until the log is
    /// dropped.
    pub fn keep_removing(self: &std::sync::Arc<Self>) {
        retention::start(std::sync::Arc::downgrade(self));
    }

    /// Verifies all chains, and their seals with the keys of this process. `None`: another verification runs,
    /// which reads the whole log.
    pub async fn verify(&self, user: &str) -> crate::Result<Option<Verification>> {
        let Ok(_permit) = self.verifiers.take(user, 1) else { return Ok(None) };
        let Store(database) = &self.store;
        let mut verified = verify(database, database.1.keys().as_ref(), self.retention).await?;
        // This process has begun it, or found it begun.
        if verified.begun_at.is_none() && verified.faults.is_empty() {
            verified.faults.push(ChainFault { chain: None, what: verification::LIST_REMOVED.to_owned() });
        }
        Ok(Some(verified))
    }

    /// Starts to make anchors of this log.
    pub fn anchoring(&self) -> Anchoring {
        Anchoring::new(self.store.clone(), self.retention)
    }

    /// Returns for how long entries about calls are kept; `None` if calls have none.
    pub fn keeps_calls_for(&self) -> Option<Duration> {
        (self.calls == CallEntries::WithCallers).then_some(self.retention.calls)
    }

    /// Returns whether there is any entry about a call.
    pub async fn has_calls(&self) -> crate::Result<bool> {
        let Store(database) = &self.store;
        calls::are_there(database).await
    }

    /// Starts to read entries about calls. Includes all that were committed before.
    pub async fn read_calls(&self, query: CallQuery) -> crate::Result<CallReading> {
        let Store(database) = &self.store;
        CallReading::start(database.clone(), query).await
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

impl Database {
    /// Sets the keys with which this process seals the log from now on, and begins the log of a new database.
    pub async fn seal_audit_with(&self, keys: SealingKeys) -> crate::Result<()> {
        self.1.set(keys);
        let mut snapshot = self.snapshot().await?;
        if ends::log_row(&mut snapshot).await?.is_some_and(|log| log.has_begun()) {
            return Ok(());
        }
        drop(snapshot);
        let begin = async |transaction: &mut Transaction, breaks: &mut ends::Breaks| match ends::Chains::lock(
            transaction,
            breaks,
        )
        .await?
        {
            Some(chains) => chains.save(transaction).await,
            None => Ok(()),
        };
        Store::new(self.clone()).change_ends(begin).await
    }

    /// Seals all chains with the first of the current keys. Those that somebody has changed are recorded.
    pub async fn reseal_audit(&self) -> crate::Result<()> {
        Store::new(self.clone()).change_ends(ends::reseal).await
    }

    /// Returns the names of the master keys with whose keys the audit log is sealed.
    pub async fn audit_key_names(&self) -> crate::Result<Vec<String>> {
        ends::key_names(&mut self.snapshot().await?).await
    }
}
