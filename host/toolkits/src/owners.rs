//! Changes of the owner of a toolkit. `store/ownership` decides who may do what.

use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Actor;
use tracing::{info, warn};

use super::current::CurrentRegistry;
use super::error::ToolkitError;
use super::store::{OwnershipStore, TakenOver};

/// Owners of toolkits: an operator releases a toolkit, or takes over that of another one.
#[derive(Clone)]
pub struct Owners {
    pub(super) store: OwnershipStore,
    pub(super) registry: Arc<CurrentRegistry>,
    /// Called after users' secrets for a toolkit were deleted, because the toolkit was removed or its owner
    /// changed.
    pub(super) on_removal: Arc<dyn Fn() + Send + Sync>,
}

impl Owners {
    /// Releases a toolkit of `by`: the next operator who needs to own it becomes its owner.
    pub async fn release(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        self.store.release(id, by).await?;
        info!(toolkit.id = %id, by = %by.user(), "released toolkit");
        Ok(())
    }

    /// Makes `by` the owner of another operator's toolkit. Users' secrets and settings for it are deleted.
    pub async fn take_over(&self, id: &str, by: &Actor) -> Result<TakenOver, ToolkitError> {
        let owners = self.clone();
        let id = id.to_owned();
        let by = by.clone();
        let change = async move {
            let _changing = owners.registry.lock_changes().await;
            let taken_over = owners.store.take_over(&id, &by).await?;
            owners.report_change(&id, by.user(), Some(&taken_over));
            owners.registry.publish().await?;
            Ok(taken_over)
        };
        to_its_end(change).await?
    }

    /// Reports and logs a change of owner, if there was one.
    pub(super) fn report_change(&self, id: &str, by: &str, taken_over: Option<&TakenOver>) {
        let Some(TakenOver { from, .. }) = taken_over else { return };
        self.report_removal();
        warn!(toolkit.id = %id, %from, to = %by, "a toolkit has got another owner");
    }

    /// Reports that users' secrets for a toolkit were deleted.
    pub(super) fn report_removal(&self) {
        (self.on_removal)();
    }
}
