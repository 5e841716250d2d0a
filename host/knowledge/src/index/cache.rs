//! Cache of search indexes, in bounded memory; each is brought up to date with the database at every search.

mod filing;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures::future::try_join_all;
use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_base::turns::Turns;
use kitbag_database::Holder;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use tokio::sync::Mutex;
use tracing::warn;

use super::UserIndex;
use super::keeper::{Filed, Keeper};
use crate::KnowledgeError;
use crate::store::{BEGINNING, ChunkRow, End, Revision, Store};

/// Cached indexes. Clones share them.
#[derive(Clone)]
pub(crate) struct Indexes(Arc<Shared>);

struct Shared {
    store: Store,
    /// Model whose vectors are loaded.
    model: Option<String>,
    /// Memory limit in bytes, for all indexes together and for each one.
    memory: usize,
    /// Manager of index files, if there are any.
    keeper: Option<Keeper>,
    entries: Cache<Holder, Arc<CachedIndex>>,
    /// Number of times that all indexes were discarded. Indexes of an earlier epoch are not used again.
    epoch: AtomicU64,
    /// Limits simultaneous page reads, so that other database readers are available to others.
    readers: Turns,
    /// Limits simultaneous first loads, because the size of an index is known only after it is loaded.
    first_loads: Turns,
    /// Bytes that were read to load indexes: rows, and whole files.
    #[cfg(test)]
    loaded: AtomicU64,
}

/// Cached index of one user.
pub(crate) struct CachedIndex {
    index: RwLock<UserIndex>,
    /// State of the index relative to the database. Locked while the index is brought up to date; other
    /// searches wait.
    seen: Arc<Mutex<Seen>>,
    /// Size of the index, in [`WEIGHT_UNIT`].
    weight: AtomicU32,
}

#[derive(Default)]
struct Seen {
    epoch: u64,
    /// `None` until the first load is complete.
    revision: Option<Revision>,
    /// Whether the vectors exceeded the memory limit: the holder's chunks are searched by full text only.
    without_vectors: bool,
    filed: Filed,
}

/// Time without a search after which an index is evicted.
const IDLE_TIMEOUT: Duration = Duration::from_mins(30);
const WEIGHT_UNIT: usize = 1024;
/// Largest number of simultaneous page reads; leaves some database readers to others.
const MAX_READERS: usize = 2;
const MAX_FIRST_LOADS: usize = 2;
/// An index spills to a file when its movable part exceeds the memory limit divided by this.
const SPILLED_PART: usize = 8;

impl Indexes {
    /// Creates a cache of at most `memory` bytes. Only vectors of `model` are loaded.
    pub(crate) fn new(store: Store, model: Option<String>, memory: usize, keeper: Option<Keeper>) -> Self {
        let entries = Cache::builder()
            .max_capacity(u64::try_from(memory / WEIGHT_UNIT).unwrap_or(u64::MAX))
            .weigher(|holder: &Holder, entry: &Arc<CachedIndex>| entry.weight(holder))
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE_TIMEOUT)
            .build();
        let readers = Turns::new(MAX_READERS, 1);
        let first_loads = Turns::new(MAX_FIRST_LOADS, 1);
        let epoch = AtomicU64::new(0);
        Self(Arc::new(Shared {
            store,
            model,
            memory,
            keeper,
            entries,
            epoch,
            readers,
            first_loads,
            #[cfg(test)]
            loaded: AtomicU64::new(0),
        }))
    }

    /// Indexes of these holders, including everything that was durable before the call; none for a holder that never
    /// had chunks.
    pub(crate) async fn fresh(&self, holders: &[Holder]) -> Result<Vec<Arc<CachedIndex>>, KnowledgeError> {
        let revisions = self.0.store.revisions(holders).await?;
        let fresh = holders.iter().filter_map(|holder| Some((holder, *revisions.get(holder)?)));
        try_join_all(fresh.map(|(holder, now)| self.fresh_one(holder, now))).await
    }

    /// Index of a holder whose revision was `now`, or a later one.
    async fn fresh_one(&self, holder: &Holder, now: Revision) -> Result<Arc<CachedIndex>, KnowledgeError> {
        let entry = self.0.entries.get_with_by_ref(holder, async { Arc::default() }).await;
        let this = self.clone();
        let holder = holder.clone();
        let fresh = entry.clone();
        // Runs to completion, because the next search would otherwise start an aborted load again.
        let refreshed = to_its_end(async move { this.refresh(&holder, &fresh, now).await }).await;
        refreshed.map_err(|_| KnowledgeError::Unavailable("search failed; the server's log says why"))??;
        Ok(entry)
    }

    /// Discards all indexes. Needed after the database was replaced, since it may assign lost revisions
    /// again.
    pub(crate) fn forget_all(&self) {
        self.0.epoch.fetch_add(1, Ordering::SeqCst);
        self.0.entries.invalidate_all();
    }

    /// Evicts all indexes, as after [`IDLE_TIMEOUT`].
    #[cfg(test)]
    pub(crate) fn let_go(&self) {
        self.0.entries.invalidate_all();
    }

    /// Index of a user.
    #[cfg(test)]
    pub(crate) async fn one(&self, user: &str) -> Arc<CachedIndex> {
        self.fresh(&[Holder::user(user)]).await.expect("an index").pop().unwrap_or_default()
    }

    /// Bytes that were read to load indexes since the start.
    #[cfg(test)]
    pub(crate) fn loaded(&self) -> u64 {
        self.0.loaded.load(Ordering::Relaxed)
    }

    /// Approximate memory of all indexes.
    #[cfg(test)]
    pub(crate) async fn bytes(&self) -> usize {
        self.0.entries.run_pending_tasks().await;
        usize::try_from(self.0.entries.weighted_size()).expect("it fits the memory") * WEIGHT_UNIT
    }

    async fn refresh(
        &self,
        holder: &Holder,
        entry: &Arc<CachedIndex>,
        now: Revision,
    ) -> Result<(), KnowledgeError> {
        let mut seen = entry.seen.lock().await;
        let epoch = self.0.epoch.load(Ordering::SeqCst);
        if seen.epoch != epoch {
            // A concurrent load may have put the entry back.
            *entry.write() = UserIndex::default();
            *seen = Seen { epoch, ..Seen::default() };
        }
        if seen.revision == Some(now) {
            self.tend_file(holder, entry, &mut seen).await;
            return Ok(());
        }
        // Another search may have loaded later changes meanwhile.
        let now = self.read(holder, self.0.store.revision(holder)).await?;
        if entry.read().is_worn() {
            *entry.write() = UserIndex::default();
            *seen = Seen { epoch, ..Seen::default() };
        }
        let _turn = match seen.revision {
            None => Some(self.0.first_loads.take(holder.key()).await),
            Some(_) => None,
        };
        if seen.revision.is_none() {
            self.load_file(holder, entry, &mut seen, now).await?;
        }
        self.catch_up(holder, entry, &mut seen, now).await?;
        // Updates the weight in the cache.
        if entry.note_weight() {
            self.0.entries.insert(holder.clone(), entry.clone()).await;
        }
        self.tend_file(holder, entry, &mut seen).await;
        Ok(())
    }

    /// Loads all changes up to revision `now` from the database.
    async fn catch_up(
        &self,
        holder: &Holder,
        entry: &Arc<CachedIndex>,
        seen: &mut Seen,
        now: Revision,
    ) -> Result<(), KnowledgeError> {
        // Rows of an earlier failed load may have been deleted since.
        let has_lost_some = match seen.revision {
            Some(before) => before.removals != now.removals,
            None => entry.read().len() > 0,
        };
        let after = seen.revision.map_or(BEGINNING, |before| (before.revision, i64::MAX));
        let mut page = self.page(holder, seen, after).await?;
        while let (rows, Some(end)) = page {
            // The next page is read while this one is applied.
            let next = self.page(holder, seen, end);
            let changes = rows.len();
            let (taken_up, next) = tokio::join!(entry.take_up(rows), next);
            if let Some(keeper) = &self.0.keeper
                && entry.read().recent_bytes() > self.0.memory / SPILLED_PART
            {
                keeper.spill(entry).await;
            }
            self.check(holder, entry, seen, taken_up)?;
            page = next?;
            seen.filed.changes += changes;
            if seen.without_vectors {
                page.0.iter_mut().for_each(|row| row.vector = None);
            }
        }
        if has_lost_some {
            let live = self.read(holder, self.0.store.chunk_ids(holder)).await?;
            entry.change(move |index| index.retain(&live)).await;
        }
        seen.revision = Some(now);
        Ok(())
    }

    /// Loads the holder's file, if there is one, so that only later changes are read from the database.
    async fn load_file(
        &self,
        holder: &Holder,
        entry: &CachedIndex,
        seen: &mut Seen,
        now: Revision,
    ) -> Result<(), KnowledgeError> {
        let Some(keeper) = &self.0.keeper else { return Ok(()) };
        let Some((index, revision)) = keeper.load(holder, seen.epoch, now).await else { return Ok(()) };
        #[cfg(test)]
        self.0.loaded.fetch_add(super::file::max_bytes(&index), Ordering::Relaxed);
        *entry.write() = index;
        (seen.revision, seen.filed) = (Some(revision), Filed::read(revision));
        self.check(holder, entry, seen, true)
    }

    /// Next page of the holder's rows, and its end.
    async fn page(
        &self,
        holder: &Holder,
        seen: &Seen,
        after: End,
    ) -> Result<(Vec<ChunkRow>, Option<End>), KnowledgeError> {
        let model = self.0.model.as_deref().filter(|_| !seen.without_vectors);
        let page = self.read(holder, self.0.store.chunks_after(holder, model, after)).await?;
        #[cfg(test)]
        for row in &page.0 {
            let bytes = row.terms.len() + row.vector.as_ref().map_or(0, Vec::len);
            self.0.loaded.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Ok(page)
    }

    /// Drops the vectors if the index exceeds the memory limit, and the whole index if it still does.
    fn check(
        &self,
        holder: &Holder,
        entry: &CachedIndex,
        seen: &mut Seen,
        is_taken_up: bool,
    ) -> Result<(), KnowledgeError> {
        if !is_taken_up {
            return Err(TOO_MUCH);
        }
        let fits = || entry.read().bytes() <= self.0.memory;
        if fits() {
            return Ok(());
        }
        if !seen.without_vectors {
            warn!(%holder, "someone has more documents than search-memory holds: they are found by words alone");
            entry.write().drop_vectors();
            seen.without_vectors = true;
        }
        if fits() {
            return Ok(());
        }
        *entry.write() = UserIndex::default();
        *seen = Seen { epoch: seen.epoch, ..Seen::default() };
        Err(TOO_MUCH)
    }

    async fn read<T>(
        &self,
        holder: &Holder,
        statement: impl Future<Output = kitbag_database::Result<T>>,
    ) -> kitbag_database::Result<T> {
        let _turn = self.0.readers.take(holder.key()).await;
        statement.await
    }
}

const TOO_MUCH: KnowledgeError =
    KnowledgeError::Unavailable("you have more documents than this server can search; ask its operator");

impl Default for CachedIndex {
    fn default() -> Self {
        Self { index: RwLock::default(), seen: Arc::default(), weight: AtomicU32::new(1) }
    }
}

impl CachedIndex {
    /// Locks the index for reading. Do not hold the guard across an `await`.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, UserIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, UserIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies rows. Returns whether all fitted.
    async fn take_up(self: &Arc<Self>, rows: Vec<ChunkRow>) -> bool {
        self.change(move |index| rows.iter().all(|row| index.put(row).is_ok())).await
    }

    pub(super) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut UserIndex) -> T + Send + 'static,
    ) -> T {
        let entry = self.clone();
        off_thread(move || change(&mut entry.write())).await
    }

    /// Updates the weight. Returns whether it changed.
    fn note_weight(&self) -> bool {
        let weight = u32::try_from(self.read().bytes() / WEIGHT_UNIT + 1).unwrap_or(u32::MAX);
        self.weight.swap(weight, Ordering::Relaxed) != weight
    }

    fn weight(&self, holder: &Holder) -> u32 {
        let name = u32::try_from(holder.key().len() / WEIGHT_UNIT).unwrap_or(u32::MAX);
        self.weight.load(Ordering::Relaxed).saturating_add(name)
    }
}
