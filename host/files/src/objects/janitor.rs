//! Ends what nobody has ended: files that were put and never referred to, and objects that were dropped and not deleted,
//! because a process was killed or the store of files did not answer. It looks at rows alone, and never lists what is in the
//! store.
//!
//! Each process has one. They need not take turns: each file is dropped under the lock of its row, and each deletion is
//! taken over by one of them.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Objects, ObjectsError};

/// How often it looks.
const INTERVAL: Duration = Duration::from_mins(10);

impl Objects {
    /// Ends what is overdue, now and regularly, until the server stops.
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

    /// Ends what is overdue now. Returns how many objects are deleted.
    pub(super) async fn end_overdue(&self) -> Result<u64, ObjectsError> {
        let mut ended = 0;
        loop {
            let overdue = self.rows.overdue().await?;
            // Rows that only a later release knows stay.
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
                // The next try of this one is due later; if the store is out of reach, so is that of the others.
                self.bucket.delete(&object).await?;
                self.rows.forget(&object).await?;
                ended += 1;
            }
        }
    }
}
