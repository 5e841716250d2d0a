//! Never returns its declaration.

use std::hint::black_box;

use guest_support::{Invocation, Outcome, ToolkitDefinition, unknown};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    loop {
        black_box(());
    }
}

fn call(invocation: &Invocation) -> Outcome {
    unknown(&invocation.tool)
}
