//! The cache of a call in a test.

use kitbag_manifest::test_host::require_scope;
use kitbag_manifest::{Problems, SCOPE_CACHE};

use super::platform::Platform;
use crate::cache::CacheError;

impl Platform {
    pub(crate) fn cached(&self, key: &str) -> Result<Option<String>, CacheError> {
        self.require_cache()?;
        let state = self.state();
        let cached = state.cached.borrow();
        Ok(cached.get(key, state.clock.now())?.map(str::to_owned))
    }

    pub(crate) fn cache(&self, key: &str, value: &str, seconds: Option<u32>) -> Result<(), CacheError> {
        self.require_cache()?;
        let state = self.state();
        Ok(state.cached.borrow_mut().set(key, value, seconds, state.clock.now())?)
    }

    pub(crate) fn remove_cached(&self, key: &str) -> Result<(), CacheError> {
        self.require_cache()?;
        Ok(self.state().cached.borrow_mut().remove(key)?)
    }

    fn require_cache(&self) -> Result<(), CacheError> {
        require_scope(&self.state().definition, SCOPE_CACHE).map_err(CacheError::Invalid)
    }
}

impl From<Problems> for CacheError {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems.to_string())
    }
}
