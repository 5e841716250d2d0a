//! The greeter's first version.

use guest_support::{Invocation, Outcome, ToolkitDefinition, greeter};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    greeter::definition("1.0.0")
}

fn call(invocation: &Invocation) -> Outcome {
    greeter::greet(invocation, "Hello")
}
