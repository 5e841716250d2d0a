//! The secrets of a call: those of its user, and those set by operators for all users of the toolkit.
//!
//! Invariant: a cached merge is returned only while both of its sources are the current ones.

use std::sync::Arc;
use std::time::Duration;

use kitbag_base::tasks::Interrupted;
use kitbag_database::EVERYONE;
use moka::sync::Cache;

use super::{UserSecrets, Vault, VaultError};

/// Maximum size of the cached merges in memory, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Merged secrets, by user and toolkit.
pub(super) struct CallSecrets(Cache<(String, String), Merged>);

#[derive(Clone)]
struct Merged {
    own: Arc<UserSecrets>,
    everyones: Arc<UserSecrets>,
    both: Arc<UserSecrets>,
}

impl CallSecrets {
    /// Creates a cache in which unused entries stay for `idle`.
    pub(super) fn new(idle: Duration) -> Self {
        let weigh = |_: &(String, String), merged: &Merged| merged.both.memory();
        Self(Cache::builder().max_capacity(MAX_BYTES).weigher(weigh).time_to_idle(idle).build())
    }

    /// Removes all entries.
    pub(super) fn forget_all(&self) {
        self.0.invalidate_all();
    }

    /// Removes expired entries.
    pub(super) fn sweep(&self) {
        self.0.run_pending_tasks();
    }
}

impl Vault {
    /// Returns the secrets that a call of a toolkit may use, and that are redacted from its output.
    pub async fn for_call(&self, user: &str, toolkit: &str) -> Result<Arc<UserSecrets>, VaultError> {
        let own = self.of_user(user).await?;
        let everyones = self.of_user(EVERYONE).await?;
        if everyones.is_broken_for(toolkit) {
            // An unknown value could not be redacted.
            return Err(VaultError::Storage("a sealed secret for everyone does not open".to_owned()));
        }
        if !everyones.has_any_for(toolkit) {
            return Ok(own);
        }
        let key = (user.to_owned(), toolkit.to_owned());
        let is_current = |it: &Merged| Arc::ptr_eq(&it.own, &own) && Arc::ptr_eq(&it.everyones, &everyones);
        if let Some(merged) = self.merged.0.get(&key).filter(is_current) {
            return Ok(merged.both);
        }
        let sources = (own.clone(), everyones.clone());
        let toolkit = toolkit.to_owned();
        let merge = tokio::task::spawn_blocking(move || sources.0.with_everyones(&sources.1, &toolkit));
        let both = Arc::new(merge.await.map_err(Interrupted::from)?);
        self.merged.0.insert(key, Merged { own, everyones, both: both.clone() });
        Ok(both)
    }
}
