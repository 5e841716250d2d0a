//! The greeter: one toolkit in several versions. Each version's crate adds its greeting.

use std::time::Duration;

use serde_json::json;

use crate::{Invocation, Outcome, ToolkitDefinition, Visibility, arguments, clock, text, tool, unknown};

/// Returns the greeter's declaration: private, with the one tool `greet`.
pub fn definition(version: &str) -> ToolkitDefinition {
    let mut greet = tool("greet", "Greets someone, after waiting as long as it is told to.");
    greet.input_schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "wait_ms": { "type": "integer", "minimum": 0 } },
        "required": ["name"],
    });

    ToolkitDefinition {
        version: version.to_owned(),
        visibility: Visibility::Private,
        ..crate::definition("greeter", vec![greet])
    }
}

/// Carries out the tool `greet`; returns `GREETING, NAME!`.
pub fn greet(invocation: &Invocation, greeting: &str) -> Outcome {
    if invocation.tool != "greet" {
        return unknown(&invocation.tool);
    }
    let arguments = arguments(invocation);
    if let Some(milliseconds) = arguments["wait_ms"].as_u64() {
        clock::wait(Duration::from_millis(milliseconds));
    }
    text(format!("{greeting}, {}!", arguments["name"].as_str().unwrap_or_default()))
}
