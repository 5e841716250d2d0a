//! Waiting with a timeout.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// Time limit after which a test counts as hung, even beside compilers on two busy cores. No test uses it to
/// measure time.
pub(super) const WAIT_TIMEOUT: Duration = Duration::from_mins(3);

/// Polls `condition` until it holds; panics after `WAIT_TIMEOUT`.
pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !condition().await {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits for `future`; panics after `WAIT_TIMEOUT`.
pub(crate) fn within<T>(what: &str, future: impl Future<Output = T>) -> impl Future<Output = T> {
    // Boxed: the future of a request takes some 20 KiB, and the future of each caller would contain it.
    let future = Box::pin(timeout(WAIT_TIMEOUT, future));
    async move { future.await.unwrap_or_else(|_| panic!("{what} hangs")) }
}
