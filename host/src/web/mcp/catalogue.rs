//! `tools/list`, built once for each change of the registry and not for each request.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_manifest::ToolDefinition;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use crate::toolkits::{Live, Registry, Toolkits, listed_name};

/// The tools of all live toolkits as MCP lists them.
pub(super) struct Catalogue {
    toolkits: Arc<Toolkits>,
    built: ArcSwap<Built>,
}

struct Built {
    from: Arc<Registry>,
    entries: Vec<(Arc<Live>, Vec<Tool>)>,
}

impl Catalogue {
    pub(super) fn new(toolkits: Arc<Toolkits>) -> Self {
        let built = ArcSwap::from_pointee(Built::from(toolkits.registry()));
        Self { toolkits, built }
    }

    /// The tools that `user` can see: toolkits by id, in each the `alwaysOn` tools first.
    pub(super) fn visible_to(&self, user: &str) -> Vec<Tool> {
        let built = self.current();
        let visible = built.entries.iter().filter(|(toolkit, _)| toolkit.is_visible_to(user));
        visible.flat_map(|(_, tools)| tools.iter().cloned()).collect()
    }

    fn current(&self) -> Arc<Built> {
        let registry = self.toolkits.registry();
        let built = self.built.load_full();
        if Arc::ptr_eq(&built.from, &registry) {
            return built;
        }
        let rebuilt = Arc::new(Built::from(registry));
        self.built.store(rebuilt.clone());
        rebuilt
    }
}

impl From<Arc<Registry>> for Built {
    fn from(registry: Arc<Registry>) -> Self {
        let entries = registry.all().map(|toolkit| (toolkit.clone(), tools(toolkit))).collect();
        Self { from: registry, entries }
    }
}

fn tools(toolkit: &Live) -> Vec<Tool> {
    let mut declared: Vec<_> = toolkit.definition.tools.iter().collect();
    declared.sort_by_key(|tool| !tool.always_on);
    declared.into_iter().map(|tool| listed(&toolkit.definition.id, tool)).collect()
}

fn listed(toolkit_id: &str, declared: &ToolDefinition) -> Tool {
    let mut tool = Tool::new(
        listed_name(toolkit_id, &declared.name),
        declared.description.clone(),
        Arc::new(object(&declared.input_schema)),
    );
    tool.title.clone_from(&declared.title);
    tool.output_schema = declared.output_schema.as_ref().map(|schema| Arc::new(object(schema)));
    let hints = declared.annotations;
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = hints.read_only_hint;
    annotations.destructive_hint = hints.destructive_hint;
    annotations.idempotent_hint = hints.idempotent_hint;
    annotations.open_world_hint = hints.open_world_hint;
    tool.annotations = Some(annotations);
    tool
}

/// The rules of a declaration let only objects through.
fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}
