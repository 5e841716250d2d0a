//! Timing of writing and deleting index files.

use std::sync::{Arc, RwLock};

use kitbag_base::tasks::off_thread;
use kitbag_database::Holder;

use super::{CachedIndex, Indexes, Seen};
use crate::index::UserIndex;
use crate::index::keeper::Writer;
use crate::store::Revision;

impl Indexes {
    /// Deletes outdated files before this process ends.
    pub(crate) async fn close(&self) {
        if let Some(keeper) = &self.0.keeper {
            keeper.close().await;
        }
    }

    /// Writes the index file in the background if that is due, or deletes it if the index must not have one
    /// any more.
    pub(super) async fn tend_file(&self, holder: &Holder, entry: &Arc<CachedIndex>, seen: &mut Seen) {
        let (Some(keeper), Some(revision)) = (&self.0.keeper, seen.revision) else { return };
        let Some(writer) = seen.filed.writer() else { return };
        let chunks = entry.read().len();
        if seen.without_vectors || !keeper.allows(chunks) {
            if seen.filed.removals.take().is_some() {
                keeper.remove(holder).await;
            }
        } else if keeper.is_due(&seen.filed, revision.removals, chunks) {
            tokio::spawn(self.clone().write_file(holder.clone(), entry.clone(), writer));
        }
    }

    async fn write_file(self, holder: Holder, entry: Arc<CachedIndex>, _writer: Arc<Writer>) {
        let Some(keeper) = &self.0.keeper else { return };
        let _turn = keeper.turn().await;
        let mut seen = entry.seen.clone().lock_owned().await;
        // Rows of later revisions may have been loaded already: such an index matches no revision.
        let now = self.read(&holder, self.0.store.revision(&holder)).await.ok();
        let Some(revision) = seen.revision.filter(|revision| now == Some(*revision)) else { return };
        let epoch = seen.epoch;
        seen.filed.begin(revision);
        // Data in mapped files is not copied.
        let copied = entry.clone();
        let copy = off_thread(move || copied.read().clone()).await;
        drop(seen);
        let is_there = keeper.put(&holder, epoch, revision, copy).await;
        let from_file = if is_there { keeper.load(&holder, epoch, revision).await } else { None };
        let mut seen = entry.seen.lock().await;
        if seen.epoch != epoch {
            return;
        }
        if !is_there {
            seen.filed.removals = None;
        }
        if let Some((index, _)) = from_file {
            self.replace(&holder, &entry, &mut seen, index, revision).await;
        }
    }

    /// Replaces an index in memory by the one in its file, plus later changes.
    async fn replace(
        &self,
        holder: &Holder,
        entry: &Arc<CachedIndex>,
        seen: &mut Seen,
        index: UserIndex,
        revision: Revision,
    ) {
        let Some(now) = seen.revision else { return };
        let fresh = Arc::new(CachedIndex { index: RwLock::new(index), ..CachedIndex::default() });
        let mut fresh_seen = Seen { epoch: seen.epoch, revision: Some(revision), ..Seen::default() };
        if self.catch_up(holder, &fresh, &mut fresh_seen, now).await.is_err() {
            // The next file is another chance.
            return;
        }
        seen.filed.changes = fresh_seen.filed.changes;
        let index = std::mem::take(&mut *fresh.write());
        entry.change(move |old| *old = index).await;
        entry.note_weight();
        if self.0.entries.get(holder).await.is_some_and(|current| Arc::ptr_eq(&current, entry)) {
            self.0.entries.insert(holder.clone(), entry.clone()).await;
        }
    }
}
