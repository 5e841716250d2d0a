//! The one task that writes records: in batches, so that a call never waits for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{error, warn};

use super::record::Record;
use super::retention::Retention;
use super::shares::Share;
use super::store::Store;

/// How old a record may get before it is committed.
const AGE: Duration = Duration::from_millis(100);
/// Records that are committed together.
const BATCH: usize = 1000;
/// How often old records are looked for when nothing is written.
const SWEEP: Duration = Duration::from_mins(1);

/// What the writer is told. The queue is bounded by the room that each record holds.
pub(super) enum Message {
    Record(Box<Record>, Share),
    /// Commit what came before, then answer.
    Flush(oneshot::Sender<()>),
    /// Commit what is queued, and end.
    Stop,
}

pub(super) struct Writer {
    pub(super) store: Store,
    pub(super) inbox: UnboundedReceiver<Message>,
    /// The newest id that is committed.
    pub(super) committed: watch::Sender<i64>,
    /// Records that were dropped since the last batch.
    pub(super) lost: Arc<AtomicU64>,
    pub(super) retention: Retention,
}

#[derive(Default)]
struct Batch {
    records: Vec<Record>,
    /// Given back once the batch is committed.
    room: Vec<Share>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Writer {
    /// Runs until it is told to stop, or nobody is left who could tell it anything.
    pub(super) async fn run(mut self) {
        let mut sweep = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = self.inbox.recv() => {
                    let Some(message) = message else { return };
                    let batch = self.gather(message).await;
                    self.write(batch).await;
                    if self.retention.is_due() {
                        self.sweep().await;
                    }
                }
                _ = sweep.tick() => self.sweep().await,
            }
        }
    }

    async fn gather(&mut self, first: Message) -> Batch {
        let mut batch = Batch::default();
        let mut too_old = std::pin::pin!(sleep(AGE));
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Record(record, room) => {
                    batch.records.push(*record);
                    batch.room.push(room);
                }
                Message::Flush(done) => {
                    batch.waiting.push(done);
                    break;
                }
                Message::Stop => self.inbox.close(),
            }
            if batch.records.len() >= BATCH {
                break;
            }
            next = tokio::select! {
                biased;
                () = &mut too_old => None,
                message = self.inbox.recv() => message,
            };
        }
        batch
    }

    async fn write(&mut self, batch: Batch) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            warn!(lost, "records of calls were dropped: more came than could be written");
        }
        if !batch.records.is_empty() {
            match self.store.insert(&batch.records).await {
                Ok(newest) => {
                    self.retention.note(&batch.records);
                    self.committed.send_if_modified(|known| {
                        let is_newer = newest > *known;
                        *known = newest.max(*known);
                        is_newer
                    });
                }
                Err(cause) => error!(%cause, lost = batch.records.len(), "records of calls were not stored"),
            }
        }
        for waiting in batch.waiting {
            // Whoever asked may have gone away since.
            let _ = waiting.send(());
        }
    }

    async fn sweep(&mut self) {
        if let Err(cause) = self.retention.sweep(&self.store).await {
            error!(%cause, "old records of calls could not be removed");
        }
    }
}
