//! Keeps the registry equal to the database: reads it after each change by this process or by another one.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_base::tasks::to_its_end;
use tokio::sync::{Mutex, MutexGuard, watch};
use tracing::{info, warn};

use super::code::CodeLoader;
use super::error::ToolkitError;
use super::live::Live;
use super::registry::Registry;
use super::store::{LiveRow, LiveState, LiveStore};

/// The current registry of live toolkits, replaced at each change in the database.
pub struct CurrentRegistry {
    store: LiveStore,
    loader: CodeLoader,
    registry: ArcSwap<Registry>,
    /// Signals each replacement of `registry`, whatever its cause.
    published: watch::Sender<()>,
    /// Signals each replacement of `registry` that this process has caused.
    changed: watch::Sender<()>,
    /// Locked while the database and the registry are changed together.
    changing: Mutex<()>,
    /// Locked while the registry is read and replaced: an older one must not replace a newer one.
    publishing: Mutex<()>,
}

impl CurrentRegistry {
    /// Reads the registry.
    pub(super) async fn open(store: LiveStore, loader: CodeLoader) -> Result<Self, ToolkitError> {
        let current = Self {
            store,
            loader,
            registry: ArcSwap::default(),
            published: watch::Sender::new(()),
            changed: watch::Sender::new(()),
            changing: Mutex::new(()),
            publishing: Mutex::new(()),
        };
        current.publish().await?;
        Ok(current)
    }

    /// Returns the current registry. A call uses the snapshot with which it started.
    pub fn load(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Returns a receiver that is notified of each replacement of the registry.
    pub fn published(&self) -> watch::Receiver<()> {
        self.published.subscribe()
    }

    /// Notifies receivers that users may see other toolkits or tools, although the registry is the same.
    pub fn announce(&self) {
        self.published.send_replace(());
    }

    /// Whether anyone listens to [`published`](Self::published).
    pub fn is_followed(&self) -> bool {
        self.published.receiver_count() > 0
    }

    /// Returns a receiver that is notified of each change of the live toolkits by this process.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Fails if the deployed toolkits cannot be read.
    pub async fn check(&self) -> Result<(), ToolkitError> {
        Ok(self.store.check().await?)
    }

    /// Locks changes of the database that are followed by a change of the registry.
    pub(super) async fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Reads the registry again, unless it is of this generation already. Toolkits that other processes have
    /// deployed are compiled in the background.
    pub async fn catch_up(self: &Arc<Self>, generation: i64) -> Result<(), ToolkitError> {
        if self.load().is_of(generation) {
            return Ok(());
        }
        let current = self.clone();
        // Not cancelled with the request, because the next request would have to start again.
        to_its_end(async move {
            let _publishing = current.publishing.lock().await;
            // The previous lock owner may have read the same change.
            if !current.load().is_of(generation) {
                current.prepare(current.read_and_replace().await?);
            }
            Ok(())
        })
        .await?
    }

    /// Reads the registry again, whatever its generation: after the loss of a database, generations may be
    /// reused.
    pub async fn start_over(self: &Arc<Self>) -> Result<(), ToolkitError> {
        let _publishing = self.publishing.lock().await;
        self.registry.store(Arc::new(self.load().unconfirmed()));
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
        let before = self.load();
        let LiveState { generation, toolkits, mut manifests } =
            self.store.read(|row| before.has(row)).await?;
        let read = |row: &LiveRow| self.live_of(row, &manifests.remove(&row.id)?);
        let registry = Arc::new(Registry::succeeding(&before, generation, toolkits, read));
        let new = registry.new_since(&before);
        self.registry.store(registry);
        self.published.send_replace(());
        Ok(new)
    }

    fn live_of(&self, row: &LiveRow, manifest: &str) -> Option<Live> {
        match serde_json::from_str(manifest) {
            Ok(definition) => Some(Live::of(row, Arc::new(definition), self.loader.clone())),
            Err(error) => {
                warn!(toolkit.id = %row.id, %error, "the stored manifest cannot be read; the toolkit stays off");
                None
            }
        }
    }

    /// Loads the code of toolkits before their first call, one after the other. Skips toolkits that have been
    /// replaced since.
    fn prepare(self: &Arc<Self>, new: Vec<Arc<Live>>) {
        let current = self.clone();
        tokio::spawn(async move {
            for live in new {
                let id = &live.definition.id;
                let is_current = current.load().get(id).is_some_and(|current| Arc::ptr_eq(current, &live));
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
