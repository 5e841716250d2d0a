//! Components on their way in: received, inspected and stored, with their machine code.

use std::fmt::Display;

use bytes::Bytes;
use futures::Stream;
use kitbag_base::disk::Disk;
use kitbag_base::tasks::off_thread;
use kitbag_files::objects::FileLease;
use tempfile::NamedTempFile;

use super::artifacts::Upload;
use super::code::CodeLoader;
use super::error::ToolkitError;
use super::inspect::{Inspected, inspect};
use super::provenance::Origin;
use super::store::DeployStore;

/// A component that an operator uploads.
pub struct Incoming<S> {
    /// The component's bytes.
    pub bytes: S,
    /// Size in bytes that the sender declared.
    pub length: Option<u64>,
    /// Maximum size in bytes.
    pub limit: u64,
    /// The sender's statement of origin.
    pub origin: Origin,
}

/// Stored components, and how others come in.
#[derive(Clone)]
pub(super) struct Components {
    pub(super) loader: CodeLoader,
    pub(super) disk: Disk,
    pub(super) deploys: DeployStore,
}

impl Components {
    /// Receives a component as an upload, which is deleted on drop. Returns it with its origin.
    pub(super) async fn receive<E: Display>(
        &self,
        incoming: Incoming<impl Stream<Item = Result<Bytes, E>>>,
    ) -> Result<(Upload, Origin), ToolkitError> {
        let Incoming { bytes, length, limit, origin } = incoming;
        // Without a declared length, the maximum is reserved.
        let room = self.disk.reserve(length.unwrap_or(u64::MAX).min(limit))?;
        let upload = self.disk.while_there_is_room(self.loader.artifacts.receive(bytes, limit)).await??;
        drop(room);
        Ok((upload, origin))
    }

    /// Inspects an upload of `by`.
    pub(super) async fn inspect(&self, upload: &Upload, by: &str) -> Result<Inspected, ToolkitError> {
        let CodeLoader { sandbox, compiler, artifacts } = &self.loader;
        inspect(sandbox, compiler, upload.open()?, artifacts.uploads(), by).await
    }

    /// Stores an upload among the components. A row has to refer to it within half an hour.
    pub(super) async fn put(&self, upload: &Upload) -> Result<FileLease, ToolkitError> {
        let _room = self.disk.reserve(upload.size())?;
        Ok(self.disk.while_there_is_room(self.loader.artifacts.put(upload)).await??)
    }

    /// Ends the lease of a component to which no row refers because of `error`. Stores it again if the last
    /// version with the same bytes was removed meanwhile; returns any other error.
    pub(super) async fn put_again(
        &self,
        error: ToolkitError,
        held: FileLease,
        upload: &Upload,
    ) -> Result<FileLease, ToolkitError> {
        self.loader.artifacts.components().give_up(held).await;
        if matches!(error, ToolkitError::ComponentDropped) { self.put(upload).await } else { Err(error) }
    }

    /// Stores the machine code of a component. The caller has locked changes.
    pub(super) async fn keep_code(&self, digest: &str, code: NamedTempFile) -> Result<(), ToolkitError> {
        let artifacts = self.loader.artifacts.clone();
        let digest = digest.to_owned();
        off_thread(move || artifacts.keep_code(&digest, code)).await?;
        Ok(())
    }

    /// Deletes those of these components, with their machine code, that nothing refers to any more. The
    /// caller has locked changes.
    pub(super) async fn end(&self, digests: &[String]) -> Result<(), ToolkitError> {
        self.loader.artifacts.components().end(digests).await;
        self.sweep_code().await
    }

    /// Removes the machine code of components to which no version and no waiting upload refers. The caller
    /// has locked changes.
    pub(super) async fn sweep_code(&self) -> Result<(), ToolkitError> {
        self.loader.artifacts.sweep_code(self.deploys.digests().await?).await;
        Ok(())
    }
}
