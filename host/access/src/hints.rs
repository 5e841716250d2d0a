//! Hints between processes about changes to toolkits and secrets.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kitbag_database::peers::{Hint, Hints, Listening};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Access, Inner};

/// Interval at which the registry is compared without a hint, while somebody is subscribed to changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// User id that owns no secrets: catching up for it updates the registry only.
const NOBODY: &str = "";

impl Access {
    /// Sends hints about changes to other processes.
    pub fn hints(&self) -> &Hints {
        &self.stores().hints
    }

    /// Updates the registry between requests too, and tells other processes when this one changes it.
    pub(super) fn follow_changes(&self) {
        let listening = self.hints().listen();
        if self.stores().database.server().is_none() {
            return;
        }
        let access = Arc::downgrade(&self.0);
        let stopped = self.0.stopped.token().clone();
        let own = tell(self.hints().clone(), self.stores().toolkits.registry.changed());
        let until = stopped.clone();
        tokio::spawn(async move { until.run_until_cancelled(own).await });
        tokio::spawn(async move { stopped.run_until_cancelled(follow(access, listening)).await });
    }
}

/// Tells other processes whenever this one changes a live version.
async fn tell(hints: Hints, mut changed: watch::Receiver<()>) {
    while changed.changed().await.is_ok() {
        hints.tell_others(Hint::Registry);
    }
}

/// Updates the registry when another process has changed it, until `access` is dropped.
async fn follow(access: Weak<Inner>, mut listening: Listening) {
    loop {
        let hinted = timeout(POLL_INTERVAL, listening.until(|hint| *hint == Hint::Registry)).await;
        let Some(access) = access.upgrade().map(Access) else { return };
        if hinted.is_ok() || access.stores().toolkits.registry.is_followed() {
            // On failure, the next request or the next round tries again.
            let _ = access.catch_up(NOBODY).await;
        }
    }
}
