//! The single task that writes records, in batches, so that a call never waits for the disk.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use kitbag_base::shares::Share;
use kitbag_database::audit::{CallEntries, CallEntry};
use kitbag_database::peers::{Hint, Hints};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::DropGuard;
use tracing::{error, warn};

use super::journal::{Journal, LineNumber};
use super::others::publish;
use super::record::{BegunCall, Record};
use super::retention::Retention;
use super::running::Running;
use super::store::{Batch, Store};

/// Maximum time until a queued record is committed.
const MAX_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of records in one commit.
const MAX_BATCH_RECORDS: usize = 1000;
/// Interval in which old records are removed when nothing is written.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Pause after a failed commit.
pub(super) const RETRY_DELAY: Duration =
    if cfg!(test) { Duration::from_millis(10) } else { Duration::from_secs(1) };
/// Consecutive failures after which the oldest batch is dropped.
const MAX_ATTEMPTS: u32 = 120;

/// A record's share of its user's and of its toolkit's part of the queue.
pub(super) type Room = (Share, Share);

/// A message to the writer. The queue is bounded by the [`Room`] that each record occupies.
pub(super) enum Message {
    /// A call has begun. Its room is that of the message.
    Begun(Arc<BegunCall>, Share),
    /// The record of a call that has ended.
    Record(Box<Record>, Room),
    /// The entry of a call that has ended, and its line in the journal. These need no room: no call runs while there are
    /// too many.
    Entry(Box<CallEntry>, LineNumber),
    /// Commits the messages before this one, then replies.
    Flush(oneshot::Sender<()>),
    /// Commits all queued records, and ends.
    Stop,
}

/// Channels on which the writer receives.
pub(super) struct Inbox {
    pub(super) messages: UnboundedReceiver<Message>,
    /// Signals a message that is written at once, without waiting for more records.
    pub(super) urgent: Arc<Notify>,
}

/// Channels on which the writer announces committed records.
pub(super) struct Committed {
    /// The newest id that this process knows.
    pub(super) newest: watch::Sender<i64>,
    pub(super) hints: Hints,
    /// Ends the task that looks for records of other processes.
    pub(super) _others: DropGuard,
}

/// Entries of calls to write, oldest first.
pub(super) struct AuditedCalls {
    journal: Arc<Journal>,
    entries: VecDeque<CallEntry>,
    /// Line of the last one in `entries`.
    newest_line: LineNumber,
    /// Number of entries of the process that are not in the database.
    waiting: Arc<AtomicUsize>,
}

pub(super) struct Writer {
    store: Store,
    inbox: UnboundedReceiver<Message>,
    /// Signals a message that is written at once, without waiting for more records.
    urgent: Arc<Notify>,
    committed: Committed,
    /// Number of records that were dropped since the last batch.
    lost: Arc<AtomicU64>,
    retention: Retention,
    running: Running,
    /// `None` if calls have no entries.
    audited: Option<AuditedCalls>,
    /// Records to write, oldest first, and their room, which is released when they are written.
    records: Vec<Record>,
    room: Vec<Room>,
    /// Number of consecutive failures, and the time of the next attempt.
    failures: u32,
    next_attempt: Instant,
}

impl Writer {
    pub(super) fn new(
        store: Store,
        inbox: Inbox,
        committed: Committed,
        lost: Arc<AtomicU64>,
        retention: Retention,
        running: Running,
        audited: Option<AuditedCalls>,
    ) -> Self {
        Self {
            store,
            inbox: inbox.messages,
            urgent: inbox.urgent,
            committed,
            lost,
            retention,
            running,
            audited,
            records: Vec::new(),
            room: Vec::new(),
            failures: 0,
            next_attempt: Instant::now(),
        }
    }

    /// Runs until it is stopped, or all senders are dropped.
    pub(super) async fn run(mut self) {
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let announce_at = self.running.due();
            tokio::select! {
                message = self.inbox.recv() => {
                    let Some(message) = message else { break };
                    let flushes = self.gather(message).await;
                    self.write().await;
                    for done in flushes {
                        // Fails if the receiver was dropped.
                        let _ = done.send(());
                    }
                    if self.retention.is_due() {
                        self.sweep().await;
                    }
                }
                () = sleep_until(self.next_attempt), if self.has_something_to_write() => self.write().await,
                () = sleep_until(announce_at.unwrap_or_else(Instant::now)), if announce_at.is_some() => {
                    self.running.announce(&self.store).await;
                }
                _ = sweep.tick() => self.sweep().await,
            }
        }
        self.next_attempt = Instant::now();
        self.write().await;
        self.drop_oldest(self.records.len());
    }

    /// Receives the records of the next [`MAX_DELAY`], or the queued ones once a message is urgent. Returns
    /// the flushes that wait for the commit.
    ///
    /// Records that arrive during the wait do not wake this task: under load there are thousands per second.
    async fn gather(&mut self, first: Message) -> Vec<oneshot::Sender<()>> {
        let mut messages = vec![first];
        // A signal that was sent before its message was received ends a later wait early, which does no harm.
        let _ = timeout(MAX_DELAY, self.urgent.notified()).await;
        let _ = self.inbox.recv_many(&mut messages, usize::MAX).now_or_never();
        let mut flushes = Vec::new();
        for message in messages {
            match message {
                // The room is that of the message alone: calls that run are limited.
                Message::Begun(call, _room) => self.running.begin(call),
                Message::Entry(entry, line) => {
                    if let Some(audited) = &mut self.audited {
                        audited.add(*entry, line);
                    }
                }
                Message::Record(record, room) => {
                    self.running.end(&record.call);
                    self.records.push(*record);
                    self.room.push(room);
                }
                Message::Flush(done) => flushes.push(done),
                Message::Stop => self.inbox.close(),
            }
        }
        flushes
    }

    /// Commits the received records. If that fails, they are retried after a pause; their room limits their
    /// number.
    async fn write(&mut self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            warn!(lost, "records of calls were dropped: more came than could be written");
        }
        while self.has_something_to_write() && self.next_attempt <= Instant::now() {
            let batch = self.records.len().min(MAX_BATCH_RECORDS);
            let announced = self.running.ended_with(&self.records[..batch]);
            let entries = self.audited.as_mut().map(AuditedCalls::oldest).unwrap_or_default();
            let written = Batch { records: &self.records[..batch], announced: &announced, entries };
            let count = entries.len();
            match self.store.insert(written).await {
                Ok(newest) => {
                    self.failures = 0;
                    self.running.forget(&announced);
                    self.retention.count(&self.records[..batch]);
                    self.remove_oldest(batch);
                    if let Some(audited) = &mut self.audited {
                        audited.stored(count);
                    }
                    self.has_committed(newest);
                }
                Err(cause) => {
                    self.failures += 1;
                    self.next_attempt = Instant::now() + RETRY_DELAY;
                    error!(%cause, waiting = self.records.len(), "records of calls were not stored yet");
                    // A record that can never be stored must not block all others.
                    if self.failures >= MAX_ATTEMPTS {
                        self.failures = 0;
                        self.drop_oldest(batch);
                    }
                }
            }
        }
    }

    fn has_something_to_write(&self) -> bool {
        let has_entries = self.audited.as_ref().is_some_and(|audited| !audited.entries.is_empty());
        has_entries || !self.records.is_empty()
    }

    fn has_committed(&self, newest: i64) {
        publish(&self.committed.newest, newest);
        self.committed.hints.tell_others(Hint::Records);
    }

    /// Drops records that were not written.
    fn drop_oldest(&mut self, oldest: usize) {
        if oldest > 0 {
            error!(lost = oldest, "records of calls were not stored");
            for record in &self.records[..oldest] {
                record.call.lost.mark();
            }
            self.remove_oldest(oldest);
        }
    }

    fn remove_oldest(&mut self, oldest: usize) {
        self.records.drain(..oldest);
        self.room.drain(..oldest);
    }

    async fn sweep(&mut self) {
        let entries = if self.audited.is_some() { CallEntries::WithCallers } else { CallEntries::Off };
        match self.store.record_interrupted(entries).await {
            Ok(newest) => newest.into_iter().for_each(|newest| self.has_committed(newest)),
            Err(cause) => {
                error!(%cause, "calls that a process left behind when it ended could not be recorded");
            }
        }
        if let Err(cause) = self.retention.sweep(&self.store).await {
            error!(%cause, "old records of calls could not be removed");
        }
    }
}

impl AuditedCalls {
    pub(super) fn new(journal: Arc<Journal>, waiting: Arc<AtomicUsize>) -> Self {
        Self { journal, entries: VecDeque::new(), newest_line: 0, waiting }
    }

    fn add(&mut self, entry: CallEntry, line: LineNumber) {
        self.entries.push_back(entry);
        self.newest_line = line;
    }

    /// Returns the entries of the next batch.
    fn oldest(&mut self) -> &[CallEntry] {
        let entries = self.entries.make_contiguous();
        &entries[..entries.len().min(MAX_BATCH_RECORDS)]
    }

    /// Notes that the oldest entries are in the database.
    fn stored(&mut self, count: usize) {
        if count > 0 {
            self.entries.drain(..count);
            self.waiting.fetch_sub(count, Ordering::Relaxed);
            // Lines have consecutive numbers.
            let left = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
            self.journal.stored(self.newest_line.saturating_sub(left));
        }
    }
}
