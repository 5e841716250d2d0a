//! Work in separate tasks, which continues even if the caller stops waiting.
//!
//! Invariant: a change that has started is completed with all its consequences, even if the client
//! disconnects.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tracing::warn;

/// A task that did not complete. Unlike Tokio's error, it never quotes the panic's message, which may contain
/// user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Interrupted {
    /// The task panicked.
    #[error("a task panicked")]
    Panicked,
    /// The runtime was shut down.
    #[error("a task was cancelled")]
    Cancelled,
}

impl From<JoinError> for Interrupted {
    fn from(error: JoinError) -> Self {
        if error.is_panic() { Self::Panicked } else { Self::Cancelled }
    }
}

/// Runs `work` to completion, even if the returned future is dropped: a change must not be left incomplete
/// when a client disconnects.
pub async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Interrupted> {
    Ok(tokio::spawn(work).await?)
}

/// Runs `work` on `runtime`, whichever runtime is current. Dropping the returned future cancels it.
///
/// The work gets its own task even if `runtime` is the current one: the caller may be a guest's future. After
/// much computation, such a future moves to threads of the lowest priority, which may wait long for a CPU.
/// Work that uses a shared resource (a connection, a lock) must not run there.
pub fn run_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> BoxFuture<'static, Result<T, Interrupted>> {
    let runtime = runtime.clone();
    Box::pin(async move {
        // A `JoinSet` aborts its tasks when dropped.
        let mut task = JoinSet::new();
        task.spawn_on(work, &runtime);
        Ok(task.join_next().await.expect("the set has one task")?)
    })
}

/// Same as [`run_on`], but polls `work` within the current task if `runtime` is the current one. Not for
/// callers inside a guest's future.
pub fn stay_or_run_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> BoxFuture<'static, Result<T, Interrupted>> {
    if Handle::try_current().is_ok_and(|current| current.id() == runtime.id()) {
        return Box::pin(AssertUnwindSafe(work).catch_unwind().map_err(|_panic| Interrupted::Panicked));
    }
    run_on(runtime, work)
}

/// Runs `work` on a thread for blocking work. A panic propagates to the caller.
pub async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and will drop this future.
            Err(_cancelled) => pending().await,
        },
    }
}

/// Returns the CPU time that this thread has used.
pub fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// Lowers the thread's priority permanently: it runs only when no other thread needs a CPU. If the system
/// refuses, the priority is unchanged.
pub fn give_way() {
    if let Err(error) = lowest_priority() {
        warn!(?error, "what computes for long runs at the priority of everything else");
    }
}

/// Lowers the thread's priority permanently, to about a tenth of a core when competing with a busy thread,
/// and a whole core otherwise (on Linux; the lowest priority elsewhere). If the system refuses, the priority
/// is unchanged.
pub fn take_a_share() {
    if let Err(error) = low_priority() {
        warn!(?error, "what computes for long runs at the priority of everything else");
    }
}

/// The scheduler gives a thread of the default niceness 0 nine times the weight.
#[cfg(target_os = "linux")]
fn low_priority() -> rustix::io::Result<()> {
    use rustix::process::{getpriority_process, setpriority_process};

    const NICENESS: i32 = 10;

    // On Linux this call sets the niceness of a single thread.
    let thread = Some(rustix::thread::gettid());
    setpriority_process(thread, getpriority_process(thread)?.max(NICENESS))
}

#[cfg(not(target_os = "linux"))]
fn low_priority() -> Result<(), thread_priority::Error> {
    lowest_priority()
}

#[cfg(target_os = "linux")]
fn lowest_priority() -> Result<(), thread_priority::Error> {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };

    // SCHED_IDLE: any other thread that becomes ready to run preempts it at once.
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy)
}

#[cfg(not(target_os = "linux"))]
fn lowest_priority() -> Result<(), thread_priority::Error> {
    thread_priority::set_current_thread_priority(thread_priority::ThreadPriority::Min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shared_resources_are_never_held_by_a_guests_future() {
        let here = tokio::task::try_id();
        let runtime = Handle::current();

        let task = run_on(&runtime, async { tokio::task::try_id() }).await.expect("it ends");
        let stayed = stay_or_run_on(&runtime, async { tokio::task::try_id() }).await.expect("it ends");

        assert!(task.is_some() && task != here, "a task of its own, although the runtime is the same");
        assert_eq!(stayed, here);
    }

    #[tokio::test]
    async fn a_panic_is_reported_without_its_message() {
        let interrupted = to_its_end(async { panic!("hunter{}", 2) }).await.map(|()| "no panic");

        assert_eq!(interrupted, Err(Interrupted::Panicked));
        assert!(!interrupted.unwrap_err().to_string().contains("hunter2"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_share_is_that_of_one_thread() {
        let niceness =
            || rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("it is there");
        let usual = niceness();

        let shared = std::thread::spawn(move || {
            take_a_share();
            niceness()
        });

        assert_eq!(shared.join().expect("it does not panic"), usual.max(10));
        assert_eq!(niceness(), usual);
    }
}
