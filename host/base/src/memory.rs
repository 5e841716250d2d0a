//! Memory budget of calls: a total for the process, and a limit for each user.
//!
//! Actual use is counted: a lease starts with what its call needs to start, grows with the guest's memories
//! and tables, and releases everything on drop.
//!
//! Invariant: all leases of one user never exceed the user's limit, and all leases never exceed the total,
//! except for memory that [`Lease::count_existing`] counts, which is already allocated.

mod machine;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

pub use machine::machine_memory;

/// Memory budget of calls. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Limit for all users together, in bytes.
    total: usize,
    /// Limit for each user, in bytes.
    per_user: usize,
    held: Mutex<ReservedBytes>,
    /// Signals that memory was released.
    freed: Notify,
}

#[derive(Debug, Default)]
struct ReservedBytes {
    all: usize,
    users: HashMap<Arc<str>, usize>,
}

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
        /// Name of the setting that limits it.
        setting: &'static str,
    },
}

/// Name of the setting for all calls together.
const TOTAL_SETTING: &str = "memory-for-calls";
/// Name of the setting for the calls of each user.
const PER_USER_SETTING: &str = "memory-for-calls-per-user";

/// Memory of one call. Dropping it releases the memory.
#[derive(Debug)]
pub struct Lease {
    budget: MemoryBudget,
    user: Arc<str>,
    bytes: Mutex<usize>,
    /// First refusal of the call.
    shortage: OnceLock<Shortage>,
}

/// Part of a call's memory that may be released before the call ends. Dropping it releases the memory.
#[derive(Debug)]
pub struct Claim {
    budget: MemoryBudget,
    user: Arc<str>,
    bytes: usize,
}

impl MemoryBudget {
    /// Creates a budget of `total` bytes, of which the calls of each user may use `per_user`.
    pub fn new(total: usize, per_user: usize) -> Self {
        let (held, freed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Shared { total, per_user, held, freed }))
    }

    /// Creates a budget without limits, for commands that run without a server.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX, usize::MAX)
    }

    /// Returns the bytes in use and the total limit.
    pub fn held_and_total(&self) -> (usize, usize) {
        (self.lock().all, self.0.total)
    }

    /// Acquires the `bytes` that a call of `user` needs to start. Waits up to `timeout` if they are not
    /// available.
    pub async fn admit(&self, user: &str, bytes: usize, timeout: Duration) -> Result<Lease, Shortage> {
        let user: Arc<str> = user.into();
        self.wait_for(&user, bytes, timeout).await?;
        Ok(Lease { budget: self.clone(), user, bytes: Mutex::new(bytes), shortage: OnceLock::new() })
    }

    async fn wait_for(&self, user: &Arc<str>, bytes: usize, timeout: Duration) -> Result<(), Shortage> {
        let deadline = Instant::now() + timeout;
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // Registered before the attempt, so that memory released in between is not missed.
            freed.as_mut().enable();
            let Err(shortage) = self.take(user, bytes) else { return Ok(()) };
            self.could_ever_hold(bytes)?;
            if timeout_at(deadline, freed).await.is_err() {
                return Err(shortage);
            }
        }
    }

    /// Fails if `needed` exceeds a limit even without other calls.
    fn could_ever_hold(&self, needed: usize) -> Result<(), Shortage> {
        let Shared { total, per_user, .. } = &*self.0;
        match [(*total, TOTAL_SETTING), (*per_user, PER_USER_SETTING)]
            .into_iter()
            .find(|(limit, _)| needed > *limit)
        {
            Some((_, setting)) => Err(Shortage::TooLarge { needed, setting }),
            None => Ok(()),
        }
    }

    fn take(&self, user: &Arc<str>, bytes: usize) -> Result<(), Shortage> {
        let mut held = self.lock();
        let of_user = held.users.get(user).copied().unwrap_or_default();
        if of_user.saturating_add(bytes) > self.0.per_user {
            return Err(Shortage::User);
        }
        if held.all.saturating_add(bytes) > self.0.total {
            return Err(Shortage::Server);
        }
        held.add(user, bytes);
        Ok(())
    }

    fn release(&self, user: &Arc<str>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.lock().remove(user, bytes);
        self.0.freed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, ReservedBytes> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReservedBytes {
    fn add(&mut self, user: &Arc<str>, bytes: usize) {
        self.all += bytes;
        *self.users.entry(user.clone()).or_default() += bytes;
    }

    fn remove(&mut self, user: &Arc<str>, bytes: usize) {
        self.all -= bytes;
        match self.users.get_mut(user) {
            Some(held) if *held > bytes => *held -= bytes,
            // Only users with running calls are in the map.
            _ => drop(self.users.remove(user)),
        }
    }
}

impl Lease {
    /// Acquires more memory until the end of the call. Does not wait.
    pub fn grow(&self, bytes: usize) -> Result<(), Shortage> {
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let grown = held.saturating_add(bytes);
        let taken = self.budget.take(&self.user, bytes);
        taken
            .map_err(|shortage| self.budget.could_ever_hold(grown).err().unwrap_or(shortage))
            .inspect_err(|shortage| self.record(*shortage))?;
        *held = grown;
        Ok(())
    }

    /// Releases part of the memory that [`grow`](Self::grow) acquired.
    pub fn shrink(&self, bytes: usize) {
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.min(*held);
        *held -= bytes;
        self.budget.release(&self.user, bytes);
    }

    /// Acquires more memory until the claim is dropped. Waits up to `timeout`.
    pub async fn claim(&self, bytes: usize, timeout: Duration) -> Result<Claim, Shortage> {
        let taken = self.budget.wait_for(&self.user, bytes, timeout).await;
        taken.inspect_err(|shortage| self.record(*shortage))?;
        Ok(Claim { budget: self.budget.clone(), user: self.user.clone(), bytes })
    }

    /// Counts memory that is already allocated, without checking the limits.
    pub fn count_existing(&self, bytes: usize) -> Claim {
        if bytes > 0 {
            self.budget.lock().add(&self.user, bytes);
        }
        Claim { budget: self.budget.clone(), user: self.user.clone(), bytes }
    }

    /// Returns the first shortage of this call, if any.
    pub fn shortage(&self) -> Option<Shortage> {
        self.shortage.get().copied()
    }

    fn record(&self, shortage: Shortage) {
        // Only the first one is stored: it is the cause.
        let _ = self.shortage.set(shortage);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.budget.release(&self.user, bytes);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.budget.release(&self.user, self.bytes);
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
            let held = self.lock();
            (held.all, held.users.len())
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
    async fn a_call_that_never_fits_hears_so_at_once_and_which_setting_forbids_it() {
        let budget = MemoryBudget::new(100, 60);
        let too_large = |needed, setting| Some(Shortage::TooLarge { needed, setting });

        let admitted = budget.admit("ana", 61, TIMEOUT);
        let admitted = tokio::time::timeout(TIMEOUT / 4, admitted).await.expect("at once");
        let grows = budget.admit("ana", 50, NO_WAIT).await.expect("there is room");

        assert_eq!(admitted.err(), too_large(61, "memory-for-calls-per-user"));
        assert_eq!(grows.grow(11).err(), too_large(61, "memory-for-calls-per-user"));
        let whole = MemoryBudget::new(60, 100);
        assert_eq!(whole.admit("ana", 61, TIMEOUT).await.err(), too_large(61, "memory-for-calls"));
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
