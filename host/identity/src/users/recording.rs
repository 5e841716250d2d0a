//! Recording of sign-ins, off the path of requests.
//!
//! Invariants:
//! - at most one write for a user in [`INTERVAL`], and one for each newer token with other groups;
//! - memory is bounded: the users recorded lately, and those who wait for a write.

use std::collections::HashMap;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::Semaphore;
use tracing::warn;

use super::store::{SignIn, Store};
use crate::caller::Caller;
use crate::groups::Groups;

/// Resolution of the recorded last sign-in.
const INTERVAL: Duration = Duration::from_mins(5);
/// Memory limit of the users recorded lately, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// Estimated size of a user recorded lately, without texts, in bytes.
const RECORDED_BYTES: usize = 256;
/// Maximum number of users who wait for a write. Others are recorded at a later request.
const MAX_WAITING: usize = 10_000;

/// Records sign-ins in the background; clones share their state.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    store: Store,
    /// Users recorded within [`INTERVAL`].
    recorded: Cache<Arc<str>, Recorded>,
    waiting: Arc<Mutex<HashMap<Box<str>, SignIn>>>,
    /// Limits writes to one at a time.
    turn: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Recorded {
    issued_at: i64,
    groups: Groups,
}

impl Recording {
    pub(super) fn new(store: Store) -> Self {
        let recorded = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|user: &Arc<str>, recorded: &Recorded| {
                let groups = recorded.groups.iter().map(|name| size_of::<String>() + name.len());
                u32::try_from(RECORDED_BYTES + user.len() + groups.sum::<usize>()).unwrap_or(u32::MAX)
            })
            .time_to_live(INTERVAL)
            .build();
        Self { store, recorded, waiting: Arc::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Records that a token or session of a user was accepted at `now`, in milliseconds since 1970, unless that
    /// was recorded lately. Returns at once.
    pub(super) fn note(&self, caller: &Caller, now: i64) {
        if let Some(recorded) = self.recorded.get(caller.user_id.as_str())
            && (recorded.groups == caller.groups || recorded.issued_at >= caller.issued_at)
        {
            return;
        }
        {
            let mut waiting = self.lock();
            if waiting.len() >= MAX_WAITING {
                return;
            }
            waiting.insert(caller.user_id.as_str().into(), SignIn::of(caller, now));
        }
        self.remember(caller);
        self.write_waiting();
    }

    /// Notes that the sign-in of a caller is recorded already.
    pub(super) fn remember(&self, caller: &Caller) {
        let recorded = Recorded { issued_at: caller.issued_at, groups: caller.groups.clone() };
        self.recorded.insert(caller.user_id.as_str().into(), recorded);
    }

    /// Writes sign-ins that wait, in the background, unless that is under way.
    fn write_waiting(&self) {
        let Ok(turn) = self.turn.clone().try_acquire_owned() else { return };
        let this = self.clone();
        tokio::spawn(async move {
            loop {
                let sign_ins = take(&mut *this.lock());
                if sign_ins.is_empty() {
                    break;
                }
                if let Err(error) = this.store.record(sign_ins.values()).await {
                    warn!(%error, users = sign_ins.len(), "sign-ins were not recorded");
                    for user in sign_ins.keys() {
                        this.recorded.invalidate(&**user);
                    }
                }
            }
            drop(turn);
            // A sign-in that came between the last look and the release has found the turn taken.
            let is_waiting = !this.lock().is_empty();
            if is_waiting {
                this.write_waiting();
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, SignIn>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;

    use super::*;
    use crate::caller::TokenProfile;

    #[tokio::test]
    async fn users_who_wait_for_a_write_are_bounded_and_the_others_are_recorded_at_a_later_request() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let recording = Recording::new(Store::new(Database::of_test(data.path()).await));
        let caller = |number: usize| Caller {
            user_id: format!("user {number}"),
            profile: TokenProfile::Access,
            client_id: None,
            key: None,
            scopes: Vec::new(),
            toolkits: None,
            issued_at: 1,
            groups: Groups::default(),
        };

        // No task runs between these: this test does not wait.
        for number in 0..=MAX_WAITING {
            recording.note(&caller(number), 1);
        }

        assert_eq!(recording.lock().len(), MAX_WAITING);
        assert!(recording.recorded.get("user 0").is_some());
        assert!(recording.recorded.get(format!("user {MAX_WAITING}").as_str()).is_none());
    }
}
