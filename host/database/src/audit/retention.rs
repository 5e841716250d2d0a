//! Removes entries that are too old, from the beginning of each chain.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;
use tracing::warn;

use super::Audit;
use super::ends;
use super::store::Store;

/// Interval of removals.
const INTERVAL: Duration = Duration::from_hours(1);
/// Maximum number of entries removed in one transaction.
const BATCH_ROWS: u32 = 1000;

/// Removes old entries, now and regularly, until the log is dropped.
pub(super) fn start(audit: Weak<Audit>) {
    tokio::spawn(async move {
        while let Some(audit) = audit.upgrade() {
            if let Err(cause) = sweep(&audit.store, audit.retention).await {
                warn!(%cause, "old entries of the audit log were not removed");
            }
            drop(audit);
            sleep(INTERVAL).await;
        }
    });
}

/// Removes entries older than `age`. The last removed hash of each chain stays stored, so that the rest still
/// verifies.
pub(super) async fn sweep(store: &Store, age: Duration) -> crate::Result<()> {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let oldest = Timestamp::now().as_millisecond().saturating_sub(age);
    for chain in store.chains_before(oldest).await? {
        while store.remove_before(&chain, oldest, BATCH_ROWS).await? == BATCH_ROWS {}
    }
    store.change_ends(ends::forget_empty).await
}
