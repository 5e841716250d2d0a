//! Background jobs after an ingest: `capture → index → embed`, one task for each kind. Processes share the
//! jobs: each claims some, and others reclaim them when it ends (`peers`).
//!
//! Invariants:
//! - a job stays in the database until its results are there too: after a crash it is repeated, and nothing
//!   is lost or duplicated;
//! - users take turns: one with many documents does not delay another;
//! - failed jobs are retried after growing pauses, a bounded number of times.

mod adapting;
mod capturing;
mod embedding;
mod indexing;
mod retry;
#[cfg(test)]
mod tests;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use kitbag_base::disk::Disk;
use kitbag_base::tasks::Interrupted;
use kitbag_database::DatabaseError;
use kitbag_database::peers::{Heard, Hint, Hints, Process, Turn};
use kitbag_files::objects::Files;
use tokio::sync::{Mutex, Notify};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

use super::capture::Capture;
use super::embedding::Embedder;
use super::passages::Splitter;
use super::store::{Job, Kind, Store, now};
pub use retry::JobLimits;

/// Pause after a database failure.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait before the next look for jobs; bounded because clocks may be changed.
const MAX_SLEEP: Duration = Duration::from_mins(1);
/// Longest wait when there are other processes, which postpone jobs and give them back.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Shortest wait when a due job cannot be claimed: another transaction is changing it.
const MIN_SLEEP: Duration = Duration::from_millis(10);

/// Background tasks that run jobs. They stop when this value is dropped.
pub(super) struct Jobs {
    wakes: Arc<Wakes>,
    task: Mutex<Option<JoinHandle<()>>>,
    stopping: CancellationToken,
    _stopped_with_it: DropGuard,
}

/// Notifications of new jobs, within this process and from others.
struct Wakes {
    capture: Notify,
    index: Notify,
    embed: Notify,
    hints: Hints,
}

/// State that the tasks share.
#[derive(Clone)]
struct Context {
    store: Store,
    process: Process,
    /// Id of this process, under which it claims jobs.
    me: Arc<str>,
    artifacts: Files,
    wakes: Arc<Wakes>,
    limits: JobLimits,
    disk: Disk,
}

/// Services that jobs use.
#[derive(Clone)]
struct Tools {
    embedder: Option<Embedder>,
    capture: Capture,
}

impl Jobs {
    /// Resumes unfinished jobs, and starts the background tasks.
    pub(super) async fn start(
        store: Store,
        process: Process,
        embedder: Option<Embedder>,
        capture: Capture,
        disk: Disk,
        limits: JobLimits,
        hints: Hints,
    ) -> kitbag_database::Result<Self> {
        let wakes = Arc::new(Wakes::new(hints));
        let artifacts = capture.artifacts().clone();
        let me = process.id().borrow().clone();
        let context = Context { store, process, me, artifacts, wakes: wakes.clone(), limits, disk };
        let tools = Tools { embedder, capture };
        let turn = adapting::begin(&context, &tools, true).await?;
        let stopping = CancellationToken::new();
        let task = tokio::spawn(run(context, tools, turn, stopping.clone()));
        let hearing = wakes.clone();
        let until = stopping.clone();
        tokio::spawn(async move { until.run_until_cancelled(hearing.hear()).await });
        Ok(Self {
            wakes,
            task: Mutex::new(Some(task)),
            _stopped_with_it: stopping.clone().drop_guard(),
            stopping,
        })
    }

    /// Notifies the tasks of new jobs of these kinds.
    pub(super) fn wake(&self, kinds: &[Kind]) {
        for kind in kinds {
            self.wakes.wake(*kind);
        }
    }

    /// Stops the tasks: running jobs are aborted, and repeated after the next start.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        if let Some(task) = self.task.lock().await.take() {
            log_ended(task.await);
        }
    }
}

/// Runs jobs until stopped. If the process gets a new id, because others assumed that it had ended, its
/// running jobs are aborted: others run them.
async fn run(mut context: Context, tools: Tools, mut turn: Turn, stopping: CancellationToken) {
    let mut ids = context.process.id();
    loop {
        let running = stopping.child_token();
        let tasks = tasks(&context, &tools, turn).into_iter().map(|task| {
            let running = running.clone();
            tokio::spawn(async move { running.run_until_cancelled(task).await.unwrap_or_default() })
        });
        let tasks: Vec<_> = tasks.collect();
        let other_id = async {
            // Without a sender, the id stays the same.
            if ids.changed().await.is_err() {
                pending::<()>().await;
            }
        };
        let is_stopped = stopping.run_until_cancelled(other_id).await.is_none();
        running.cancel();
        join_all(tasks).await.into_iter().for_each(log_ended);
        if is_stopped {
            return;
        }
        context.me = ids.borrow_and_update().clone();
        turn = Turn::Later;
    }
}

fn tasks(context: &Context, tools: &Tools, turn: Turn) -> Vec<BoxFuture<'static, ()>> {
    let Tools { embedder, capture } = tools.clone();
    let splitter = Splitter::new(embedder.as_ref());
    let after_index = embedder.as_ref().map(|_| Kind::Embed);
    let disk = context.disk.clone();
    let captured = move |job| {
        let capture = capture.clone();
        let disk = disk.clone();
        async move {
            let _room = match disk.reserve(capture.max_size()) {
                Ok(room) => room,
                Err(full) => return Err(capturing::put_off(full)),
            };
            let captured = disk.while_there_is_room(capture.capture(&job)).await;
            captured.unwrap_or_else(|full| Err(capturing::put_off(full)))
        }
    };
    let mut tasks: Vec<BoxFuture<'static, ()>> = vec![
        Box::pin(capturing::run(context.clone(), captured)),
        Box::pin(indexing::run(context.clone(), splitter, after_index)),
        Box::pin(adapting::run(context.clone(), tools.clone(), turn)),
    ];
    if let Some(embedder) = embedder {
        tasks.push(Box::pin(embedding::run(context.clone(), embedder)));
    }
    tasks
}

fn log_ended(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(cause = %Interrupted::from(error), "a task of the knowledge base did not end by itself");
    }
}

impl Wakes {
    fn new(hints: Hints) -> Self {
        Self { capture: Notify::new(), index: Notify::new(), embed: Notify::new(), hints }
    }

    /// Notifies this process and the others of jobs of this kind.
    fn wake(&self, kind: Kind) {
        self.of(kind).notify_one();
        self.hints.tell_others(Hint::Jobs(kind.as_str().to_owned()));
    }

    /// Forwards notifications from other processes to the tasks, forever.
    async fn hear(&self) {
        let mut listening = self.hints.listen();
        loop {
            let heard = listening.next().await;
            for kind in [Kind::Capture, Kind::Index, Kind::Embed] {
                let is_meant = match &heard {
                    Heard::Hint(Hint::Jobs(name)) => name == kind.as_str(),
                    Heard::Hint(_) => false,
                    Heard::Everything => true,
                };
                if is_meant {
                    self.of(kind).notify_one();
                }
            }
        }
    }

    fn of(&self, kind: Kind) -> &Notify {
        match kind {
            Kind::Capture => &self.capture,
            Kind::Index => &self.index,
            Kind::Embed => &self.embed,
        }
    }
}

impl Context {
    /// Waits until there may be a job of this kind; jobs that were due by `looked_at` do not end the wait.
    async fn rest(&self, kind: Kind, looked_at: i64) {
        let rested = match self.time_to_rest(kind, looked_at).await {
            Ok(rested) => rested,
            Err(cause) => {
                self.failed(kind, &cause).await;
                return;
            }
        };
        // A notification since then left a permit, which ends the wait at once; either way the caller looks
        // again.
        let _ = timeout(rested, self.wakes.of(kind).notified()).await;
    }

    async fn time_to_rest(&self, kind: Kind, looked_at: i64) -> kitbag_database::Result<Duration> {
        if !self.process.does_jobs().await? {
            return Ok(POLL_INTERVAL);
        }
        let longest = if self.process.is_alone() { MAX_SLEEP } else { POLL_INTERVAL };
        let Some(run_at) = self.store.next_due(kind, looked_at).await? else { return Ok(longest) };
        let left = u64::try_from(run_at.saturating_sub(now())).unwrap_or_default();
        Ok(Duration::from_millis(left).clamp(MIN_SLEEP, longest))
    }

    /// Claims jobs, unless they are left to processes with newer settings.
    async fn take(&self, kind: Kind, last_holder: &str, limit: usize) -> kitbag_database::Result<Vec<Job>> {
        if self.process.does_jobs().await? {
            self.store.take(kind, &self.me, last_holder, limit).await
        } else {
            // Gives back the rest of a batch that was claimed before.
            self.store.give_back(kind, &self.me, &[], 0).await?;
            Ok(Vec::new())
        }
    }

    /// Waits until there is disk space for work on accepted documents, which may use half of the reserve.
    async fn room(&self) {
        while self.disk.room_for_a_little().is_err() {
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Logs a database failure, and pauses.
    async fn failed(&self, kind: Kind, cause: &DatabaseError) {
        error!(job = kind.as_str(), %cause, "jobs of the knowledge base wait: the database failed");
        sleep(RETRY_PAUSE).await;
    }
}
