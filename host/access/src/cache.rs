//! What a toolkit keeps for the user between calls.

use kitbag_vault::user_cache::CacheUsage;

use super::{AccessError, User, VisibleToolkit};

impl VisibleToolkit {
    /// How much it keeps for the user.
    pub async fn cached(&self) -> Result<CacheUsage, AccessError> {
        let usage = self.user.stores().cache.usage(self.user.id(), &self.definition().id).await;
        usage.map_err(AccessError::Cache)
    }
}

impl User {
    /// Removes all that a toolkit keeps for the user, also one that they no longer see. Returns how much it was.
    pub async fn clear_cache(&self, toolkit: &str) -> Result<CacheUsage, AccessError> {
        // Nothing else has an id like that; it would be the name of a lock.
        if !toolkit.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Ok(CacheUsage::default());
        }
        self.stores().cache.clear(self.id(), toolkit).await.map_err(AccessError::Cache)
    }
}
