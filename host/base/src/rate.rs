//! Rate limit for each user.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use thiserror::Error;

/// Rate limit with a token bucket for each active user: requests may come in a burst up to the bucket's
/// capacity, and the bucket refills evenly.
pub struct RateLimit {
    buckets: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    asked: AtomicU32,
}

/// Interval, in requests, at which full buckets are removed: they are equivalent to new ones.
const FORGET_EVERY: u32 = 1024;

/// Error: the user has exceeded a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("Too many requests. Send fewer, and try again in {seconds} s.")]
pub struct TooManyRequests {
    /// Time until the next request is admitted, in seconds.
    pub seconds: u64,
}

impl RateLimit {
    /// Creates a limit per minute; the burst is the same number.
    pub fn new(per_minute: NonZeroU32) -> Self {
        Self::with_burst(per_minute, per_minute)
    }

    /// Creates a limit per minute with the given burst.
    pub fn with_burst(per_minute: NonZeroU32, burst: NonZeroU32) -> Self {
        Self {
            buckets: DefaultKeyedRateLimiter::keyed(Quota::per_minute(per_minute).allow_burst(burst)),
            clock: DefaultClock::default(),
            asked: AtomicU32::new(0),
        }
    }

    /// Counts a request of `user`, or refuses it.
    pub fn admit(&self, user: &str) -> Result<(), TooManyRequests> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&user.to_owned()).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            TooManyRequests { seconds: wait.as_secs() + 1 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(per_minute: u32) -> RateLimit {
        RateLimit::new(NonZeroU32::new(per_minute).expect("not zero"))
    }

    #[test]
    fn each_user_has_a_bucket_of_their_own() {
        let limit = limit(2);

        assert!(limit.admit("ana").is_ok() && limit.admit("ana").is_ok());
        assert_eq!(limit.admit("ana"), Err(TooManyRequests { seconds: 30 }));
        assert!(limit.admit("ben").is_ok());
    }

    #[test]
    fn users_who_ask_no_more_are_forgotten() {
        // A bucket of a million is full again before the next user's request.
        let limit = limit(1_000_000);

        for user in 0..10 * FORGET_EVERY {
            assert!(limit.admit(&user.to_string()).is_ok());
        }

        assert!(limit.buckets.len() <= 2 * FORGET_EVERY as usize, "{}", limit.buckets.len());
    }
}
