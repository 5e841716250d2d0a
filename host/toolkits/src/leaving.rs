//! Toolkits of users who have left, and what they had set about toolkits.

use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Actor;
use tracing::info;

use super::current::CurrentRegistry;
use super::error::ToolkitError;
use super::store::{Forgotten, LeavingStore, OwnershipStore};

/// Passes on and removes what users who have left had.
#[derive(Clone)]
pub struct Leaving {
    pub(super) store: LeavingStore,
    pub(super) ownership: OwnershipStore,
    pub(super) registry: Arc<CurrentRegistry>,
}

impl Leaving {
    /// Makes `by` the owner of all toolkits of a user. Users' secrets, accounts, settings and consents stay valid. Returns
    /// the ids of the toolkits.
    pub async fn pass_toolkits(&self, user: &str, by: &Actor) -> Result<Vec<String>, ToolkitError> {
        let Self { ownership, registry, .. } = self.clone();
        let user = user.to_owned();
        let by = by.clone();
        to_its_end(async move {
            let _changing = registry.lock_changes().await;
            let mut passed = Vec::new();
            for id in ownership.owned(&user).await? {
                if ownership.pass(&id, &user, &by).await? {
                    info!(toolkit.id = %id, from = %user, to = %by.user(), "passed on a toolkit");
                    passed.push(id);
                }
            }
            if !passed.is_empty() {
                registry.publish().await?;
            }
            Ok(passed)
        })
        .await?
    }

    /// Replaces the name of a user in the history of toolkits, and of publishers and uploads. Returns the number of places.
    pub async fn anonymise(&self, user: &str) -> Result<u64, ToolkitError> {
        let Self { store, registry, .. } = self.clone();
        let user = user.to_owned();
        to_its_end(async move {
            let _changing = registry.lock_changes().await;
            let changed = store.anonymise(&user).await?;
            if changed > 0 {
                registry.publish().await?;
            }
            Ok(changed)
        })
        .await?
    }

    /// Removes a user's settings, hidden tools, consents and the like, and grants of toolkits to the user. The last grant
    /// of a shared toolkit becomes one to its owner.
    pub async fn forget(&self, user: &str, by: &Actor) -> Result<Forgotten, ToolkitError> {
        let Self { store, registry, .. } = self.clone();
        let user = user.to_owned();
        let by = by.clone();
        to_its_end(async move {
            let _changing = registry.lock_changes().await;
            let forgotten = store.forget(&user, &by).await?;
            if forgotten != Forgotten::default() {
                registry.publish().await?;
            }
            Ok(forgotten)
        })
        .await?
    }
}
