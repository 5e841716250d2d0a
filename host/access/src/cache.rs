//! Data that a toolkit caches for the user between calls.

use kitbag_vault::user_cache::CacheUsage;

use super::{AccessError, User, VisibleToolkit};

impl VisibleToolkit {
    /// Returns the size of the toolkit's cached data for the user.
    pub async fn cached(&self) -> Result<CacheUsage, AccessError> {
        let usage = self.user.stores().cache.usage(self.user.id(), &self.definition().id).await;
        usage.map_err(AccessError::Cache)
    }
}

impl User {
    /// Removes all data that a toolkit caches for the user, even if they can no longer see the toolkit.
    /// Returns its size.
    pub async fn clear_cache(&self, toolkit: &str) -> Result<CacheUsage, AccessError> {
        // No toolkit has another id; the id becomes the name of a lock.
        if !toolkit.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Ok(CacheUsage::default());
        }
        self.stores().cache.clear(self.id(), toolkit).await.map_err(AccessError::Cache)
    }
}
