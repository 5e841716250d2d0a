//! What operators may do. Whether a toolkit is this operator's to change is asked in the transaction that changes
//! it (`toolkits/store/ownership`).

use std::fmt::Display;

use bytes::Bytes;
use futures::Stream;

use super::{AccessError, User};
use crate::tasks::to_its_end;
use crate::toolkits::{Claim, Deployed, TakenOver, ToolkitError};
use crate::vault::Rotated;

/// A user who was found to be an operator.
pub struct Operator(User);

impl Operator {
    pub(super) fn new(user: User) -> Self {
        Self(user)
    }

    /// Takes an upload all the way to a live version; `length` is what its sender says of it, `limit` the most that
    /// it may be. A client that goes away once its component has arrived does not stop the deploy.
    pub async fn deploy<E: Display + Send + 'static>(
        self,
        component: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        length: Option<u64>,
        limit: u64,
        claim: Claim,
    ) -> Result<Deployed, AccessError> {
        let deploy = async move {
            let Self(user) = &self;
            user.stores().toolkits.deploy(component, length, limit, user.id(), claim).await
        };
        Ok(to_its_end(deploy).await.map_err(ToolkitError::from)??)
    }

    /// Makes an earlier version live again: `version`, or else the one that was live before. Returns it.
    pub async fn roll_back(&self, id: &str, version: Option<&str>) -> Result<String, AccessError> {
        Ok(self.0.stores().toolkits.roll_back(id, version, self.0.id()).await?)
    }

    /// Removes a toolkit with all its versions.
    pub async fn remove(&self, id: &str) -> Result<(), AccessError> {
        Ok(self.0.stores().toolkits.remove(id, self.0.id()).await?)
    }

    /// Lets any operator have a toolkit of this one's.
    pub async fn release(&self, id: &str) -> Result<(), AccessError> {
        Ok(self.0.stores().toolkits.release(id, self.0.id()).await?)
    }

    /// Makes a toolkit this operator's. What users have set for it is gone.
    pub async fn take_over(&self, id: &str) -> Result<TakenOver, AccessError> {
        Ok(self.0.stores().toolkits.take_over(id, self.0.id()).await?)
    }

    /// Wraps the keys of all secrets with a new master key.
    pub async fn rotate_master_key(&self) -> Result<Rotated, AccessError> {
        Ok(self.0.stores().vault.rotate().await?)
    }
}
