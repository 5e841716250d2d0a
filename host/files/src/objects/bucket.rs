//! The store of files: a folder, or a bucket.
//!
//! Invariant: every request ends within a time, and an object appears under its name whole and durable, or not at all.

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

/// How much of a file is read and written at once. Buckets want 5 MiB at least.
const PART_BYTES: usize = 5 << 20;
/// Parts on their way at once.
const MAX_PARTS_IN_FLIGHT: usize = 2;

/// How long a small request may take, with its repetitions; of a download, until its first byte.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an upload may take. Less than the time for which a file is kept for whoever has put it.
const PUT_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a download may stand still.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Where files are.
#[derive(Clone, Debug)]
pub enum Location {
    /// Below this folder, which is there when the store is opened.
    Folder(PathBuf),
    /// In this bucket.
    Bucket(BucketLocation),
}

/// The store of files.
#[derive(Clone)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// `None` for a bucket.
    folder: Option<PathBuf>,
}

/// Shows no access key, as that of the store would.
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

    /// A bucket of a test.
    #[cfg(test)]
    pub(super) fn over(store: impl ObjectStore) -> Self {
        Self { store: Arc::new(store), folder: None }
    }

    /// Whether it is a folder.
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
            // The first error says what happened.
            let _ = timeout(REQUEST_TIMEOUT, upload.abort()).await;
            return Err(error);
        }
        upload.finish().await?;
        Ok(())
    }

    /// Opens an object; `None` if it is not there.
    pub(super) async fn get(&self, object: &str) -> Result<Option<Opened>, ObjectsError> {
        let key = Key::from(object);
        let Some(found) = there(self.store.get(&key)).await? else { return Ok(None) };
        let (size, bytes) = (found.meta.size, found.into_stream().map_err(io::Error::from).boxed());
        Ok(Some(Opened { size, bytes: while_it_moves(bytes) }))
    }

    /// Reads the first `longest` bytes of an object.
    pub(super) async fn read(&self, object: &str, longest: u64) -> Result<Bytes, ObjectsError> {
        let size = self.size(object).await?.ok_or(ObjectsError::Missing)?;
        let wanted = size.min(longest);
        if wanted == 0 {
            // No range of bytes says so (RFC 9110, section 14.1.2).
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

    /// Deletes an object, if it is there.
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

    /// The SHA-256 of an object, hexadecimal; `None` if it is not there.
    pub(super) async fn digest(&self, object: &str) -> Result<Option<String>, ObjectsError> {
        let Some(mut opened) = self.get(object).await? else { return Ok(None) };
        let mut hasher = Sha256::new();
        while let Some(piece) = opened.bytes.next().await {
            hasher.update(&piece.map_err(|error| unavailable(&error))?);
        }
        Ok(Some(hex::encode(hasher.finish())))
    }

    /// The size of an object in bytes; `None` if it is not there.
    pub(super) async fn size(&self, object: &str) -> Result<Option<u64>, ObjectsError> {
        let key = Key::from(object);
        Ok(there(self.store.head(&key)).await?.map(|found| found.size))
    }
}

/// Waits for the answer to a request; `None` if there is no such object.
async fn there<T>(request: impl Future<Output = object_store::Result<T>>) -> Result<Option<T>, ObjectsError> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(Error::NotFound { .. })) => Ok(None),
        Ok(Err(error)) => Err(error.into()),
        Err(_elapsed) => Err(ObjectsError::timed_out()),
    }
}

/// The same pieces, until one of them takes too long.
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

/// Removes what was written of an object by a process that was killed: `<object>#1`, `<object>#2` and so on, which only it
/// can have been. Blocks.
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
