//! In-memory cache for tests, with the scope check, rules and limits of a server. Values never expire in a
//! test.

use kitbag_manifest::cache::{MAX_TOTAL_BYTES, MAX_VALUES, check_key, check_value};
use kitbag_manifest::knowledge::undeclared_scope;
use kitbag_manifest::{Problems, SCOPE_CACHE};

use super::platform::Platform;
use crate::cache::CacheError;

/// Cached keys and values, in the order of writing.
#[derive(Clone, Debug, Default)]
pub(super) struct Cached(Vec<(String, String)>);

impl Cached {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Stores a value and evicts the oldest values that exceed the limits.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.remove(key);
        self.0.push((key.to_owned(), value.to_owned()));
        let (mut bytes, mut values) = (0, 0);
        let fits = |(key, value): &&(String, String)| {
            values += 1;
            bytes += key.len() + value.len();
            values <= MAX_VALUES && bytes <= MAX_TOTAL_BYTES
        };
        let kept = self.0.iter().rev().take_while(fits).count();
        self.0.drain(..self.0.len() - kept);
    }

    fn remove(&mut self, key: &str) {
        self.0.retain(|(known, _)| known != key);
    }
}

impl Platform {
    pub(crate) fn cached(&self, key: &str) -> Result<Option<String>, CacheError> {
        self.require_cache()?;
        check_key(key).map_err(|problems| invalid(&problems))?;
        Ok(self.state().cached.borrow().get(key).map(str::to_owned))
    }

    pub(crate) fn cache(&self, key: &str, value: &str, seconds: Option<u32>) -> Result<(), CacheError> {
        self.require_cache()?;
        check_value(key, value, seconds).map_err(|problems| invalid(&problems))?;
        self.state().cached.borrow_mut().set(key, value);
        Ok(())
    }

    pub(crate) fn remove_cached(&self, key: &str) -> Result<(), CacheError> {
        self.require_cache()?;
        check_key(key).map_err(|problems| invalid(&problems))?;
        self.state().cached.borrow_mut().remove(key);
        Ok(())
    }

    /// Returns an error if the toolkit does not declare the scope. A server refuses such a component at
    /// deploy.
    fn require_cache(&self) -> Result<(), CacheError> {
        if self.state().definition.has_scope(SCOPE_CACHE) {
            return Ok(());
        }
        Err(CacheError::Invalid(undeclared_scope(SCOPE_CACHE)))
    }
}

fn invalid(problems: &Problems) -> CacheError {
    CacheError::Invalid(problems.to_string())
}
