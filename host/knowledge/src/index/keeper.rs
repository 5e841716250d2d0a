//! Life cycle of index files ([reasons](../../../../docs/decisions/0049-search-files.md)).
//!
//! Invariant: a process uses a file only if its database had exactly the file's contents at the file's
//! revision, and has had no other history since.

#[cfg(test)]
mod tests;
mod usable;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use kitbag_base::disk::Disk;
use kitbag_base::tasks::{off_thread, take_a_share};
use kitbag_database::{DatabaseError, Holder};
use thiserror::Error;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use self::usable::{current, holders_of, load};
use super::UserIndex;
use super::cache::CachedIndex;
use super::file::{self, Header};
use super::files::Files;
use crate::store::{Revision, Store};

/// Settings of index files in the data directory: the first search of a user reads one instead of loading the
/// whole index from the database. The files may be deleted at any time.
#[derive(Clone, Debug)]
pub struct SearchFiles {
    /// Data directory.
    pub data: PathBuf,
    /// Fewest chunks of an index with a file; smaller indexes load quickly from the database.
    pub min_chunks: usize,
    /// Shortest time between two writes of the same index.
    pub interval: Duration,
}

impl SearchFiles {
    /// Defaults of a server, for a data directory.
    pub fn of(data: &Path) -> Self {
        Self { data: data.to_owned(), min_chunks: 10_000, interval: Duration::from_mins(10) }
    }
}

/// Manager of index files. Clones share their state.
#[derive(Clone)]
pub(crate) struct Keeper(Arc<IndexParts>);

struct IndexParts {
    store: Store,
    model: Option<String>,
    settings: SearchFiles,
    files: Files,
    disk: Disk,
    /// Locked while files are put in place or selected for deletion.
    folder: Mutex<Opened>,
    /// Limits writing to one file at a time.
    writing: Semaphore,
}

struct Opened {
    /// Timeline of the history that the files belong to.
    timeline: String,
    /// Epoch of the cache for which the files were last validated.
    epoch: u64,
}

/// State of the file of an index.
#[derive(Debug, Default)]
pub(super) struct Filed {
    /// Number of removals that the file includes; `None` if there is no file.
    pub(super) removals: Option<i64>,
    /// Number of rows that were applied to the index since.
    pub(super) changes: usize,
    /// Time when this process last began to write the file.
    begun: Option<Instant>,
    writer: Weak<Writer>,
}

/// Guard that marks the file of an index as being written until it is dropped, even if writing fails.
#[derive(Debug)]
pub(super) struct Writer;

impl Filed {
    /// State after a file was loaded.
    pub(super) fn read(revision: Revision) -> Self {
        Self { removals: Some(revision.removals), ..Self::default() }
    }

    /// Returns a guard for writing the file; `None` if it is being written.
    pub(super) fn writer(&mut self) -> Option<Arc<Writer>> {
        if self.writer.strong_count() > 0 {
            return None;
        }
        let writer = Arc::new(Writer);
        self.writer = Arc::downgrade(&writer);
        Some(writer)
    }

    /// Records that a file is about to be written.
    pub(super) fn begin(&mut self, revision: Revision) {
        (self.removals, self.changes, self.begun) = (Some(revision.removals), 0, Some(Instant::now()));
    }
}

/// Reason why files could not be synchronised with the database.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// Interval at which files are compared with removals in the database.
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);
/// Longest time that a shutdown waits for the file that is being written.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Epoch after shutdown, which no index has.
const CLOSED: u64 = u64::MAX;
/// Ratio of the size limit of all files to the memory limit of indexes: by default as much as four users at
/// their storage quota need.
const MAX_TOTAL: u64 = 16;
/// An index is written again once more than one chunk in this many has changed.
const CHANGED_PART: usize = 10;

impl Keeper {
    /// Opens the folder, and deletes files that do not match the database. `None` if the folder cannot be
    /// used. `memory` is the memory limit of all indexes, in bytes.
    pub(crate) async fn open(
        store: Store,
        model: Option<String>,
        settings: SearchFiles,
        memory: usize,
        disk: Disk,
    ) -> kitbag_database::Result<Option<Self>> {
        let files = Files::new(&settings.data, (memory as u64).saturating_mul(MAX_TOTAL));
        let found = on_disk(&files, |files| Ok((files.history()?, files.headers()?))).await;
        let holders: Vec<_> = found.iter().flat_map(|(_, headers)| holders_of(headers)).collect();
        // Recorded even if the folder cannot be used now: its files are older than this start.
        let start = store.note_start(&holders).await?;
        let now = start.now.line().unwrap_or_default();
        let tidied = match found {
            Ok((history, headers)) => {
                let is_same = history.is_some() && history == start.before.line();
                let kept =
                    if is_same { current(&headers, model.as_deref(), &start.revisions) } else { Vec::new() };
                on_disk(&files, move |files| files.retain(&kept).and_then(|()| files.set_history(&now))).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = tidied {
            warn!(%error, "the folder `search` cannot be used: first searches take longer");
            return Ok(None);
        }
        let folder = Mutex::new(Opened { timeline: start.now.timeline, epoch: 0 });
        let writing = Semaphore::new(1);
        let kept = Arc::new(IndexParts { store, model, settings, files, disk, folder, writing });
        let weak = Arc::downgrade(&kept);
        tokio::spawn(async move {
            loop {
                sleep(SWEEP_INTERVAL).await;
                let Some(kept) = weak.upgrade() else { return };
                Self(kept).sweep().await;
            }
        });
        Ok(Some(Self(kept)))
    }

    /// Loads the file of a user, if it matches the database at revision `now`; otherwise deletes it. `epoch`
    /// is the current epoch of the cache.
    pub(super) async fn load(
        &self,
        holder: &Holder,
        epoch: u64,
        now: Revision,
    ) -> Option<(UserIndex, Revision)> {
        drop(self.settled(epoch).await?);
        let of = holder.clone();
        let model = self.0.model.clone();
        let files = self.0.files.clone();
        match off_thread(move || load(&files, &of, model.as_deref(), now)).await {
            Ok(loaded) => loaded,
            Err(error) => {
                warn!(%holder, %error, "the file of a search index cannot be used, and is deleted");
                self.remove(holder).await;
                None
            }
        }
    }

    /// Whether an index of this many chunks has a file.
    pub(super) fn allows(&self, chunks: usize) -> bool {
        chunks >= self.0.settings.min_chunks
    }

    /// Whether the file of an index is due to be written, given the index's number of removals and of chunks.
    pub(super) fn is_due(&self, filed: &Filed, removals: i64, chunks: usize) -> bool {
        let is_fresh = filed.removals == Some(removals) && filed.changes <= chunks / CHANGED_PART;
        let is_too_soon = filed.begun.is_some_and(|begun| begun.elapsed() < self.0.settings.interval);
        !is_fresh && !is_too_soon
    }

    /// Waits for permission to write a file.
    pub(super) async fn turn(&self) -> SemaphorePermit<'_> {
        self.0.writing.acquire().await.expect("the semaphore is never closed")
    }

    /// Moves large parts of an index from memory to a private mapped file.
    pub(super) async fn spill(&self, entry: &Arc<CachedIndex>) {
        let Ok(_room) = self.0.disk.reserve(entry.read().recent_bytes() as u64) else {
            debug!("a search index stays in memory: the disk is nearly full");
            return;
        };
        let files = self.0.files.clone();
        if let Err(error) = entry.change(move |index| file::spill(index, &files.scratch()?)).await {
            warn!(%error, "a search index stays in memory");
        }
    }

    /// Writes the file of a holder's index, which was loaded in this epoch, on a low-priority thread. Returns
    /// whether the file is in place.
    pub(super) async fn put(
        &self,
        holder: &Holder,
        epoch: u64,
        revision: Revision,
        index: UserIndex,
    ) -> bool {
        let header = Header { holder: holder.key().to_owned(), model: self.0.model.clone(), revision };
        let size = file::max_bytes(&index);
        let Ok(_room) = self.0.disk.reserve(size) else {
            debug!("no file of a search index is written: the disk is nearly full");
            return false;
        };
        let files = self.0.files.clone();
        let of = holder.clone();
        let written = on_slow_thread(move || {
            files.write(&of, size, |file| file::write(&header, &index, file).map(drop))
        });
        let finished = async {
            written.await?;
            let Some(folder) = self.settled(epoch).await else { return Ok(false) };
            if !self.continues(&folder).await? {
                return Ok(false);
            }
            let of = holder.clone();
            on_disk(&self.0.files, move |files| files.finish(&of)).await?;
            Ok::<_, Failure>(true)
        };
        let is_in_place = finished.await.unwrap_or_else(|error| {
            warn!(%holder, %error, "the file of a search index cannot be written");
            false
        });
        if !is_in_place {
            self.discard().await;
        }
        is_in_place
    }

    /// Deletes a file that was written and not put in place.
    async fn discard(&self) {
        if let Err(error) = on_disk(&self.0.files, Files::discard).await {
            warn!(%error, "the unfinished file of a search index cannot be deleted");
        }
    }

    /// Deletes outdated files like [`sweep`](Self::sweep) at shutdown; afterwards no file is put in place.
    pub(super) async fn close(&self) {
        // The file that is being written may contain data that was removed meanwhile.
        let _turn = timeout(MAX_WAIT, self.turn()).await;
        self.0.folder.lock().await.epoch = CLOSED;
        self.discard().await;
        self.sweep().await;
    }

    /// Deletes the file of a user.
    pub(super) async fn remove(&self, holder: &Holder) {
        let _folder = self.0.folder.lock().await;
        let names = vec![Files::name_of(holder)];
        if let Err(error) = on_disk(&self.0.files, move |files| files.remove(&names)).await {
            warn!(%holder, %error, "the file of a search index cannot be deleted");
        }
    }

    /// Deletes files of users with later removals, and unusable files.
    pub(crate) async fn sweep(&self) {
        let folder = self.0.folder.lock().await;
        let swept = async {
            if !self.continues(&folder).await? {
                return Ok(());
            }
            let headers = on_disk(&self.0.files, Files::headers).await?;
            let holders: Vec<_> = holders_of(&headers).collect();
            let revisions = self.0.store.revisions(&holders).await?;
            let kept = current(&headers, self.0.model.as_deref(), &revisions);
            let mut others: Vec<_> = headers.into_iter().map(|(name, _)| name).collect();
            others.retain(|name| !kept.contains(name));
            on_disk(&self.0.files, move |files| files.remove(&others)).await?;
            Ok::<_, Failure>(())
        };
        if let Err(error) = swept.await {
            warn!(%error, "files of search indexes cannot be compared with the database");
        }
    }

    /// Locks the folder for an index that was loaded in this epoch; `None` if all indexes were discarded
    /// since.
    async fn settled(&self, epoch: u64) -> Option<MutexGuard<'_, Opened>> {
        let mut folder = self.0.folder.lock().await;
        if folder.epoch < epoch
            && let Err(error) = self.settle(&mut folder, epoch).await
        {
            warn!(%error, "files of search indexes cannot be used: the history of the database is not known");
            return None;
        }
        (folder.epoch == epoch).then_some(folder)
    }

    /// Moves the folder to a new epoch. Deletes all files because the database was replaced, except at the
    /// start of a process with the same timeline.
    async fn settle(&self, folder: &mut Opened, epoch: u64) -> Result<(), Failure> {
        const FIRST: u64 = 1;

        let now = self.0.store.history().await?;
        // The first epoch of a new process does not mean that the database was replaced, if the timeline is
        // the same.
        let is_start = epoch == FIRST && !now.timeline.is_empty() && now.timeline == folder.timeline;
        if !is_start {
            let line = now.line().unwrap_or_default();
            let clear = move |files: &Files| files.retain(&[]).and_then(|()| files.set_history(&line));
            on_disk(&self.0.files, clear).await?;
        }
        *folder = Opened { timeline: now.timeline, epoch };
        Ok(())
    }

    /// Records the starts of other processes in the files' history, which continues while this process runs.
    /// Returns false if the database was replaced.
    async fn continues(&self, folder: &Opened) -> Result<bool, Failure> {
        let now = self.0.store.history().await?;
        let Some(line) = now.line().filter(|_| now.timeline == folder.timeline) else { return Ok(false) };
        let note = move |files: &Files| {
            if files.history()?.as_ref() == Some(&line) { Ok(()) } else { files.set_history(&line) }
        };
        on_disk(&self.0.files, note).await?;
        Ok(true)
    }
}

async fn on_disk<T: Send + 'static>(
    files: &Files,
    work: impl FnOnce(&Files) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let files = files.clone();
    off_thread(move || work(&files)).await
}

/// Runs `work` on a low-priority thread of its own.
async fn on_slow_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        take_a_share();
        // The receiver may be gone.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("search-file".to_owned()).spawn(work)?;
    receiver.await.map_err(io::Error::other)?
}
