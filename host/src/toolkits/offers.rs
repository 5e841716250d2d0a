//! Prompts, resources and completions of live toolkits.

use std::sync::Arc;

use kitbag_manifest::offers::ResourcePath;

use super::Live;

/// A part of a live toolkit that is called as a tool is, and is none.
#[derive(Clone)]
pub struct Offer {
    /// Its toolkit.
    pub toolkit: Arc<Live>,
    /// Which one it is.
    pub kind: OfferKind,
}

/// A part of a toolkit; indices are those of the declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// A prompt.
    Prompt(usize),
    /// A resource, with the path that was asked for.
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

    /// Finds the resource of a toolkit whose URI fits a path.
    pub fn resource(toolkit: &Arc<Live>, path: &str) -> Option<Self> {
        let found = ResourcePath::find(&toolkit.definition.resources, path)?;
        Some(Self { toolkit: toolkit.clone(), kind: OfferKind::Resource(found) })
    }

    /// The name of what it is a part of.
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

    /// What it is called in records, such as `prompt:triage`; no tool has such a name.
    pub fn record_name(&self) -> String {
        let kind = match self.kind {
            OfferKind::Prompt(_) => "prompt",
            OfferKind::Resource(_) => "resource",
            OfferKind::PromptCompletion(..) | OfferKind::ResourceCompletion(..) => "completion",
        };
        format!("{kind}:{}", self.name())
    }
}
