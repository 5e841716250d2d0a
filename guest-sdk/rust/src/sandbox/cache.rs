//! Calls the cache through the WIT contract.

use super::bindings::kitbag::toolkit::cache;
use super::platform::Platform;
use crate::cache::CacheError;

impl Platform {
    pub(crate) fn cached(&self, key: &str) -> Result<Option<String>, CacheError> {
        Ok(cache::get(key)?)
    }

    pub(crate) fn cache(&self, key: &str, value: &str, seconds: Option<u32>) -> Result<(), CacheError> {
        Ok(cache::set(key, value, seconds)?)
    }

    pub(crate) fn remove_cached(&self, key: &str) -> Result<(), CacheError> {
        Ok(cache::delete(key)?)
    }
}

impl From<cache::CacheError> for CacheError {
    fn from(error: cache::CacheError) -> Self {
        match error {
            cache::CacheError::Invalid(why) => Self::Invalid(why),
            cache::CacheError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}
