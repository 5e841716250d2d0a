//! Prompts, resources and completions: what is called, and with which arguments.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ToolkitDefinition;
use crate::content::{PromptMessage, ResourceContents};
use crate::offers::{Proposals, ResourcePath, beginning_with, resource_uri, split_uri};
use crate::reply::{Failure, check_arguments};
use crate::schema::Schema;

/// Target of a call that is not of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OfferTarget {
    /// A prompt, by its name, with or without the prefix `{toolkitId}__`.
    Prompt {
        /// Name of the prompt.
        name: String,
    },
    /// A resource, by its URI.
    Resource {
        /// URI, absolute or relative to the toolkit's.
        name: String,
    },
    /// Completion of an argument of a prompt.
    PromptCompletion {
        /// Name of the prompt.
        name: String,
        /// Name of the argument.
        argument: String,
        /// Text typed so far.
        #[serde(default)]
        value: String,
    },
    /// Completion of a variable of a resource.
    ResourceCompletion {
        /// Name of the resource.
        name: String,
        /// Name of the variable.
        argument: String,
        /// Text typed so far.
        #[serde(default)]
        value: String,
    },
}

/// What a call needs before its handler runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PreparedOffer {
    /// The handler runs.
    Run {
        /// Name of the prompt or the resource.
        name: String,
        /// Arguments or variables.
        arguments: Map<String, Value>,
        /// Absolute URI of a resource.
        uri: Option<String>,
    },
    /// Values of a completion that the declaration itself defines.
    Values(Vec<String>),
    /// The call fails without its handler.
    Failed(Failure),
}

/// Result of a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum Offered {
    /// Messages of a prompt.
    Messages(Vec<PromptMessage>),
    /// Contents of a resource.
    Contents(ResourceContents),
    /// Values of a completion.
    Values(Vec<String>),
}

/// Finds the target of a call and checks its arguments.
///
/// # Errors
///
/// A text if there is no such prompt, or nothing of that name to complete: a mistake of the test.
pub fn prepare(
    definition: &ToolkitDefinition,
    target: &OfferTarget,
    arguments: &Value,
) -> Result<PreparedOffer, String> {
    let ToolkitDefinition { id, prompts, resources, .. } = definition;
    let missing = |kind: &str, name: &str| format!("{id:?} has no {kind} {name:?}");
    let prompt = |name: &str| {
        let name = name.strip_prefix(id.as_str()).and_then(|it| it.strip_prefix("__")).unwrap_or(name);
        prompts.iter().find(|it| it.name == name).ok_or_else(|| missing("prompt", name))
    };
    match target {
        OfferTarget::Prompt { name } => {
            let declared = prompt(name)?;
            let schema = Schema::compile(&declared.input_schema()).map_err(|error| error.to_string())?;
            Ok(match check_arguments(&schema, arguments) {
                Err(failure) => PreparedOffer::Failed(failure),
                Ok(()) => running(&declared.name, arguments),
            })
        }
        OfferTarget::Resource { name: uri } => {
            let own = split_uri(uri).filter(|(owner, _)| owner == id).map(|(_, path)| path);
            Ok(match ResourcePath::find(resources, own.unwrap_or(uri)) {
                None => {
                    PreparedOffer::Failed(Failure::invalid_params(&[format!("unknown resource {uri:?}")]))
                }
                Some(found) => PreparedOffer::Run {
                    name: resources[found.index].name.clone(),
                    arguments: found
                        .variables
                        .into_iter()
                        .map(|(name, value)| (name, value.into()))
                        .collect(),
                    uri: Some(resource_uri(id, &found.path)),
                },
            })
        }
        OfferTarget::PromptCompletion { name, argument, value } => {
            let declared = prompt(name)?;
            Ok(completion(&declared.name, declared.proposals(argument), value, arguments))
        }
        OfferTarget::ResourceCompletion { name, argument, value } => {
            let declared = resources.iter().find(|it| it.name == *name);
            let declared = declared.ok_or_else(|| missing("resource", name))?;
            Ok(completion(name, declared.proposals(argument), value, arguments))
        }
    }
}

fn completion(name: &str, proposals: Proposals<'_>, typed: &str, arguments: &Value) -> PreparedOffer {
    match proposals {
        Proposals::Handler => running(name, arguments),
        Proposals::Nothing => PreparedOffer::Values(Vec::new()),
        Proposals::Values(values) => PreparedOffer::Values(beginning_with(values, typed)),
    }
}

fn running(name: &str, arguments: &Value) -> PreparedOffer {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    PreparedOffer::Run { name: name.to_owned(), arguments, uri: None }
}
