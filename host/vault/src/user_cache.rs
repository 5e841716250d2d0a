//! Values that toolkits cache for their users between calls, encrypted like secrets.
//!
//! Invariants:
//! - a value is found only by the user, the toolkit, its owner and the key with which it was set; a row that
//!   is moved to others cannot be decrypted;
//! - nothing is cached in memory: all processes read the database;
//! - a change of the secrets or the account with which a toolkit may have obtained a value deletes it
//!   (`vault/cached`). A call that runs at that moment may still store its own value.

mod slot;
mod store;
mod sweep;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;

use jiff::Timestamp;
use kitbag_base::disk::Disk;
use kitbag_base::rate::RateLimit;
use kitbag_database::Database;
use kitbag_manifest::Problems;
use kitbag_manifest::cache::{MAX_SECONDS, check_key, check_value};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tracing::{error, warn};

use crate::Vault;
pub use slot::CacheSlot;
use store::{NewValue, Store};

/// Limit of changes by one toolkit for one user, on average and in a burst: each is a transaction.
const CHANGES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");
const MAX_CHANGES_AT_ONCE: NonZeroU32 = NonZeroU32::new(200).expect("not zero");

/// Purpose of the encryption ([`Vault::seal_value`]).
const PURPOSE: &str = "cached value";

/// Cache of the values of all toolkits.
pub struct UserCache {
    store: Store,
    vault: Arc<Vault>,
    disk: Disk,
    changes: RateLimit,
}

/// Amount of data that a toolkit has cached for a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheUsage {
    /// Number of values.
    pub values: u64,
    /// Total size of keys and values, in bytes.
    pub bytes: u64,
}

/// Errors of cache operations.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CacheError {
    /// The request is invalid; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// The cache cannot be changed now; the text says why, and may be shown to users.
    #[error("{0}")]
    Unavailable(String),
}

impl UserCache {
    /// Creates a cache that stores values in `database`, encrypted by `vault`, while `disk` has space.
    pub fn new(database: Database, vault: Arc<Vault>, disk: Disk) -> Self {
        let changes = RateLimit::with_burst(CHANGES_PER_MINUTE, MAX_CHANGES_AT_ONCE);
        Self { store: Store::new(database), vault, disk, changes }
    }

    /// Starts a task that deletes expired values, now and regularly, until the cache is dropped.
    pub fn keep_sweeping(self: &Arc<Self>) {
        sweep::start(Arc::downgrade(self));
    }

    /// Returns a value. One that cannot be read counts as missing.
    pub async fn get(&self, slot: &CacheSlot, key: &str) -> Result<Option<SecretString>, CacheError> {
        check_key(key)?;
        let digest = slot.digest(key);
        let found = self.store.get(slot, &digest, now()).await;
        let found = found.unwrap_or_else(|cause| {
            warn!(%cause, toolkit.id = %slot.toolkit, "a cached value cannot be read, and counts as gone");
            None
        });
        Ok(found.and_then(|sealed| self.vault.open_value(PURPOSE, &hex::encode(digest), &sealed)))
    }

    /// Stores a value for `seconds`, or for the maximum lifetime. Deletes the oldest values if necessary.
    pub async fn set(
        &self,
        slot: &CacheSlot,
        key: &str,
        value: SecretString,
        seconds: Option<u32>,
    ) -> Result<(), CacheError> {
        check_value(key, value.expose_secret(), seconds)?;
        self.admit(slot)?;
        self.disk.has_reserve().map_err(|full| CacheError::Unavailable(full.to_string()))?;
        let digest = slot.digest(key);
        let size = key.len() + value.expose_secret().len();
        let sealed = self.vault.seal_value(PURPOSE, &hex::encode(digest), &value);
        let written_at = now();
        let age = i64::from(seconds.unwrap_or(MAX_SECONDS)) * 1000;
        let master_key = sealed.master_key.clone();
        let new = NewValue { digest, size, sealed, written_at, expires_at: written_at.saturating_add(age) };
        match self.store.set(slot, new).await {
            // The toolkit was removed meanwhile, with all its cached values.
            Err(cause) if cause.is_missing_reference() => return Ok(()),
            stored => stored.map_err(|cause| unavailable(slot, &cause))?,
        }
        // A rotation deletes values encrypted with the old key, but misses this one if it ended before the
        // value was stored.
        if self.vault.master_keys().first() != Some(&master_key) {
            self.store.delete(slot, &digest).await.map_err(|cause| unavailable(slot, &cause))?;
        }
        Ok(())
    }

    /// Deletes a value, if it exists.
    pub async fn delete(&self, slot: &CacheSlot, key: &str) -> Result<(), CacheError> {
        check_key(key)?;
        self.admit(slot)?;
        self.store.delete(slot, &slot.digest(key)).await.map_err(|cause| unavailable(slot, &cause))
    }

    /// Amount of data that a toolkit has cached for a user.
    pub async fn usage(&self, user: &str, toolkit: &str) -> kitbag_database::Result<CacheUsage> {
        self.store.usage(user, toolkit).await
    }

    /// Deletes all values that a toolkit has cached for a user. Returns their amount.
    pub async fn clear(&self, user: &str, toolkit: &str) -> kitbag_database::Result<CacheUsage> {
        self.store.clear(user, toolkit).await
    }

    fn admit(&self, slot: &CacheSlot) -> Result<(), CacheError> {
        self.changes.admit(&slot.to_string()).map_err(|limit| {
            CacheError::Unavailable(format!(
                "it was changed too often; the next change is possible in {} s",
                limit.seconds
            ))
        })
    }
}

impl From<Problems> for CacheError {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems.to_string())
    }
}

fn unavailable(slot: &CacheSlot, cause: &kitbag_database::DatabaseError) -> CacheError {
    if cause.is_user_ended() {
        return CacheError::Unavailable("the access of its user was ended".to_owned());
    }
    error!(%cause, toolkit.id = %slot.toolkit, "a cache cannot be changed");
    CacheError::Unavailable("the server's database does not answer".to_owned())
}

/// Returns the current time in milliseconds since 1970.
fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
