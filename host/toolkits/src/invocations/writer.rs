//! The single task that writes records, in batches, so that a call never waits for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use kitbag_base::shares::Share;
use kitbag_database::peers::{Hint, Hints};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_util::sync::DropGuard;
use tracing::{error, warn};

use super::others::publish;
use super::record::{BegunCall, Record};
use super::retention::Retention;
use super::running::Running;
use super::store::Store;

/// Maximum time until a queued record is committed.
const MAX_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of records in one commit.
const MAX_BATCH_RECORDS: usize = 1000;
/// Interval in which old records are removed when nothing is written.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Pause after a failed commit.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Consecutive failures after which the oldest batch is dropped.
const MAX_ATTEMPTS: u32 = 120;

/// A record's share of its user's and of its toolkit's part of the queue.
pub(super) type Room = (Share, Share);

/// A message to the writer. The queue is bounded by the [`Room`] that each record occupies.
pub(super) enum Message {
    /// A call has begun. Calls in flight are limited, so these need no room.
    Begun(Arc<BegunCall>),
    /// The record of a call that has ended.
    Record(Box<Record>, Room),
    /// A call has ended, and there is no room for its record.
    Lost(Arc<BegunCall>),
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
    ) -> Self {
        Self {
            store,
            inbox: inbox.messages,
            urgent: inbox.urgent,
            committed,
            lost,
            retention,
            running,
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
                () = sleep_until(self.next_attempt), if !self.records.is_empty() => self.write().await,
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
                Message::Begun(call) => self.running.begin(call),
                Message::Lost(call) => self.running.lose(&call),
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
        while !self.records.is_empty() && self.next_attempt <= Instant::now() {
            let batch = self.records.len().min(MAX_BATCH_RECORDS);
            let announced = self.running.ended_with(&self.records[..batch]);
            match self.store.insert(&self.records[..batch], &announced).await {
                Ok(newest) => {
                    self.failures = 0;
                    self.running.forget(&announced);
                    self.retention.count(&self.records[..batch]);
                    self.remove_oldest(batch);
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

    fn has_committed(&self, newest: i64) {
        publish(&self.committed.newest, newest);
        self.committed.hints.tell_others(Hint::Records);
    }

    /// Drops records that were not written.
    fn drop_oldest(&mut self, oldest: usize) {
        if oldest > 0 {
            error!(lost = oldest, "records of calls were not stored");
            for record in &self.records[..oldest] {
                self.running.lose(&record.call);
            }
            self.remove_oldest(oldest);
        }
    }

    fn remove_oldest(&mut self, oldest: usize) {
        self.records.drain(..oldest);
        self.room.drain(..oldest);
    }

    async fn sweep(&mut self) {
        match self.store.record_interrupted().await {
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
