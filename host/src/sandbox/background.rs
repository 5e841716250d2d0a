//! Threads for guests that compute for long: they get the processor when nobody else wants it.
//!
//! A call starts on the server's own threads, where a short one ends without a detour. One that has
//! computed for longer than its share goes on here, at the lowest priority that the system has, and
//! so takes nothing from the requests of others, whoever started it and however many there are.
//!
//! Invariant: no call computes for longer than its share on the server's own threads.

use std::future::{Future, pending, poll_fn};
use std::io;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::instrument::WithSubscriber;

use crate::tasks::{give_way, processor_time};

/// How much of a processor's time work may have on the thread of whoever wants it. Neither waiting
/// counts nor a thread that had to wait for its processor: a busy machine demotes nobody.
const SHARE: Duration = Duration::from_millis(10);

/// How long work that has to end may hold up whoever ends it. A guest is interrupted within
/// milliseconds; it takes longer only where the whole machine leaves its thread no processor.
const LINGER: Duration = Duration::from_millis(500);

/// The threads; a clone shares them. With the last one they end, and with them whatever they still run.
#[derive(Clone)]
pub struct Background(Arc<Threads>);

struct Threads(Option<Runtime>);

impl Background {
    /// Starts one thread for each core but one.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads())
            .thread_name("sandbox-background")
            .on_thread_start(give_way)
            // Beside a turn of some milliseconds it costs nothing to look at the timers after each.
            .event_interval(1)
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Threads(Some(runtime)))))
    }

    /// Drives `work` to its end, or drops it when that takes longer than `limit`. Dropping the
    /// future drops the work.
    ///
    /// The clock of `limit` is the caller's: it strikes in time however busy the background is.
    pub(super) async fn run<W>(&self, limit: Duration, work: W) -> Result<W::Output, Elapsed>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let deadline = Instant::now() + limit;
        match timeout_at(deadline, Share::of(work)).await? {
            Used::InPart(output) => Ok(output),
            Used::Up(work) => {
                let mut demoted = self.take_over(work);
                let output = timeout_at(deadline, demoted.output()).await;
                if output.is_err() {
                    demoted.stop().await;
                }
                output
            }
        }
    }

    fn take_over<W>(&self, work: Pin<Box<W>>) -> Demoted<W>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let turn = Arc::new(Turn { work: Mutex::new(Some(work)), is_unwanted: AtomicBool::new(false) });
        let drive = poll_fn({
            let turn = turn.clone();
            move |context| turn.take(context)
        });
        let runtime = self.0.0.as_ref().expect("only `drop` takes the runtime");
        Demoted { turn, task: Some(runtime.spawn(drive.with_current_subscriber())), home: Handle::current() }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// How many threads there are; so many guests may live on for a moment after their calls have ended.
///
/// One core stays free of them: a server's thread that wakes finds it idle, and need not wait for the
/// kernel's next tick to take a core away from a guest.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

/// Drives work until it ends, or until it has computed for [`SHARE`].
struct Share<W> {
    /// There until the future has resolved.
    work: Option<Pin<Box<W>>>,
    left: Duration,
}

enum Used<W: Future> {
    InPart(W::Output),
    Up(Pin<Box<W>>),
}

impl<W: Future> Share<W> {
    fn of(work: W) -> Self {
        Self { work: Some(Box::pin(work)), left: SHARE }
    }
}

impl<W: Future> Future for Share<W> {
    type Output = Used<W>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Used<W>> {
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let started = processor_time();
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Used::InPart(output));
        }
        self.left = self.left.saturating_sub(processor_time().saturating_sub(started));
        if self.left.is_zero() {
            return Poll::Ready(Used::Up(work));
        }
        self.work = Some(work);
        Poll::Pending
    }
}

/// Work in the background: what its owner and the thread that drives it share.
///
/// Whoever ends the work takes it out here while it only waits for its turn, and drops it. Work that
/// is having its turn is handed back after it. So an instance's memory is always given back by the
/// server's threads: that takes locks that all calls share, and a thread of the background that
/// holds one may have to wait for the processor as long as anything else wants it.
struct Turn<W> {
    work: Mutex<Option<Pin<Box<W>>>>,
    is_unwanted: AtomicBool,
}

impl<W: Future> Turn<W> {
    /// Resolves to the output, or to the work itself once nobody wants it any more.
    fn take(&self, context: &mut Context<'_>) -> Poll<Driven<W>> {
        let polled = self.lock().as_mut().map_or(Poll::Pending, |work| work.as_mut().poll(context));
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            // Only now, with the lock free again: whoever finds it taken has said so before.
            Poll::Pending if self.is_unwanted.load(Ordering::SeqCst) => {
                self.lock().take().map_or(Poll::Pending, |work| Poll::Ready(Err(work)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pin<Box<W>>>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output, or the work itself where nobody wants it any more.
type Driven<W> = Result<<W as Future>::Output, Pin<Box<W>>>;

/// The owner's side of work in the background.
struct Demoted<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    turn: Arc<Turn<W>>,
    /// There until `drop`.
    task: Option<JoinHandle<Driven<W>>>,
    home: Handle,
}

impl<W> Demoted<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    /// Resolves once the work has ended by itself.
    async fn output(&mut self) -> W::Output {
        let Some(task) = &mut self.task else { return pending().await };
        match task.await {
            Ok(Ok(output)) => output,
            Ok(Err(_unwanted)) => pending().await,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_cancelled) => pending().await,
            },
        }
    }

    /// Ends the work, and waits until it is gone unless that takes too long.
    async fn stop(mut self) {
        self.withdraw();
        if let Some(task) = &mut self.task {
            let _gone = timeout(LINGER, task).await;
        }
    }

    /// Ends work that waits for its turn at once, and work that is having its turn after it.
    fn withdraw(&self) {
        self.turn.is_unwanted.store(true, Ordering::SeqCst);
        if let Ok(mut waiting) = self.turn.work.try_lock() {
            let waiting = waiting.take();
            if let Some(task) = &self.task {
                task.abort();
            }
            drop(waiting);
        }
    }
}

impl<W> Drop for Demoted<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    fn drop(&mut self) {
        self.withdraw();
        if let Some(task) = self.task.take_if(|task| !task.is_finished()) {
            self.home.spawn(async move { drop(task.await) });
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
    const PATIENCE: Duration = Duration::from_secs(20);

    fn background() -> Background {
        Background::start().expect("threads can be started")
    }

    fn thread_name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    /// Computes as a guest does: in turns.
    async fn compute(turns: u32) {
        for _ in 0..turns {
            let started = processor_time();
            while processor_time() < started + A_TURN {}
            yield_now().await;
        }
    }

    async fn is_gone(gone: &AtomicBool) -> bool {
        let noticed = timeout(PATIENCE, async {
            while !gone.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(5)).await;
            }
        });
        noticed.await.is_ok()
    }

    /// Says so when it is dropped.
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
            sleep(5 * SHARE).await;
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
            // The others would go on for ever; a busy machine takes its time.
            assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
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
