//! In-process calls of prompts, resources and completions.

use futures_executor::block_on;
use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::test_host::offers::prepare;
use kitbag_manifest::test_host::{OfferTarget, Offered, PreparedOffer};
use serde_json::{Map, Value};

use super::call::Call;
use super::outcome::{CallOutcome, Outcome};
use crate::completion::Completion;
use crate::error::CallError;
use crate::{Ctx, Prompt, Resource, Toolkit};

/// Gets a prompt, reads a resource, or completes a value, as the host would.
#[track_caller]
pub(super) fn dispatch(
    toolkit: &Toolkit,
    definition: &ToolkitDefinition,
    call: Call,
    target: &OfferTarget,
) -> Outcome {
    let prepared =
        prepare(definition, target, call.arguments()).unwrap_or_else(|mistake| panic!("{mistake}"));
    let (name, arguments) = match &prepared {
        PreparedOffer::Run { name, arguments, .. } => (name.clone(), Value::Object(arguments.clone())),
        PreparedOffer::Values(_) | PreparedOffer::Failed(_) => (String::new(), Value::Null),
    };
    let (invocation, platform) = call.prepare(definition.clone(), &arguments);
    let outcome = match prepared {
        PreparedOffer::Failed(failure) => CallOutcome::of_failure(failure),
        PreparedOffer::Values(values) => {
            CallOutcome::of_offered(definition, &name, Ok(Offered::Values(values)), None)
        }
        PreparedOffer::Run { arguments, .. } => {
            let ctx = Ctx::new(toolkit, invocation.user_id, invocation.config, platform.clone());
            let result = run(toolkit, target, &name, arguments, ctx);
            CallOutcome::of_offered(definition, &name, result, platform.state().sign_in_failure())
        }
    };
    platform.into_outcome(outcome)
}

fn run(
    toolkit: &Toolkit,
    target: &OfferTarget,
    name: &str,
    arguments: Map<String, Value>,
    ctx: Ctx,
) -> Result<Offered, CallError> {
    let missing = || CallError::Failure(format!("the toolkit has no {target:?}"));
    let text = Value::Object(arguments.clone()).to_string();
    let (completers, argument, value) = match target {
        OfferTarget::Prompt { .. } => {
            let prompt = toolkit.find_prompt(name).ok_or_else(missing)?;
            return block_on(prompt.get(&text, ctx)).map(Offered::Messages);
        }
        OfferTarget::Resource { .. } => {
            let resource = toolkit.find_resource(name).ok_or_else(missing)?;
            return block_on(resource.read(&text, ctx)).map(Offered::Contents);
        }
        OfferTarget::PromptCompletion { argument, value, .. } => {
            (toolkit.find_prompt(name).map(Prompt::completers), argument, value)
        }
        OfferTarget::ResourceCompletion { argument, value, .. } => {
            (toolkit.find_resource(name).map(Resource::completers), argument, value)
        }
    };
    let others = serde_json::from_value(Value::Object(arguments)).unwrap_or_default();
    let values =
        completers.and_then(|it| it.call(argument, Completion { value: value.clone(), others }, ctx));
    block_on(values.ok_or_else(missing)?).map(Offered::Values)
}
