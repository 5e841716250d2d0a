//! The log of calls: records are written in the background, stored for a limited time, read and followed.
//!
//! Invariants:
//! - a call that its process does not survive is recorded by another process, or by the next one;
//! - a call never waits for its record: records that cannot be queued are dropped, and their number is
//!   logged;
//! - the entry of a call in the audit log, if calls have any, is never dropped: before its call is answered, it is in a
//!   file (`journal`) that a kill of the process leaves behind, and no call runs while too many wait for the database;
//! - the queue is bounded, for each user of a toolkit, for each toolkit and in total;
//! - the records of the users with the most records are removed first, so that no user can displace the
//!   records of others;
//! - counts of calls are written with their records, and outlive them;
//! - only the caller can read the content of a call, or an exact number that the toolkit could choose.

mod counts;
mod entries;
mod filter;
mod journal;
mod latency;
mod logged;
mod operator_view;
mod others;
mod reading;
mod record;
mod retention;
mod running;
mod store;
#[cfg(test)]
mod tests;
mod usage;
mod writer;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::OptionFuture;
use jiff::Timestamp;
use kitbag_base::shares::{Share, Shares};
use kitbag_base::tasks::Interrupted;
use kitbag_database::audit::CallEntries;
use kitbag_database::peers::{Hints, Process};
use kitbag_database::{Database, DatabaseError};
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::error;

pub use counts::{CallCounts, Counts, Period, ToolkitCounts};
pub use filter::{Filter, OutcomeFilter, UnknownOutcome};
pub use latency::{Latency, RANGES};
pub use logged::{Amount, Content, Facts, Logged, OwnRecord};
pub use operator_view::{AtMost, OperatorView};
pub use reading::{Query, Reading, Scope};
pub use record::{BegunCall, Conclusion, Lost, Outcome, Record, Through};
pub use retention::RetentionLimits;
pub use usage::{Failing, Hour, Usage};

use counts::begin_of;
use entries::Selection;
use journal::Journal;
use retention::Retention;
use running::{CallNames, Running};
use store::Store;
use writer::{AuditedCalls, Committed, Inbox, Message, Writer};

/// Maximum number of bytes of queued records, in total.
const MAX_QUEUED_BYTES: usize = 64 << 20;
/// Maximum number of bytes of queued records per toolkit.
const MAX_QUEUED_BYTES_PER_TOOLKIT: usize = 16 << 20;
/// Maximum number of bytes of queued records per user of a toolkit.
const MAX_QUEUED_BYTES_PER_USER: usize = 4 << 20;
/// Number of entries of calls that wait for the database, from which no call runs: about 64 MiB.
const MAX_WAITING_ENTRIES: usize = 100_000;
/// Maximum number of concurrent readers, in total. As many again may follow a log.
const MAX_READERS: usize = 256;
/// Maximum number of concurrent readers per user.
const MAX_READERS_PER_USER: usize = 16;

/// What the audit log has of calls.
#[derive(Clone, Copy, Debug)]
pub struct Auditing<'a> {
    /// Whether calls have entries.
    pub entries: CallEntries,
    /// Data directory, for the calls whose entry is not in the database yet.
    pub data: &'a Path,
}

impl Auditing<'_> {
    /// No entries, also none of what an earlier process may have left.
    pub fn off() -> Self {
        Self { entries: CallEntries::Off, data: Path::new("") }
    }
}

/// Error of opening the records.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The files of calls that are not in the database yet cannot be opened.
    #[error("the calls that are not in the database yet cannot be read: {0}")]
    Journal(#[from] io::Error),
}

/// The entries of calls on their way to the audit log.
struct EntryQueue {
    journal: Arc<Journal>,
    selection: Selection,
    /// Number of entries that are not in the database.
    waiting: Arc<AtomicUsize>,
}

/// The records of all calls.
pub struct Invocations {
    store: Store,
    names: CallNames,
    queue: UnboundedSender<Message>,
    /// Signals a message that is written at once, without waiting for more records.
    urgent: Arc<Notify>,
    room: Shares,
    room_of_users: Shares,
    /// `None` if calls have no entries.
    entries: Option<EntryQueue>,
    lost: Arc<AtomicU64>,
    committed: watch::Receiver<i64>,
    readers: Shares,
    followers: Shares,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Retention time of records.
    age: Duration,
}

impl Invocations {
    /// Starts to write records to `database`, and to remove those beyond `limits`. `hints` notify other
    /// processes of new records; `process` is this one. Calls whose entry an earlier process could not write any more
    /// are written first.
    pub async fn open(
        database: Database,
        hints: Hints,
        process: &Process,
        limits: RetentionLimits,
        auditing: Auditing<'_>,
    ) -> Result<Self, OpenError> {
        let store = Store::new(database);
        let entries = EntryQueue::open(&store, auditing).await?;
        let (queue, inbox) = unbounded_channel();
        let (committed, known) = watch::channel(store.newest().await?);
        let lost = Arc::new(AtomicU64::new(0));
        let urgent = Arc::new(Notify::new());
        let retention = Retention::new(limits);
        let age = limits.age;
        let inbox = Inbox { messages: inbox, urgent: urgent.clone() };
        let others = CancellationToken::new();
        if store.has_other_writers() {
            let watching = others::watch(store.clone(), committed.clone(), hints.listen());
            let ended = others.clone();
            tokio::spawn(async move { ended.run_until_cancelled(watching).await });
        }
        let committed = Committed { newest: committed, hints, _others: others.drop_guard() };
        let running = Running::new(process.id());
        let audited = entries.as_ref().map(EntryQueue::audited);
        let writer = Writer::new(store.clone(), inbox, committed, lost.clone(), retention, running, audited);
        Ok(Self {
            store,
            names: CallNames::new(process),
            queue,
            urgent,
            room: Shares::new(MAX_QUEUED_BYTES, MAX_QUEUED_BYTES_PER_TOOLKIT),
            room_of_users: Shares::new(MAX_QUEUED_BYTES, MAX_QUEUED_BYTES_PER_USER),
            entries,
            lost,
            committed: known,
            readers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
            followers: Shares::new(MAX_READERS, MAX_READERS_PER_USER),
            writer: Mutex::new(Some(tokio::spawn(writer.run()))),
            age,
        })
    }

    /// Returns the id of another call.
    pub fn new_call_id(&self) -> String {
        self.names.next()
    }

    /// Whether a call can run: not while more entries of calls wait for the database than fit into memory.
    pub fn can_record(&self) -> bool {
        let waiting = self.entries.as_ref().map(|entries| entries.waiting.load(Ordering::Relaxed));
        waiting.unwrap_or_default() < MAX_WAITING_ENTRIES
    }

    /// Notes that a call has begun, which [`record`](Self::record) ends. If the queue is full, nothing is noted.
    pub fn begin(&self, call: Arc<BegunCall>) {
        if let Ok(room) = self.room.take(&call.toolkit, call.size()) {
            // Fails if the writer has ended.
            let _ = self.queue.send(Message::Begun(call, room));
        }
    }

    /// Queues a record. If the queue is full, the record's content is omitted; if that is not enough, the
    /// record is dropped. Its entry in the audit log, if it has one, is safe from a kill of the process when this returns.
    pub fn record(&self, record: Record) {
        if let Some(entries) = &self.entries {
            entries.write(&record, &self.queue);
        }
        let call = record.call.clone();
        let queued = self.with_room(Box::new(record));
        let queued = queued.or_else(|record| self.with_room(Box::new(record.without_content())));
        let is_kept = queued.is_ok_and(|message| self.queue.send(message).is_ok());
        if !is_kept {
            self.lost.fetch_add(1, Ordering::Relaxed);
            call.lost.mark();
        }
    }

    fn with_room(&self, record: Box<Record>) -> Result<Message, Box<Record>> {
        let size = record.size();
        let BegunCall { toolkit, user, .. } = &*record.call;
        let of_user = self.room_of_users.take(&format!("{toolkit} {user}"), size);
        match of_user.and_then(|of_user| Ok((of_user, self.room.take(toolkit, size)?))) {
            Ok(room) => Ok(Message::Record(record, room)),
            Err(_exceeded) => Err(record),
        }
    }

    /// Starts to read. Includes all calls that this process answered before, and those of other processes
    /// whose records are committed.
    pub async fn read(&self, query: Query, scope: Scope) -> kitbag_database::Result<Reading> {
        self.flush().await;
        Reading::start(self.store.clone(), self.committed.clone(), query, scope).await
    }

    /// Whether `user` has called the toolkit.
    pub async fn has_records_of(&self, toolkit: &str, user: &str) -> kitbag_database::Result<bool> {
        self.flush().await;
        self.store.has_records_of(toolkit, user).await
    }

    /// Counts the calls of the last day that `viewer` may see, as [`read`](Self::read) does.
    pub async fn usage(&self, toolkit: &str, viewer: &str, scope: Scope) -> kitbag_database::Result<Usage> {
        self.flush().await;
        let first = usage::first_hour(Timestamp::now());
        let counts = self.store.usage(toolkit, viewer, scope, first).await?;
        Ok(Usage::new(scope, first, &counts))
    }

    /// Returns the toolkits with failed calls in the last day, sorted by number of failures, descending.
    pub async fn failing(&self) -> kitbag_database::Result<Vec<Failing>> {
        self.flush().await;
        let counts = self.store.failing(usage::first_hour(Timestamp::now())).await?;
        Ok(counts.into_iter().map(Failing::from).collect())
    }

    /// Counts the calls of all toolkits, and their users. Includes all calls that this process answered
    /// before.
    pub async fn counts(&self, period: Period) -> kitbag_database::Result<Counts> {
        self.flush().await;
        let now = Timestamp::now();
        let first = period.first_hour(now);
        let (_, users_kept_from) = store::kept_from(now, self.age);
        let users_from = first.max(users_kept_from);
        let counted = self.store.counts(period, first, users_from).await?;
        Ok(Counts {
            period,
            from: begin_of(first),
            users: counted.users,
            users_from: begin_of(users_from),
            toolkits: counted.toolkits,
        })
    }

    /// Returns the toolkits that were called in the last day, sorted by number of calls, descending.
    pub async fn used_toolkits(&self) -> kitbag_database::Result<Vec<String>> {
        self.store.used(usage::first_hour(Timestamp::now())).await
    }

    /// Removes all records of a user's calls that have ended. Returns their number.
    pub async fn erase(&self, user: &str) -> kitbag_database::Result<u64> {
        self.flush().await;
        self.store.remove_all_of(user).await
    }

    /// Returns a permit to read; `None` if there are too many readers. Dropping it releases it.
    pub fn reader_permit(&self, user: &str) -> Option<Share> {
        self.readers.take(user, 1).ok()
    }

    /// Returns a permit to follow the log; `None` if there are too many followers. Dropping it releases it.
    pub fn follower_permit(&self, user: &str) -> Option<Share> {
        self.followers.take(user, 1).ok()
    }

    /// Writes the queued records, and stops the writer.
    pub async fn close(&self) {
        self.send_urgently(Message::Stop);
        let writer = self.writer.lock().await.take();
        if let Some(Err(error)) = OptionFuture::from(writer).await {
            let cause = Interrupted::from(error);
            error!(%cause, "the writer of records did not end by itself");
        }
    }

    /// Waits until all records and entries queued so far are committed.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        self.send_urgently(Message::Flush(done));
        // Fails if the writer has ended; then there is nothing left to write.
        let _ = flushed.await;
    }

    fn send_urgently(&self, message: Message) {
        // Fails if the writer has ended.
        let _ = self.queue.send(message);
        self.urgent.notify_one();
    }
}

impl EntryQueue {
    /// Writes what an earlier process has left behind. `None` if calls have no entries.
    async fn open(
        store: &Store,
        Auditing { entries, data }: Auditing<'_>,
    ) -> Result<Option<Self>, OpenError> {
        if entries == CallEntries::Off && (data == Path::new("") || !Journal::is_there(data)) {
            return Ok(None);
        }
        let (journal, left) = Journal::open(data)?;
        store.recover(left).await?;
        journal.clear()?;
        if entries == CallEntries::Off {
            Journal::remove(data)?;
            return Ok(None);
        }
        Ok(Some(Self {
            journal: Arc::new(journal),
            selection: Selection::default(),
            waiting: Arc::default(),
        }))
    }

    fn audited(&self) -> AuditedCalls {
        AuditedCalls::new(self.journal.clone(), self.waiting.clone())
    }

    fn write(&self, record: &Record, queue: &UnboundedSender<Message>) {
        if !self.selection.admits(record) {
            return;
        }
        let entry = Box::new(entries::entry(record));
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.journal.write(record, |line| {
            // Fails if the writer has ended: then the entry stays in the journal.
            let _ = queue.send(Message::Entry(entry, line));
        });
    }
}
