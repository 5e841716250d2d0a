//! The macro `log!` for structured entries in the invocation's log.

use serde::Serialize;
use serde_json::Value;

/// Appends one entry to the invocation's log: `log!(ctx, "found", count, json!({ "took": ms }))`.
///
/// Arguments may be of any type that can be serialized. The host redacts values of the calling user's
/// secrets before it writes the entry.
#[macro_export]
macro_rules! log {
    ($ctx:expr, $($argument:expr),+ $(,)?) => {
        $ctx.write_log(::std::vec![$($crate::__log_argument(&$argument)),+])
    };
}

/// Serializes one argument as JSON text.
pub fn argument<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| Value::from(format!("(not representable as JSON: {error})")).to_string())
}
