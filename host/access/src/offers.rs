//! Prompts and resources of toolkits, and completions. They are visible only to users who may call every tool
//! of the toolkit.

use std::sync::Arc;

use kitbag_manifest::offers::{self, Proposals};
use kitbag_toolkits::audience::Part;
use kitbag_toolkits::dispatch::{Callee, Reply};
use kitbag_toolkits::{Live, Offer, OfferKind};
use serde_json::{Map, Value, json};

use super::error::CallError;
use super::user::User;

/// Owner of an argument to complete: a prompt, or a resource with variables.
#[derive(Clone, Copy, Debug)]
pub enum Completed<'a> {
    /// Prompt, by its name.
    Prompt(&'a str),
    /// Resource, by its declared URI.
    Resource(&'a str),
}

/// An argument of which the user has typed the beginning.
#[derive(Clone, Copy, Debug)]
pub struct PartlyTyped<'a> {
    /// Name of the argument.
    pub argument: &'a str,
    /// What the user has typed.
    pub typed: &'a str,
}

impl User {
    /// Returns a prompt of a toolkit.
    pub fn prompt(&self, toolkit: &str, name: &str) -> Option<Callee> {
        Offer::prompt(&self.whole(toolkit)?, name).map(Callee::Offer)
    }

    /// Returns the resource of a toolkit whose URI matches a path.
    pub fn resource(&self, toolkit: &str, path: &str) -> Option<Callee> {
        Offer::resource(&self.whole(toolkit)?, path).map(Callee::Offer)
    }

    /// Gets a prompt. Dropping the future ends the call.
    pub async fn get_prompt(
        &self,
        prompt: &Callee,
        arguments: Map<String, Value>,
    ) -> Result<Reply, CallError> {
        self.call_of(prompt, arguments, None, None, None).await
    }

    /// Reads a resource. Dropping the future ends the call.
    pub async fn read_resource(&self, resource: &Callee) -> Result<Reply, CallError> {
        let variables = match resource {
            Callee::Offer(Offer { kind: OfferKind::Resource(found), .. }) => {
                found.variables.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
            }
            _ => Map::new(),
        };
        self.call_of(resource, variables, None, None, None).await
    }

    /// Returns completions of a partly typed argument in `structured`; calls the toolkit if it has a handler
    /// for them. `None` if there is no such prompt or resource.
    pub async fn complete(
        &self,
        toolkit: &str,
        completed: Completed<'_>,
        argument: PartlyTyped<'_>,
        others: &Map<String, Value>,
    ) -> Option<Result<Reply, CallError>> {
        let PartlyTyped { argument, typed } = argument;
        let toolkit = self.whole(toolkit)?;
        let definition = toolkit.definition.clone();
        let (kind, proposals) = match completed {
            Completed::Prompt(name) => {
                let index = definition.prompts.iter().position(|prompt| prompt.name == name)?;
                let kind = OfferKind::PromptCompletion(index, argument.to_owned());
                (kind, definition.prompts[index].proposals(argument))
            }
            Completed::Resource(uri) => {
                let index = definition.resources.iter().position(|resource| resource.uri == uri)?;
                let kind = OfferKind::ResourceCompletion(index, argument.to_owned());
                (kind, definition.resources[index].proposals(argument))
            }
        };
        let values = match proposals {
            Proposals::Handler => {
                let arguments = Map::from_iter([
                    ("value".to_owned(), typed.into()),
                    ("others".to_owned(), json!(others)),
                ]);
                let callee = Callee::Offer(Offer { toolkit, kind });
                return Some(self.call_of(&callee, arguments, None, None, None).await);
            }
            Proposals::Values(values) => offers::beginning_with(values, typed),
            Proposals::Nothing => Vec::new(),
        };
        Some(Ok(Reply::proposing(json!({ "values": values }))))
    }

    /// Returns the toolkit, if the user may call all of its tools.
    fn whole(&self, id: &str) -> Option<Arc<Live>> {
        let registry = self.stores().toolkits.registry.load();
        registry.get(id).filter(|live| self.part_of(live) == Part::Whole).cloned()
    }
}
