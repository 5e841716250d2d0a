//! Deploys an uploaded component: receives, inspects and stores it, records the version, and publishes it.

use bytes::Bytes;
use futures::Stream;
use kitbag_base::tasks::off_thread;
use kitbag_database::audit::Actor;
use kitbag_files::objects::FileLease;
use kitbag_manifest::{Problem, portability};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tracing::info;

use super::artifacts::Upload;
use super::difference::{Changes, capabilities};
use super::store::NewVersion;
use super::vouch::VouchReason;
use super::{
    Claim, Expected, Inspected, Origin, Provenance, TakenOver, ToolkitError, Toolkits, icons, inspect,
    listed_name,
};

/// The result of a deploy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployed {
    /// Id of the toolkit.
    pub id: String,
    /// The version that is live now.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
    /// Listed names of the tools.
    pub tools: Vec<String>,
    /// Capabilities: `egress api.example.com`, `secret API_KEY`, `scope svc:search`.
    pub capabilities: Vec<String>,
    /// Changes of the capabilities since the previous live version.
    pub changes: Changes,
    /// Source and signer of the version.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Properties of the toolkit that some clients refuse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Problem>,
    /// The former owner, if this deploy took the toolkit over.
    #[serde(rename = "takenOver", default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOver>,
}

impl Toolkits {
    /// Deploys an upload and makes it live. `by` is the deploying operator, `length` the size in bytes that
    /// the sender declared, `limit` the maximum, `vouch` the reason if the operator vouches for the version,
    /// `origin` the sender's statement of origin.
    ///
    /// The same version with the same bytes is made live again; with other bytes it is refused.
    pub async fn deploy<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        length: Option<u64>,
        limit: u64,
        by: &Actor,
        (claim, vouch): (Claim, Option<&VouchReason>),
        origin: &Origin,
    ) -> Result<Deployed, ToolkitError> {
        let upload = self.receive(upload, length, limit).await?;
        let provenance = &self.provenance(upload.digest(), origin).await?;
        let Inspected { definition, imports, code, .. } = self.inspect_upload(&upload, by.user()).await?;
        let picture = &icons::fetch(&self.egress, &definition.id, &definition.icon, by.user()).await;

        let (digest, size) = (upload.digest(), upload.size());
        let (definition, imports, picture) = (&definition, &imports.to_vec(), picture.as_ref());
        let (expected, rule) = (&Expected::Anything, self.signature_rule);
        let mut held = self.put(&upload).await?;
        let _changing = self.changing.lock().await;
        self.keep_code(digest, code).await?;
        loop {
            let file = Some(&held);
            let new = NewVersion {
                definition,
                imports,
                picture,
                digest,
                size,
                file,
                by,
                claim,
                vouch,
                expected,
                provenance,
                rule,
            };
            match self.make_live(new).await {
                Ok(deployed) => return Ok(deployed),
                Err(error) => held = self.put_again(error, held, &upload).await?,
            }
        }
    }

    /// Ends the lease of a component to which no row refers because of `error`. Stores it again if the last
    /// version with the same bytes was removed meanwhile; returns any other error.
    pub(super) async fn put_again(
        &self,
        error: ToolkitError,
        held: FileLease,
        upload: &Upload,
    ) -> Result<FileLease, ToolkitError> {
        self.artifacts.components().give_up(held).await;
        if matches!(error, ToolkitError::ComponentDropped) { self.put(upload).await } else { Err(error) }
    }

    /// Stores an upload among the components. A row has to refer to it within half an hour.
    pub(super) async fn put(&self, upload: &Upload) -> Result<FileLease, ToolkitError> {
        let _room = self.disk.reserve(upload.size())?;
        Ok(self.disk.while_there_is_room(self.artifacts.put(upload)).await??)
    }

    /// Stores the machine code of a component. The caller has locked `changing`.
    pub(super) async fn keep_code(&self, digest: &str, code: NamedTempFile) -> Result<(), ToolkitError> {
        let (artifacts, digest) = (self.artifacts.clone(), digest.to_owned());
        off_thread(move || artifacts.keep_code(&digest, code)).await?;
        Ok(())
    }

    /// Receives an upload, which is deleted on drop.
    pub(super) async fn receive<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        length: Option<u64>,
        limit: u64,
    ) -> Result<Upload, ToolkitError> {
        // Without a declared length, the maximum is reserved.
        let room = self.disk.reserve(length.unwrap_or(u64::MAX).min(limit))?;
        let upload = self.disk.while_there_is_room(self.artifacts.receive(upload, limit)).await??;
        drop(room);
        Ok(upload)
    }

    /// Inspects an upload of `by`.
    pub(super) async fn inspect_upload(&self, upload: &Upload, by: &str) -> Result<Inspected, ToolkitError> {
        let folder = self.artifacts.uploads();
        inspect(&self.sandbox, &self.compiler, upload.open()?, folder, by).await
    }

    /// Records a version, whose component is in the store, and publishes it. The caller has locked
    /// `changing`.
    pub(super) async fn make_live(&self, new: NewVersion<'_>) -> Result<Deployed, ToolkitError> {
        let NewVersion { definition, digest, by, .. } = new;
        let recorded = self.store.record(new).await;
        if recorded.as_ref().is_err_and(|error| !matches!(error, ToolkitError::ComponentDropped)) {
            // The machine code of a refused version must not remain.
            self.sweep_code().await?;
        }
        let (changes, provenance, taken_over) = recorded?;
        self.owner_changed(&definition.id, by.user(), taken_over.as_ref());
        self.publish().await?;

        info!(toolkit.id = %definition.id, toolkit.version = %definition.version, %digest, by = %by.user(), from = %provenance, "deployed toolkit");
        Ok(Deployed {
            id: definition.id.clone(),
            version: definition.version.clone(),
            digest: digest.to_owned(),
            tools: definition.tools.iter().map(|tool| listed_name(&definition.id, &tool.name)).collect(),
            capabilities: capabilities(definition),
            changes,
            provenance,
            warnings: portability::warnings(definition),
            taken_over,
        })
    }

    /// Removes the machine code of components to which no version and no waiting upload refers. The caller
    /// has locked `changing`.
    pub(super) async fn sweep_code(&self) -> Result<(), ToolkitError> {
        self.artifacts.sweep_code(self.store.digests().await?).await;
        Ok(())
    }
}
