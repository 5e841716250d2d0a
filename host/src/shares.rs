//! Room that many share, so that no one of them can take it all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A quantity of which each holder may take some; a clone shares it.
#[derive(Clone, Debug)]
pub(crate) struct Shares(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    in_all: usize,
    per_holder: usize,
    all: usize,
    holders: HashMap<String, usize>,
}

/// What one holder has taken; dropping it gives it back.
#[derive(Debug)]
pub struct Share {
    shares: Shares,
    holder: String,
    amount: usize,
}

impl Shares {
    /// Makes room for `in_all`, of which each holder may have `per_holder`.
    pub(crate) fn new(in_all: usize, per_holder: usize) -> Self {
        Self(Arc::new(Mutex::new(Taken { in_all, per_holder, all: 0, holders: HashMap::new() })))
    }

    /// Room without an end in all, of which each holder may have `per_holder`.
    pub(crate) fn per_holder(per_holder: usize) -> Self {
        Self::new(usize::MAX, per_holder)
    }

    /// Takes `amount` for `holder`, or nothing where that would be too much.
    pub(crate) fn take(&self, holder: &str, amount: usize) -> Option<Share> {
        let mut share = Share { shares: self.clone(), holder: holder.to_owned(), amount: 0 };
        share.grow(amount).then_some(share)
    }
}

impl Share {
    /// Takes `amount` more, or nothing where that would be too much; says which.
    #[must_use]
    pub(crate) fn grow(&mut self, amount: usize) -> bool {
        let mut taken = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_holder = taken.holders.get(&self.holder).copied().unwrap_or_default();
        if taken.all.saturating_add(amount) > taken.in_all
            || of_holder.saturating_add(amount) > taken.per_holder
        {
            return false;
        }
        taken.all += amount;
        taken.holders.insert(self.holder.clone(), of_holder + amount);
        self.amount += amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= self.amount;
        match taken.holders.get_mut(&self.holder) {
            Some(amount) if *amount > self.amount => *amount -= self.amount,
            // The last share takes the entry with it: the map holds only who has something.
            _ => drop(taken.holders.remove(&self.holder)),
        }
    }
}

#[cfg(test)]
impl Shares {
    /// How many hold something.
    pub(crate) fn holders(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).holders.len()
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
