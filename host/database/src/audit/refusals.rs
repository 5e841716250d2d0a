//! Rate limit of recorded refusals, so that nobody can fill the log by retrying.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kitbag_base::sha256::{Digest, Sha256};

use super::Actor;

/// Period in which the same refusal is recorded only once.
const INTERVAL: Duration = Duration::from_mins(1);
/// Maximum number of refusals recorded within [`INTERVAL`]: per user, and in total.
const MAX_OF_USER: usize = 20;
const MAX_IN_ALL: usize = 1000;

/// Refusals of the last minute: hash of the user and the refusal → hash of the user, time.
#[derive(Default)]
pub(super) struct Refusals(Mutex<HashMap<Digest, (Digest, Instant)>>);

impl Refusals {
    /// Returns whether to record a refusal, and counts it if so.
    pub(super) fn is_new(&self, by: &Actor, what: &str, toolkit: Option<&str>) -> bool {
        self.is_new_at(Instant::now(), by.user(), &format!("{what} {}", toolkit.unwrap_or_default()))
    }

    fn is_new_at(&self, now: Instant, user: &str, what: &str) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, (_, at)| now.duration_since(*at) < INTERVAL);
        let of_user = Sha256::digest(user);
        let refusal = Sha256::digest([&of_user[..], what.as_bytes()].concat());
        let count = recent.values().filter(|(user, _)| *user == of_user).count();
        if recent.len() >= MAX_IN_ALL || count >= MAX_OF_USER || recent.contains_key(&refusal) {
            return false;
        }
        recent.insert(refusal, (of_user, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_recorded_once_a_minute_and_a_user_causes_a_bounded_number() {
        let refusals = Refusals::default();
        let start = Instant::now();

        assert!(refusals.is_new_at(start, "una", "POST /toolkits"));
        assert!(!refusals.is_new_at(start, "una", "POST /toolkits"));
        assert!(refusals.is_new_at(start, "ulla", "POST /toolkits"), "another user's");
        assert!(refusals.is_new_at(start + INTERVAL, "una", "POST /toolkits"), "a minute later");

        let recorded =
            (0..100).filter(|n| refusals.is_new_at(start + INTERVAL, "eve", &n.to_string())).count();
        assert_eq!(recorded, MAX_OF_USER);
        assert!(refusals.is_new_at(start + INTERVAL, "ulla", "POST /toolkits"));

        let later = start + 3 * INTERVAL;
        let recorded =
            (0..2 * MAX_IN_ALL).filter(|n| refusals.is_new_at(later, &n.to_string(), "GET /audit"));
        assert_eq!(recorded.count(), MAX_IN_ALL, "of all users");
    }
}
