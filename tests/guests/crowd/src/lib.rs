//! Has more tools than fit on a page of the list.

use guest_support::{Invocation, Outcome, ToolkitDefinition, definition, text, tool};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    definition("crowd", (0..1250).map(|number| tool(&format!("tool_{number}"), "One of many.")).collect())
}

fn call(invocation: &Invocation) -> Outcome {
    text(&invocation.tool)
}
