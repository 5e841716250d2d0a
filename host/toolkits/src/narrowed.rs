//! A declaration with some of its tools, and without what is no tool, made once for all users who may call the same ones.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kitbag_manifest::ToolkitDefinition;

/// Declarations that are kept of one live toolkit. With more, those that nobody uses are made again; if all are used, every one.
const MAX_KEPT: usize = 32;

/// Narrowed declarations of one toolkit, by their tools.
#[derive(Default)]
pub(super) struct Narrowed(Mutex<HashMap<BTreeSet<String>, Arc<ToolkitDefinition>>>);

impl Narrowed {
    pub(super) fn get(&self, whole: &ToolkitDefinition, tools: &BTreeSet<String>) -> Arc<ToolkitDefinition> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(tools) {
            return known.clone();
        }
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, narrowed| Arc::strong_count(narrowed) > 1);
        }
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let mut narrowed = whole.clone();
        narrowed.tools.retain(|tool| tools.contains(&tool.name));
        // They are for whoever may call the whole toolkit.
        narrowed.prompts.clear();
        narrowed.resources.clear();
        kept.entry(tools.clone()).or_insert(Arc::new(narrowed)).clone()
    }
}
