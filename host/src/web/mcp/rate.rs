//! The rate limit of MCP requests, for each user.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::{HeaderValue, StatusCode, header};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::json;

use super::answer::TransportError;

/// A bucket for each user who asked within the last minute: a minute's requests may come at once,
/// and it fills up again evenly.
pub(super) struct RateLimit {
    buckets: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    asked: AtomicU32,
}

/// After so many requests the full buckets are forgotten: they are what a new one would be.
const FORGET_EVERY: u32 = 1024;

/// From -32000 to -32019 codes are a server's own; beyond are the protocol's (2026-07-28).
const TOO_MANY_REQUESTS: ErrorCode = ErrorCode(-32010);

impl RateLimit {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            buckets: DefaultKeyedRateLimiter::keyed(Quota::per_minute(per_minute)),
            clock: DefaultClock::default(),
            asked: AtomicU32::new(0),
        }
    }

    /// Counts a request of `user`, or refuses it.
    pub(super) fn admit(&self, user: &str) -> Result<(), TransportError> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&user.to_owned()).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            too_many(wait.as_secs() + 1)
        })
    }
}

fn too_many(seconds: u64) -> TransportError {
    let message = format!("Too many requests. Send fewer, and try again in {seconds} s.");
    let data = json!({ "retryAfterSeconds": seconds });
    let error = ErrorData::new(TOO_MANY_REQUESTS, message, Some(data));
    TransportError::new(StatusCode::TOO_MANY_REQUESTS, None, error)
        .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    fn limit(per_minute: u32) -> RateLimit {
        RateLimit::new(NonZeroU32::new(per_minute).expect("not zero"))
    }

    #[test]
    fn each_user_has_a_bucket_of_their_own() {
        let limit = limit(2);

        assert!(limit.admit("ana").is_ok() && limit.admit("ana").is_ok());
        let Err(refusal) = limit.admit("ana") else { panic!("the third is too many") };
        let refusal = refusal.into_response();
        assert_eq!(refusal.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refusal.headers()[header::RETRY_AFTER], "30");
        assert!(limit.admit("ben").is_ok());
    }

    #[test]
    fn users_who_ask_no_more_are_forgotten() {
        // A bucket of a million is full again before the next user has asked.
        let limit = limit(1_000_000);

        for user in 0..10 * FORGET_EVERY {
            assert!(limit.admit(&user.to_string()).is_ok());
        }

        assert!(limit.buckets.len() <= 2 * FORGET_EVERY as usize, "{}", limit.buckets.len());
    }
}
