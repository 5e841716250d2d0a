//! Detects records that other processes write, so that followers of a log in this process receive them.

use std::time::Duration;

use kitbag_database::peers::{Hint, Listening};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::store::Store;

/// Interval in which the newest record is queried, while there are readers and no process has sent a hint.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum interval between two queries, however many hints arrive.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Notifies readers if there is a newer record than the last published one.
pub(super) fn publish(committed: &watch::Sender<i64>, newest: i64) {
    committed.send_if_modified(|known| {
        let is_newer = newest > *known;
        *known = newest.max(*known);
        is_newer
    });
}

/// Publishes records of other processes. Never ends.
pub(super) async fn watch(store: Store, committed: watch::Sender<i64>, mut hints: Listening) {
    let mut has_failed = false;
    loop {
        sleep(MIN_INTERVAL).await;
        let hinted = hints.until(|hint| *hint == Hint::Records);
        // Without a hint, the table is queried after the poll interval.
        let _ = timeout(POLL_INTERVAL, hinted).await;
        // One receiver always exists: the template for those of new readers.
        if committed.receiver_count() <= 1 {
            continue;
        }
        let newest = store.newest().await;
        match &newest {
            Ok(newest) => publish(&committed, *newest),
            Err(cause) if !has_failed => {
                warn!(%cause, "those who follow a log wait: the database does not say which records are new");
            }
            Err(_known) => {}
        }
        has_failed = newest.is_err();
    }
}
