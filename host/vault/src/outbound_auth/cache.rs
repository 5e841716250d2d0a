//! Cache of tokens. Expired and unused tokens are removed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::SignInError;
use super::token::Token;

/// Maximum number of cached tokens. Beyond it, the least recently used one is removed.
const MAX_TOKENS: usize = 10_000;

/// Time after its last use for which a token stays in memory.
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);
/// Interval at which expired and unused tokens are removed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Key of a user's token for one host of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) user_id: String,
    pub(super) toolkit_id: Arc<str>,
    /// Host of the API: each grant of a toolkit has its own token.
    pub(super) api_host: Arc<str>,
}

/// Token slots of all users and toolkits.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<Key, CachedToken>>);

#[derive(Debug)]
struct CachedToken {
    /// Hash of the declaration and the credentials.
    fingerprint: [u8; 32],
    used: Instant,
    slot: Arc<Slot>,
}

impl Cache {
    /// Removes expired and unused tokens once a minute, until the cache is dropped.
    pub(super) async fn sweep_regularly(cache: Weak<Self>) {
        loop {
            sleep(SWEEP_INTERVAL).await;
            let Some(cache) = cache.upgrade() else { return };
            cache.sweep(Instant::now());
        }
    }

    /// Removes slots that no call has used for [`IDLE_TIMEOUT`], and expired tokens from the others.
    fn sweep(&self, now: Instant) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, CachedToken { used, slot, .. }| {
            slot.drop_expired(now);
            // A long call may still use the slot, and a second call must not request another token.
            Arc::strong_count(slot) > 1 || now.saturating_duration_since(*used) < IDLE_TIMEOUT
        });
    }

    /// Returns the slot of a user and toolkit. A new fingerprint replaces the slot, and its token is
    /// dropped.
    pub(super) fn slot(&self, key: Key, fingerprint: [u8; 32]) -> Arc<Slot> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(entry) = entries.get_mut(&key).filter(|entry| entry.fingerprint == fingerprint) {
            entry.used = now;
            return entry.slot.clone();
        }
        if entries.len() >= MAX_TOKENS {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            oldest.and_then(|key| entries.remove(&key));
        }
        let slot = Arc::<Slot>::default();
        entries.insert(key, CachedToken { fingerprint, used: now, slot: slot.clone() });
        slot
    }
}

/// One cached token, and the lock for requesting it.
///
/// The call that requests a token holds the lock, so that others wait for the same token. If that call
/// ends early, the lock is released and the next call requests it.
#[derive(Default)]
pub(super) struct Slot(tokio::sync::Mutex<TokenState>);

#[derive(Default)]
struct TokenState {
    token: Option<Token>,
    failed: Option<(Instant, SignInError)>,
}

impl Slot {
    /// Returns the cached token, or that of `mint` if there is no valid one other than `refused`.
    pub(super) async fn token(
        &self,
        refused: Option<&Token>,
        mint: impl Future<Output = Result<Token, SignInError>>,
    ) -> Result<Token, SignInError> {
        let asked = Instant::now();
        let mut state = self.0.lock().await;
        if let Some(refused) = refused {
            state.drop_token(refused);
        }
        if let Some(token) = state.token.as_ref().filter(|token| token.is_valid()) {
            return Ok(token.clone());
        }
        // Calls that waited for an attempt share its failure too, instead of repeating it one by one.
        if let Some((at, error)) = &state.failed
            && *at >= asked
        {
            return Err(error.clone());
        }
        match mint.await {
            Ok(token) => {
                *state = TokenState { token: Some(token.clone()), failed: None };
                Ok(token)
            }
            // This limit concerns this call only, so it is not stored for the others.
            Err(SignInError::NoRequestLeft) => Err(SignInError::NoRequestLeft),
            Err(error) => {
                *state = TokenState { token: None, failed: Some((Instant::now(), error.clone())) };
                Err(error)
            }
        }
    }

    /// Drops an expired token, unless a call holds the lock.
    fn drop_expired(&self, now: Instant) {
        if let Ok(mut state) = self.0.try_lock() {
            state.token.take_if(|token| !token.is_valid_at(now));
        }
    }

    /// Removes the token if it is the refused one.
    pub(super) async fn forget(&self, refused: &Token) {
        self.0.lock().await.drop_token(refused);
    }
}

impl TokenState {
    fn drop_token(&mut self, refused: &Token) {
        self.token.take_if(|token| token.is(refused));
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(user: usize) -> Key {
        Key { user_id: user.to_string(), toolkit_id: "api".into(), api_host: "a.example".into() }
    }

    #[test]
    fn the_slot_that_was_used_longest_ago_makes_room() {
        let cache = Cache::default();
        let first = cache.slot(key(0), [0; 32]);
        let second = cache.slot(key(1), [0; 32]);
        for user in 2..MAX_TOKENS {
            cache.slot(key(user), [0; 32]);
        }

        let still_first = cache.slot(key(0), [0; 32]);
        cache.slot(key(MAX_TOKENS), [0; 32]);

        assert!(Arc::ptr_eq(&first, &still_first));
        assert!(Arc::ptr_eq(&first, &cache.slot(key(0), [0; 32])));
        assert!(!Arc::ptr_eq(&second, &cache.slot(key(1), [0; 32])));
        assert_eq!(cache.0.lock().unwrap().len(), MAX_TOKENS);
    }

    #[test]
    fn a_slot_without_calls_goes_with_its_token() {
        let cache = Cache::default();
        let idle = Arc::downgrade(&cache.slot(key(0), [0; 32]));
        let under_way = cache.slot(key(1), [0; 32]);
        let soon = |minutes| Instant::now() + Duration::from_mins(minutes);

        cache.sweep(soon(9));
        assert!(idle.upgrade().is_some());
        cache.sweep(soon(11));

        assert!(idle.upgrade().is_none());
        assert!(Arc::ptr_eq(&under_way, &cache.slot(key(1), [0; 32])));
    }

    #[tokio::test]
    async fn a_token_goes_when_it_expires_although_its_slot_is_in_use() {
        let cache = Cache::default();
        let slot = cache.slot(key(0), [0; 32]);
        let hour = Some(Duration::from_hours(1));
        let minted = Token::new("a-token".into(), Instant::now(), hour).expect("it fits into a header");
        slot.token(None, async { Ok(minted) }).await.expect("it was minted");
        let is_kept = || slot.0.try_lock().expect("nobody mints").token.is_some();

        cache.sweep(Instant::now() + Duration::from_mins(58));
        assert!(is_kept());
        cache.sweep(Instant::now() + Duration::from_hours(1));
        assert!(!is_kept());
    }

    #[test]
    fn another_fingerprint_replaces_the_slot() {
        let cache = Cache::default();
        let before = cache.slot(key(0), [0; 32]);

        let after = cache.slot(key(0), [1; 32]);

        assert!(!Arc::ptr_eq(&before, &after));
        assert_eq!(cache.0.lock().unwrap().len(), 1);
    }
}
