//! The one task that writes records: in batches, so that a call never waits for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tracing::{error, warn};

use super::record::Record;
use super::retention::Retention;
use super::store::Store;
use crate::shares::Share;

/// How long a record waits until it is committed.
const MAX_DELAY: Duration = Duration::from_millis(100);
/// Records that are committed together.
const MAX_BATCH_RECORDS: usize = 1000;
/// How often old records are removed when nothing is written.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// How long it waits after a failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Consecutive failures after which the oldest batch is dropped.
const MAX_ATTEMPTS: u32 = 120;

/// What a record takes of its user's share, and of its toolkit's.
pub(super) type Room = (Share, Share);

/// What the writer is told. The queue is bounded by the room that each record holds.
pub(super) enum Message {
    Record(Box<Record>, Room),
    /// Commit what came before, then answer.
    Flush(oneshot::Sender<()>),
    /// Commit what is queued, and end.
    Stop,
}

pub(super) struct Writer {
    store: Store,
    inbox: UnboundedReceiver<Message>,
    /// The newest id that is committed.
    committed: watch::Sender<i64>,
    /// Records that were dropped since the last batch.
    lost: Arc<AtomicU64>,
    retention: Retention,
    /// What is to be written, the oldest first, with the room that it takes until then.
    records: Vec<Record>,
    room: Vec<Room>,
    /// How often in a row that has failed, and when it is tried again.
    failures: u32,
    next_attempt: Instant,
}

impl Writer {
    pub(super) fn new(
        store: Store,
        inbox: UnboundedReceiver<Message>,
        committed: watch::Sender<i64>,
        lost: Arc<AtomicU64>,
        retention: Retention,
    ) -> Self {
        let (records, room) = (Vec::new(), Vec::new());
        let next_attempt = Instant::now();
        Self { store, inbox, committed, lost, retention, records, room, failures: 0, next_attempt }
    }

    /// Runs until it is told to stop, or nobody is left who could tell it anything.
    pub(super) async fn run(mut self) {
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = self.inbox.recv() => {
                    let Some(message) = message else { break };
                    let waiting = self.gather(message).await;
                    self.write().await;
                    if let Some(waiting) = waiting {
                        // Whoever asked may have gone away since.
                        let _ = waiting.send(());
                    }
                    if self.retention.is_due() {
                        self.sweep().await;
                    }
                }
                () = sleep_until(self.next_attempt), if !self.records.is_empty() => self.write().await,
                _ = sweep.tick() => self.sweep().await,
            }
        }
        self.next_attempt = Instant::now();
        self.write().await;
        self.give_up(self.records.len());
    }

    /// Takes over what is queued, and returns whoever waits for its commit.
    async fn gather(&mut self, first: Message) -> Option<oneshot::Sender<()>> {
        let mut too_old = std::pin::pin!(sleep(MAX_DELAY));
        let mut next = Some(first);
        let enough = self.records.len() + MAX_BATCH_RECORDS;
        while let Some(message) = next {
            match message {
                Message::Record(record, room) => {
                    self.records.push(*record);
                    self.room.push(room);
                }
                Message::Flush(done) => return Some(done),
                Message::Stop => self.inbox.close(),
            }
            if self.records.len() >= enough {
                break;
            }
            next = tokio::select! {
                biased;
                () = &mut too_old => None,
                message = self.inbox.recv() => message,
            };
        }
        None
    }

    /// Commits what was gathered. What cannot be committed is kept, and tried again after a pause; the
    /// room that it takes bounds how much that can become.
    async fn write(&mut self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            warn!(lost, "records of calls were dropped: more came than could be written");
        }
        while !self.records.is_empty() && self.next_attempt <= Instant::now() {
            let batch = self.records.len().min(MAX_BATCH_RECORDS);
            match self.store.insert(&self.records[..batch]).await {
                Ok(newest) => {
                    self.failures = 0;
                    self.retention.note(&self.records[..batch]);
                    self.forget(batch);
                    self.committed.send_if_modified(|known| {
                        let is_newer = newest > *known;
                        *known = newest.max(*known);
                        is_newer
                    });
                }
                Err(cause) => {
                    self.failures += 1;
                    self.next_attempt = Instant::now() + RETRY_DELAY;
                    error!(%cause, waiting = self.records.len(), "records of calls were not stored yet");
                    // A record that can never be stored must not keep all others from it.
                    if self.failures >= MAX_ATTEMPTS {
                        self.failures = 0;
                        self.give_up(batch);
                    }
                }
            }
        }
    }

    fn give_up(&mut self, oldest: usize) {
        if oldest > 0 {
            error!(lost = oldest, "records of calls were not stored");
            self.forget(oldest);
        }
    }

    fn forget(&mut self, oldest: usize) {
        self.records.drain(..oldest);
        self.room.drain(..oldest);
    }

    async fn sweep(&mut self) {
        if let Err(cause) = self.retention.sweep(&self.store).await {
            error!(%cause, "old records of calls could not be removed");
        }
    }
}
