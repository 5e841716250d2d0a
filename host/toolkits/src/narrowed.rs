//! Declarations reduced to some of the tools, without prompts and resources, created once for all users who
//! may call the same tools.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kitbag_manifest::ToolkitDefinition;

/// Maximum number of cached declarations per live toolkit. At the limit, unused ones are dropped; if all are
/// in use, all.
const MAX_KEPT: usize = 32;

/// Cache of one toolkit's reduced declarations, by their tools.
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
        // Only users of the whole toolkit may use prompts and resources.
        narrowed.prompts.clear();
        narrowed.resources.clear();
        kept.entry(tools.clone()).or_insert(Arc::new(narrowed)).clone()
    }
}
