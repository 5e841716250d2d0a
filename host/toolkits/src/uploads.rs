//! Uploads that wait for review: received and inspected like any deploy, visible only to operators, until one
//! of them deploys or discards them.
//!
//! Invariants:
//! - the deployed bytes and declaration are those that were reviewed, both identified by their digests, and
//!   are deployed only while the version with which they were compared is live;
//! - components are stored before a row refers to them, and removed after it, like those of deployed
//!   versions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use jiff::Timestamp;
use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_database::audit::Actor;
use kitbag_manifest::{ToolkitDefinition, ValidDefinition, validate};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use tracing::{info, warn};

use super::artifacts::Upload;
use super::store::{Compared, LIFETIME, NewUpload, NewVersion, UploadRow};
use super::successor::Successor;
use super::vouch::VouchReason;
use super::{
    Claim, Deployed, Difference, Expected, LiveVersion, Origin, Provenance, Side, ToolkitError, Toolkits,
    icons,
};

/// Interval in which expired uploads are removed. They are invisible meanwhile.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);

/// A waiting upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadRecord {
    /// SHA-256 of the component, hexadecimal; identifies the upload.
    pub digest: String,
    /// Id of the toolkit.
    pub id: String,
    /// Version that the upload would become.
    pub version: String,
    /// Size in bytes.
    pub size: i64,
    /// The operator who uploaded it; empty if the server itself has pulled it.
    pub uploaded_by: String,
    /// Time of the upload: RFC 3339, UTC.
    pub uploaded_at: String,
    /// Time of the removal: RFC 3339, UTC.
    pub expires_at: String,
    /// Source and signer of the component.
    #[serde(flatten)]
    pub provenance: Provenance,
}

/// A waiting upload, compared with the live version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The upload.
    #[serde(flatten)]
    pub upload: UploadRecord,
    /// The toolkit's owner, or its owner when it was removed; `None` for a new id.
    pub owner: Option<String>,
    /// Whether the owner has released the toolkit.
    pub released: bool,
    /// Whether only the owner may deploy it, because the toolkit is private or would become private.
    pub needs_owner: bool,
    /// The live version, which a deploy has to name; `None` if the toolkit is not deployed.
    pub live: Option<LiveVersion>,
    /// Differences from the live version.
    pub difference: Difference,
    /// Number of users who have set each secret that the toolkit could read.
    pub secret_users: BTreeMap<String, u64>,
    /// Imported interfaces, without their versions.
    pub imports: Vec<String>,
    /// The declaration.
    pub manifest: ToolkitDefinition,
    /// SHA-256 of the declaration, hexadecimal, which a deploy has to name: the same component may describe itself
    /// differently when it is uploaded again.
    pub manifest_digest: String,
}

/// The state that an operator has reviewed; nothing else is deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reviewed {
    /// `live` from the review. Required, even if it is null.
    #[serde(deserialize_with = "Option::deserialize")]
    pub live: Option<LiveVersion>,
    /// `manifestDigest` from the review.
    pub manifest_digest: String,
}

impl Review {
    /// Returns the reviewed state, which a deploy has to name.
    pub fn reviewed(&self) -> Reviewed {
        Reviewed { live: self.live.clone(), manifest_digest: self.manifest_digest.clone() }
    }

    /// Whether a deploy by `user` makes them the owner even if they do not request it.
    pub fn changes_owner(&self, user: &str) -> bool {
        self.released && self.needs_owner && self.owner.as_ref().is_some_and(|owner| owner != user)
    }
}

impl Toolkits {
    /// Receives and inspects an upload of `by`, and stores it for review. `length` is the size in bytes that
    /// the sender declared, `limit` the maximum, `origin` the sender's statement of origin. Returns the
    /// digest.
    pub async fn upload<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        length: Option<u64>,
        limit: u64,
        by: &Actor,
        origin: &Origin,
    ) -> Result<String, ToolkitError> {
        let upload = self.receive(upload, length, limit).await?;
        self.keep_waiting(&upload, None, by, origin).await
    }

    /// Inspects an upload and stores it for review. Fails if `successor` is given and the upload does not
    /// meet it. Returns the digest.
    pub(super) async fn keep_waiting(
        &self,
        upload: &Upload,
        successor: Option<&Successor<'_>>,
        by: &Actor,
        origin: &Origin,
    ) -> Result<String, ToolkitError> {
        let provenance = &self.provenance(upload.digest(), origin).await?;
        // Checked before compiling, and by digest: an upload that waits already may be repeated.
        self.store.has_place_for_upload(upload.digest()).await?;
        let inspected = self.inspect_upload(upload, by.user()).await?;

        let (digest, size) = (upload.digest().to_owned(), upload.size());
        let definition = &inspected.definition;
        successor.map_or(Ok(()), |successor| successor.admit(definition))?;
        let imports = &inspected.imports.to_vec();
        let mut held = self.put(upload).await?;
        let _changing = self.changing.lock().await;
        self.keep_code(&digest, inspected.code).await?;
        loop {
            let (rule, digest, file) = (self.signature_rule, &digest, &held);
            let new = NewUpload { definition, imports, digest, size, file, by, provenance, rule };
            let Err(error) = self.store.keep_upload(new).await else { break };
            match self.put_again(error, held, upload).await {
                Ok(again) => held = again,
                Err(error) => {
                    self.sweep_code().await?;
                    return Err(error);
                }
            }
        }
        info!(toolkit.id = %definition.id, toolkit.version = %definition.version, %digest, by = %by.user(), "upload waits");
        Ok(digest)
    }

    /// Returns the waiting uploads, newest first.
    pub async fn uploads(&self) -> Result<Vec<UploadRecord>, ToolkitError> {
        let known = self.store.known_keys().await?;
        let mut uploads: Vec<_> = self.store.uploads().await?.iter().map(UploadRecord::from).collect();
        for upload in &mut uploads {
            upload.provenance.mark_removed(&known);
        }
        Ok(uploads)
    }

    /// Compares a waiting upload with the live version. `secret_users` is left empty.
    pub async fn review(&self, digest: &str) -> Result<Review, ToolkitError> {
        let Compared { upload, live: before, owner, released, needs_owner } =
            self.store.compared_upload(digest).await?;
        let (manifest, imports) = (upload.definition()?, upload.imports()?);
        let live = before.as_ref().map(LiveVersion::from);
        let (difference, manifest, imports) = off_thread(move || {
            let after = Side { manifest: &manifest, imports: &imports };
            (Difference::between(before.as_ref().map(Side::from), after), manifest, imports)
        })
        .await;
        let mut record = UploadRecord::from(&upload);
        record.provenance.mark_removed(&self.store.known_keys().await?);
        Ok(Review {
            upload: record,
            owner,
            released,
            needs_owner,
            live,
            difference,
            secret_users: BTreeMap::new(),
            imports,
            manifest,
            manifest_digest: upload.manifest_digest(),
        })
    }

    /// Makes a waiting upload live, if its declaration and the live version are those that were reviewed.
    pub async fn deploy_upload(
        self: &Arc<Self>,
        digest: &str,
        by: &Actor,
        (claim, vouch): (Claim, Option<VouchReason>),
        reviewed: Reviewed,
    ) -> Result<Deployed, ToolkitError> {
        let (toolkits, digest, by) = (self.clone(), digest.to_owned(), by.clone());
        let deploy = async move {
            let Reviewed { live, manifest_digest } = reviewed;
            let definition = toolkits.reviewed_upload(&digest, &manifest_digest).await?.definition()?;
            let picture = icons::fetch(&toolkits.egress, &definition.id, &definition.icon, by.user()).await;

            let _changing = toolkits.changing.lock().await;
            let upload = toolkits.reviewed_upload(&digest, &manifest_digest).await?;
            let definition = &valid(&upload).await?;
            let (imports, picture) = (&upload.imports()?, picture.as_ref());
            let size = u64::try_from(upload.size).unwrap_or_default();
            let (digest, by, vouch, expected) = (&digest, &by, vouch.as_ref(), &Expected::Live(live));
            let file = None;
            let (provenance, rule) = (&upload.provenance(), toolkits.signature_rule);
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
            toolkits.make_live(new).await
        };
        to_its_end(deploy).await?
    }

    /// Returns a waiting upload, if its declaration is the one that was reviewed.
    async fn reviewed_upload(&self, digest: &str, manifest_digest: &str) -> Result<UploadRow, ToolkitError> {
        let upload = self.store.upload(digest).await?;
        if upload.manifest_digest() == manifest_digest {
            Ok(upload)
        } else {
            Err(ToolkitError::ManifestChanged(digest.to_owned()))
        }
    }

    /// Removes a waiting upload with its files.
    pub async fn discard_upload(self: &Arc<Self>, digest: &str, by: &Actor) -> Result<(), ToolkitError> {
        let (toolkits, digest, by) = (self.clone(), digest.to_owned(), by.clone());
        let discard = async move {
            let _changing = toolkits.changing.lock().await;
            toolkits.store.discard_upload(&digest, &by).await?;
            info!(%digest, by = %by.user(), "discarded upload");
            toolkits.end_components(&[digest]).await
        };
        to_its_end(discard).await?
    }

    /// Removes expired uploads, now and regularly, until the toolkits are dropped.
    pub fn keep_removing_expired_uploads(self: &Arc<Self>) {
        let toolkits = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(toolkits) = toolkits.upgrade() {
                if let Err(error) = toolkits.remove_expired_uploads().await {
                    warn!(%error, "expired uploads could not be removed");
                }
                drop(toolkits);
                sleep(SWEEP_INTERVAL).await;
            }
        });
    }

    pub(super) async fn remove_expired_uploads(&self) -> Result<(), ToolkitError> {
        let _changing = self.changing.lock().await;
        let removed = self.store.remove_expired_uploads().await?;
        if removed.is_empty() { Ok(()) } else { self.end_components(&removed).await }
    }
}

impl From<&UploadRow> for UploadRecord {
    fn from(row: &UploadRow) -> Self {
        let uploaded_at = Timestamp::from_millisecond(row.uploaded_at).unwrap_or_default();
        let expires_at = uploaded_at.checked_add(LIFETIME).unwrap_or(uploaded_at);
        Self {
            digest: row.digest.clone(),
            id: row.toolkit_id.clone(),
            version: row.version.clone(),
            size: row.size,
            uploaded_by: row.uploaded_by.clone(),
            uploaded_at: uploaded_at.to_string(),
            expires_at: expires_at.to_string(),
            provenance: row.provenance(),
        }
    }
}

/// Validates the declaration of an upload by the rules of this server: an earlier version of the server may
/// have accepted it.
async fn valid(upload: &UploadRow) -> Result<ValidDefinition, ToolkitError> {
    let definition = upload.definition()?;
    off_thread(move || validate(definition)).await.map_err(|problems| problems.0.into())
}
