//! Cleans up after killed processes and failed requests: deletes files that were put and never referred to,
//! and objects that were dropped and not deleted. Reads only rows, and never lists the store.
//!
//! Each process runs a janitor, without coordination: each file is dropped under the lock of its row, and
//! each deletion is claimed by one process.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Objects, ObjectsError};

/// Interval between two runs.
const INTERVAL: Duration = Duration::from_mins(10);

impl Objects {
    /// Cleans up now and regularly, until the server stops.
    pub fn keep_ending(&self, stopping: CancellationToken) {
        let objects = self.clone();
        let ending = async move {
            loop {
                match objects.end_overdue().await {
                    Ok(0) => {}
                    Ok(ended) => info!(ended, "deleted files that nothing refers to"),
                    Err(cause) => warn!(%cause, "files that nothing refers to could not be deleted"),
                }
                sleep(INTERVAL).await;
            }
        };
        tokio::spawn(async move { stopping.run_until_cancelled(ending).await });
    }

    /// Cleans up once. Returns the number of deleted objects.
    pub(super) async fn end_overdue(&self) -> Result<u64, ObjectsError> {
        let mut ended = 0;
        loop {
            let overdue = self.rows.overdue().await?;
            // Rows that only a later release understands are left alone.
            if !overdue.iter().any(|row| row.dropped || row.file().is_some()) {
                return Ok(ended);
            }
            for row in overdue {
                let object = if row.dropped {
                    self.rows.take_deletion(&row.object).await?.then_some(row.object)
                } else if let Some((kind, digest)) = row.file() {
                    self.rows.drop_unless_needed(kind, digest).await?
                } else {
                    None
                };
                let Some(object) = object else { continue };
                // This object is retried later; if the store is unreachable, the others would fail too.
                self.bucket.delete(&object).await?;
                self.rows.forget(&object).await?;
                ended += 1;
            }
        }
    }
}
