//! Removes entries that are too old, from the beginning of each chain.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;
use tracing::warn;

use super::calls;
use super::ends;
use super::store::Store;
use super::{Audit, Retention};

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

/// Removes old entries. The last removed hash of each chain stays stored, so that the rest still verifies.
pub(super) async fn sweep(store: &Store, retention: Retention) -> crate::Result<()> {
    let oldest = time_before(retention.acts);
    for chain in store.chains_before(oldest).await? {
        while store.remove_before(&chain, oldest, BATCH_ROWS).await? == BATCH_ROWS {}
    }
    let oldest = time_before(retention.calls);
    while store.remove_before(calls::CHAIN, oldest, BATCH_ROWS).await? == BATCH_ROWS {}
    store.change_ends(ends::forget_empty).await
}

/// Returns the time `age` ago, in milliseconds since 1970.
pub(super) fn time_before(age: Duration) -> i64 {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millisecond().saturating_sub(age)
}
