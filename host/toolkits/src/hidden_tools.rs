//! Hides toolkits and tools from models, for one user each, and shows them again.

use std::sync::Arc;

use kitbag_base::tasks::to_its_end;

use super::current::CurrentRegistry;
use super::error::ToolkitError;
use super::hidden::Hidden;
use super::store::HiddenStore;

/// Toolkits and tools that users hide from their models.
#[derive(Clone)]
pub struct HiddenTools {
    pub(super) store: HiddenStore,
    pub(super) registry: Arc<CurrentRegistry>,
}

impl HiddenTools {
    /// Returns the toolkits and tools that a user hides.
    pub async fn of_user(&self, user: &str) -> Result<Arc<Hidden>, ToolkitError> {
        // Values that are read after this line are at least as new as the registry.
        let registry = self.registry.load();
        if let Some(known) = registry.hidden.get(user) {
            return Ok(known);
        }
        let hidden = Arc::new(self.store.of_user(user).await?);
        registry.hidden.keep(user, &hidden);
        Ok(hidden)
    }

    /// Hides a tool, or all tools of a toolkit, from a user's models.
    pub async fn hide(&self, user: &str, toolkit: &str, tool: Option<&str>) -> Result<(), ToolkitError> {
        let Self { store, registry } = self.clone();
        let tool = tool.map(str::to_owned);
        let [user, toolkit] = [user, toolkit].map(str::to_owned);
        to_its_end(async move {
            let has_changed = store.hide(&user, &toolkit, tool.as_deref()).await?;
            if has_changed { registry.publish().await } else { Ok(()) }
        })
        .await?
    }

    /// Shows a hidden tool again, or everything hidden of a toolkit.
    pub async fn show_again(
        &self,
        user: &str,
        toolkit: &str,
        tool: Option<&str>,
    ) -> Result<(), ToolkitError> {
        let Self { store, registry } = self.clone();
        let tool = tool.map(str::to_owned);
        let [user, toolkit] = [user, toolkit].map(str::to_owned);
        to_its_end(async move {
            let has_changed = store.show_again(&user, &toolkit, tool.as_deref()).await?;
            if has_changed { registry.publish().await } else { Ok(()) }
        })
        .await?
    }
}
