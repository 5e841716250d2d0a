//! Trusted publishers, whose signatures the server verifies; accessible to operators only. Only people change
//! the list: a stolen key of a program then deploys only what trusted publishers have signed.

use kitbag_base::signatures::PublicKey;
use kitbag_database::audit::Act;
use kitbag_toolkits::{Publisher, SignedBy};

use super::{AccessError, Operator};

impl Operator {
    /// Returns the publishers, sorted by name.
    pub async fn publishers(&self) -> Result<Vec<Publisher>, AccessError> {
        Ok(self.0.stores().toolkits.publishers().await?)
    }

    /// Adds a publisher. Refused for a program's key.
    pub async fn add_publisher(&self, name: &str, key: &PublicKey) -> Result<Publisher, AccessError> {
        self.expect_person(Act::PublisherAdded, None).await?;
        Ok(self.0.stores().toolkits.add_publisher(name, key, &self.0.actor()).await?)
    }

    /// Removes a publisher: versions that it has signed can no longer become live. Refused for a program's
    /// key.
    pub async fn remove_publisher(&self, name: &str) -> Result<(), AccessError> {
        self.expect_person(Act::PublisherRemoved, None).await?;
        Ok(self.0.stores().toolkits.remove_publisher(name, &self.0.actor()).await?)
    }

    /// Unbinds a toolkit from its publisher, and returns that publisher. Refused for a program's key.
    pub async fn reset_publisher(&self, id: &str) -> Result<SignedBy, AccessError> {
        self.expect_person(Act::ToolkitPublisherReset, Some(id)).await?;
        let reset = self.0.stores().toolkits.reset_publisher(id, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitPublisherReset, reset).await
    }

    async fn expect_person(&self, act: Act, toolkit: Option<&str>) -> Result<(), AccessError> {
        if !self.0.is_program() {
            return Ok(());
        }
        self.note_refused(act, toolkit).await;
        Err(AccessError::ProgramsCannotTrust)
    }
}
