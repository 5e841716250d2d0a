//! In-process calls for tests, with the same validation, grants and result envelope as on a server.

mod answer;
mod cache;
mod call;
mod call_result;
mod clock;
mod knowledge;
mod network;
mod offers;
mod outcome;
pub(crate) mod platform;
mod questions;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_executor::block_on;
use kitbag_manifest::reply;
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use serde_json::Value;

pub use self::answer::Answer;
pub use self::call::Call;
pub use self::outcome::Outcome;
pub use kitbag_manifest::reply::{ErrorCode, Failure as ToolFailure};

use self::call::CallTarget;
use self::outcome::CallOutcome;
use self::platform::Platform;
use crate::{Ctx, Toolkit};

/// Calls a tool, a prompt, a resource or a completion in this process, as the host would.
///
/// The whole declaration is validated first, then the arguments against the tool's `input`, and
/// after the call a structured value against its `output`. Requests that the declaration does not grant
/// are refused as in the sandbox. What `auth` declares is attached as on a server.
///
/// # Panics
/// If the test itself is wrong: the declaration breaks a rule (all problems are listed), the tool or the
/// prompt does not exist, or the call sets a credential, a setting or an account that the toolkit does not
/// declare.
#[track_caller]
pub fn dispatch(toolkit: &Toolkit, call: Call) -> Outcome {
    let definition = match toolkit.validated() {
        Ok(valid) => valid.into_inner(),
        Err(problems) => panic!("the declaration of {:?} is not valid:\n{problems}", toolkit.id()),
    };
    let problems = call.problems(&definition);
    assert!(problems.is_empty(), "the call does not fit {:?}:\n{}", definition.id, problems.join("\n"));
    match call.target().clone() {
        CallTarget::Tool(name) => of_tool(toolkit, &definition, call, &name),
        CallTarget::Offer(target) => offers::dispatch(toolkit, &definition, call, &target),
    }
}

#[track_caller]
fn of_tool(toolkit: &Toolkit, definition: &ToolkitDefinition, call: Call, name: &str) -> Outcome {
    let declared = definition.tools.iter().find(|tool| tool.name == name).cloned();
    let (tool, declared) = toolkit
        .find(name)
        .zip(declared)
        .unwrap_or_else(|| panic!("{:?} has no tool {name:?}; it has {}", definition.id, names(definition)));

    let (input, output) = schemas(&declared);
    let checked = reply::check_arguments(&input, call.arguments());
    let arguments = call.arguments().clone();
    let (invocation, platform) = call.prepare(definition.clone(), &arguments);
    let outcome = if let Err(failure) = checked {
        CallOutcome::of_failure(failure)
    } else {
        let result = loop {
            let user_id = invocation.user_id.clone();
            let config = invocation.config.clone();
            let ctx = Ctx::new(toolkit, user_id, config, platform.clone());
            if let Some(result) = block_on(run(tool.call(&invocation.arguments, ctx), &platform)) {
                break result;
            }
        };
        CallOutcome::of(definition, result, output.as_ref(), platform.state().sign_in_failure())
    };
    let outcome = platform.into_outcome(outcome);
    if let Some(warning) = outcome.warning(tool.name()) {
        eprintln!("warning: {warning}");
    }
    outcome
}

/// Runs a handler to completion; returns `None` if it stopped at a question and must run again.
async fn run<R>(handler: impl Future<Output = R>, platform: &Platform) -> Option<R> {
    let mut handler = pin!(handler);
    poll_fn(|context| match handler.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if platform.state().questions.take_waiting() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

fn schemas(tool: &ToolDefinition) -> (Schema, Option<Schema>) {
    let compile = |schema: &Value| Schema::compile(schema).expect("the declaration was validated");
    (compile(&tool.input_schema), tool.output_schema.as_ref().map(compile))
}

fn names(definition: &ToolkitDefinition) -> String {
    definition.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
