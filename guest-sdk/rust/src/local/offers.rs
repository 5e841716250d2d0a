//! In-process calls of prompts, resources and completions.

use futures_executor::block_on;
use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::offers::{self, Proposals, ResourcePath};
use kitbag_manifest::reply::{self, Failure};
use kitbag_manifest::schema::Schema;
use serde_json::{Value, json};

use super::call::{Call, CallTarget};
use super::outcome::{CallOutcome, Offered, Outcome};
use crate::completion::Completion;
use crate::error::CallError;
use crate::{Ctx, Prompt, Resource, Toolkit};

/// Gets a prompt, reads a resource, or completes a value, as the host would.
#[track_caller]
pub(super) fn dispatch(
    toolkit: &Toolkit,
    definition: ToolkitDefinition,
    call: Call,
    target: &CallTarget,
) -> Outcome {
    let typed = call.typed().to_owned();
    let mut arguments = call.arguments().clone();
    let problem = match target {
        CallTarget::Prompt(name) => {
            let declared = definition.prompts.iter().find(|prompt| prompt.name == *name);
            let declared = declared.unwrap_or_else(|| panic!("{:?} has no prompt {name:?}", definition.id));
            let schema = Schema::compile(&declared.input_schema()).expect("it is a schema");
            reply::check_arguments(&schema, &arguments).err()
        }
        CallTarget::Resource(uri) => {
            let whole = offers::split_uri(uri).filter(|(id, _)| *id == definition.id).map(|(_, path)| path);
            match ResourcePath::find(&definition.resources, whole.unwrap_or(uri)) {
                Some(found) => {
                    let name = definition.resources[found.index].name.clone();
                    arguments = json!({ "name": name, "variables": found.variables });
                    None
                }
                None => Some(Failure::invalid_params(&[format!("unknown resource {uri:?}")])),
            }
        }
        CallTarget::Tool(_) | CallTarget::PromptCompletion { .. } | CallTarget::ResourceCompletion { .. } => {
            None
        }
    };
    let proposed = proposed(&definition, target, &typed);
    let own = definition.clone();
    let (invocation, platform) = call.prepare(definition);
    let ctx = Ctx::new(toolkit, invocation.user_id, invocation.config, platform.clone());
    let outcome = match (problem, proposed) {
        (Some(failure), _) => CallOutcome::of_failure(failure),
        (None, Some(values)) => CallOutcome::of_offered(Ok(Offered::Values(values)), None),
        (None, None) => {
            let result =
                run(toolkit, target, (&arguments, typed), ctx).map(|offered| completed(&own, offered));
            CallOutcome::of_offered(result, platform.state().sign_ins.take_failure())
        }
    };
    platform.into_outcome(outcome)
}

fn run(
    toolkit: &Toolkit,
    target: &CallTarget,
    (arguments, value): (&Value, String),
    ctx: Ctx,
) -> Result<Offered, CallError> {
    let missing = || CallError::Failure(format!("the toolkit has no {target:?}"));
    let completers = match target {
        CallTarget::Tool(_) => return Err(missing()),
        CallTarget::Prompt(name) => {
            let prompt = toolkit.find_prompt(name).ok_or_else(missing)?;
            return block_on(prompt.get(&arguments.to_string(), ctx)).map(Offered::Messages);
        }
        CallTarget::Resource(_) => {
            let name = arguments["name"].as_str().unwrap_or_default();
            let resource = toolkit.find_resource(name).ok_or_else(missing)?;
            let variables = arguments["variables"].to_string();
            return block_on(resource.read(&variables, ctx)).map(Offered::Contents);
        }
        CallTarget::PromptCompletion { prompt, argument } => {
            (toolkit.find_prompt(prompt).map(Prompt::completers), argument)
        }
        CallTarget::ResourceCompletion { resource, variable } => {
            (toolkit.find_resource(resource).map(Resource::completers), variable)
        }
    };
    let (completers, argument) = completers;
    let others = serde_json::from_value(arguments.clone()).unwrap_or_default();
    let values = completers.and_then(|it| it.call(argument, Completion { value, others }, ctx));
    block_on(values.ok_or_else(missing)?).map(Offered::Values)
}

/// Makes relative links in messages absolute, as the host does.
fn completed(definition: &ToolkitDefinition, mut offered: Offered) -> Offered {
    if let Offered::Messages(messages) = &mut offered {
        offers::complete_message_links(definition, messages);
    }
    offered
}

/// Returns the declared values for a completion; `None` if a handler provides them.
#[track_caller]
fn proposed(definition: &ToolkitDefinition, target: &CallTarget, typed: &str) -> Option<Vec<String>> {
    let (proposals, name) = match target {
        CallTarget::PromptCompletion { prompt, argument } => {
            let declared = definition.prompts.iter().find(|it| it.name == *prompt);
            (declared.map(|it| it.proposals(argument)), prompt)
        }
        CallTarget::ResourceCompletion { resource, variable } => {
            let declared = definition.resources.iter().find(|it| it.name == *resource);
            (declared.map(|it| it.proposals(variable)), resource)
        }
        CallTarget::Tool(_) | CallTarget::Prompt(_) | CallTarget::Resource(_) => return None,
    };
    match proposals.unwrap_or_else(|| panic!("{:?} has no {name:?} to complete", definition.id)) {
        Proposals::Handler => None,
        Proposals::Nothing => Some(Vec::new()),
        Proposals::Values(values) => Some(offers::beginning_with(values, typed)),
    }
}
