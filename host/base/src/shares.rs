//! Capacity shared by many holders, with a limit for each.
//!
//! What is refused beyond a user's share is counted here: requests, calls, readers, bytes of memory. Work whose
//! users take turns is scheduled by [`turns`](crate::turns).
//!
//! Invariant: all shares of one holder never exceed the holder's limit, and all shares never exceed the
//! total, except for amounts that [`Share::exceed`] counts.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// A capacity from which holders acquire amounts. Clones share it.
#[derive(Clone, Debug)]
pub struct Shares(Arc<Capacity>);

#[derive(Debug)]
struct Capacity {
    total: usize,
    per_holder: usize,
    acquired: Mutex<Acquired>,
    /// Signals that an amount was released.
    released: Notify,
}

#[derive(Debug, Default)]
struct Acquired {
    all: usize,
    /// Holders with an amount.
    holders: HashMap<Arc<str>, usize>,
}

/// Limit that an amount would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The limit for each holder.
    PerHolder,
    /// The limit for all holders together.
    Total,
}

/// Amount acquired by one holder. Dropping it releases the amount.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    holder: Arc<str>,
    amount: usize,
}

impl Shares {
    /// Creates a capacity of `total`, of which each holder may acquire `per_holder`.
    pub fn new(total: usize, per_holder: usize) -> Self {
        let acquired = Mutex::default();
        let released = Notify::new();
        Self(Arc::new(Capacity { total, per_holder, acquired, released }))
    }

    /// Creates an unlimited capacity, of which each holder may acquire `per_holder`.
    pub fn per_holder(per_holder: usize) -> Self {
        Self::new(usize::MAX, per_holder)
    }

    /// Acquires `amount` for `holder`.
    pub fn take(&self, holder: &str, amount: usize) -> Result<Share, Exceeded> {
        let holder = self.acquire(holder, amount)?;
        Ok(Share { shares: self.clone(), holder, amount })
    }

    /// Acquires `amount` for `holder`. Waits up to `timeout` if it would exceed a limit now, and fails at
    /// once if it always would.
    pub async fn wait(&self, holder: &str, amount: usize, timeout: Duration) -> Result<Share, Exceeded> {
        let deadline = Instant::now() + timeout;
        loop {
            let mut released = pin!(self.0.released.notified());
            // Registered before the attempt, so that an amount released in between is not missed.
            released.as_mut().enable();
            let exceeded = match self.take(holder, amount) {
                Ok(share) => return Ok(share),
                Err(exceeded) => exceeded,
            };
            if self.always_exceeds(amount) || timeout_at(deadline, released).await.is_err() {
                return Err(exceeded);
            }
        }
    }

    /// Returns whether `amount` exceeds a limit even if nothing else is acquired.
    pub fn always_exceeds(&self, amount: usize) -> bool {
        amount > self.0.total.min(self.0.per_holder)
    }

    /// Returns the total capacity.
    pub fn capacity(&self) -> usize {
        self.0.total
    }

    /// Returns the amount that all holders have acquired.
    pub fn taken(&self) -> usize {
        self.lock().all
    }

    /// Counts `amount` for `holder`, and returns the holder's key.
    fn acquire(&self, holder: &str, amount: usize) -> Result<Arc<str>, Exceeded> {
        let within = |now: usize, limit: usize| now.checked_add(amount).filter(|sum| *sum <= limit);
        let mut acquired = self.lock();
        let known = acquired.holders.get_key_value(holder).map(|(holder, amount)| (holder.clone(), *amount));
        let (holder, of_holder) = known.unwrap_or_else(|| (holder.into(), 0));
        let of_holder = within(of_holder, self.0.per_holder).ok_or(Exceeded::PerHolder)?;
        acquired.all = within(acquired.all, self.0.total).ok_or(Exceeded::Total)?;
        if of_holder > 0 {
            acquired.holders.insert(holder.clone(), of_holder);
        }
        Ok(holder)
    }

    fn release(&self, holder: &Arc<str>, amount: usize) {
        if amount == 0 {
            return;
        }
        let mut acquired = self.lock();
        acquired.all -= amount;
        match acquired.holders.get_mut(holder) {
            Some(of_holder) if *of_holder > amount => *of_holder -= amount,
            // Holders without an amount are removed, so that the map does not grow.
            _ => drop(acquired.holders.remove(holder)),
        }
        drop(acquired);
        self.0.released.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Acquired> {
        self.0.acquired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Returns the acquired amount.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Returns the name of the holder.
    pub fn holder(&self) -> &Arc<str> {
        &self.holder
    }

    /// Acquires `amount` more. Acquires nothing if that would exceed a limit.
    pub fn grow(&mut self, amount: usize) -> Result<(), Exceeded> {
        self.shares.acquire(&self.holder, amount)?;
        self.amount += amount;
        Ok(())
    }

    /// Releases part of the amount.
    pub fn shrink(&mut self, amount: usize) {
        let amount = amount.min(self.amount);
        self.amount -= amount;
        self.shares.release(&self.holder, amount);
    }

    /// Counts `amount` for the same holder, without checking the limits.
    #[must_use]
    pub fn exceed(&self, amount: usize) -> Self {
        if amount > 0 {
            let mut acquired = self.shares.lock();
            acquired.all += amount;
            *acquired.holders.entry(self.holder.clone()).or_default() += amount;
        }
        Self { shares: self.shares.clone(), holder: self.holder.clone(), amount }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shares.release(&self.holder, self.amount);
    }
}

#[cfg(any(test, feature = "testing"))]
impl Shares {
    /// Returns the number of holders with an amount.
    pub fn holders(&self) -> usize {
        self.lock().holders.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_cannot_take_all_and_what_is_given_back_can_be_taken_again() {
        let shares = Shares::new(10, 6);

        let first = shares.take("a", 6).expect("there is room");
        assert_eq!(shares.take("a", 1).err(), Some(Exceeded::PerHolder), "a has its share");
        let _second = shares.take("b", 4).expect("there is room");
        assert_eq!(shares.take("c", 1).err(), Some(Exceeded::Total), "nothing is left");

        drop(first);
        let mut third = shares.take("c", 2).expect("what was given back is there again");
        assert_eq!(third.grow(5), Err(Exceeded::PerHolder), "c has its share");
        assert_eq!((third.grow(4), third.grow(1)), (Ok(()), Err(Exceeded::PerHolder)));

        drop(third);
        assert_eq!(shares.holders(), 1, "b alone is remembered");
        assert!(shares.take("a", 6).is_ok(), "all of it was given back");
    }
}
