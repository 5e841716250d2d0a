//! Prompts, resources and completions of live toolkits.

use std::sync::Arc;

use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::offers::ResourcePath;

use super::live::Live;

const PROMPT: &str = "prompt";
const RESOURCE: &str = "resource";
const COMPLETION: &str = "completion";

/// A callable part of a live toolkit other than a tool.
#[derive(Clone)]
pub struct Offer {
    /// The toolkit.
    pub toolkit: Arc<Live>,
    /// The part of the toolkit.
    pub kind: OfferKind,
}

/// A part of a toolkit, by its index in the declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// A prompt.
    Prompt(usize),
    /// A resource, with the requested path.
    Resource(ResourcePath),
    /// The completion of an argument of a prompt.
    PromptCompletion(usize, String),
    /// The completion of a variable of a resource.
    ResourceCompletion(usize, String),
}

impl Offer {
    /// Finds a prompt of a toolkit.
    pub fn prompt(toolkit: &Arc<Live>, name: &str) -> Option<Self> {
        let index = toolkit.definition.prompts.iter().position(|prompt| prompt.name == name)?;
        Some(Self { toolkit: toolkit.clone(), kind: OfferKind::Prompt(index) })
    }

    /// Finds the resource of a toolkit whose URI matches a path.
    pub fn resource(toolkit: &Arc<Live>, path: &str) -> Option<Self> {
        let found = ResourcePath::find(&toolkit.definition.resources, path)?;
        Some(Self { toolkit: toolkit.clone(), kind: OfferKind::Resource(found) })
    }

    /// Returns the name of the prompt or resource.
    pub fn name(&self) -> &str {
        let definition = &self.toolkit.definition;
        match &self.kind {
            OfferKind::Prompt(index) | OfferKind::PromptCompletion(index, _) => {
                &definition.prompts[*index].name
            }
            OfferKind::Resource(ResourcePath { index, .. }) | OfferKind::ResourceCompletion(index, _) => {
                &definition.resources[*index].name
            }
        }
    }

    /// Returns the part's name in records, such as `prompt:triage`; no tool can have such a name.
    pub fn record_name(&self) -> String {
        let kind = match self.kind {
            OfferKind::Prompt(_) => PROMPT,
            OfferKind::Resource(_) => RESOURCE,
            OfferKind::PromptCompletion(..) | OfferKind::ResourceCompletion(..) => COMPLETION,
        };
        format!("{kind}:{}", self.name())
    }
}

/// Returns the names of all parts of a toolkit in records: of tools, prompts, resources and completions.
pub fn record_names(definition: &ToolkitDefinition) -> Vec<String> {
    let ToolkitDefinition { tools, prompts, resources, .. } = definition;
    let of_kind = |kind: &str, name: &str| format!("{kind}:{name}");
    let mut names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
    names.extend(prompts.iter().map(|prompt| of_kind(PROMPT, &prompt.name)));
    names.extend(resources.iter().map(|resource| of_kind(RESOURCE, &resource.name)));
    let of_prompts = prompts.iter().filter(|it| it.arguments.iter().any(|argument| argument.completes));
    let of_resources = resources.iter().filter(|it| it.variables.iter().any(|variable| variable.completes));
    let completed = of_prompts.map(|it| &it.name).chain(of_resources.map(|it| &it.name));
    names.extend(completed.map(|name| of_kind(COMPLETION, name)));
    names
}
