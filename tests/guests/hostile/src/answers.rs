//! Results that break the contract.

use guest_support::serde_json::{Value, json};
use guest_support::{Content, Invocation, Media, Outcome, ToolResult, block, structured, text};

/// The output schema of `wrong_output`.
pub(crate) fn count_schema() -> Value {
    json!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] })
}

pub(crate) fn big_result(_: &Invocation) -> Outcome {
    text("x".repeat(100_000_000))
}

pub(crate) fn big_picture(_: &Invocation) -> Outcome {
    with_content(vec![picture(5_000_000)])
}

pub(crate) fn many_pictures(_: &Invocation) -> Outcome {
    with_content((0..50_000).map(|_| picture(0)).collect())
}

fn picture(size: usize) -> Content {
    Content::Image(Media { data: vec![0; size], media_type: "image/png".to_owned() })
}

fn with_content(content: Vec<Content>) -> Outcome {
    let content = content.into_iter().map(block).collect();
    Ok(ToolResult { text: "see the pictures".to_owned(), structured: None, content })
}

#[allow(unsafe_code, reason = "a string that is not UTF-8 cannot be made in safe code")]
pub(crate) fn invalid_utf8(_: &Invocation) -> Outcome {
    // SAFETY: the guest does not read the string; it is only copied to the host as bytes.
    text(unsafe { String::from_utf8_unchecked(vec![b'a', 0xff, 0xfe, b'z']) })
}

pub(crate) fn invalid_json(_: &Invocation) -> Outcome {
    structured_text("{not json".to_owned())
}

pub(crate) fn deep_json(_: &Invocation) -> Outcome {
    const DEPTH: usize = 100_000;
    let nested = format!("{}1{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH));
    structured_text(nested)
}

pub(crate) fn wrong_output(_: &Invocation) -> Outcome {
    structured(&json!({ "count": "many" }))
}

pub(crate) fn undeclared_output(_: &Invocation) -> Outcome {
    structured(&json!({ "count": 1 }))
}

/// Returns a result whose structured value is the given text.
fn structured_text(structured: String) -> Outcome {
    let text = "see the structured value".to_owned();
    Ok(ToolResult { text, structured: Some(structured), content: Vec::new() })
}
