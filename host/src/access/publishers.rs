//! Publishers, whose signatures the server verifies: for operators alone.

use super::{AccessError, Operator};
use crate::audit::Act;
use crate::signatures::PublicKey;
use crate::toolkits::{Publisher, SignedBy};

impl Operator {
    /// The publishers, by name.
    pub async fn publishers(&self) -> Result<Vec<Publisher>, AccessError> {
        Ok(self.0.stores().toolkits.publishers().await?)
    }

    /// Adds a publisher.
    pub async fn add_publisher(&self, name: &str, key: &PublicKey) -> Result<Publisher, AccessError> {
        Ok(self.0.stores().toolkits.add_publisher(name, key, &self.0.actor()).await?)
    }

    /// Removes a publisher: no version that it has signed becomes live any more.
    pub async fn remove_publisher(&self, name: &str) -> Result<(), AccessError> {
        Ok(self.0.stores().toolkits.remove_publisher(name, &self.0.actor()).await?)
    }

    /// Unbinds a toolkit from its publisher, which is returned.
    pub async fn reset_publisher(&self, id: &str) -> Result<SignedBy, AccessError> {
        let reset = self.0.stores().toolkits.reset_publisher(id, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitPublisherReset, reset).await
    }
}
