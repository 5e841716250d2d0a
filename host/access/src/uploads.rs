//! Uploads that await review, and deployed versions; accessible to operators only, for all toolkits.

use std::collections::BTreeMap;
use std::fmt::Display;

use bytes::Bytes;
use futures::Stream;
use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_database::audit::Act;
use kitbag_manifest::{ToolkitDefinition, Visibility};
use kitbag_toolkits::{
    Claim, Deployed, Difference, Origin, Review, Reviewed, Side, ToolkitError, Tracked, UploadRecord,
    Version, VouchReason,
};

use super::{AccessError, Operator};

/// Comparison of two deployed versions.
#[derive(Debug)]
pub struct Comparison {
    /// Differences of the second version from the first.
    pub difference: Difference,
    /// SHA-256 of the second version's component, hexadecimal.
    pub digest: String,
    /// SHA-256 of the second version's declaration, hexadecimal.
    pub manifest_digest: String,
    /// Number of users who have set each secret that the second version declares, by name.
    pub secret_users: BTreeMap<String, u64>,
    /// Whether one of the versions is private.
    pub is_private: bool,
}

impl Operator {
    /// Stores an upload that awaits review. `length` is the size in bytes that the sender declared, `limit`
    /// the maximum, `origin` the operator's statement about where it comes from. The inspection completes
    /// even if the client disconnects after the upload.
    pub async fn upload<E: Display + Send + 'static>(
        &self,
        component: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        length: Option<u64>,
        limit: u64,
        origin: Origin,
    ) -> Result<Review, AccessError> {
        let user = self.0.clone();
        let upload = async move {
            user.stores().toolkits.upload(component, length, limit, &user.actor(), &origin).await
        };
        let uploaded = to_its_end(upload).await.map_err(ToolkitError::from)?;
        let digest = self.noting_refusal(Act::ToolkitUploaded, uploaded).await?;
        self.review(&digest).await
    }

    /// Returns the uploads that await review, newest first.
    pub async fn uploads(&self) -> Result<Vec<UploadRecord>, AccessError> {
        Ok(self.0.stores().toolkits.uploads().await?)
    }

    /// Returns the toolkits that follow a tag of a registry, with newer releases there, sorted by id.
    pub async fn tracked(&self) -> Result<Vec<Tracked>, AccessError> {
        Ok(self.0.stores().toolkits.tracked().await?)
    }

    /// Returns an upload that awaits review, compared with the live version.
    pub async fn review(&self, digest: &str) -> Result<Review, AccessError> {
        let review = self.0.stores().toolkits.review(digest).await?;
        let secret_users = self.secret_users(&review.manifest).await?;
        Ok(Review { secret_users, ..review })
    }

    /// Makes an upload live, if its declaration and the live version are those that were reviewed.
    pub async fn deploy_upload(
        &self,
        digest: &str,
        terms: (Claim, Option<VouchReason>),
        reviewed: Reviewed,
    ) -> Result<Deployed, AccessError> {
        self.expect_one_release().await?;
        let by = self.0.actor();
        let deployed = self.0.stores().toolkits.deploy_upload(digest, &by, terms, reviewed).await;
        self.noting_refusal(Act::ToolkitDeployed, deployed).await
    }

    /// Removes an upload that awaits review.
    pub async fn discard_upload(&self, digest: &str) -> Result<(), AccessError> {
        Ok(self.0.stores().toolkits.discard_upload(digest, &self.0.actor()).await?)
    }

    /// Returns a deployed version of any toolkit.
    pub async fn version(&self, id: &str, version: &str) -> Result<Version, AccessError> {
        Ok(self.0.stores().toolkits.version(id, version).await?)
    }

    /// Compares two deployed versions of a toolkit.
    pub async fn compare(&self, id: &str, from: &str, to: &str) -> Result<Comparison, AccessError> {
        let (before, after) = (self.version(id, from).await?, self.version(id, to).await?);
        let secret_users = self.secret_users(&after.manifest).await?;
        let is_private = [&before, &after].iter().any(|it| it.manifest.visibility == Visibility::Private);
        let (digest, manifest_digest) = (after.record.digest.clone(), after.manifest_digest.clone());
        let compare = move || Difference::between(Some(Side::from(&before)), Side::from(&after));
        Ok(Comparison {
            difference: off_thread(compare).await,
            digest,
            manifest_digest,
            secret_users,
            is_private,
        })
    }

    /// Returns the number of users who have set each secret that a declaration names.
    async fn secret_users(&self, manifest: &ToolkitDefinition) -> Result<BTreeMap<String, u64>, AccessError> {
        let users = self.0.stores().vault.users(&manifest.id).await?;
        let of = |name: &str| (name.to_owned(), users.get(name).copied().unwrap_or_default());
        Ok(manifest.credentials().into_iter().map(of).collect())
    }
}
