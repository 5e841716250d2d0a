//! Uploads that await review; accessible to operators only, for all toolkits.

use std::fmt::Display;

use bytes::Bytes;
use futures::Stream;
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Act;
use kitbag_toolkits::{
    DeployTerms, Deployed, Incoming, Review, Reviewed, ToolkitError, Tracked, UploadRecord,
};

use super::error::AccessError;
use super::operator::Operator;
use super::versions::secret_users;

/// Uploads that await review, as an operator handles them.
#[derive(Clone, Copy)]
pub struct Reviews<'a> {
    operator: &'a Operator,
}

impl Operator {
    /// Returns the uploads that await review.
    pub fn reviews(&self) -> Reviews<'_> {
        Reviews { operator: self }
    }
}

impl Reviews<'_> {
    /// Stores an upload that awaits review. The inspection completes even if the client disconnects after the
    /// upload.
    pub async fn upload<E: Display + Send + 'static>(
        &self,
        component: Incoming<impl Stream<Item = Result<Bytes, E>> + Send + 'static>,
    ) -> Result<Review, AccessError> {
        let user = self.operator.0.clone();
        let upload = async move { user.stores().toolkits.reviews.upload(component, &user.actor()).await };
        let uploaded = to_its_end(upload).await.map_err(ToolkitError::from)?;
        let digest = self.operator.noting_refusal(Act::ToolkitUploaded, uploaded).await?;
        self.get(&digest).await
    }

    /// Returns the uploads that await review, newest first.
    pub async fn waiting(&self) -> Result<Vec<UploadRecord>, AccessError> {
        Ok(self.operator.0.stores().toolkits.reviews.waiting().await?)
    }

    /// Returns the toolkits that follow a tag of a registry, with newer releases there, sorted by id.
    pub async fn newer_versions(&self) -> Result<Vec<Tracked>, AccessError> {
        Ok(self.operator.0.stores().toolkits.updates.tracked().await?)
    }

    /// Returns an upload that awaits review, compared with the live version.
    pub async fn get(&self, digest: &str) -> Result<Review, AccessError> {
        let review = self.operator.0.stores().toolkits.reviews.get(digest).await?;
        let secret_users = secret_users(self.operator, &review.manifest).await?;
        let refused_hosts = self.operator.refused_hosts(&review.manifest);
        Ok(Review { secret_users, refused_hosts, ..review })
    }

    /// Makes an upload live, if its declaration and the live version are those that were reviewed.
    pub async fn deploy(
        &self,
        digest: &str,
        terms: DeployTerms,
        reviewed: Reviewed,
    ) -> Result<Deployed, AccessError> {
        self.operator.expect_one_release().await?;
        let by = self.operator.0.actor();
        let deployed = self.operator.0.stores().toolkits.reviews.deploy(digest, &by, terms, reviewed).await;
        self.operator.deployed(deployed).await
    }

    /// Removes an upload that awaits review.
    pub async fn discard(&self, digest: &str) -> Result<(), AccessError> {
        Ok(self.operator.0.stores().toolkits.reviews.discard(digest, &self.operator.0.actor()).await?)
    }
}
