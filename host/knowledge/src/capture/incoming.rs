//! Incoming files: counted and hashed as a stream, never in memory as a whole.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use kitbag_base::sha256::Sha256;
use tempfile::{NamedTempFile, TempPath};
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

use super::failure::{self, CaptureFailure};

/// Longest pause between two pieces of an incoming file.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes at the beginning of a file that are buffered to detect its type.
const HEAD_BYTES: usize = 64 << 10;

/// Write buffer size.
const BUFFER_BYTES: usize = 256 << 10;

/// Completely received file; deleted when this value is dropped.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) path: TempPath,
    /// SHA-256, hexadecimal.
    pub(super) digest: String,
    /// Size in bytes; never 0.
    pub(super) size: u64,
    /// First bytes of the file.
    pub(super) head: Vec<u8>,
}

/// Writes a stream of at most `limit` bytes to a new file in `folder`.
pub(super) async fn receive<E: Display>(
    folder: &Path,
    stream: impl Stream<Item = Result<Bytes, E>>,
    limit: u64,
) -> Result<Incoming, CaptureFailure> {
    let folder = folder.to_owned();
    let made = spawn_blocking(move || NamedTempFile::new_in(folder)).await.map_err(io::Error::other);
    let (file, path) = made.flatten().map_err(|error| broken(&error))?.into_parts();
    // Buffered, because a sender may send byte by byte.
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::from_std(file));
    let mut hasher = Sha256::new();
    let mut size = 0_u64;
    let mut head = Vec::new();

    let mut stream = pin!(stream);
    loop {
        let next = timeout(STALL_TIMEOUT, stream.next()).await;
        let stalled =
            |_| failure::transient(format!("nothing of the file came for {} s", STALL_TIMEOUT.as_secs()));
        let Some(piece) = next.map_err(stalled)? else { break };
        let piece =
            piece.map_err(|error| failure::transient(format!("the file did not arrive whole: {error}")))?;
        size += piece.len() as u64;
        if size > limit {
            return Err(failure::too_large(limit));
        }
        hasher.update(&piece);
        head.extend_from_slice(&piece[..piece.len().min(HEAD_BYTES - head.len())]);
        file.write_all(&piece).await.map_err(|error| broken(&error))?;
    }
    file.flush().await.map_err(|error| broken(&error))?;
    if size == 0 {
        return Err(failure::permanent("the file is empty"));
    }
    Ok(Incoming { path, digest: hex::encode(hasher.finish()), size, head })
}

fn broken(error: &io::Error) -> CaptureFailure {
    warn!(%error, "could not write a file that is being captured");
    failure::transient("the file could not be written: storage failed")
}
