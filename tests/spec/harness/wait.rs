//! Waiting: for a condition, and never for ever.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// How long anything may take before a test calls it hung. No test is about being quicker than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds.
#[track_caller]
pub(crate) fn eventually<F, Fut>(what: &str, mut condition: F) -> impl Future<Output = ()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let caller = std::panic::Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        while !condition().await {
            assert!(Instant::now() < deadline, "{caller}: waited in vain until {what}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Waits for `future`, and fails when it hangs.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} hangs"))
}
