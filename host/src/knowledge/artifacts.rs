//! Captured files, by the SHA-256 of their bytes: the same bytes are kept once.
//!
//! ```text
//! artifacts/<first two digits>/<digest>
//! ```
//!
//! Invariant: a file appears under its name whole and durable, or not at all.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::{Error, ObjectStore, ObjectStoreExt, WriteMultipart, path};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::task::spawn_blocking;
use tracing::warn;

/// The folder in the data directory.
const FOLDER: &str = "artifacts";
/// How much of a file is read and written at once.
const PIECE: usize = 1 << 20;
/// Pieces on their way to the store at once.
const IN_FLIGHT: usize = 4;
/// A SHA-256 in hexadecimal.
const DIGEST_DIGITS: usize = 64;

/// The captured files; a clone is the same store.
#[derive(Clone, Debug)]
pub struct Artifacts {
    store: Arc<dyn ObjectStore>,
    held: Arc<Mutex<HashMap<String, usize>>>,
}

/// Keeps a file from being removed until what refers to it is recorded.
#[derive(Debug)]
pub struct Hold {
    digest: String,
    held: Arc<Mutex<HashMap<String, usize>>>,
}

/// A file on its way out.
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
        Ok(Self { store: Arc::new(store), held: Arc::default() })
    }

    /// Keeps the bytes of a file, which have this digest. Where they are kept already, nothing happens.
    pub async fn put_file(&self, digest: &str, file: &Path) -> io::Result<Hold> {
        // First the hold: from here on nobody removes what may be there.
        let hold = self.hold(digest);
        let place = place(digest);
        let mut file = File::open(file).await?;
        let size = file.metadata().await?.len();
        match self.store.head(&place).await {
            Ok(there) if there.size == size => return Ok(hold),
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut upload = WriteMultipart::new(self.store.put_multipart(&place).await?);
        let mut piece = vec![0; PIECE];
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
            upload.wait_for_capacity(IN_FLIGHT).await?;
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
        if self.is_held(digest) {
            return Ok(());
        }
        match self.store.delete(&place(digest)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes every file but these. What cannot be removed is left for the next time. Where nothing
    /// is referred to, nothing is removed: a database that knows nothing may be one that got lost.
    pub async fn sweep(&self, kept: &HashSet<String>) {
        if kept.is_empty() {
            return;
        }
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

    fn hold(&self, digest: &str) -> Hold {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held.entry(digest.to_owned()).or_default() += 1;
        Hold { digest: digest.to_owned(), held: self.held.clone() }
    }

    fn is_held(&self, digest: &str) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).contains_key(digest)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.digest) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.digest);
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
