//! Time of a call in a test.

use std::time::{Duration, SystemTime};

/// The system's clock, and how much later a test wants it to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    ahead: Duration,
}

impl Clock {
    /// Returns a clock that is further ahead.
    pub(super) fn later(self, by: Duration) -> Self {
        Self { ahead: self.ahead.saturating_add(by) }
    }

    /// Returns the time in milliseconds since 1970.
    pub(super) fn now(self) -> i64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.saturating_add(self.ahead).as_millis()).unwrap_or(i64::MAX)
    }
}
