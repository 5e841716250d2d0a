//! The time as tokens state it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 for an earlier system clock, which makes `nbf` and `iat` fail.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}
