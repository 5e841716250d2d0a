//! Endless host calls, each of which costs the host something.

use std::hint::black_box;

use guest_support::wasip2::clocks::{monotonic_clock, wall_clock};
use guest_support::wasip2::io::poll::poll;
use guest_support::wasip2::random::random::get_random_bytes;
use guest_support::{Invocation, Outcome, text};

/// Maximum random bytes that the host returns per call.
const RANDOM_BYTES: u64 = 64 << 10;
const POLLABLES: usize = 100;

pub(crate) fn random_for_ever(_: &Invocation) -> Outcome {
    loop {
        black_box(get_random_bytes(RANDOM_BYTES));
    }
}

pub(crate) fn random_at_once(_: &Invocation) -> Outcome {
    text(get_random_bytes(u64::MAX).len().to_string())
}

pub(crate) fn clock_for_ever(_: &Invocation) -> Outcome {
    loop {
        black_box((monotonic_clock::now(), wall_clock::now()));
    }
}

pub(crate) fn poll_for_ever(_: &Invocation) -> Outcome {
    let ready: Vec<_> = (0..POLLABLES).map(|_| monotonic_clock::subscribe_instant(0)).collect();
    let ready: Vec<_> = ready.iter().collect();
    loop {
        black_box(poll(&ready));
    }
}
