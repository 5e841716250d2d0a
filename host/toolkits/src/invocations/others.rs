//! Records that other processes write: whoever follows a log here sees them too.

use std::time::Duration;

use kitbag_database::peers::{Hint, Listening};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::store::Store;

/// How often the table is asked for the newest record, as long as somebody reads and no process says that there is one.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often at most, whatever processes say.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Tells readers when there is a newer record than they know of.
pub(super) fn publish(committed: &watch::Sender<i64>, newest: i64) {
    committed.send_if_modified(|known| {
        let is_newer = newest > *known;
        *known = newest.max(*known);
        is_newer
    });
}

/// Publishes what other processes have written, for ever.
pub(super) async fn watch(store: Store, committed: watch::Sender<i64>, mut hints: Listening) {
    let mut has_failed = false;
    loop {
        sleep(MIN_INTERVAL).await;
        let hinted = hints.until(|hint| *hint == Hint::Records);
        // Without a hint it is time to look, too.
        let _ = timeout(POLL_INTERVAL, hinted).await;
        // One receiver is that of new readers.
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
