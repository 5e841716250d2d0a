//! Preparation before a process is ready for traffic: loads the code of the toolkits in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

use super::Access;

/// Time after which load balancers no longer wait for the preparation.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Whether preparation has ended.
#[derive(Default)]
pub(super) struct Preparation(AtomicBool);

impl Preparation {
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Access {
    /// Starts to load the code of the toolkits that were called within the last day, if other processes can
    /// serve meanwhile. A process that is alone is ready immediately: the first call of a toolkit loads its
    /// code.
    pub fn prepare(&self) {
        let access = self.clone();
        if self.stores().database.is_exclusive() {
            return access.0.preparation.0.store(true, Ordering::Relaxed);
        }
        tokio::spawn(async move {
            if timeout(MAX_TIME, access.load_used_toolkits()).await.is_err() {
                warn!("toolkits that are in use take long to compile: their first calls wait for the rest");
            }
            access.0.preparation.0.store(true, Ordering::Relaxed);
        });
    }

    async fn load_used_toolkits(&self) {
        let used = match self.stores().invocations.used_toolkits().await {
            Ok(used) => used,
            Err(error) => return warn!(%error, "which toolkits are in use cannot be read"),
        };
        let registry = self.stores().toolkits.registry.load();
        for live in used.iter().filter_map(|id| registry.get(id)) {
            if let Err(error) = live.ready().await {
                warn!(toolkit.id = %live.definition.id, %error, "a toolkit cannot be prepared");
            }
        }
    }
}
