//! `capture` jobs: files by URL → stored files and text. Several at a time, with a limit per holder.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use kitbag_base::disk::DiskFull;
use kitbag_base::tasks::Interrupted;
use kitbag_database::Holder;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};

use super::retry::{Failure, Remedy, Verdict};
use super::{Context, RETRY_PAUSE};
use crate::MAX_PUTS;
use crate::capture::{CaptureFailure, CaptureJob, Captured, FailureKind};
use crate::document::{TitleOrigin, USER_SOURCE};
use crate::quota::{QuotaExceeded, Usage};
use crate::store::{Failed, Job, Kind, Read, Subject, Unkept, now};

/// Largest number of simultaneous captures.
const MAX_CONCURRENT: usize = 8;
/// Largest number of simultaneous captures per holder.
const MAX_CONCURRENT_OF_HOLDER: usize = 2;
/// Time limit of one capture, enough to transcribe an hour of speech.
const CAPTURE_TIMEOUT: Duration = Duration::from_mins(30);
/// Names of missing dependencies, as failed documents record them.
pub(super) const TRANSCRIBER: &str = "transcriber";
pub(super) const EXTRACTOR: &str = "extractor";

/// Users whose captures may start now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    ForAll,
    /// Users other than those with due captures, who have reached their limit.
    ForOthers,
    None,
}

/// Captures in progress.
struct Running<C> {
    context: Context,
    capture: C,
    tasks: JoinSet<kitbag_database::Result<()>>,
    /// User and document of each running capture.
    under_way: HashMap<Id, (Holder, i64)>,
    last_holder: String,
    /// Whether to give back claimed jobs that are not running: jobs of an earlier run, or one whose result
    /// could not be stored.
    has_left_some: bool,
}

/// Runs due captures until cancelled.
pub(super) async fn run<C, F>(context: Context, capture: C)
where
    C: Fn(CaptureJob) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Captured, CaptureFailure>> + Send + 'static,
{
    let mut running = Running {
        context: context.clone(),
        capture,
        tasks: JoinSet::new(),
        under_way: HashMap::new(),
        last_holder: String::new(),
        has_left_some: true,
    };
    loop {
        let looked_at = now();
        let filled = if context.disk.has_reserve().is_ok() {
            running.fill().await
        } else {
            sleep(RETRY_PAUSE).await;
            Ok(Room::None)
        };
        let room = match filled {
            Ok(room) => room,
            Err(cause) => {
                context.failed(Kind::Capture, &cause).await;
                Room::None
            }
        };
        tokio::select! {
            Some(ended) = running.tasks.join_next_with_id() => running.note(ended),
            // Due captures wait for one to end; captures of another holder may still arrive or become due.
            () = context.rest(Kind::Capture, looked_at), if room == Room::ForOthers => {}
            () = context.rest(Kind::Capture, 0), if room == Room::ForAll => {}
            else => {}
        }
    }
}

impl<C, F> Running<C>
where
    C: Fn(CaptureJob) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Captured, CaptureFailure>> + Send + 'static,
{
    /// Starts due captures within the limits. Returns the holders whose captures may still start.
    async fn fill(&mut self) -> kitbag_database::Result<Room> {
        let Context { store, process, me, .. } = &self.context;
        if self.has_left_some {
            let documents: Vec<_> = self.under_way.values().map(|(_, document)| *document).collect();
            // After a pause, because each capture is another request to a file server.
            let run_at = now().saturating_add(millis(self.context.limits.first_pause));
            store.give_back(Kind::Capture, me, &documents, run_at).await?;
            self.has_left_some = false;
        }
        if !process.does_jobs().await? {
            return Ok(Room::ForAll);
        }
        let mut room = Room::ForAll;
        for mut job in store.due(Kind::Capture, &self.last_holder, 4 * MAX_CONCURRENT).await? {
            if self.tasks.len() >= MAX_CONCURRENT {
                return Ok(Room::None);
            }
            let of_holder = self.under_way.values().filter(|(holder, _)| *holder == job.holder).count();
            if of_holder >= MAX_CONCURRENT_OF_HOLDER {
                room = Room::ForOthers;
                continue;
            }
            job.holder.key().clone_into(&mut self.last_holder);
            let begun = store.begin_try(Kind::Capture, &mut job, me).await;
            // Without a response, the job may be claimed anyway.
            self.has_left_some |= begun.is_err();
            if begun? {
                let holder_and_document = (job.holder.clone(), job.document);
                let task = one(self.context.clone(), self.capture.clone(), job);
                self.under_way.insert(self.tasks.spawn(task).id(), holder_and_document);
            }
        }
        Ok(if self.tasks.len() < MAX_CONCURRENT { room } else { Room::None })
    }

    /// Handles the end of a capture.
    fn note(&mut self, ended: Result<(Id, kitbag_database::Result<()>), JoinError>) {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome.map_err(|cause| cause.to_string())),
            Err(error) => (error.id(), Err(Interrupted::from(error).to_string())),
        };
        self.under_way.remove(&id);
        if let Err(cause) = outcome {
            // The job is given back, and started again.
            self.has_left_some = true;
            error!(%cause, "what became of a capture could not be stored");
        }
    }
}

/// Captures one file, and stores the outcome.
async fn one<C, F>(context: Context, capture: C, mut job: Job) -> kitbag_database::Result<()>
where
    C: Fn(CaptureJob) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Captured, CaptureFailure>> + Send + 'static,
{
    let Some(subject) = context.store.subject(&job).await? else { return Ok(()) };
    if subject.revision != job.revision {
        // An update in the meantime has made the job due again.
        return Ok(());
    }
    if let (None, Err(exceeded)) = (&subject.artifact, has_room(&context, &job.holder).await?) {
        return give_up(&context, &job, Failed { reason: &over_quota(exceeded), ..Failed::default() })
            .await
            .map(drop);
    }
    if job.tries >= context.limits.tries {
        let reason = "the server stopped each time it read the file";
        return give_up(&context, &job, Failed { reason, ..Failed::default() }).await.map(drop);
    }
    job.tries += 1;
    let wanted = CaptureJob {
        user: job.holder.key().into(),
        is_of_toolkit: subject.source != USER_SOURCE,
        file_url: subject.file_url.clone(),
        claimed_type: subject.claimed_type.clone(),
        capture_only: subject.capture_only,
        kept: subject.artifact.clone(),
    };
    // In a task of its own: a panic in code that reads files fails only one document.
    let captured = match timeout(CAPTURE_TIMEOUT, OwnTask(tokio::spawn(capture(wanted))).ended()).await {
        Ok(Ok(captured)) => captured,
        Ok(Err(cause)) => {
            error!(document = job.document, %cause, "a capture did not come to its end");
            let reason = "the file could not be read: this is a fault of the server";
            Err(failure(reason, FailureKind::Permanent))
        }
        Err(_elapsed) => Err(failure("reading the file took too long", FailureKind::Transient)),
    };
    match captured {
        Ok(captured) => keep(&context, &job, &subject, captured).await,
        Err(failure) => settle(&context, &job, failure).await,
    }
}

async fn keep(
    context: &Context,
    job: &Job,
    subject: &Subject,
    captured: Captured,
) -> kitbag_database::Result<()> {
    let Captured { mut file, title, text, encoding } = captured;
    // A title that equals the URL was not really given.
    let is_url = || [&subject.url, &subject.file_url].contains(&&Some(subject.title.clone()));
    let has_title = subject.title_origin == TitleOrigin::Given && !is_url();
    let title = title.filter(|_| !has_title);
    let read = Read { title, text: text.map(|text| text.replace('\0', "")), encoding };
    for _ in 0..MAX_PUTS {
        let kept = context.store.keep_captured(job, &file, &read).await?;
        let artifact = file.artifact();
        match kept {
            Ok(true) => {
                let bytes = artifact.size;
                let media_type = &artifact.media_type;
                info!(document = job.document, bytes, media_type, "captured a file");
                context.wakes.wake(Kind::Index);
                return Ok(());
            }
            Ok(false) => {
                file.give_up(&context.artifacts).await;
                return Ok(());
            }
            Err(Unkept::Quota(exceeded)) => {
                let document = job.document;
                let bytes = artifact.size;
                warn!(document, bytes, "a captured file is more than its user may have");
                file.give_up(&context.artifacts).await;
                let reason = over_quota(exceeded);
                return give_up(context, job, Failed { reason: &reason, ..Failed::default() })
                    .await
                    .map(drop);
            }
            // The last document with the same bytes was deleted.
            Err(Unkept::Dropped) => {
                if let Err(cause) = file.put_again(&context.artifacts).await {
                    warn!(document = job.document, %cause, "a captured file could not be kept");
                    break;
                }
            }
        }
    }
    settle(context, job, failure("the file could not be kept: storage failed", FailureKind::Storage)).await
}

/// Checks whether the holder's quota has room for at least one byte: otherwise nothing is downloaded.
async fn has_room(context: &Context, holder: &Holder) -> kitbag_database::Result<Result<(), QuotaExceeded>> {
    let used = context.store.usage(holder).await?;
    Ok(context.store.check(holder, used, Usage { bytes: used.bytes.saturating_add(1), ..used }))
}

fn over_quota(exceeded: QuotaExceeded) -> String {
    format!("the file was not kept: {exceeded}. Then ingest it again")
}

/// Failure of a capture for which the disk has no room.
pub(super) fn put_off(full: DiskFull) -> CaptureFailure {
    failure(&full.to_string(), FailureKind::Transient)
}

async fn settle(context: &Context, job: &Job, failure: CaptureFailure) -> kitbag_database::Result<()> {
    let CaptureFailure { reason, kind, file } = failure;
    let remedy = match kind {
        FailureKind::Transient | FailureKind::Storage => Remedy::Time,
        FailureKind::Permanent | FailureKind::NoTranscriber | FailureKind::NoExtractor => Remedy::Nothing,
    };
    let verdict = context.limits.judge(job.tries, &Failure { reason: reason.clone(), remedy });
    warn!(document = job.document, tries = job.tries, reason, ?verdict, "a file was not captured");
    let missing_dependency = match kind {
        FailureKind::Transient | FailureKind::Storage | FailureKind::Permanent => None,
        FailureKind::NoTranscriber => Some(TRANSCRIBER),
        FailureKind::NoExtractor => Some(EXTRACTOR),
    };
    let was_wanted = match verdict {
        Verdict::Again(pause) | Verdict::Wait(pause) => {
            let run_at = now().saturating_add(millis(pause));
            context.store.put_off_capture(job, file.as_ref(), run_at).await?
        }
        Verdict::GiveUp => {
            give_up(context, job, Failed { reason: &reason, missing_dependency, file: file.as_ref() }).await?
        }
    };
    if let (false, Some(file)) = (was_wanted, file) {
        file.give_up(&context.artifacts).await;
    }
    Ok(())
}

async fn give_up(context: &Context, job: &Job, failed: Failed<'_>) -> kitbag_database::Result<bool> {
    let was_wanted = context.store.give_up(Kind::Capture, job, failed).await?;
    context.wakes.wake(Kind::Index);
    Ok(was_wanted)
}

fn failure(reason: &str, kind: FailureKind) -> CaptureFailure {
    CaptureFailure { reason: reason.to_owned(), kind, file: None }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Task that is aborted when this value is dropped.
struct OwnTask<T>(JoinHandle<T>);

impl<T> OwnTask<T> {
    async fn ended(mut self) -> Result<T, Interrupted> {
        Ok((&mut self.0).await?)
    }
}

impl<T> Drop for OwnTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
