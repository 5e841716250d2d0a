//! Data that a toolkit caches for the user between calls.

use kitbag_vault::user_cache::CacheUsage;

use super::error::AccessError;
use super::toolkits::VisibleToolkit;

impl VisibleToolkit {
    /// Returns the size of the toolkit's cached data for the user.
    pub async fn cached(&self) -> Result<CacheUsage, AccessError> {
        let usage = self.user.stores().cache.usage(self.user.id(), &self.definition().id).await;
        usage.map_err(AccessError::Cache)
    }
}
