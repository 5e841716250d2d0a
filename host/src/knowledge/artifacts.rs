//! Captured files, by the SHA-256 of their bytes: the same bytes are kept once.
//!
//! ```text
//! artifacts/<first two digits>/<digest>
//! ```
//!
//! Invariants:
//! - a file appears under its name whole and durable, or not at all;
//! - whoever keeps a file while it is being removed waits, and keeps it anew.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::{Error, ObjectStore, ObjectStoreExt, WriteMultipart, path};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::tasks::to_its_end;

/// The folder in the data directory.
const FOLDER: &str = "artifacts";
/// How much of a file is read and written at once.
const PART_BYTES: usize = 1 << 20;
/// Pieces on their way to the store at once.
const MAX_PARTS_IN_FLIGHT: usize = 4;
/// A SHA-256 in hexadecimal.
const DIGEST_DIGITS: usize = 64;

/// The captured files; a clone is the same store.
#[derive(Clone, Debug)]
pub struct Artifacts {
    store: Arc<dyn ObjectStore>,
    uses: Arc<Uses>,
}

/// Keeps a file from being removed until what refers to it is recorded.
#[derive(Debug)]
pub struct Hold {
    digest: String,
    uses: Arc<Uses>,
}

/// Files that are held or being removed.
#[derive(Debug, Default)]
struct Uses {
    by_digest: Mutex<HashMap<String, Use>>,
    /// Signals that a removal has ended, successful or not.
    settled: Notify,
}

#[derive(Debug)]
enum Use {
    /// By so many holders.
    Held(usize),
    Removing,
}

/// Keeps others from holding a file while it is being removed.
struct Removing {
    digest: String,
    uses: Arc<Uses>,
}

/// A file that is being read.
pub struct Opened {
    /// Bytes.
    pub size: u64,
    /// Its bytes, in pieces.
    pub bytes: BoxStream<'static, io::Result<Bytes>>,
}

impl Artifacts {
    /// Opens the folder of a data directory, and throws away what earlier runs left unfinished.
    pub async fn open(data: &Path) -> io::Result<Self> {
        let folder = data.join(FOLDER);
        let store = spawn_blocking(move || {
            std::fs::create_dir_all(&folder)?;
            remove_unfinished(&folder)?;
            LocalFileSystem::new_with_prefix(&folder).map_err(io::Error::from)
        });
        let store = store.await.map_err(io::Error::other)??.with_fsync(true);
        Ok(Self { store: Arc::new(store), uses: Arc::default() })
    }

    /// Keeps the bytes of a file, which have this digest. Where they are kept already, nothing happens.
    pub async fn put_file(&self, digest: &str, file: &Path) -> io::Result<Hold> {
        // First the hold: from here on nobody removes what may be there.
        let hold = self.hold(digest).await;
        let place = place(digest);
        let mut file = File::open(file).await?;
        let size = file.metadata().await?.len();
        match self.store.head(&place).await {
            Ok(there) if there.size == size => return Ok(hold),
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut upload = WriteMultipart::new(self.store.put_multipart(&place).await?);
        let mut piece = vec![0; PART_BYTES];
        loop {
            let read = match file.read(&mut piece).await {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => {
                    // The first error says what happened.
                    let _ = upload.abort().await;
                    return Err(error);
                }
            };
            upload.wait_for_capacity(MAX_PARTS_IN_FLIGHT).await?;
            upload.write(&piece[..read]);
        }
        upload.finish().await?;
        Ok(hold)
    }

    /// Opens a file, or nothing where it is not kept.
    pub async fn open_file(&self, digest: &str) -> io::Result<Option<Opened>> {
        match self.store.get(&place(digest)).await {
            Ok(found) => {
                let size = found.meta.size;
                Ok(Some(Opened { size, bytes: found.into_stream().map_err(io::Error::from).boxed() }))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the first `longest` bytes of a file.
    pub(super) async fn read(&self, digest: &str, longest: u64) -> io::Result<Bytes> {
        let place = place(digest);
        let size = self.store.head(&place).await?.size;
        Ok(self.store.get_range(&place, 0..size.min(longest)).await?)
    }

    /// Removes a file, unless it is being captured again right now. Whoever calls it has seen that no
    /// document refers to it any more.
    pub async fn remove(&self, digest: &str) -> io::Result<()> {
        let Some(removing) = self.begin_removal(digest) else { return Ok(()) };
        let (store, place) = (self.store.clone(), place(digest));
        // The file system goes on with it also where nobody waits: so does the mark.
        let removed = to_its_end(async move {
            let removed = store.delete(&place).await;
            drop(removing);
            removed
        });
        match removed.await.map_err(io::Error::other)? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes every file but these. What cannot be removed is left for the next time.
    pub async fn sweep(&self, kept: &HashSet<String>) {
        let mut files = self.store.list(None);
        while let Some(file) = files.next().await {
            let removed = match file {
                Ok(file) => match file.location.filename() {
                    Some(digest) if is_digest(digest) && !kept.contains(digest) => self.remove(digest).await,
                    _ => Ok(()),
                },
                Err(error) => Err(error.into()),
            };
            if let Err(error) = removed {
                warn!(%error, "could not remove a captured file that nothing refers to");
            }
        }
    }

    /// Holds a file, once nobody removes it any more.
    async fn hold(&self, digest: &str) -> Hold {
        loop {
            // It hears of whatever ends from here on, also before it is waited for.
            let settled = self.uses.settled.notified();
            match self.uses.lock().entry(digest.to_owned()).or_insert(Use::Held(0)) {
                Use::Held(count) => {
                    *count += 1;
                    return Hold { digest: digest.to_owned(), uses: self.uses.clone() };
                }
                Use::Removing => {}
            }
            settled.await;
        }
    }

    /// Marks a file as being removed, unless it is held, or being removed already.
    fn begin_removal(&self, digest: &str) -> Option<Removing> {
        match self.uses.lock().entry(digest.to_owned()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                free.insert(Use::Removing);
                Some(Removing { digest: digest.to_owned(), uses: self.uses.clone() })
            }
        }
    }
}

impl Uses {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Use>> {
        self.by_digest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Removing {
    fn drop(&mut self) {
        self.uses.lock().remove(&self.digest);
        self.uses.settled.notify_waiters();
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut uses = self.uses.lock();
        if let Some(Use::Held(count)) = uses.get_mut(&self.digest) {
            *count -= 1;
            if *count == 0 {
                uses.remove(&self.digest);
            }
        }
    }
}

fn place(digest: &str) -> path::Path {
    let folder = digest.get(..2).unwrap_or_default();
    path::Path::from_iter([folder, digest])
}

fn is_digest(name: &str) -> bool {
    name.len() == DIGEST_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The store writes to `<digest>#<number>` first, and does not list such files.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains('#') {
                std::fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
