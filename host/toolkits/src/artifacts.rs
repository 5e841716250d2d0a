//! Components and their machine code as files, named by the component's SHA-256.
//!
//! ```text
//! uploads/                      components on their way in or out; emptied at every start
//! code/<engine>/<digest>.cwasm  machine code, sealed; recompiled if missing or damaged
//! ```
//!
//! These folders belong to one process. The components themselves are among the files that processes share
//! (`objects`).
//!
//! Invariant: a file is used only if its contents are those that were written. A component is checked against
//! its name, machine code against its seal.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use kitbag_base::sha256::Sha256;
use kitbag_files::machine_code::{MachineCode, SealedCode};
use kitbag_files::objects::{FileLease, Files, ObjectsError};
use tempfile::{NamedTempFile, TempPath};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::time::timeout;
use tracing::warn;

use super::error::ToolkitError;

/// Maximum pause between two chunks of an upload.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time to copy a component from the shared files.
const COPY_TIMEOUT: Duration = Duration::from_mins(10);

/// The folders for toolkits in the data directory, and the shared component files.
#[derive(Clone, Debug)]
pub(super) struct Artifacts(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    uploads: PathBuf,
    code: MachineCode,
    components: Files,
}

/// A completely received component. Its file is deleted on drop.
pub(super) struct Upload {
    file: TempPath,
    digest: String,
    size: u64,
}

impl Artifacts {
    /// Creates the folders, and deletes incomplete uploads of earlier runs.
    pub(super) async fn open(directory: &Path, code_version: &str, components: Files) -> io::Result<Self> {
        let directory = directory.to_owned();
        let code_version = code_version.to_owned();
        tokio::task::spawn_blocking(move || {
            let uploads = directory.join("uploads");
            let code = MachineCode::open(&directory, "code", &code_version)?;
            if uploads.exists() {
                fs::remove_dir_all(&uploads)?;
            }
            fs::create_dir_all(&uploads)?;
            Ok(Self(Arc::new(Parts { uploads, code, components })))
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Returns the folder for temporary files, on the same file system as the final ones.
    pub(super) fn uploads(&self) -> &Path {
        &self.0.uploads
    }

    /// Copies a component to a temporary file, and checks its digest while copying.
    pub(super) async fn copy_component(&self, digest: &str) -> Result<File, ObjectsError> {
        let copy = timeout(COPY_TIMEOUT, self.copy_component_now(digest)).await;
        copy.unwrap_or_else(|_| Err(ObjectsError::Source(io::ErrorKind::TimedOut.into())))
    }

    async fn copy_component_now(&self, digest: &str) -> Result<File, ObjectsError> {
        let mut component = self.0.components.open(digest).await?.ok_or(ObjectsError::Missing)?;
        let copy = tempfile::tempfile_in(self.uploads()).map_err(ObjectsError::Source)?;
        let mut copy = tokio::fs::File::from_std(copy);
        let mut hasher = Sha256::new();
        while let Some(piece) = component.bytes.next().await {
            let piece = piece.map_err(ObjectsError::Source)?;
            hasher.update(&piece);
            copy.write_all(&piece).await.map_err(ObjectsError::Source)?;
        }
        if hex::encode(hasher.finish()) != digest {
            let damaged = "its bytes are not those that were uploaded";
            return Err(ObjectsError::Source(io::Error::new(io::ErrorKind::InvalidData, damaged)));
        }
        copy.rewind().await.map_err(ObjectsError::Source)?;
        Ok(copy.into_std().await)
    }

    /// Opens machine code after checking its seal, which reads the whole file.
    pub(super) fn sealed_code(&self, digest: &str) -> io::Result<SealedCode> {
        self.0.code.sealed(digest)
    }

    /// Streams an upload to disk, and hashes it while writing.
    pub(super) async fn receive<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        limit: u64,
    ) -> Result<Upload, ToolkitError> {
        let (file, path) = NamedTempFile::new_in(self.uploads())?.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut hasher = Sha256::new();
        let mut received = 0_u64;

        let mut upload = std::pin::pin!(upload);
        loop {
            let interrupted = |cause: String| ToolkitError::Interrupted { received, cause };
            let next = timeout(STALL_TIMEOUT, upload.next()).await;
            let Some(chunk) =
                next.map_err(|_| interrupted(format!("no data for {} s", STALL_TIMEOUT.as_secs())))?
            else {
                break;
            };
            let chunk = chunk.map_err(|error| interrupted(error.to_string()))?;
            received += chunk.len() as u64;
            if received > limit {
                return Err(ToolkitError::TooLarge { limit });
            }
            hasher.update(&chunk);
            file.write_all(&chunk).await?;
        }
        file.sync_all().await?;
        let digest = hex::encode(hasher.finish());
        Ok(Upload { file: path, digest, size: received })
    }

    /// Stores an upload among the components.
    pub(super) async fn put(&self, upload: &Upload) -> Result<FileLease, ObjectsError> {
        self.0.components.put(&upload.digest, &upload.file).await
    }

    /// Returns the stored components.
    pub(super) fn components(&self) -> &Files {
        &self.0.components
    }

    /// Creates a temporary file for machine code. It is deleted on drop unless it is persisted.
    pub(super) fn new_code(&self) -> io::Result<NamedTempFile> {
        self.0.code.new_file()
    }

    /// Seals machine code and gives it its final name, durably. Blocks.
    pub(super) fn keep_code(&self, digest: &str, code: NamedTempFile) -> io::Result<()> {
        self.0.code.seal_and_persist(digest, code)
    }

    /// Removes the machine code of components that are not in `kept`. Files that cannot be removed are
    /// retried the next time.
    pub(super) async fn sweep_code(&self, kept: HashSet<String>) {
        let artifacts = self.clone();
        let swept = tokio::task::spawn_blocking(move || artifacts.0.code.retain(&kept));
        if let Ok(Err(error)) = swept.await {
            warn!(%error, "could not remove the machine code of removed toolkits");
        }
    }
}

impl Upload {
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.file)
    }
}
