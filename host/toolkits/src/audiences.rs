//! Shares toolkits with users and groups, and ends that again.

use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Actor;
use kitbag_identity::Subject;

use super::audience::Grant;
use super::current::CurrentRegistry;
use super::error::ToolkitError;
use super::store::AudienceStore;

/// Audiences of toolkits: the grants to users and groups.
#[derive(Clone)]
pub struct Audiences {
    pub(super) store: AudienceStore,
    pub(super) registry: Arc<CurrentRegistry>,
}

impl Audiences {
    /// Grants tools of a toolkit; replaces the limits of existing grants.
    pub async fn share(&self, id: &str, grants: Vec<Grant>, by: &Actor) -> Result<(), ToolkitError> {
        let Self { store, registry } = self.clone();
        let id = id.to_owned();
        let by = by.clone();
        let change = async move {
            let _changing = registry.lock_changes().await;
            if store.share(&id, &grants, &by).await? { registry.publish().await } else { Ok(()) }
        };
        to_its_end(change).await?
    }

    /// Revokes grants: the one to a subject for one tool, or without a tool all to that subject. Fails if
    /// there is none.
    pub async fn unshare(
        &self,
        id: &str,
        subject: Subject,
        tool: Option<String>,
        by: &Actor,
    ) -> Result<(), ToolkitError> {
        let Self { store, registry } = self.clone();
        let id = id.to_owned();
        let by = by.clone();
        let change = async move {
            let _changing = registry.lock_changes().await;
            store.unshare(&id, &subject, tool.as_deref(), &by).await?;
            registry.publish().await
        };
        to_its_end(change).await?
    }
}
