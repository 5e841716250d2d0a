//! The background runtime: lowest-priority threads for guests that use much CPU time.
//!
//! A call starts on the server's own threads, and a short call also ends there. A call that has used more CPU
//! time than [`FOREGROUND_CPU_TIME`] moves to the background threads, which run only when no other thread
//! wants the processor, so that even many such calls do not slow down other requests.
//!
//! Invariant: no call uses more CPU time than [`FOREGROUND_CPU_TIME`] on the server's own threads.

use std::future::{Future, pending, poll_fn};
use std::io;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::available_parallelism;
use std::time::Duration;

use kitbag_base::tasks::{give_way, processor_time};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::instrument::WithSubscriber;

/// CPU time a call may use before it moves to the background runtime. Waiting does not count.
const FOREGROUND_CPU_TIME: Duration = Duration::from_millis(10);

/// Maximum time that a caller waits until cancelled work is dropped. A guest is interrupted within
/// milliseconds, unless its thread gets no processor.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Handle to the background threads. Clones share them. Dropping the last clone ends the threads and their
/// work.
#[derive(Clone)]
pub struct Background(Arc<Threads>);

struct Threads(Option<Runtime>);

impl Background {
    /// Starts one thread per core except one, and at least one.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads())
            .thread_name("sandbox-background")
            .on_thread_start(give_way)
            // A poll takes some milliseconds, so checking the timers after each poll costs little.
            .event_interval(1)
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Threads(Some(runtime)))))
    }

    /// Runs `work` until it ends, or drops it when it takes longer than `limit`. Dropping the future drops
    /// the work.
    ///
    /// The timer of `limit` runs on the caller's runtime, so it fires in time however busy the background is.
    pub(super) async fn run<W>(&self, limit: Duration, work: W) -> Result<W::Output, Elapsed>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let deadline = Instant::now() + limit;
        match timeout_at(deadline, Foreground::new(work)).await? {
            ForegroundEnd::Finished(output) => Ok(output),
            ForegroundEnd::OutOfTime(work) => {
                let mut task = self.move_to_background(work);
                let output = timeout_at(deadline, task.output()).await;
                if output.is_err() {
                    task.stop().await;
                }
                output
            }
        }
    }

    fn move_to_background<W>(&self, work: Pin<Box<W>>) -> BackgroundTask<W>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let work =
            Arc::new(SharedWork { work: Mutex::new(Some(work)), is_cancelled: AtomicBool::new(false) });
        let drive = poll_fn({
            let work = work.clone();
            move |context| work.poll(context)
        });
        let runtime = self.0.0.as_ref().expect("only `drop` takes the runtime");
        BackgroundTask {
            work,
            task: Some(runtime.spawn(drive.with_current_subscriber())),
            server: Handle::current(),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Number of background threads, and so of guests that may exist for a moment after their calls have ended.
///
/// One core is left free, so that a server thread that wakes up finds an idle core and does not wait for the
/// kernel's next scheduler tick.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

/// Polls work until it ends, or until it has used [`FOREGROUND_CPU_TIME`].
struct Foreground<W> {
    /// `None` once the future has resolved.
    work: Option<Pin<Box<W>>>,
    left: Duration,
}

enum ForegroundEnd<W: Future> {
    Finished(W::Output),
    OutOfTime(Pin<Box<W>>),
}

impl<W: Future> Foreground<W> {
    fn new(work: W) -> Self {
        Self { work: Some(Box::pin(work)), left: FOREGROUND_CPU_TIME }
    }
}

impl<W: Future> Future for Foreground<W> {
    type Output = ForegroundEnd<W>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ForegroundEnd<W>> {
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let started = processor_time();
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(ForegroundEnd::Finished(output));
        }
        self.left = self.left.saturating_sub(processor_time().saturating_sub(started));
        if self.left.is_zero() {
            return Poll::Ready(ForegroundEnd::OutOfTime(work));
        }
        self.work = Some(work);
        Poll::Pending
    }
}

/// Work in the background, shared by its owner and the thread that polls it.
///
/// The owner cancels the work by taking it out, unless it is being polled; then the polling thread hands it
/// back. So the work is always dropped on the server's threads. Freeing an instance's memory takes locks
/// that all calls share, and a background thread that holds one could be descheduled for long.
struct SharedWork<W> {
    work: Mutex<Option<Pin<Box<W>>>>,
    is_cancelled: AtomicBool,
}

impl<W: Future> SharedWork<W> {
    /// Resolves to the output, or to the work itself once it is cancelled.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Driven<W>> {
        let polled = self.lock().as_mut().map_or(Poll::Pending, |work| work.as_mut().poll(context));
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            // Checked after the lock is released: an owner that failed to take the work out has set the flag
            // before.
            Poll::Pending if self.is_cancelled.load(Ordering::SeqCst) => {
                self.lock().take().map_or(Poll::Pending, |work| Poll::Ready(Err(work)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pin<Box<W>>>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of the work, or the work itself if it was cancelled.
type Driven<W> = Result<<W as Future>::Output, Pin<Box<W>>>;

/// The owner's handle to work in the background.
struct BackgroundTask<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    work: Arc<SharedWork<W>>,
    /// `None` only during `drop`.
    task: Option<JoinHandle<Driven<W>>>,
    /// The runtime on which cancelled work is dropped.
    server: Handle,
}

impl<W> BackgroundTask<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    /// Resolves when the work has completed. Never resolves if it was cancelled.
    async fn output(&mut self) -> W::Output {
        let Some(task) = &mut self.task else { return pending().await };
        match task.await {
            Ok(Ok(output)) => output,
            Ok(Err(_cancelled)) => pending().await,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_cancelled) => pending().await,
            },
        }
    }

    /// Cancels the work, and waits at most [`STOP_TIMEOUT`] until it is dropped.
    async fn stop(mut self) {
        self.cancel();
        if let Some(task) = &mut self.task {
            let _gone = timeout(STOP_TIMEOUT, task).await;
        }
    }

    /// Drops the work now, or after the current poll.
    fn cancel(&self) {
        self.work.is_cancelled.store(true, Ordering::SeqCst);
        if let Ok(mut waiting) = self.work.work.try_lock() {
            let waiting = waiting.take();
            if let Some(task) = &self.task {
                task.abort();
            }
            drop(waiting);
        }
    }
}

impl<W> Drop for BackgroundTask<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    fn drop(&mut self) {
        self.cancel();
        if let Some(task) = self.task.take_if(|task| !task.is_finished()) {
            self.server.spawn(async move { drop(task.await) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::task::yield_now;
    use tokio::time::sleep;

    use super::*;

    const AN_HOUR: Duration = Duration::from_hours(1);
    const A_TURN: Duration = Duration::from_millis(2);
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn background() -> Background {
        Background::start().expect("threads can be started")
    }

    fn thread_name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    /// Computes like a guest, yielding after each turn.
    async fn compute(turns: u32) {
        for _ in 0..turns {
            let started = processor_time();
            while processor_time() < started + A_TURN {}
            yield_now().await;
        }
    }

    async fn is_gone(gone: &AtomicBool) -> bool {
        let noticed = timeout(TIMEOUT, async {
            while !gone.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(5)).await;
            }
        });
        noticed.await.is_ok()
    }

    /// Sets the flag when dropped.
    struct Instance(Arc<AtomicBool>);

    impl Drop for Instance {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn short_work_and_work_that_waits_stay_on_the_thread_of_whoever_wants_it() {
        let work = async {
            compute(2).await;
            sleep(5 * FOREGROUND_CPU_TIME).await;
            thread_name()
        };

        let ran_on = background().run(AN_HOUR, work).await;

        assert_eq!(ran_on, Ok(thread_name()));
    }

    #[tokio::test]
    async fn work_that_computes_for_long_goes_on_in_the_background() {
        let work = async {
            compute(20).await;
            sleep(Duration::from_millis(1)).await;
            thread_name()
        };

        let ran_on = background().run(AN_HOUR, work).await;

        assert_eq!(ran_on, Ok(Some("sandbox-background".to_owned())));
    }

    #[tokio::test]
    async fn work_is_gone_when_its_time_is_over_although_the_background_is_busy() {
        let background = Arc::new(background());
        let others: Vec<_> = (0..8)
            .map(|_| {
                let background = background.clone();
                tokio::spawn(async move { background.run(AN_HOUR, compute(u32::MAX)).await })
            })
            .collect();

        for work_waits in [false, true] {
            let gone = Arc::new(AtomicBool::new(false));
            let instance = Instance(gone.clone());
            let work = async move {
                let _instance = instance;
                compute(10).await;
                if work_waits {
                    sleep(AN_HOUR).await;
                }
                compute(u32::MAX).await;
            };
            let started = Instant::now();

            let outcome = background.run(Duration::from_millis(300), work).await;

            assert!(outcome.is_err());
            // The other tasks never end; a busy machine needs some time.
            assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
            assert!(is_gone(&gone).await, "work that waits: {work_waits}");
        }
        others.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn work_ends_with_whoever_wanted_it() {
        let background = background();
        let gone = Arc::new(AtomicBool::new(false));
        let instance = Instance(gone.clone());
        let work = async move {
            let _instance = instance;
            compute(20).await;
            sleep(AN_HOUR).await;
        };

        let abandoned = timeout(Duration::from_millis(200), background.run(AN_HOUR, work)).await;

        assert!(abandoned.is_err());
        assert!(is_gone(&gone).await);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_background_has_the_lowest_priority() {
        let work = async {
            compute(20).await;
            thread_priority::thread_schedule_policy()
        };

        let policy = background().run(AN_HOUR, work).await.expect("it ends");

        let idle = thread_priority::NormalThreadSchedulePolicy::Idle;
        assert_eq!(policy.ok(), Some(thread_priority::ThreadSchedulePolicy::Normal(idle)));
    }
}
