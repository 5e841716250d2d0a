//! Waiting: for a condition, and never for ever.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// How long anything may take before a test calls it hung. No test is about being quicker than this.
const WAIT_TIMEOUT: Duration = Duration::from_mins(1);

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for `future`, and fails when it hangs.
pub(crate) fn within<T>(what: &str, future: impl Future<Output = T>) -> impl Future<Output = T> {
    // Boxed: the future of a request takes some 20 KiB, and each test that waits would hold it again.
    let future = Box::pin(timeout(WAIT_TIMEOUT, future));
    async move { future.await.unwrap_or_else(|_| panic!("{what} hangs")) }
}
