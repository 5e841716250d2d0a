//! How many calls run at once: for one user, for one toolkit, and in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bounds on calls in flight. Beyond them a call gets a retryable error, never a place in a queue.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Of one user.
    pub per_user: usize,
    /// Of one toolkit, over all users.
    pub per_toolkit: usize,
    /// In all.
    pub in_all: usize,
}

/// Counts calls in flight.
#[derive(Clone)]
pub(super) struct Admission {
    limits: AdmissionLimits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    users: HashMap<String, usize>,
    toolkits: HashMap<String, usize>,
}

/// A call that was let in; dropping it makes room for the next one.
pub(super) struct Admitted {
    admission: Admission,
    user: String,
    toolkit: String,
}

impl Admission {
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    /// Lets a call in, or returns nothing when it would be one too many.
    pub(super) fn enter(&self, user: &str, toolkit: &str) -> Option<Admitted> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = counts.users.get(user).copied().unwrap_or_default();
        let of_toolkit = counts.toolkits.get(toolkit).copied().unwrap_or_default();
        let AdmissionLimits { per_user, per_toolkit, in_all } = self.limits;
        if of_user >= per_user || of_toolkit >= per_toolkit || counts.all >= in_all {
            return None;
        }
        counts.all += 1;
        counts.users.insert(user.to_owned(), of_user + 1);
        counts.toolkits.insert(toolkit.to_owned(), of_toolkit + 1);
        Some(Admitted { admission: self.clone(), user: user.to_owned(), toolkit: toolkit.to_owned() })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.admission.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all -= 1;
        release(&mut counts.users, &self.user);
        release(&mut counts.toolkits, &self.toolkit);
    }
}

fn release(counts: &mut HashMap<String, usize>, key: &str) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        // The last call takes the entry with it: the map holds only who is calling now.
        _ => drop(counts.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_or_one_toolkit_cannot_take_all_the_room() {
        let admission = Admission::new(AdmissionLimits { per_user: 2, per_toolkit: 3, in_all: 4 });

        let first = admission.enter("ana", "a").expect("there is room");
        let _second = admission.enter("ana", "b").expect("there is room");
        assert!(admission.enter("ana", "c").is_none(), "ana has her share");
        let _third = admission.enter("ben", "a").expect("there is room");
        let _fourth = admission.enter("ben", "a").expect("there is room");
        assert!(admission.enter("eve", "a").is_none(), "the toolkit has its share");
        assert!(admission.enter("eve", "c").is_none(), "the server is full");

        drop(first);
        assert!(admission.enter("ana", "c").is_some(), "a finished call makes room");
    }
}
