//! A user's cache in memory, with the rules and limits of a server. Times are in milliseconds since 1970.

use serde::{Deserialize, Serialize};

use crate::Problems;
use crate::cache::{MAX_SECONDS, MAX_TOTAL_BYTES, MAX_VALUES, check_key, check_value};

/// Cached values, in the order of writing.
#[derive(Clone, Debug, Default)]
pub struct Cached(Vec<CachedValue>);

#[derive(Clone, Debug)]
struct CachedValue {
    value: String,
    entry: CacheEntry,
}

/// A cached value without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEntry {
    /// Key of the value.
    pub key: String,
    /// Size of key and value, in bytes.
    pub bytes: usize,
    /// Time from which the value is no longer found.
    pub expires: i64,
}

impl Cached {
    /// Returns the value for a key, if it has not expired.
    pub fn get(&self, key: &str, now: i64) -> Result<Option<&str>, Problems> {
        check_key(key)?;
        Ok(self.peek(key, now))
    }

    /// Stores a value for `seconds`, by default as long as possible, and evicts others where necessary.
    pub fn set(&mut self, key: &str, value: &str, seconds: Option<u32>, now: i64) -> Result<(), Problems> {
        let expires = expiry(key, value, seconds, now)?;
        self.insert(key, value, expires, now);
        Ok(())
    }

    /// Removes the value for a key, if there is one.
    pub fn remove(&mut self, key: &str) -> Result<(), Problems> {
        check_key(key)?;
        self.0.retain(|it| it.entry.key != key);
        Ok(())
    }

    /// Like [`get`](Self::get), without checking the key.
    pub fn peek(&self, key: &str, now: i64) -> Option<&str> {
        let found = self.0.iter().find(|it| it.entry.key == key && is_valid(it.entry.expires, now));
        found.map(|it| it.value.as_str())
    }

    /// Stores a value of an earlier call for the default lifetime, without checking it.
    pub fn seed(&mut self, key: &str, value: &str, now: i64) {
        self.insert(key, value, now.saturating_add(lifetime(None)), now);
    }

    fn insert(&mut self, key: &str, value: &str, expires: i64, now: i64) {
        self.0.retain(|it| it.entry.key != key);
        let entry = CacheEntry { key: key.to_owned(), bytes: key.len() + value.len(), expires };
        self.0.push(CachedValue { value: value.to_owned(), entry });
        let entries: Vec<_> = self.0.iter().map(|it| it.entry.clone()).collect();
        let evicted = evicted(&entries, now);
        self.0.retain(|it| !evicted.contains(&it.entry.key));
    }
}

/// Returns the time of expiry of a value that is stored now, or the rules that it breaks.
pub fn expiry(key: &str, value: &str, seconds: Option<u32>, now: i64) -> Result<i64, Problems> {
    check_value(key, value, seconds)?;
    Ok(now.saturating_add(lifetime(seconds)))
}

/// Whether a value can still be found.
pub fn is_valid(expires: i64, now: i64) -> bool {
    expires > now
}

/// Returns the keys of the entries to evict after the last one was written: expired ones, and the oldest ones
/// beyond the limits. `entries` are in the order of writing.
pub fn evicted(entries: &[CacheEntry], now: i64) -> Vec<String> {
    let mut bytes = 0;
    let mut values = 0;
    let is_evicted = |entry: &&CacheEntry| {
        bytes += entry.bytes;
        values += 1;
        bytes > MAX_TOTAL_BYTES || values > MAX_VALUES || !is_valid(entry.expires, now)
    };
    entries.iter().rev().filter(is_evicted).map(|entry| entry.key.clone()).collect()
}

fn lifetime(seconds: Option<u32>) -> i64 {
    i64::from(seconds.unwrap_or(MAX_SECONDS)) * 1000
}
