//! When the file of an index is written, and when it goes.

use std::sync::Arc;

use super::{Entry, Indexes, Seen};
use crate::knowledge::index::file;
use crate::knowledge::index::keeper::Filed;
use crate::tasks::off_thread;

impl Indexes {
    /// Removes the files of what was removed, before this process ends.
    pub(in crate::knowledge) async fn close(&self) {
        if let Some(keeper) = &self.0.keeper {
            keeper.close().await;
        }
    }

    /// Has the file of an index written in the background, if it is time, or removed, if the index has none any more.
    pub(super) async fn tend_file(&self, user_id: &str, entry: &Arc<Entry>, seen: &mut Seen) {
        let (Some(keeper), Some(revision)) = (&self.0.keeper, seen.revision) else { return };
        if seen.filed.is_being_written {
            return;
        }
        let (chunks, bytes) = {
            let index = entry.read();
            (index.len(), index.bytes())
        };
        if seen.without_vectors || !keeper.allows(chunks, bytes) {
            if seen.filed.removals.take().is_some() {
                keeper.remove(user_id).await;
            }
        } else if keeper.is_due(&seen.filed, revision.removals, chunks) {
            seen.filed.is_being_written = true;
            tokio::spawn(self.clone().write_file(user_id.to_owned(), entry.clone()));
        }
    }

    async fn write_file(self, user_id: String, entry: Arc<Entry>) {
        let Some(keeper) = &self.0.keeper else { return };
        let _turn = keeper.turn().await;
        let mut seen = entry.seen.clone().lock_owned().await;
        // Rows of later revisions may have been taken up already: such an index is of no revision.
        let now = self.read(self.0.store.revision(&user_id)).await.ok();
        let Some(revision) = seen.revision.filter(|revision| now == Some(*revision)) else {
            seen.filed.is_being_written = false;
            return;
        };
        let epoch = seen.epoch;
        seen.filed = Filed::begun(revision);
        let (header, encoded) = (keeper.header(&user_id, revision), entry.clone());
        let encode = move || {
            let index = encoded.read();
            // Searches of the user go on; only what changes the index waits.
            drop(seen);
            file::encode(&header, &index)
        };
        let is_there = match off_thread(encode).await {
            Some(encoded) => keeper.put(&user_id, epoch, encoded).await,
            None => false,
        };
        let mut seen = entry.seen.lock().await;
        if seen.epoch == epoch {
            seen.filed.is_being_written = false;
            if !is_there {
                seen.filed.removals = None;
            }
        }
    }
}
