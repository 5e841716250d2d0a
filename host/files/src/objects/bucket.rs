//! The store of files: a folder, or a bucket.
//!
//! Invariant: every request has a time limit, and an object appears under its name complete and durable, or
//! not at all.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use kitbag_base::sha256::Sha256;
use kitbag_net::egress::Egress;
use object_store::local::LocalFileSystem;
use object_store::{Error, ObjectStore, ObjectStoreExt, WriteMultipart, path::Path as Key};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::s3::{self, BucketLocation};
use super::{ObjectsError, Opened};

/// Size of a chunk for reading and writing, in bytes. Buckets require at least 5 MiB.
const PART_BYTES: usize = 5 << 20;
/// Maximum number of parts that are uploaded concurrently.
const MAX_PARTS_IN_FLIGHT: usize = 2;

/// Time limit of a small request, including retries; for a download, until its first byte.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of an upload. Shorter than the lease of a file that was put.
const PUT_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum time between two chunks of a download.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Location of the files.
#[derive(Clone, Debug)]
pub enum Location {
    /// An existing folder.
    Folder(PathBuf),
    /// A bucket.
    Bucket(BucketLocation),
}

/// The store of files.
#[derive(Clone)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Path of the folder; `None` for a bucket.
    folder: Option<PathBuf>,
}

/// Omits the access key, which the store's own implementation prints.
impl fmt::Debug for Bucket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Bucket({})", self.store)
    }
}

impl Bucket {
    /// Opens the store. Requests to a bucket go through `egress`.
    pub(super) fn open(location: &Location, egress: &Egress) -> Result<Self, ObjectsError> {
        match location {
            Location::Folder(folder) => {
                let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
                Ok(Self { store: Arc::new(store), folder: Some(folder.clone()) })
            }
            Location::Bucket(bucket) => {
                Ok(Self { store: Arc::new(s3::open(bucket, egress.clone())?), folder: None })
            }
        }
    }

    /// Creates a store for tests.
    #[cfg(test)]
    pub(super) fn over(store: impl ObjectStore) -> Self {
        Self { store: Arc::new(store), folder: None }
    }

    /// Whether the store is a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Writes an object.
    pub(super) async fn put(&self, object: &str, source: &Path) -> Result<(), ObjectsError> {
        let mut source = File::open(source).await.map_err(ObjectsError::Source)?;
        let size = source.metadata().await.map_err(ObjectsError::Source)?.len();
        let written = timeout(PUT_TIMEOUT, self.write(object, &mut source, size)).await;
        written.unwrap_or_else(|_| Err(ObjectsError::timed_out()))
    }

    async fn write(&self, object: &str, source: &mut File, size: u64) -> Result<(), ObjectsError> {
        let key = Key::from(object);
        if size <= PART_BYTES as u64 {
            let mut bytes = Vec::new();
            source.read_to_end(&mut bytes).await.map_err(ObjectsError::Source)?;
            self.store.put(&key, bytes.into()).await?;
            return Ok(());
        }
        let upload = self.store.put_multipart(&key).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut piece = vec![0; PART_BYTES];
        let written = loop {
            match source.read(&mut piece).await {
                Ok(0) => break Ok(()),
                Ok(read) => {
                    if let Err(error) = upload.wait_for_capacity(MAX_PARTS_IN_FLIGHT).await {
                        break Err(error.into());
                    }
                    upload.write(&piece[..read]);
                }
                Err(error) => break Err(ObjectsError::Source(error)),
            }
        };
        if let Err(error) = written {
            // The first error is reported; this one is ignored.
            let _ = timeout(REQUEST_TIMEOUT, upload.abort()).await;
            return Err(error);
        }
        upload.finish().await?;
        Ok(())
    }

    /// Opens an object; `None` if it does not exist.
    pub(super) async fn get(&self, object: &str) -> Result<Option<Opened>, ObjectsError> {
        let key = Key::from(object);
        let Some(found) = there(self.store.get(&key)).await? else { return Ok(None) };
        let size = found.meta.size;
        let bytes = found.into_stream().map_err(io::Error::from).boxed();
        Ok(Some(Opened { size, bytes: while_it_moves(bytes) }))
    }

    /// Reads the first `longest` bytes of an object.
    pub(super) async fn read(&self, object: &str, longest: u64) -> Result<Bytes, ObjectsError> {
        let size = self.size(object).await?.ok_or(ObjectsError::Missing)?;
        let wanted = size.min(longest);
        if wanted == 0 {
            // An empty range cannot be expressed (RFC 9110, section 14.1.2).
            return Ok(Bytes::new());
        }
        let key = Key::from(object);
        let read = timeout(PUT_TIMEOUT, self.store.get_range(&key, 0..wanted)).await;
        Ok(read.map_err(|_| ObjectsError::timed_out())??)
    }

    /// Writes a small object.
    pub(super) async fn put_bytes(&self, object: &str, bytes: Bytes) -> Result<(), ObjectsError> {
        let written = timeout(REQUEST_TIMEOUT, self.store.put(&Key::from(object), bytes.into())).await;
        written.map_err(|_| ObjectsError::timed_out())??;
        Ok(())
    }

    /// Deletes an object, if it exists.
    pub(super) async fn delete(&self, object: &str) -> Result<(), ObjectsError> {
        let key = Key::from(object);
        there(self.store.delete(&key)).await?;
        if let Some(folder) = self.folder.clone() {
            let object = object.to_owned();
            let removed = spawn_blocking(move || remove_unfinished(&folder, &object)).await;
            removed.map_err(io::Error::other).flatten().map_err(|error| unavailable(&error))?;
        }
        Ok(())
    }

    /// Returns the SHA-256 of an object, hexadecimal; `None` if it does not exist.
    pub(super) async fn digest(&self, object: &str) -> Result<Option<String>, ObjectsError> {
        let Some(mut opened) = self.get(object).await? else { return Ok(None) };
        let mut hasher = Sha256::new();
        while let Some(piece) = opened.bytes.next().await {
            hasher.update(&piece.map_err(|error| unavailable(&error))?);
        }
        Ok(Some(hex::encode(hasher.finish())))
    }

    /// Returns the size of an object in bytes; `None` if it does not exist.
    pub(super) async fn size(&self, object: &str) -> Result<Option<u64>, ObjectsError> {
        let key = Key::from(object);
        Ok(there(self.store.head(&key)).await?.map(|found| found.size))
    }
}

/// Waits for the response to a request; `None` if the object does not exist.
async fn there<T>(request: impl Future<Output = object_store::Result<T>>) -> Result<Option<T>, ObjectsError> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(Error::NotFound { .. })) => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(_elapsed) => Err(ObjectsError::timed_out()),
    }
}

/// Returns the same chunks, and fails if one of them takes longer than `STALL_TIMEOUT`.
fn while_it_moves(pieces: BoxStream<'static, io::Result<Bytes>>) -> BoxStream<'static, io::Result<Bytes>> {
    let pieces = stream::unfold(Some(pieces), |pieces| async {
        let mut pieces = pieces?;
        match timeout(STALL_TIMEOUT, pieces.next()).await {
            Ok(Some(piece)) => Some((piece, Some(pieces))),
            Ok(None) => None,
            Err(_elapsed) => Some((Err(io::ErrorKind::TimedOut.into()), None)),
        }
    });
    pieces.boxed()
}

/// Removes incomplete temporary files of an object, `<object>#1`, `<object>#2` and so on, that a killed
/// process has left. Blocks.
fn remove_unfinished(folder: &Path, object: &str) -> io::Result<()> {
    for number in 1.. {
        match std::fs::remove_file(folder.join(format!("{object}#{number}"))) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn unavailable(error: &io::Error) -> ObjectsError {
    ObjectsError::Unavailable(error.to_string())
}
