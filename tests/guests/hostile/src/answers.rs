//! Results that break the contract.

use guest_support::serde_json::json;
use guest_support::{Invocation, Outcome, ToolResult, structured, text};

/// The output schema of `wrong_output`.
pub(crate) const COUNT_SCHEMA: &str =
    r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#;

pub(crate) fn big_result(_: &Invocation) -> Outcome {
    text("x".repeat(100_000_000))
}

#[allow(unsafe_code, reason = "the one way to make a string that is not UTF-8")]
pub(crate) fn invalid_utf8(_: &Invocation) -> Outcome {
    // SAFETY: the string is read by nobody on this side; it is lowered to the host byte by byte.
    text(unsafe { String::from_utf8_unchecked(vec![b'a', 0xff, 0xfe, b'z']) })
}

pub(crate) fn invalid_json(_: &Invocation) -> Outcome {
    Ok(ToolResult { text: "see the structured value".to_owned(), structured: Some("{not json".to_owned()) })
}

pub(crate) fn deep_json(_: &Invocation) -> Outcome {
    const DEPTH: usize = 100_000;
    let nested = format!("{}1{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH));
    Ok(ToolResult { text: "see the structured value".to_owned(), structured: Some(nested) })
}

pub(crate) fn wrong_output(_: &Invocation) -> Outcome {
    structured(&json!({ "count": "many" }))
}

pub(crate) fn undeclared_output(_: &Invocation) -> Outcome {
    structured(&json!({ "count": 1 }))
}
