//! Helpers of tests, in this crate and others.

use std::pin::pin;
use std::time::Duration;

use futures::poll;

/// Polls `work` `times` times, and then drops it.
pub async fn abandon_after(times: usize, work: impl Future) {
    let mut work = pin!(work);
    for _ in 0..times {
        if poll!(&mut work).is_ready() {
            return;
        }
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}
