//! Hints about what users see and set: to other processes, and from them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kitbag_database::peers::{Hint, Hints, Listening};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Access, Inner};

/// How often the registry is compared without a hint, as long as somebody wants to hear of changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A user whose secrets nobody has: asking about them brings the registry up to date.
const NOBODY: &str = "";

impl Access {
    /// What tells other processes of changes.
    pub fn hints(&self) -> &Hints {
        &self.stores().hints
    }

    /// Keeps the registry up to date between requests too, and tells other processes when this one has changed it.
    pub(super) fn follow_changes(&self) {
        let listening = self.hints().listen();
        if self.stores().database.server().is_none() {
            return;
        }
        let (access, stopped) = (Arc::downgrade(&self.0), self.0.stopped.token().clone());
        let own = tell(self.hints().clone(), self.stores().toolkits.changed());
        let until = stopped.clone();
        tokio::spawn(async move { until.run_until_cancelled(own).await });
        tokio::spawn(async move { stopped.run_until_cancelled(follow(access, listening)).await });
    }
}

/// Tells other processes when this one has changed what is live, for ever.
async fn tell(hints: Hints, mut changed: watch::Receiver<()>) {
    while changed.changed().await.is_ok() {
        hints.tell_others(Hint::Registry);
    }
}

/// Reads the registry when another process has changed it, until there is nobody left who uses it.
async fn follow(access: Weak<Inner>, mut listening: Listening) {
    loop {
        let hinted = timeout(POLL_INTERVAL, listening.until(|hint| *hint == Hint::Registry)).await;
        let Some(access) = access.upgrade().map(Access) else { return };
        if hinted.is_ok() || access.stores().toolkits.is_followed() {
            // Without an answer, it is asked again: by the next request, or here.
            let _ = access.catch_up(NOBODY).await;
        }
    }
}
