//! Components and their machine code as files, named by the component's SHA-256.
//!
//! ```text
//! uploads/                      incomplete uploads; emptied at every start
//! components/<digest>.wasm
//! code/<engine>/<digest>.cwasm  machine code, sealed; recompiled if missing or damaged
//! ```
//!
//! Invariant: a file is used only if it is what was written. A component is checked against its name,
//! machine code against its seal.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use tempfile::{NamedTempFile, TempPath};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tracing::warn;

use super::ToolkitError;
use crate::machine_code::{self, MachineCode, SealedCode, remove_all_but};
use crate::sha256::Sha256;

/// Maximum pause between two chunks of an upload.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The folders of a data directory that hold toolkits.
#[derive(Clone, Debug)]
pub(super) struct Artifacts(Arc<Folders>);

#[derive(Debug)]
struct Folders {
    uploads: PathBuf,
    components: PathBuf,
    code: MachineCode,
}

/// A completely received component. Its file is deleted on drop unless it was kept.
pub(super) struct Upload {
    file: TempPath,
    digest: String,
    size: u64,
}

impl Artifacts {
    /// Creates the folders, and deletes incomplete uploads of earlier runs.
    pub(super) async fn open(directory: &Path, code_version: &str) -> io::Result<Self> {
        let (directory, code_version) = (directory.to_owned(), code_version.to_owned());
        tokio::task::spawn_blocking(move || {
            let folders = Folders {
                uploads: directory.join("uploads"),
                components: directory.join("components"),
                code: MachineCode::open(&directory, "code", &code_version)?,
            };
            if folders.uploads.exists() {
                fs::remove_dir_all(&folders.uploads)?;
            }
            for folder in [&folders.uploads, &folders.components] {
                fs::create_dir_all(folder)?;
            }
            Ok(Self(Arc::new(folders)))
        })
        .await
        .map_err(io::Error::other)?
    }

    /// The folder for temporary files, on the same file system as the final ones.
    pub(super) fn uploads(&self) -> &Path {
        &self.0.uploads
    }

    /// Opens a component after checking its digest, which reads the whole file.
    pub(super) fn open_component(&self, digest: &str) -> io::Result<File> {
        let mut file = File::open(self.component(digest))?;
        if machine_code::digest(&mut file)? == digest {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "its bytes are not those that were uploaded"))
        }
    }

    /// Opens machine code after checking its seal, which reads the whole file.
    pub(super) fn sealed_code(&self, digest: &str) -> io::Result<SealedCode> {
        self.0.code.sealed(digest)
    }

    /// Streams an upload to disk, and hashes it meanwhile.
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

    /// Gives an upload and its machine code their final names, durably.
    pub(super) async fn keep(&self, upload: Upload, code: NamedTempFile) -> io::Result<()> {
        let artifacts = self.clone();
        tokio::task::spawn_blocking(move || {
            let Upload { file, digest, .. } = upload;
            file.persist(artifacts.component(&digest))?;
            File::open(&artifacts.0.components)?.sync_all()?;
            artifacts.0.code.seal_and_persist(&digest, code)
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Creates a temporary file for machine code. It is deleted on drop unless it is kept.
    pub(super) fn new_code(&self) -> io::Result<NamedTempFile> {
        self.0.code.new_file()
    }

    /// Seals machine code and gives it its final name, durably. Blocks.
    pub(super) fn keep_code(&self, digest: &str, code: NamedTempFile) -> io::Result<()> {
        self.0.code.seal_and_persist(digest, code)
    }

    /// Removes the files of components that are not in `kept`. What cannot be removed is left for the next
    /// time.
    pub(super) async fn sweep(&self, kept: &HashSet<String>) {
        let (artifacts, kept) = (self.clone(), kept.clone());
        let swept = tokio::task::spawn_blocking(move || {
            remove_all_but(&artifacts.0.components, &kept)?;
            artifacts.0.code.retain(&kept)
        });
        if let Ok(Err(error)) = swept.await {
            warn!(%error, "could not remove the files of removed toolkits");
        }
    }

    fn component(&self, digest: &str) -> PathBuf {
        self.0.components.join(format!("{digest}.wasm"))
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
