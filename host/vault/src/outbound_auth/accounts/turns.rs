//! Whose turn it is, among the calls of one process, to renew the tokens of an account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use crate::outbound_auth::SignInError;

/// How long a process may take to renew tokens and to store them.
const REFRESH_TIME: Duration = Duration::from_secs(30);
/// How long a process remembers whose turn it has seen.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(10);

/// The turns of all accounts for which calls wait. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Turns {
    places: Arc<Mutex<Places>>,
    seen: Arc<Mutex<Seen>>,
}

/// When the last attempt failed, and why.
type Failed = Option<(Instant, SignInError)>;
type Place = tokio::sync::Mutex<Failed>;
/// Who has the turn among processes, and since when this one has seen it, by user and toolkit.
type Seen = HashMap<(String, String), (String, Instant)>;
/// By user and toolkit.
type Places = HashMap<(String, String), Weak<Place>>;

/// The turn of one call.
pub(super) struct Turn(OwnedMutexGuard<Failed>);

impl Turns {
    /// Whether a process has had the turn for so long that it must have ended. Each process measures that by itself: clocks of
    /// machines differ.
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

    /// Waits until no other call renews the tokens of this account.
    pub(super) async fn wait(&self, user: &str, toolkit: &str) -> Turn {
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
        Turn(place.lock_owned().await)
    }
}

impl Turn {
    /// The failure of an attempt that this call has waited for since `asked`: it need not be repeated.
    pub(super) fn failed_since(&self, asked: Instant) -> Option<SignInError> {
        self.0.as_ref().filter(|(at, _)| *at >= asked).map(|(_, error)| error.clone())
    }

    /// Ends the turn.
    pub(super) fn ended_with(mut self, error: Option<&SignInError>) {
        *self.0 = error.map(|error| (Instant::now(), error.clone()));
    }
}
