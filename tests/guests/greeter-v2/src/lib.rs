//! The greeter's second version, which may also reach a host.

use guest_support::{Invocation, Outcome, ToolkitDefinition, greeter};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    ToolkitDefinition { egress: vec!["greetings.test".to_owned()], ..greeter::definition("2.0.0") }
}

fn call(invocation: &Invocation) -> Outcome {
    greeter::greet(invocation, "Good day")
}
