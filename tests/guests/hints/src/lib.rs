//! Declares behavioural hints in every possible way, and lists its `always_on` tool last.

use guest_support::serde_json::json;
use guest_support::{
    Invocation, Outcome, ToolAnnotations, ToolDefinition, ToolkitDefinition, definition, text, tool,
};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let nothing = json!({ "type": "object", "additionalProperties": false });
    let plain =
        ToolDefinition { input_schema: nothing, ..tool("plain", "Sets no hint and takes no argument.") };
    let mutating = ToolDefinition { mutating: true, ..tool("mutating", "Changes state.") };
    let explicit = ToolDefinition {
        title: Some("Explicit".to_owned()),
        mutating: true,
        annotations: ToolAnnotations {
            read_only_hint: Some(true),
            destructive_hint: Some(true),
            idempotent_hint: Some(true),
            open_world_hint: None,
        },
        ..tool("explicit", "Changes state, and its author says otherwise.")
    };
    let always_on = ToolDefinition { always_on: true, ..tool("always_on", "Belongs first.") };
    definition("hints", vec![plain, mutating, explicit, always_on])
}

fn call(invocation: &Invocation) -> Outcome {
    text(invocation.tool.clone())
}
