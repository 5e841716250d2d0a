//! Cache of verified tokens.
//!
//! Invariants:
//! - an entry is valid until its token expires, and only for the generation of keys that verified it. So a
//!   token signed with a withdrawn key is invalid once the new key set is fetched; the caller must refresh
//!   the key set before a look-up. All other tokens are then verified again;
//! - only verified tokens are inserted: invalid ones cannot evict others;
//! - the token itself is not stored, only its SHA-256.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_base::sha256::Digest;
use moka::Expiry;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::claims::Verified;

/// Memory limit of all entries, in bytes: some ten thousand tokens.
const MAX_BYTES: u64 = 8 << 20;

/// Maximum lifetime of an entry. A token that is valid for longer is verified again.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// Estimated size of an entry without its texts, in bytes.
const ENTRY_BYTES: usize = 512;

/// Verified tokens in bounded memory, with LRU eviction.
#[derive(Debug)]
pub(super) struct TokenCache(Cache<Digest, CachedToken>);

#[derive(Clone, Debug)]
struct CachedToken {
    /// Generation of the key set that verified the token.
    generation: u64,
    verified: Arc<Verified>,
    /// Time from verification to the token's expiry, at most [`MAX_LIFETIME`].
    lifetime: Duration,
}

impl TokenCache {
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, entry: &CachedToken| entry.bytes())
            .eviction_policy(EvictionPolicy::lru())
            .expire_after(UntilTheTokenExpires)
            .build();
        Self(cache)
    }

    /// Returns the verified token with this digest, unless it has expired at `now`, in seconds since 1970, or
    /// was verified by another generation of keys.
    pub(super) fn get(&self, digest: &Digest, generation: u64, now: f64) -> Option<Arc<Verified>> {
        let entry = self.0.get(digest)?;
        // Check the wall clock too: the cache's monotonic clock may stop while the machine is suspended.
        if entry.generation != generation || now >= entry.verified.expires {
            self.0.invalidate(digest);
            return None;
        }
        Some(entry.verified)
    }

    /// Caches a token that the keys of `generation` verified at `now`, in seconds since 1970.
    pub(super) fn insert(&self, digest: Digest, generation: u64, verified: Arc<Verified>, now: f64) {
        let seconds = (verified.expires - now).clamp(0.0, MAX_LIFETIME.as_secs_f64());
        let lifetime = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.0.insert(digest, CachedToken { generation, verified, lifetime });
    }
}

impl CachedToken {
    fn bytes(&self) -> u32 {
        let Verified { caller, authorized_party, .. } = &*self.verified;
        let texts = [Some(&caller.user_id), caller.client_id.as_ref(), authorized_party.as_ref()];
        let texts = texts.into_iter().flatten().chain(&caller.scopes).map(String::as_str);
        let texts = texts.chain(caller.groups.iter());
        let bytes = ENTRY_BYTES + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Expiry policy that evicts expired tokens without a look-up.
struct UntilTheTokenExpires;

impl Expiry<Digest, CachedToken> for UntilTheTokenExpires {
    fn expire_after_create(&self, _: &Digest, entry: &CachedToken, _: Instant) -> Option<Duration> {
        Some(entry.lifetime)
    }

    fn expire_after_update(
        &self,
        _: &Digest,
        entry: &CachedToken,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(entry.lifetime)
    }
}

#[cfg(test)]
mod tests {
    use kitbag_base::sha256::Sha256;

    use super::*;
    use crate::{Caller, Groups, TokenProfile};

    fn verified(user: &str, expires: f64) -> Arc<Verified> {
        let caller = Caller {
            user_id: user.to_owned(),
            profile: TokenProfile::Session,
            client_id: None,
            key: None,
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: Groups::default(),
        };
        Arc::new(Verified { caller: Arc::new(caller), authorized_party: None, expires })
    }

    fn digest(token: &str) -> Digest {
        Sha256::digest(token)
    }

    #[test]
    fn a_token_is_forgotten_when_it_expires() {
        let cache = TokenCache::new();
        cache.insert(digest("t"), 1, verified("ana", 100.0), 0.0);

        assert!(cache.get(&digest("t"), 1, 99.9).is_some());
        assert!(cache.get(&digest("t"), 1, 100.0).is_none());
        assert!(cache.get(&digest("t"), 1, 0.0).is_none(), "for good");
        assert!(cache.get(&digest("u"), 1, 0.0).is_none());
    }

    #[test]
    fn a_token_leaves_the_memory_when_it_expires_although_nobody_asks_for_it() {
        let cache = TokenCache::new();
        cache.insert(digest("t"), 1, verified("ana", 100.2), 100.0);
        assert!(cache.get(&digest("t"), 1, 100.0).is_some());

        // The cache checks for expired entries once a second.
        let deadline = Instant::now() + Duration::from_secs(20);
        while cache.0.entry_count() > 0 {
            assert!(Instant::now() < deadline, "it is still there");
            std::thread::sleep(Duration::from_millis(50));
            cache.0.run_pending_tasks();
        }
        // A token that has already expired is not cached.
        cache.insert(digest("t"), 1, verified("ana", 100.0), 200.0);
        assert!(cache.get(&digest("t"), 1, 0.0).is_none());
    }

    #[test]
    fn a_token_is_forgotten_when_the_keys_change() {
        let cache = TokenCache::new();
        cache.insert(digest("t"), 1, verified("ana", 100.0), 0.0);

        assert!(cache.get(&digest("t"), 2, 0.0).is_none());
        assert!(cache.get(&digest("t"), 1, 0.0).is_none());
    }

    #[test]
    fn the_memory_is_bounded_in_bytes_and_number_and_keeps_what_is_in_use() {
        let cache = TokenCache::new();
        let most = MAX_BYTES / ENTRY_BYTES as u64;
        cache.insert(digest("in use"), 1, verified("ana", 100.0), 0.0);
        for number in 0..2 * most {
            cache.insert(digest(&number.to_string()), 1, verified("ben", 100.0), 0.0);
            assert!(cache.get(&digest("in use"), 1, 0.0).is_some(), "lost after {number}");
        }
        cache.0.run_pending_tasks();
        assert!(cache.0.entry_count() <= most && cache.0.weighted_size() <= MAX_BYTES);

        let long = "x".repeat(1 << 20);
        for number in 0..20 {
            cache.insert(digest(&format!("long {number}")), 1, verified(&long, 100.0), 0.0);
        }
        cache.0.run_pending_tasks();
        assert!(cache.0.weighted_size() <= MAX_BYTES && cache.0.entry_count() <= 8);
    }
}
