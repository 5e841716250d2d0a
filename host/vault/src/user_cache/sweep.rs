//! Deletes expired values: reads ignore them, but they take up space.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::sleep;
use tracing::warn;

use super::store::Store;
use super::{UserCache, now};

/// Interval of deletions.
const INTERVAL: Duration = Duration::from_hours(1);
/// Maximum number of values deleted in one transaction.
const BATCH_ROWS: u32 = 500;

/// Starts a task that deletes expired values, now and regularly, until the cache is dropped.
pub(super) fn start(cache: Weak<UserCache>) {
    tokio::spawn(async move {
        while let Some(cache) = cache.upgrade() {
            if let Err(cause) = sweep(&cache.store).await {
                warn!(%cause, "cached values whose time is over were not removed");
            }
            drop(cache);
            sleep(INTERVAL).await;
        }
    });
}

pub(super) async fn sweep(store: &Store) -> kitbag_database::Result<()> {
    while store.remove_expired(now(), BATCH_ROWS).await? == u64::from(BATCH_ROWS) {}
    Ok(())
}
