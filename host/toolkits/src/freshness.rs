//! Keeps the registry equal to the database: reads it after each change by this process or by another one.

use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_manifest::ToolkitDefinition;
use tracing::{info, warn};

use super::code::Code;
use super::live::{FormerOwner, Live};
use super::registry::Registry;
use super::store::{LiveRow, LiveState};
use super::vouch::Vouch;
use super::{ToolkitError, Toolkits};

impl Toolkits {
    /// Reads the registry again, unless it is of this generation already. Toolkits that other processes have
    /// deployed are compiled in the background.
    pub async fn catch_up(self: &Arc<Self>, generation: i64) -> Result<(), ToolkitError> {
        if self.registry().is_of(generation) {
            return Ok(());
        }
        let toolkits = self.clone();
        // Not cancelled with the request, because the next request would have to start again.
        to_its_end(async move {
            let _publishing = toolkits.publishing.lock().await;
            // The previous lock owner may have read the same change.
            if !toolkits.registry().is_of(generation) {
                toolkits.prepare(toolkits.read_and_replace().await?);
            }
            Ok(())
        })
        .await?
    }

    /// Reads the registry again, whatever its generation: after the loss of a database, generations may be
    /// reused.
    pub async fn start_over(self: &Arc<Self>) -> Result<(), ToolkitError> {
        let _publishing = self.publishing.lock().await;
        self.registry.store(Arc::new(self.registry().unconfirmed()));
        self.prepare(self.read_and_replace().await?);
        Ok(())
    }

    /// Replaces the registry by the live toolkits in the database. Running calls use their snapshot.
    pub(super) async fn publish(&self) -> Result<(), ToolkitError> {
        let _publishing = self.publishing.lock().await;
        // Other processes have to read the change even if this one fails to.
        self.changed.send_replace(());
        self.read_and_replace().await.map(drop)
    }

    /// Reads and replaces the registry. Returns the toolkits that are new or changed. The caller has locked
    /// `publishing`.
    async fn read_and_replace(&self) -> Result<Vec<Arc<Live>>, ToolkitError> {
        let before = self.registry();
        let LiveState { generation, toolkits, mut manifests } =
            self.store.live(|row| before.has(row)).await?;
        let read = |row: &LiveRow| self.live_of(row, &manifests.remove(&row.id)?);
        let registry = Arc::new(Registry::succeeding(&before, generation, toolkits, read));
        let new = registry.new_since(&before);
        self.registry.store(registry);
        self.published.send_replace(());
        Ok(new)
    }

    fn live_of(&self, row: &LiveRow, manifest: &str) -> Option<Live> {
        let definition: Arc<ToolkitDefinition> = match serde_json::from_str(manifest) {
            Ok(definition) => Arc::new(definition),
            Err(error) => {
                warn!(toolkit.id = %row.id, %error, "the stored manifest cannot be read; the toolkit stays off");
                return None;
            }
        };
        let former = row.taken_from.clone().zip(row.taken_at);
        let owner = (row.owner.clone(), former.map(|(from, at)| FormerOwner::new(from, at)));
        let vouch = row.vouched_by.clone().zip(row.vouched.clone());
        let activation = (vouch.map(|(by, reason)| Vouch { by, reason }), row.activation);
        let component = (row.owner.clone(), row.digest.clone());
        let (sandbox, compiler, artifacts) =
            (self.sandbox.clone(), self.compiler.clone(), self.artifacts.clone());
        let code = Code::new(definition.clone(), component, sandbox, compiler, artifacts);
        let definition = (definition, row.audience.clone());
        Some(Live::new(definition, owner, (code, row.picture.clone()), activation))
    }

    /// Loads the code of toolkits before their first call, one after the other. Skips toolkits that have been
    /// replaced since.
    fn prepare(self: &Arc<Self>, new: Vec<Arc<Live>>) {
        let toolkits = self.clone();
        tokio::spawn(async move {
            for live in new {
                let id = &live.definition.id;
                let is_current =
                    toolkits.registry().get(id).is_some_and(|current| Arc::ptr_eq(current, &live));
                if !is_current || live.code.is_ready() {
                    continue;
                }
                match live.ready().await {
                    Ok(_) => info!(toolkit.id = %id, "prepared a toolkit that another process has deployed"),
                    Err(error) => {
                        warn!(toolkit.id = %id, %error, "a toolkit cannot be prepared; its first call tries again");
                    }
                }
            }
        });
    }
}
