//! `log!`: structured entries of the invocation's log.

use serde::Serialize;
use serde_json::Value;

/// Appends one entry to the invocation's log: `log!(ctx, "found", count, json!({ "took": ms }))`.
///
/// Each argument is anything that can be serialized. Values of the calling user's secrets are
/// redacted by the host before the entry is written.
#[macro_export]
macro_rules! log {
    ($ctx:expr, $($argument:expr),+ $(,)?) => {
        $ctx.write_log(::std::vec![$($crate::__log_argument(&$argument)),+])
    };
}

/// Spells one argument as JSON text.
pub fn argument<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| Value::from(format!("(not representable as JSON: {error})")).to_string())
}
