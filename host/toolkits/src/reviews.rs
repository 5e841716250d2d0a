//! Uploads that wait for review: received and inspected like any deploy, visible only to operators, until one
//! of them deploys or discards them.
//!
//! Invariants:
//! - the deployed bytes and declaration are those that were reviewed, both identified by their digests, and
//!   are deployed only while the version with which they were compared is live;
//! - components are stored before a row refers to them, and removed after it, like those of deployed
//!   versions.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use jiff::Timestamp;
use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_database::audit::Actor;
use kitbag_manifest::{ToolkitDefinition, ValidDefinition, validate};
use kitbag_net::egress::{Egress, RefusedHost};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use tracing::{info, warn};

use super::artifacts::Upload;
use super::components::{Components, Incoming};
use super::current::CurrentRegistry;
use super::deploys::{DeployTerms, Deployed, Deploys};
use super::difference::{Difference, Side};
use super::error::ToolkitError;
use super::icons;
use super::provenance::{Origin, Provenance};
use super::signatures::Signatures;
use super::store::{
    Compared, Expected, LIFETIME, LiveVersion, NewUpload, NewVersion, UploadRow, UploadStore,
};
use super::successor::Successor;

/// Interval in which expired uploads are removed. They are invisible meanwhile.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);

/// Uploads that wait for review, and their way to be deployed or discarded.
pub struct Reviews {
    pub(super) components: Components,
    pub(super) deploys: Deploys,
    pub(super) egress: Egress,
    pub(super) registry: Arc<CurrentRegistry>,
    pub(super) signatures: Signatures,
    pub(super) store: UploadStore,
}

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
    /// Hosts that the egress policy refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<RefusedHost>,
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

impl Reviews {
    /// Receives and inspects an upload of `by`, and stores it for review. Returns the digest.
    pub async fn upload<E: Display>(
        &self,
        incoming: Incoming<impl Stream<Item = Result<Bytes, E>>>,
        by: &Actor,
    ) -> Result<String, ToolkitError> {
        let (upload, origin) = self.components.receive(incoming).await?;
        self.keep_waiting(&upload, None, by, &origin).await
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
        let provenance = &self.signatures.provenance(upload.digest(), origin).await?;
        // Checked before compiling, and by digest: an upload that waits already may be repeated.
        self.store.has_place(upload.digest()).await?;
        let inspected = self.components.inspect(upload, by.user()).await?;

        let definition = &inspected.definition;
        successor.map_or(Ok(()), |successor| successor.admit(definition))?;
        let imports = &inspected.imports.to_vec();
        let mut held = self.components.put(upload).await?;
        let _changing = self.registry.lock_changes().await;
        self.components.keep_code(upload.digest(), inspected.code).await?;
        loop {
            let new = NewUpload {
                definition,
                imports,
                digest: upload.digest(),
                size: upload.size(),
                file: &held,
                by,
                provenance,
                rule: self.signatures.rule,
            };
            let Err(error) = self.store.keep(new).await else { break };
            match self.components.put_again(error, held, upload).await {
                Ok(again) => held = again,
                Err(error) => {
                    self.components.sweep_code().await?;
                    return Err(error);
                }
            }
        }
        info!(toolkit.id = %definition.id, toolkit.version = %definition.version, digest = %upload.digest(), by = %by.user(), "upload waits");
        Ok(upload.digest().to_owned())
    }

    /// Returns the waiting uploads, newest first.
    pub async fn waiting(&self) -> Result<Vec<UploadRecord>, ToolkitError> {
        let known = self.signatures.publishers.known_keys().await?;
        let mut uploads: Vec<_> = self.store.all().await?.iter().map(UploadRecord::from).collect();
        for upload in &mut uploads {
            upload.provenance.mark_removed(&known);
        }
        Ok(uploads)
    }

    /// Compares a waiting upload with the live version. `secret_users` and `refused_hosts` are left empty.
    pub async fn get(&self, digest: &str) -> Result<Review, ToolkitError> {
        let Compared { upload, live: before, owner, released, needs_owner } =
            self.store.compared(digest).await?;
        let manifest = upload.definition()?;
        let imports = upload.imports()?;
        let live = before.as_ref().map(LiveVersion::from);
        let (difference, manifest, imports) = off_thread(move || {
            let after = Side { manifest: &manifest, imports: &imports };
            (Difference::between(before.as_ref().map(Side::from), after), manifest, imports)
        })
        .await;
        let mut record = UploadRecord::from(&upload);
        record.provenance.mark_removed(&self.signatures.publishers.known_keys().await?);
        Ok(Review {
            upload: record,
            owner,
            released,
            needs_owner,
            live,
            difference,
            secret_users: BTreeMap::new(),
            refused_hosts: Vec::new(),
            imports,
            manifest,
            manifest_digest: upload.manifest_digest(),
        })
    }

    /// Makes a waiting upload live, if its declaration and the live version are those that were reviewed.
    pub async fn deploy(
        self: &Arc<Self>,
        digest: &str,
        by: &Actor,
        terms: DeployTerms,
        reviewed: Reviewed,
    ) -> Result<Deployed, ToolkitError> {
        let reviews = self.clone();
        let digest = digest.to_owned();
        let by = by.clone();
        let deploy = async move {
            let Reviewed { live, manifest_digest } = reviewed;
            let definition = reviews.reviewed(&digest, &manifest_digest).await?.definition()?;
            let picture = icons::fetch(&reviews.egress, &definition.id, &definition.icon, by.user()).await;

            let _changing = reviews.registry.lock_changes().await;
            let upload = reviews.reviewed(&digest, &manifest_digest).await?;
            let new = NewVersion {
                definition: &valid(&upload).await?,
                imports: &upload.imports()?,
                picture: picture.as_ref(),
                digest: &digest,
                size: u64::try_from(upload.size).unwrap_or_default(),
                file: None,
                by: &by,
                claim: terms.claim,
                vouch: terms.vouch.as_ref(),
                expected: &Expected::Live(live),
                provenance: &upload.provenance(),
                rule: reviews.signatures.rule,
            };
            reviews.deploys.make_live(new).await
        };
        to_its_end(deploy).await?
    }

    /// Returns a waiting upload, if its declaration is the one that was reviewed.
    async fn reviewed(&self, digest: &str, manifest_digest: &str) -> Result<UploadRow, ToolkitError> {
        let upload = self.store.get(digest).await?;
        if upload.manifest_digest() == manifest_digest {
            Ok(upload)
        } else {
            Err(ToolkitError::ManifestChanged(digest.to_owned()))
        }
    }

    /// Removes a waiting upload with its files.
    pub async fn discard(self: &Arc<Self>, digest: &str, by: &Actor) -> Result<(), ToolkitError> {
        let reviews = self.clone();
        let digest = digest.to_owned();
        let by = by.clone();
        let discard = async move {
            let _changing = reviews.registry.lock_changes().await;
            reviews.store.discard(&digest, &by).await?;
            info!(%digest, by = %by.user(), "discarded upload");
            reviews.components.end(&[digest]).await
        };
        to_its_end(discard).await?
    }

    /// Removes expired uploads, now and regularly, until this is dropped.
    pub fn keep_removing_expired(self: &Arc<Self>) {
        let reviews = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(reviews) = reviews.upgrade() {
                if let Err(error) = reviews.remove_expired().await {
                    warn!(%error, "expired uploads could not be removed");
                }
                drop(reviews);
                sleep(SWEEP_INTERVAL).await;
            }
        });
    }

    pub(super) async fn remove_expired(&self) -> Result<(), ToolkitError> {
        let _changing = self.registry.lock_changes().await;
        let removed = self.store.remove_expired().await?;
        if removed.is_empty() { Ok(()) } else { self.components.end(&removed).await }
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
