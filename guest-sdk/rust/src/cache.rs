//! What a toolkit keeps for the calling user between calls.

use std::time::Duration;

use kitbag_manifest::cache;

use crate::{Ctx, Failure, Result, ToolError};

/// What a toolkit keeps for the calling user between calls: `ETag`s, cursors, and other things that can be had again;
/// see [`Ctx::cache`](crate::Ctx::cache).
///
/// Any value may be gone at any time, and all are when the user sets or removes a secret or an account for the
/// toolkit. Keys take 1 to 256 bytes and values at most 64 KiB; what breaks such a rule is a [`Failure`]. For each
/// user there is room for 1,000 values and 1 MiB of keys and values; the oldest make room for new ones.
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

    /// Returns the value under a key; `None` if there is none, or none any more.
    pub async fn get(&self, key: &str) -> Result<Option<String>> {
        self.0.platform().cached(key).map_err(CacheError::explain)
    }

    /// Keeps a value for 30 days, in place of the one that was there.
    ///
    /// If the cache cannot be changed now, the call goes on without: the log says so, and an earlier value may still
    /// be there.
    pub async fn set(&self, key: &str, value: &str) -> Result<()> {
        self.keep(key, value, None)
    }

    /// Keeps a value for `age`, in whole seconds, at least one and at most 30 days; otherwise as [`set`](Self::set).
    pub async fn set_for(&self, key: &str, value: &str, age: Duration) -> Result<()> {
        self.keep(key, value, Some(u32::try_from(age.as_secs()).unwrap_or(u32::MAX)))
    }

    /// Removes the value under a key, if there is one. If the cache cannot be changed now, this is a retryable
    /// [`ToolError`]: the value may still be there.
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

/// Why the cache does not do what it was asked for.
pub(crate) enum CacheError {
    /// The request breaks a rule. Holds which.
    Invalid(String),
    /// The cache cannot be changed now. Holds the reason, in words that a user may see.
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
