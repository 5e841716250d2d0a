//! Capacity shared by many holders, with a limit for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A capacity from which holders acquire amounts. Clones share it.
#[derive(Clone, Debug)]
pub struct Shares(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    in_all: usize,
    per_holder: usize,
    all: usize,
    holders: HashMap<Arc<str>, usize>,
}

/// Amount acquired by one holder. Dropping it releases the amount.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    holder: Arc<str>,
    amount: usize,
}

impl Shares {
    /// Creates a capacity of `in_all`, of which each holder may acquire `per_holder`.
    pub fn new(in_all: usize, per_holder: usize) -> Self {
        Self(Arc::new(Mutex::new(Taken { in_all, per_holder, all: 0, holders: HashMap::new() })))
    }

    /// Creates an unlimited capacity, of which each holder may acquire `per_holder`.
    pub fn per_holder(per_holder: usize) -> Self {
        Self::new(usize::MAX, per_holder)
    }

    /// Acquires `amount` for `holder`; `None` if that would exceed a limit.
    pub fn take(&self, holder: &str, amount: usize) -> Option<Share> {
        let holder = self.lock().take(holder, amount)?;
        Some(Share { shares: self.clone(), holder, amount })
    }

    /// Returns the total capacity.
    pub fn capacity(&self) -> usize {
        self.lock().in_all
    }

    /// Returns the amount that all holders have acquired.
    pub fn taken(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Acquires `amount` for `holder`, and returns the holder's key.
    fn take(&mut self, holder: &str, amount: usize) -> Option<Arc<str>> {
        let (holder, of_holder) = match self.holders.get_key_value(holder) {
            Some((holder, taken)) => (holder.clone(), *taken),
            None => (holder.into(), 0),
        };
        let all = self.all.checked_add(amount).filter(|all| *all <= self.in_all)?;
        let of_holder = of_holder.checked_add(amount).filter(|taken| *taken <= self.per_holder)?;
        self.all = all;
        self.holders.insert(holder.clone(), of_holder);
        Some(holder)
    }
}

impl Share {
    /// Acquires `amount` more. Returns `false`, and acquires nothing, if that would exceed a limit.
    #[must_use]
    pub fn grow(&mut self, amount: usize) -> bool {
        let is_taken = self.shares.lock().take(&self.holder, amount).is_some();
        if is_taken {
            self.amount += amount;
        }
        is_taken
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        taken.all -= self.amount;
        match taken.holders.get_mut(&self.holder) {
            Some(amount) if *amount > self.amount => *amount -= self.amount,
            // The last share of a holder removes the entry, so that the map does not grow.
            _ => drop(taken.holders.remove(&self.holder)),
        }
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
        assert!(shares.take("a", 1).is_none(), "a has its share");
        let _second = shares.take("b", 4).expect("there is room");
        assert!(shares.take("c", 1).is_none(), "nothing is left");

        drop(first);
        let mut third = shares.take("c", 2).expect("what was given back is there again");
        assert!(!third.grow(5), "c has its share");
        assert!(third.grow(4) && !third.grow(1));

        drop(third);
        assert_eq!(shares.holders(), 1, "b alone is remembered");
        assert!(shares.take("a", 6).is_some(), "all of it was given back");
    }
}
