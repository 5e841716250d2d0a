//! Waiting inside of host calls.

use std::time::Duration;

use wasip2::clocks::monotonic_clock;

/// Waits inside a host call; the guest executes no instructions meanwhile.
pub fn wait(duration: Duration) {
    monotonic_clock::subscribe_duration(nanoseconds(duration)).block();
}

/// Returns a pollable that becomes ready after `duration`; it uses resources of the host until it is dropped.
pub fn alarm(duration: Duration) -> wasip2::io::poll::Pollable {
    monotonic_clock::subscribe_duration(nanoseconds(duration))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
