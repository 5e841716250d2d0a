//! Hints between processes about changes to toolkits and secrets.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kitbag_database::peers::{Hint, Hints, Listening};
use tokio::sync::watch;
use tokio::time::timeout;

use super::stores::Stores;
use super::{Access, Inner};

/// Interval at which the registry, and whose access was ended, are compared without a hint, while somebody waits for
/// changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// User id that owns no secrets: catching up for it updates the registry only.
const NOBODY: &str = "";

impl Access {
    /// Sends hints about changes to other processes.
    pub fn hints(&self) -> &Hints {
        &self.stores().hints
    }

    /// Updates the registry, and whose access was ended, between requests too, and tells other processes when this one
    /// changes them.
    pub(super) fn follow_changes(&self) {
        let listening = self.hints().listen();
        if self.stores().database.server().is_none() {
            return;
        }
        let access = Arc::downgrade(&self.0);
        let stopped = self.0.stopped.token().clone();
        for changed in [self.stores().toolkits.registry.changed(), self.stores().users.changed()] {
            let own = tell(self.hints().clone(), changed);
            let until = stopped.clone();
            tokio::spawn(async move { until.run_until_cancelled(own).await });
        }
        tokio::spawn(async move { stopped.run_until_cancelled(follow(access, listening)).await });
    }
}

/// Tells other processes whenever this one changes a live version, or ends the access of a user.
async fn tell(hints: Hints, mut changed: watch::Receiver<()>) {
    while changed.changed().await.is_ok() {
        hints.tell_others(Hint::Registry);
    }
}

/// Updates the registry, and whose access was ended, when another process has changed them, until `access` is
/// dropped.
async fn follow(access: Weak<Inner>, mut listening: Listening) {
    loop {
        let hinted = timeout(POLL_INTERVAL, listening.until(|hint| *hint == Hint::Registry)).await;
        let Some(access) = access.upgrade().map(Access) else { return };
        let Stores { toolkits, users, .. } = access.stores();
        if hinted.is_ok() || toolkits.registry.is_followed() || users.are_followed() {
            // On failure, the next request or the next round tries again.
            let _ = access.catch_up(NOBODY).await;
        }
    }
}
