//! Locks for renewing the tokens of accounts, among the calls of one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use crate::outbound_auth::SignInError;

/// Time limit for renewing tokens and storing them, after which another process may claim the renewal.
const REFRESH_TIME: Duration = Duration::from_secs(30);
/// Time for which a process remembers the holder that it has observed.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// Locks of all accounts for which calls wait. Clones share them.
#[derive(Clone, Default)]
pub(super) struct RenewalLocks {
    places: Arc<Mutex<Places>>,
    seen: Arc<Mutex<Seen>>,
}

/// Time and error of the last failed attempt.
type Failed = Option<(Instant, SignInError)>;
type Place = tokio::sync::Mutex<Failed>;
/// By user and toolkit: the holder of the renewal observed last, and the time of the first observation.
type Seen = HashMap<(String, String), (String, Instant)>;
/// Locks by user and toolkit.
type Places = HashMap<(String, String), Weak<Place>>;

/// Lock acquired by one call.
pub(super) struct RenewalLock(OwnedMutexGuard<Failed>);

impl RenewalLocks {
    /// Returns whether an attempt (`holder`) has been observed for longer than [`REFRESH_TIME`], so that it
    /// must have ended. Each process measures that itself: clocks of machines differ.
    pub(super) fn is_over(&self, user: &str, toolkit: &str, holder: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, (_, since)| since.elapsed() < FORGOTTEN_AFTER);
        let key = (user.to_owned(), toolkit.to_owned());
        match seen.get(&key) {
            Some((known, since)) if known == holder => since.elapsed() > REFRESH_TIME,
            _ => {
                seen.insert(key, (holder.to_owned(), Instant::now()));
                false
            }
        }
    }

    /// Acquires the lock of an account, after other calls of this process have renewed its tokens.
    pub(super) async fn wait(&self, user: &str, toolkit: &str) -> RenewalLock {
        let place = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            places.retain(|_, place| place.strong_count() > 0);
            let key = (user.to_owned(), toolkit.to_owned());
            let known = places.get(&key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let place = Arc::<Place>::default();
                places.insert(key, Arc::downgrade(&place));
                place
            })
        };
        RenewalLock(place.lock_owned().await)
    }
}

impl RenewalLock {
    /// Returns the error of an attempt that failed after `asked`, while this call waited: it need not be
    /// repeated.
    pub(super) fn failed_since(&self, asked: Instant) -> Option<SignInError> {
        self.0.as_ref().filter(|(at, _)| *at >= asked).map(|(_, error)| error.clone())
    }

    /// Releases the lock and records the error, if any.
    pub(super) fn ended_with(mut self, error: Option<&SignInError>) {
        *self.0 = error.map(|error| (Instant::now(), error.clone()));
    }
}
