//! Components and their machine code as files, named by the component's SHA-256.
//!
//! ```text
//! uploads/                      arriving; emptied at every start
//! components/<digest>.wasm
//! code/<engine>/<digest>.cwasm  machine code, sealed; made again whenever it is missing or damaged
//! ```
//!
//! Invariant: nothing is handed out of these folders that is not what was put there. A component is
//! checked against its name, machine code against its seal.

mod seal;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tracing::warn;

use self::seal::Seal;
use super::ToolkitError;

/// How long an upload may stand still.
const STALLED: Duration = Duration::from_secs(30);
/// A SHA-256 in hexadecimal.
const DIGEST_DIGITS: usize = 64;

/// The folders of a data directory that hold toolkits.
#[derive(Clone, Debug)]
pub(super) struct Artifacts(Arc<Folders>);

#[derive(Debug)]
struct Folders {
    uploads: PathBuf,
    components: PathBuf,
    code: PathBuf,
    seal: Seal,
}

/// A component that has arrived whole. Its file goes away unless it is kept.
pub(super) struct Upload {
    file: TempPath,
    digest: String,
    size: u64,
}

/// Machine code whose seal was checked: this very file, whatever stands under its name by now.
pub(super) struct SealedCode(File);

impl SealedCode {
    /// Where the file can be opened for as long as this value lives.
    pub(super) fn path(&self) -> PathBuf {
        const DESCRIPTORS: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

        Path::new(DESCRIPTORS).join(self.0.as_raw_fd().to_string())
    }
}

impl Artifacts {
    /// Makes the folders, and throws away what earlier runs left unfinished.
    pub(super) async fn open(directory: &Path, code_version: &str) -> io::Result<Self> {
        let directory = directory.to_owned();
        let code = directory.join("code").join(code_version);
        tokio::task::spawn_blocking(move || {
            let folders = Folders {
                uploads: directory.join("uploads"),
                components: directory.join("components"),
                code,
                seal: Seal::open(&directory)?,
            };
            if folders.uploads.exists() {
                fs::remove_dir_all(&folders.uploads)?;
            }
            for folder in [&folders.uploads, &folders.components, &folders.code] {
                fs::create_dir_all(folder)?;
            }
            remove_siblings(&folders.code)?;
            Ok(Self(Arc::new(folders)))
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Where unfinished files belong: on the same file system as the finished ones.
    pub(super) fn uploads(&self) -> &Path {
        &self.0.uploads
    }

    /// Reads a component whose bytes are those that were uploaded. Blocks.
    pub(super) fn read_component(&self, digest: &str) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.component(digest))?;
        if hex::encode(Sha256::digest(&bytes)) == digest {
            Ok(bytes)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "its bytes are not those that were uploaded"))
        }
    }

    /// Opens the machine code, once its seal was checked. Reads all of it.
    pub(super) fn sealed_code(&self, digest: &str) -> io::Result<SealedCode> {
        let mut file = File::open(self.code(digest))?;
        self.0.seal.check(digest, &mut file)?;
        Ok(SealedCode(file))
    }

    /// Streams an upload to disk and hashes it on the way.
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
            let next = timeout(STALLED, upload.next()).await;
            let Some(chunk) = next.map_err(|_| interrupted("nothing more came".to_owned()))? else { break };
            let chunk = chunk.map_err(|error| interrupted(error.to_string()))?;
            received += chunk.len() as u64;
            if received > limit {
                return Err(ToolkitError::TooLarge { limit });
            }
            hasher.update(&chunk);
            file.write_all(&chunk).await?;
        }
        file.sync_all().await?;
        let digest = hex::encode(hasher.finalize());
        Ok(Upload { file: path, digest, size: received })
    }

    /// Gives an upload and its machine code their final names, durably.
    pub(super) async fn keep(&self, upload: Upload, mut code: NamedTempFile) -> io::Result<()> {
        let artifacts = self.clone();
        tokio::task::spawn_blocking(move || {
            let Upload { file, digest, .. } = upload;
            artifacts.0.seal.append(&digest, code.as_file_mut())?;
            let (component, code_path) = (artifacts.component(&digest), artifacts.code(&digest));
            file.persist(&component)?;
            code.persist(&code_path)?;
            sync_folder_of(&component)?;
            sync_folder_of(&code_path)
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Writes machine code under its final name.
    pub(super) fn keep_code(&self, digest: &str, code: &[u8]) -> io::Result<()> {
        let mut file = write_code(self.uploads(), code)?;
        self.0.seal.append(digest, file.as_file_mut())?;
        file.persist(self.code(digest))?;
        Ok(())
    }

    /// Removes the files of components that nothing refers to any more. What cannot be removed is
    /// left for the next time.
    pub(super) async fn sweep(&self, kept: &HashSet<String>) {
        let folders = [self.0.components.clone(), self.0.code.clone()];
        let kept = kept.clone();
        let swept = tokio::task::spawn_blocking(move || {
            folders.iter().try_for_each(|folder| remove_all_but(folder, &kept))
        });
        if let Ok(Err(error)) = swept.await {
            warn!(%error, "could not remove the files of removed toolkits");
        }
    }

    fn component(&self, digest: &str) -> PathBuf {
        self.0.components.join(format!("{digest}.wasm"))
    }

    fn code(&self, digest: &str) -> PathBuf {
        self.0.code.join(format!("{digest}.cwasm"))
    }
}

impl Upload {
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        tokio::fs::read(&self.file).await
    }
}

/// Writes machine code to a file of its own that is neither sealed nor named yet.
pub(super) fn write_code(folder: &Path, code: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(code)?;
    Ok(file)
}

/// A rename is durable once the folder is.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Machine code of other engine versions is of no use to this one.
fn remove_siblings(folder: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path != folder && path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

fn remove_all_but(folder: &Path, kept: &HashSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let digest = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_ours = digest.len() == DIGEST_DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_ours && !kept.contains(digest) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_mapped_is_the_file_that_was_checked_whatever_took_its_name_since() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let artifacts = Artifacts::open(data.path(), "engine").await.expect("folders");
        artifacts.keep_code("digest", b"good code").expect("it can be kept");

        let checked = artifacts.sealed_code("digest").expect("it is sealed");
        let mut other = write_code(artifacts.uploads(), b"evil code").expect("a file");
        other.write_all(&[0; 32]).expect("a file");
        other.persist(artifacts.code("digest")).expect("the name is free to take");

        assert!(fs::read(checked.path()).expect("it is open").starts_with(b"good code"));
        assert!(artifacts.sealed_code("digest").is_err());
    }
}
