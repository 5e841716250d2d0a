//! Per-user cache that persists between calls.

use std::time::Duration;

use kitbag_manifest::cache;

use crate::{Ctx, Failure, Result, ToolError};

/// Per-user cache of a toolkit that persists between calls: for `ETag`s, cursors and other data that can be
/// fetched again. See [`Ctx::cache`](crate::Ctx::cache).
///
/// Any value may be evicted at any time. The whole cache is cleared when the user sets or removes a secret or
/// an account for the toolkit. Keys have 1 to 256 bytes and values at most 64 KiB; anything else is a
/// [`Failure`]. Each user has room for 1,000 values and 1 MiB of keys and values; the oldest values are
/// evicted first.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// async fn next_page(_: NoArgs, ctx: Ctx) -> Result<String> {
///     let cursor = ctx.cache().get("cursor").await?.unwrap_or_default();
///     let page: Value = ctx.fetch(Request::get("https://books.example/").query("after", cursor)).await?.json().await?;
///     ctx.cache().set("cursor", page["next"].as_str().unwrap_or_default()).await?;
///     Ok(page["text"].to_string())
/// }
/// ```
#[derive(Clone)]
pub struct Cache(Ctx);

#[expect(clippy::unused_async, reason = "the imports are synchronous only in the current contract")]
impl Cache {
    pub(crate) fn new(ctx: Ctx) -> Self {
        Self(ctx)
    }

    /// Returns the value for a key; `None` if it was never set, or has expired or been evicted.
    pub async fn get(&self, key: &str) -> Result<Option<String>> {
        self.0.platform().cached(key).map_err(CacheError::explain)
    }

    /// Stores a value for 30 days, replacing any earlier value.
    ///
    /// If the cache is temporarily unavailable, the value is not stored, a log entry says so, and the call
    /// continues without an error; an earlier value may still be stored.
    pub async fn set(&self, key: &str, value: &str) -> Result<()> {
        self.keep(key, value, None)
    }

    /// Like [`set`](Self::set), for a lifetime of `age`: whole seconds, from one second to 30 days.
    pub async fn set_for(&self, key: &str, value: &str, age: Duration) -> Result<()> {
        self.keep(key, value, Some(u32::try_from(age.as_secs()).unwrap_or(u32::MAX)))
    }

    /// Removes the value for a key, if there is one. Returns a retryable [`ToolError`] if the cache is
    /// temporarily unavailable: the value may still be stored.
    pub async fn delete(&self, key: &str) -> Result<()> {
        self.0.platform().remove_cached(key).map_err(CacheError::explain)
    }

    fn keep(&self, key: &str, value: &str, seconds: Option<u32>) -> Result<()> {
        match self.0.platform().cache(key, value, seconds) {
            Err(CacheError::Unavailable(why)) => {
                self.0.log(cache::not_kept(&why));
                Ok(())
            }
            kept => kept.map_err(CacheError::explain),
        }
    }
}

/// Failure of a cache request.
pub(crate) enum CacheError {
    /// The request breaks a rule, which the text names.
    Invalid(String),
    /// The cache is temporarily unavailable. The text is the reason and may be shown to a user.
    #[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "a test can always change the cache"))]
    Unavailable(String),
}

impl CacheError {
    fn explain(self) -> Failure {
        match self {
            Self::Invalid(why) => Failure::msg(cache::refused(&why)),
            Self::Unavailable(why) => ToolError::new(cache::unavailable(&why)).retryable().into(),
        }
    }
}
