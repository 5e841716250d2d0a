//! A cache of the users who have agreed to the reach of a live version.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Cached ids of users whose calls of one live version need no further consent. Valid for one activation.
pub(super) struct Agreed(Mutex<OfActivation>);

struct OfActivation {
    activation: i64,
    users: HashSet<String>,
}

/// Maximum number of cached users per version; at the limit, the cache is cleared.
const MAX_CACHED: usize = 10_000;

impl Agreed {
    pub(super) fn of(activation: i64) -> Self {
        Self(Mutex::new(OfActivation { activation, users: HashSet::new() }))
    }

    /// Clears the cache when the same version becomes live again: its users may have agreed to something else
    /// in between.
    pub(super) fn renew(&self, activation: i64) {
        *self.lock() = OfActivation { activation, users: HashSet::new() };
    }

    /// Returns the current activation, to be passed to `add` with results that are read after this call.
    pub(super) fn activation(&self) -> i64 {
        self.lock().activation
    }

    pub(super) fn has(&self, user: &str) -> bool {
        self.lock().users.contains(user)
    }

    /// Caches a user whose consent was read during `activation`. Ignored if another activation has begun.
    pub(super) fn add(&self, user: &str, activation: i64) {
        let mut agreed = self.lock();
        if agreed.activation != activation {
            return;
        }
        if agreed.users.len() >= MAX_CACHED {
            agreed.users.clear();
        }
        agreed.users.insert(user.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, OfActivation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
