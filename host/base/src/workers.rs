//! Low-priority threads for work that grows with the data of a user: checking, redacting, parsing and encoding.
//!
//! A thread that serves requests must not do such work, because everybody's requests wait for it. Little work
//! is done at once; the rest runs here, one piece of each user at a time.
//!
//! Invariant: a user waits for at most one piece of each other user.

use std::future::pending;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

use crate::turns::Turns;

/// Maximum bytes of data that are processed at once, on the thread of the caller: far less than a
/// millisecond.
pub const INLINE_BYTES: usize = 64 << 10;

/// Threads, in turns of users. Clones share them.
#[derive(Clone, Debug)]
pub struct Workers(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    /// Runtime of which only the blocking threads are used. `None` only during `drop`.
    threads: Option<Runtime>,
    /// One turn for each thread, and one at a time for each user.
    turns: Turns,
}

impl Workers {
    /// Creates one thread per core, from two to eight, which start on demand. `lower_priority` is called on
    /// each, such as [`take_a_share`](crate::tasks::take_a_share).
    pub fn start(name: &str, lower_priority: fn()) -> io::Result<Self> {
        let count = available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
        let threads = Builder::new_current_thread()
            .max_blocking_threads(count)
            .thread_name(name)
            .on_thread_start(lower_priority)
            .build()?;
        Ok(Self(Arc::new(Pool { threads: Some(threads), turns: Turns::new(count, 1) })))
    }

    /// Runs `work`, which goes through `bytes` of a user's data: at once if that is little, otherwise like
    /// [`run_in_turn`](Self::run_in_turn).
    pub async fn run<T: Send + 'static>(
        &self,
        user: &str,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if bytes <= INLINE_BYTES { work() } else { self.run_in_turn(user, work).await }
    }

    /// Runs `work` on a thread of the pool, in a turn of `user`. If the caller stops waiting, work that has
    /// begun is completed. A panic propagates to the caller.
    pub async fn run_in_turn<T: Send + 'static>(
        &self,
        user: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let turn = self.0.turns.take(user).await;
        let work = move || {
            // Released when the work has ended, even if the caller no longer waits for it.
            let _turn = turn;
            work()
        };
        let threads = self.0.threads.as_ref().expect("only `drop` takes the threads");
        match threads.spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The server is shutting down, and will drop this future.
                Err(_cancelled) => pending().await,
            },
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use futures::FutureExt;

    use super::*;
    use crate::tasks::take_a_share;

    fn workers() -> Workers {
        Workers::start("worker", take_a_share).expect("threads can be started")
    }

    fn thread_name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test]
    async fn little_work_is_done_at_once_and_more_elsewhere() {
        let workers = workers();

        let little = workers.run("ana", INLINE_BYTES, thread_name).now_or_never();
        let much = workers.run("ana", INLINE_BYTES + 1, thread_name).await;

        assert_eq!(little, Some(thread_name()), "neither a task nor a channel");
        assert_eq!(much.as_deref(), Some("worker"));
    }

    #[tokio::test]
    async fn a_user_with_much_work_leaves_threads_to_others() {
        let workers = workers();
        let (go_on, gate) = mpsc::channel::<()>();
        let much = {
            let workers = workers.clone();
            tokio::spawn(async move { workers.run_in_turn("ana", move || gate.recv()).await })
        };
        tokio::task::yield_now().await;
        let more: Vec<_> = (0..100)
            .map(|_| {
                let workers = workers.clone();
                tokio::spawn(async move { workers.run_in_turn("ana", || ()).await })
            })
            .collect();
        tokio::task::yield_now().await;

        workers.run_in_turn("ben", || ()).await;

        assert!(!more.iter().any(tokio::task::JoinHandle::is_finished), "one piece of ana at a time");
        go_on.send(()).expect("it waits");
        much.await.expect("no panic").expect("it was told");
        futures::future::join_all(more).await;
    }

    #[tokio::test]
    async fn a_panic_reaches_the_caller_and_ends_the_turn() {
        let workers = workers();

        let panicked = std::panic::AssertUnwindSafe(workers.run_in_turn("ana", || panic!("on purpose")));

        assert!(panicked.catch_unwind().await.is_err());
        workers.run_in_turn("ana", || ()).await;
    }
}
