//! What a process does before others send it calls: it loads the code of toolkits that are in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

use super::Access;

/// How long load balancers wait for it.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Whether a process is prepared.
#[derive(Default)]
pub(super) struct Preparation(AtomicBool);

impl Preparation {
    pub(super) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Access {
    /// Begins to load the code of the toolkits that were called within the last day, where other processes go on
    /// serving meanwhile. Where this one is alone, nobody waits for it: code is loaded by the first call.
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
        let registry = self.stores().toolkits.registry();
        for live in used.iter().filter_map(|id| registry.get(id)) {
            if let Err(error) = live.ready().await {
                warn!(toolkit.id = %live.definition.id, %error, "a toolkit cannot be prepared");
            }
        }
    }
}
