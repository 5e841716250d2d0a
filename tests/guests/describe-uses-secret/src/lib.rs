//! Uses a capability in `describe`, although one that it declares.

use guest_support::{Invocation, Outcome, ToolkitDefinition, definition, secrets, text, tool};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let name = match secrets::get("API_KEY") {
        Ok(value) => value.unwrap_or_default(),
        Err(_) => "refused".to_owned(),
    };
    let tools = vec![tool("greet", "Greets.")];
    ToolkitDefinition {
        name,
        secrets: vec!["API_KEY".to_owned()],
        ..definition("describe-uses-secret", tools)
    }
}

fn call(_: &Invocation) -> Outcome {
    text("Hello!")
}
