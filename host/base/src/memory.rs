//! Memory budget of calls: a total for the process, and a limit for each user.
//!
//! Actual use is counted, as [`Shares`]: a lease starts with what its call needs to start, grows with the
//! guest's memories and tables, and releases everything on drop. Memory that is already allocated is counted
//! even beyond the limits ([`Lease::count_existing`]).

mod machine;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

pub use machine::machine_memory;

use crate::shares::{Exceeded, Share, Shares};

/// Memory budget of calls. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Shares);

/// Reason why a call gets no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The user's calls have used up the user's limit.
    User,
    /// All calls together have used up the budget.
    Server,
    /// The call alone needs more than a limit allows: a retry does not help.
    TooLarge {
        /// Needed bytes.
        needed: usize,
    },
}

/// Memory of one call. Dropping it releases the memory.
#[derive(Debug)]
pub struct Lease {
    budget: MemoryBudget,
    share: Mutex<Share>,
    /// First refusal of the call.
    shortage: OnceLock<Shortage>,
}

impl MemoryBudget {
    /// Creates a budget of `total` bytes, of which the calls of each user may use `per_user`.
    pub fn new(total: usize, per_user: usize) -> Self {
        Self(Shares::new(total, per_user))
    }

    /// Creates a budget without limits, for commands that run without a server.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX, usize::MAX)
    }

    /// Returns the bytes in use and the total limit.
    pub fn held_and_total(&self) -> (usize, usize) {
        (self.0.taken(), self.0.capacity())
    }

    /// Acquires the `bytes` that a call of `user` needs to start. Waits up to `timeout` if they are not
    /// available.
    pub async fn admit(&self, user: &str, bytes: usize, timeout: Duration) -> Result<Lease, Shortage> {
        let share = Mutex::new(self.wait(user, bytes, timeout).await?);
        Ok(Lease { budget: self.clone(), share, shortage: OnceLock::new() })
    }

    async fn wait(&self, user: &str, bytes: usize, timeout: Duration) -> Result<Share, Shortage> {
        let share = self.0.wait(user, bytes, timeout).await;
        share.map_err(|exceeded| self.shortage(exceeded, bytes))
    }

    /// Returns the reason why a call does not get the memory it needs, `needed` bytes in all.
    fn shortage(&self, exceeded: Exceeded, needed: usize) -> Shortage {
        match exceeded {
            _ if self.0.always_exceeds(needed) => Shortage::TooLarge { needed },
            Exceeded::Total => Shortage::Server,
            Exceeded::PerHolder => Shortage::User,
        }
    }
}

impl Lease {
    /// Acquires more memory until the end of the call. Does not wait.
    pub fn grow(&self, bytes: usize) -> Result<(), Shortage> {
        let mut share = self.lock();
        let grown = share.amount().saturating_add(bytes);
        share
            .grow(bytes)
            .map_err(|exceeded| self.budget.shortage(exceeded, grown))
            .inspect_err(|shortage| self.record(*shortage))
    }

    /// Releases part of the memory that [`grow`](Self::grow) acquired.
    pub fn shrink(&self, bytes: usize) {
        self.lock().shrink(bytes);
    }

    /// Acquires more memory until the share is dropped, which may be before the call ends. Waits up to
    /// `timeout`.
    pub async fn claim(&self, bytes: usize, timeout: Duration) -> Result<Share, Shortage> {
        let user = self.lock().holder().clone();
        let share = self.budget.wait(&user, bytes, timeout).await;
        share.inspect_err(|shortage| self.record(*shortage))
    }

    /// Counts memory that is already allocated, without checking the limits, until the share is dropped.
    pub fn count_existing(&self, bytes: usize) -> Share {
        self.lock().exceed(bytes)
    }

    /// Returns the first shortage of this call, if any.
    pub fn shortage(&self) -> Option<Shortage> {
        self.shortage.get().copied()
    }

    fn record(&self, shortage: Shortage) {
        // Only the first one is stored: it is the cause.
        let _ = self.shortage.set(shortage);
    }

    fn lock(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const NO_WAIT: Duration = Duration::ZERO;
    const TIMEOUT: Duration = Duration::from_secs(20);

    impl MemoryBudget {
        fn held(&self) -> (usize, usize) {
            (self.0.taken(), self.0.holders())
        }
    }

    #[tokio::test]
    async fn one_user_holds_a_share_and_all_together_the_budget() {
        let budget = MemoryBudget::new(100, 60);

        let ana = budget.admit("ana", 50, NO_WAIT).await.expect("there is room");
        let also_ana = budget.admit("ana", 5, NO_WAIT).await.expect("there is room");
        assert_eq!(also_ana.grow(6), Err(Shortage::User));
        drop(also_ana);
        assert_eq!(ana.grow(10), Ok(()));
        assert_eq!(budget.admit("ana", 1, NO_WAIT).await.err(), Some(Shortage::User));
        let ben = budget.admit("ben", 30, NO_WAIT).await.expect("ana leaves some");
        assert_eq!(ben.grow(11), Err(Shortage::Server));

        assert_eq!((ana.shortage(), ben.shortage()), (None, Some(Shortage::Server)));
        assert_eq!(budget.held(), (90, 2));
        drop((ana, ben));
        assert_eq!(budget.held(), (0, 0), "users without calls are not kept");
    }

    #[tokio::test]
    async fn whoever_waits_gets_what_comes_free_and_gives_up_in_time() {
        let budget = MemoryBudget::new(100, 100);
        let first = budget.admit("ana", 100, NO_WAIT).await.expect("there is room");

        let late = budget.admit("ben", 1, Duration::from_millis(20)).await;
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.admit("ben", 60, TIMEOUT).await.map(drop) }
        });
        tokio::task::yield_now().await;
        drop(first);

        assert_eq!(late.err(), Some(Shortage::Server));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
        assert_eq!(budget.held(), (0, 0));
    }

    #[tokio::test]
    async fn a_call_that_never_fits_hears_so_at_once() {
        let budget = MemoryBudget::new(100, 60);
        let too_large = |needed| Some(Shortage::TooLarge { needed });

        let admitted = budget.admit("ana", 61, TIMEOUT);
        let admitted = tokio::time::timeout(TIMEOUT / 4, admitted).await.expect("at once");
        let grows = budget.admit("ana", 50, NO_WAIT).await.expect("there is room");

        assert_eq!(admitted.err(), too_large(61));
        assert_eq!(grows.grow(11).err(), too_large(61));
        let whole = MemoryBudget::new(60, 100);
        assert_eq!(whole.admit("ana", 61, TIMEOUT).await.err(), too_large(61));
    }

    #[tokio::test]
    async fn nothing_leaks_by_a_panic_or_a_call_that_is_dropped() {
        let budget = MemoryBudget::new(100, 100);
        let lease = budget.admit("ana", 10, NO_WAIT).await.expect("there is room");

        let panicked = catch_unwind(AssertUnwindSafe(move || {
            lease.grow(20).expect("there is room");
            panic!("on purpose");
        }));
        let full = budget.admit("ana", 100, NO_WAIT).await.expect("all is free again");
        let abandoned = tokio::time::timeout(Duration::from_millis(5), full.claim(1, TIMEOUT)).await;

        assert!(panicked.is_err() && abandoned.is_err());
        drop(full);
        assert_eq!(budget.held(), (0, 0));
    }

    #[tokio::test]
    async fn a_claim_ends_before_its_call_and_what_exists_is_counted_in_any_case() {
        let budget = MemoryBudget::new(100, 100);
        let lease = budget.admit("ana", 90, NO_WAIT).await.expect("there is room");

        let claim = lease.claim(10, NO_WAIT).await.expect("there is room");
        let result = lease.count_existing(50);
        assert_eq!(budget.held().0, 150);
        drop(claim);
        assert_eq!(lease.grow(1), Err(Shortage::User), "the result takes it");
        drop(result);

        assert_eq!(lease.grow(1), Ok(()));
    }
}
