//! The indexes of users who search, in bounded memory, each as fresh as the database at every search.

mod filing;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_base::turns::Turns;
use moka::future::Cache;
use moka::policy::EvictionPolicy;
use tokio::sync::Mutex;
use tracing::warn;

use super::UserIndex;
use super::keeper::{Filed, Keeper};
use crate::KnowledgeError;
use crate::store::{BEGINNING, ChunkRow, End, Models, Revision, Store};

/// The indexes; a clone shares them.
#[derive(Clone)]
pub(crate) struct Indexes(Arc<Shared>);

struct Shared {
    store: Store,
    /// Only their vectors are taken up.
    models: Models,
    /// Bytes that all indexes may take, and so each of them.
    memory: usize,
    /// Keeps files of them, if there are any.
    keeper: Option<Keeper>,
    entries: Cache<String, Arc<Entry>>,
    /// How often everything was forgotten. What was loaded before is not used again.
    epoch: AtomicU64,
    /// Pages that are read at once: others want to read too.
    readers: Turns,
    /// Indexes that are loaded from nothing at once: what they come to is known when they are loaded.
    first_loads: Turns,
    /// Bytes that were read to load indexes: rows, and files from one end to the other.
    #[cfg(test)]
    loaded: AtomicU64,
}

/// The index of one user.
pub(crate) struct Entry {
    index: RwLock<UserIndex>,
    /// What the index has seen. Whoever holds it brings the index up to date; the others wait for that.
    seen: Arc<Mutex<Seen>>,
    /// The index's size, in [`WEIGHT_UNIT`].
    weight: AtomicU32,
}

#[derive(Default)]
struct Seen {
    epoch: u64,
    /// Nothing before the first load is through.
    revision: Option<Revision>,
    /// The vectors did not fit: the user's chunks are found by their words alone.
    without_vectors: bool,
    filed: Filed,
}

/// Indexes that nobody searches for so long are let go.
const IDLE_TIMEOUT: Duration = Duration::from_mins(30);
const WEIGHT_UNIT: usize = 1024;
/// Of the database's readers, some are left for everybody else.
const MAX_READERS: usize = 2;
const MAX_FIRST_LOADS: usize = 2;
/// An index keeps at most this part of all memory that could be in a file.
const SPILLED_PART: usize = 8;

impl Indexes {
    /// Keeps no more than `memory` bytes of indexes. Only vectors of `models` are taken up.
    pub(crate) fn new(store: Store, models: Models, memory: usize, keeper: Option<Keeper>) -> Self {
        let entries = Cache::builder()
            .max_capacity(u64::try_from(memory / WEIGHT_UNIT).unwrap_or(u64::MAX))
            .weigher(|user_id: &String, entry: &Arc<Entry>| entry.weight(user_id))
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE_TIMEOUT)
            .build();
        let (readers, first_loads) = (Turns::new(MAX_READERS, 1), Turns::new(MAX_FIRST_LOADS, 1));
        let epoch = AtomicU64::new(0);
        Self(Arc::new(Shared {
            store,
            models,
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

    /// The user's index with everything that was durable before this was called.
    pub(crate) async fn fresh(&self, user_id: &str) -> Result<Arc<Entry>, KnowledgeError> {
        let entry = self.0.entries.get_with_by_ref(user_id, async { Arc::default() }).await;
        let (this, user_id, fresh) = (self.clone(), user_id.to_owned(), entry.clone());
        // To its end, because a load that was given up would be begun again by the next search.
        let refreshed = to_its_end(async move { this.refresh(&user_id, &fresh).await }).await;
        refreshed.map_err(|_| KnowledgeError::Unavailable("search failed; the server's log says why"))??;
        Ok(entry)
    }

    /// Has everything loaded again, because revisions may have been lost with a database, and given again.
    pub(crate) fn forget_all(&self) {
        self.0.epoch.fetch_add(1, Ordering::SeqCst);
        self.0.entries.invalidate_all();
    }

    /// Lets go of all indexes, as if nobody had searched for long.
    #[cfg(test)]
    pub(crate) fn let_go(&self) {
        self.0.entries.invalidate_all();
    }

    /// Bytes that were read to load indexes since the start.
    #[cfg(test)]
    pub(crate) fn loaded(&self) -> u64 {
        self.0.loaded.load(Ordering::Relaxed)
    }

    /// What all indexes take, roughly.
    #[cfg(test)]
    pub(crate) async fn bytes(&self) -> usize {
        self.0.entries.run_pending_tasks().await;
        usize::try_from(self.0.entries.weighted_size()).expect("it fits the memory") * WEIGHT_UNIT
    }

    async fn refresh(&self, user_id: &str, entry: &Arc<Entry>) -> Result<(), KnowledgeError> {
        let mut seen = entry.seen.lock().await;
        let epoch = self.0.epoch.load(Ordering::SeqCst);
        if seen.epoch != epoch {
            // A load that was under way may have put the entry back.
            *entry.write() = UserIndex::default();
            *seen = Seen { epoch, ..Seen::default() };
        }
        let now = self.read(user_id, self.0.store.revision(user_id)).await?;
        if seen.revision == Some(now) {
            self.tend_file(user_id, entry, &mut seen).await;
            return Ok(());
        }
        if entry.read().is_worn() {
            *entry.write() = UserIndex::default();
            *seen = Seen { epoch, ..Seen::default() };
        }
        let _turn = match seen.revision {
            None => Some(self.0.first_loads.take(user_id).await),
            Some(_) => None,
        };
        if seen.revision.is_none() {
            self.load_file(user_id, entry, &mut seen, now).await?;
        }
        self.catch_up(user_id, entry, &mut seen, now).await?;
        // Weighed anew.
        if entry.note_weight() {
            self.0.entries.insert(user_id.to_owned(), entry.clone()).await;
        }
        self.tend_file(user_id, entry, &mut seen).await;
        Ok(())
    }

    /// Reads what an index lacks of what the database has had by `now`.
    async fn catch_up(
        &self,
        user_id: &str,
        entry: &Arc<Entry>,
        seen: &mut Seen,
        now: Revision,
    ) -> Result<(), KnowledgeError> {
        // What a load that failed has left behind may be gone by now.
        let has_lost_some = match seen.revision {
            Some(before) => before.removals != now.removals,
            None => entry.read().len() > 0,
        };
        let after = seen.revision.map_or(BEGINNING, |before| (before.revision, i64::MAX));
        let mut page = self.page(user_id, seen, after).await?;
        while let (rows, Some(end)) = page {
            // The next page is read while this one is taken up.
            let next = self.page(user_id, seen, end);
            let changes = rows.len();
            let (taken_up, next) = tokio::join!(entry.take_up(rows), next);
            if let Some(keeper) = &self.0.keeper
                && entry.read().recent_bytes() > self.0.memory / SPILLED_PART
            {
                keeper.spill(entry).await;
            }
            self.check(user_id, entry, seen, taken_up)?;
            page = next?;
            seen.filed.changes += changes;
            if seen.without_vectors {
                page.0.iter_mut().for_each(|row| row.vector = None);
            }
        }
        if has_lost_some {
            let live = self.read(user_id, self.0.store.chunk_ids(user_id)).await?;
            entry.change(move |index| index.retain(&live)).await;
        }
        seen.revision = Some(now);
        Ok(())
    }

    /// Begins with the user's file, if there is one: only what has changed since is read from the database.
    async fn load_file(
        &self,
        user_id: &str,
        entry: &Entry,
        seen: &mut Seen,
        now: Revision,
    ) -> Result<(), KnowledgeError> {
        let Some(keeper) = &self.0.keeper else { return Ok(()) };
        let Some((index, revision)) = keeper.load(user_id, seen.epoch, now).await else { return Ok(()) };
        #[cfg(test)]
        self.0.loaded.fetch_add(super::file::max_bytes(&index), Ordering::Relaxed);
        *entry.write() = index;
        (seen.revision, seen.filed) = (Some(revision), Filed::read(revision));
        self.check(user_id, entry, seen, true)
    }

    /// The user's next rows, and where they end.
    async fn page(
        &self,
        user_id: &str,
        seen: &Seen,
        after: End,
    ) -> Result<(Vec<ChunkRow>, Option<End>), KnowledgeError> {
        let none = Models::default();
        let models = if seen.without_vectors { &none } else { &self.0.models };
        let page = self.read(user_id, self.0.store.chunks_after(user_id, models, after)).await?;
        #[cfg(test)]
        for row in &page.0 {
            let bytes = row.terms.len() + row.vector.as_ref().map_or(0, Vec::len);
            self.0.loaded.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Ok(page)
    }

    /// Lets go of the vectors where they do not fit, and of everything where words do not fit either.
    fn check(
        &self,
        user_id: &str,
        entry: &Entry,
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
            warn!(user.id = %user_id, "a user has more documents than search-memory holds: they are found by words alone");
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
        user_id: &str,
        statement: impl Future<Output = kitbag_database::Result<T>>,
    ) -> kitbag_database::Result<T> {
        let _turn = self.0.readers.take(user_id).await;
        statement.await
    }
}

const TOO_MUCH: KnowledgeError =
    KnowledgeError::Unavailable("you have more documents than this server can search; ask its operator");

impl Default for Entry {
    fn default() -> Self {
        Self { index: RwLock::default(), seen: Arc::default(), weight: AtomicU32::new(1) }
    }
}

impl Entry {
    /// Locks the index for reading; not across an `await`.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, UserIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, UserIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up rows; says whether there was room for all.
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

    /// Whether the weight is another than it was.
    fn note_weight(&self) -> bool {
        let weight = u32::try_from(self.read().bytes() / WEIGHT_UNIT + 1).unwrap_or(u32::MAX);
        self.weight.swap(weight, Ordering::Relaxed) != weight
    }

    fn weight(&self, user_id: &str) -> u32 {
        let name = u32::try_from(user_id.len() / WEIGHT_UNIT).unwrap_or(u32::MAX);
        self.weight.load(Ordering::Relaxed).saturating_add(name)
    }
}
