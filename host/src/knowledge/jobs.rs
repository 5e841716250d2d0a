//! What follows an ingest: `capture → index → embed`, each kind in a task of its own.
//!
//! Invariants:
//! - a job is in the database until what it does is there too: after a crash it is done again, and
//!   nothing is lost or there twice;
//! - users take turns: one with many documents does not keep another waiting;
//! - what fails is tried again, later each time, and a bounded number of times.

mod capturing;
mod embedding;
mod indexing;
mod retry;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

use super::artifacts::Artifacts;
use super::capture::Capture;
use super::embedding::Embedder;
use super::passages::Splitter;
use super::store::{Kind, Store, now};
use crate::database::{self, DatabaseError};
use crate::disk::Disk;
use crate::tasks::Interrupted;
pub use retry::JobLimits;

/// How long jobs rest after the database failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How long at most they sleep when they know of a job that is put off: clocks may be set.
const MAX_SLEEP: Duration = Duration::from_mins(1);

/// The tasks that do jobs. Dropped, they stop.
pub(super) struct Jobs {
    wakes: Arc<Wakes>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stopping: CancellationToken,
    _stopped_with_it: DropGuard,
}

/// What tells a task that there is something for it.
#[derive(Default)]
struct Wakes {
    capture: Notify,
    index: Notify,
    embed: Notify,
}

/// What the tasks share.
#[derive(Clone)]
struct Context {
    store: Store,
    artifacts: Artifacts,
    wakes: Arc<Wakes>,
    limits: JobLimits,
    disk: Disk,
}

impl Jobs {
    /// Takes up the jobs that are left, and starts to do all there are.
    pub(super) async fn start(
        store: Store,
        embedder: Option<Embedder>,
        capture: Capture,
        disk: Disk,
        limits: JobLimits,
    ) -> database::Result<Self> {
        store.take_up().await?;
        if capture.can_transcribe() {
            store.capture_again(capturing::TRANSCRIBER).await?;
        }
        // Whether one is installed now, its first file tells.
        store.capture_again(capturing::EXTRACTOR).await?;
        if embedder.is_none() {
            store.do_without_model().await?;
        }
        let wakes = Arc::new(Wakes::default());
        let artifacts = capture.artifacts().clone();
        let context = Context { store, artifacts, wakes: wakes.clone(), limits, disk: disk.clone() };
        let stopping = CancellationToken::new();
        let spawn = |task: futures::future::BoxFuture<'static, ()>| {
            let stopping = stopping.clone();
            tokio::spawn(async move { stopping.run_until_cancelled(task).await.unwrap_or_default() })
        };
        let splitter = Splitter::new(embedder.as_ref());
        let after_index = embedder.as_ref().map(|_| Kind::Embed);
        let mut tasks = vec![
            spawn(Box::pin(capturing::run(context.clone(), move |job| {
                let (capture, disk) = (capture.clone(), disk.clone());
                async move {
                    let _room = match disk.reserve(capture.max_size()) {
                        Ok(room) => room,
                        Err(full) => return Err(capturing::put_off(full)),
                    };
                    let captured = disk.while_there_is_room(capture.capture(&job)).await;
                    captured.unwrap_or_else(|full| Err(capturing::put_off(full)))
                }
            }))),
            spawn(Box::pin(indexing::run(context.clone(), splitter, after_index))),
        ];
        if let Some(embedder) = embedder {
            tasks.push(spawn(Box::pin(embedding::run(context, embedder))));
        }
        Ok(Self {
            wakes,
            tasks: Mutex::new(tasks),
            _stopped_with_it: stopping.clone().drop_guard(),
            stopping,
        })
    }

    /// Says that there are jobs of these kinds.
    pub(super) fn wake(&self, kinds: &[Kind]) {
        for kind in kinds {
            self.wakes.of(*kind).notify_one();
        }
    }

    /// Stops: what is under way is given up, and done again after the next start.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().await);
        for ended in join_all(tasks).await {
            if let Err(error) = ended {
                error!(cause = %Interrupted::from(error), "a task of the knowledge base did not end by itself");
            }
        }
    }
}

impl Wakes {
    fn of(&self, kind: Kind) -> &Notify {
        match kind {
            Kind::Capture => &self.capture,
            Kind::Index => &self.index,
            Kind::Embed => &self.embed,
        }
    }
}

impl Context {
    /// Waits until there may be a job of this kind; whatever was due until `looked_at` is not waited for.
    async fn rest(&self, kind: Kind, looked_at: i64) {
        let rested = match self.store.next_due(kind, looked_at).await {
            Ok(None) => MAX_SLEEP,
            Ok(Some(run_at)) => {
                let left = u64::try_from(run_at.saturating_sub(now())).unwrap_or_default();
                Duration::from_millis(left).min(MAX_SLEEP)
            }
            Err(cause) => {
                self.failed(kind, &cause).await;
                return;
            }
        };
        // One who was woken before has a permit and goes on at once; either way it looks again.
        let _ = timeout(rested, self.wakes.of(kind).notified()).await;
    }

    /// Waits until what was accepted may be worked on: that may use half of the disk's reserve.
    async fn room(&self) {
        while self.disk.room_for_a_little().is_err() {
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Says that the database failed, and waits.
    async fn failed(&self, kind: Kind, cause: &DatabaseError) {
        error!(job = kind.as_str(), %cause, "jobs of the knowledge base wait: the database failed");
        sleep(RETRY_PAUSE).await;
    }
}
