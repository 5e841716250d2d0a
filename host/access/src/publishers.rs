//! Trusted publishers, whose signatures the server verifies; accessible to operators only. Only people change
//! the list: a stolen key of a program then deploys only what trusted publishers have signed.

use kitbag_base::signatures::PublicKey;
use kitbag_database::audit::Act;
use kitbag_toolkits::{Publisher, SignedBy};

use super::error::AccessError;
use super::operator::Operator;

/// The publishers whose signatures the server accepts.
#[derive(Clone, Copy)]
pub struct TrustedPublishers<'a> {
    operator: &'a Operator,
}

impl Operator {
    /// Returns the trusted publishers.
    pub fn publishers(&self) -> TrustedPublishers<'_> {
        TrustedPublishers { operator: self }
    }
}

impl TrustedPublishers<'_> {
    /// Returns the publishers, sorted by name.
    pub async fn all(&self) -> Result<Vec<Publisher>, AccessError> {
        Ok(self.operator.0.stores().toolkits.publishers.all().await?)
    }

    /// Adds a publisher. Refused for a program's key.
    pub async fn add(&self, name: &str, key: &PublicKey) -> Result<Publisher, AccessError> {
        self.expect_person(Act::PublisherAdded, None).await?;
        Ok(self.operator.0.stores().toolkits.publishers.add(name, key, &self.operator.0.actor()).await?)
    }

    /// Removes a publisher: versions that it has signed can no longer become live. Refused for a program's
    /// key.
    pub async fn remove(&self, name: &str) -> Result<(), AccessError> {
        self.expect_person(Act::PublisherRemoved, None).await?;
        Ok(self.operator.0.stores().toolkits.publishers.remove(name, &self.operator.0.actor()).await?)
    }

    /// Unbinds a toolkit from its publisher, and returns that publisher. Refused for a program's key.
    pub async fn reset(&self, id: &str) -> Result<SignedBy, AccessError> {
        self.expect_person(Act::ToolkitPublisherReset, Some(id)).await?;
        let reset = self.operator.0.stores().toolkits.publishers.reset(id, &self.operator.0.actor()).await;
        self.operator.noting_refusal(Act::ToolkitPublisherReset, reset).await
    }

    async fn expect_person(&self, act: Act, toolkit: Option<&str>) -> Result<(), AccessError> {
        if !self.operator.0.is_program() {
            return Ok(());
        }
        self.operator.note_refused(act, toolkit).await;
        Err(AccessError::ProgramsCannotTrust)
    }
}
