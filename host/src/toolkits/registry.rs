//! An immutable map of live toolkits by id, replaced as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_manifest::ToolDefinition;

use super::live::Live;

/// Separates the toolkit's id from the tool's name in a listed name. An id cannot contain it.
const SEPARATOR: &str = "__";

/// The live toolkits at one moment, by id.
#[derive(Default)]
pub struct Registry(BTreeMap<String, Arc<Live>>);

/// One tool of a live toolkit.
#[derive(Clone)]
pub struct Tool {
    /// Its toolkit.
    pub toolkit: Arc<Live>,
    /// Its index among the toolkit's tools.
    pub index: usize,
}

impl Registry {
    pub(super) fn new(live: Vec<Live>) -> Self {
        Self(live.into_iter().map(|toolkit| (toolkit.definition.id.clone(), Arc::new(toolkit))).collect())
    }

    /// Creates a registry that reuses the unchanged entries of `before`, with their loaded code.
    pub(super) fn succeeding(before: &Self, live: Vec<Live>) -> Self {
        let mut registry = Self::new(live);
        for (id, toolkit) in &mut registry.0 {
            if let Some(known) = before.0.get(id).filter(|known| known.is_same(toolkit)) {
                *toolkit = known.clone();
            }
        }
        registry
    }

    /// All toolkits, by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Live>> {
        self.0.values()
    }

    /// One toolkit.
    pub fn get(&self, id: &str) -> Option<&Arc<Live>> {
        self.0.get(id)
    }

    /// Finds `{id}__{tool}`, without checking who may see it.
    pub fn find(&self, listed_name: &str) -> Option<Tool> {
        let (id, name) = listed_name.split_once(SEPARATOR)?;
        let toolkit = self.0.get(id)?;
        let index = toolkit.definition.tools.iter().position(|tool| tool.name == name)?;
        Some(Tool { toolkit: toolkit.clone(), index })
    }
}

impl Tool {
    /// The tool's declaration.
    pub fn definition(&self) -> &ToolDefinition {
        &self.toolkit.definition.tools[self.index]
    }
}

/// The toolkit's id in a listed name, if it has one.
pub fn toolkit_of(listed_name: &str) -> Option<&str> {
    listed_name.split_once(SEPARATOR).map(|(id, _)| id)
}

/// The name under which a tool is listed: `{id}__{tool}`.
pub fn listed_name(toolkit_id: &str, tool_name: &str) -> String {
    format!("{toolkit_id}{SEPARATOR}{tool_name}")
}
