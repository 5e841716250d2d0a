//! `tools/list`, built once for each change of the registry and not for each request.

mod cursor;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_manifest::ToolDefinition;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use tokio::sync::watch;

use crate::toolkits::{Live, Registry, Toolkits, listed_name};
use cursor::Cursor;
pub(super) use cursor::InvalidCursor;

/// Tools on one page.
const PAGE: usize = 100;

/// A parameter whose schema has this member travels in a header too (2026-07-28).
const HEADER_MEMBER: &str = "x-mcp-header";

/// The tools of all live toolkits as MCP lists them.
pub(super) struct Catalogue {
    toolkits: Arc<Toolkits>,
    built: ArcSwap<Built>,
}

/// What a user sees, told from what the user saw before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View(u64);

/// A part of the list.
pub(super) struct Page {
    pub(super) tools: Vec<Tool>,
    /// Where the next page begins, when there is one.
    pub(super) next: Option<String>,
}

struct Built {
    from: Arc<Registry>,
    /// By the toolkit's id.
    entries: Vec<Entry>,
}

struct Entry {
    toolkit: Arc<Live>,
    tools: Vec<Tool>,
    /// Of all that is listed.
    hash: u64,
}

impl Catalogue {
    pub(super) fn new(toolkits: Arc<Toolkits>) -> Self {
        let built = ArcSwap::from_pointee(Built::from(toolkits.registry()));
        Self { toolkits, built }
    }

    /// Signals whenever another registry is in force.
    pub(super) fn published(&self) -> watch::Receiver<()> {
        self.toolkits.published()
    }

    /// One page of the tools that `user` can see: toolkits by id, in each the `alwaysOn` tools first.
    pub(super) fn page(&self, user: &str, cursor: Option<&str>) -> Result<Page, InvalidCursor> {
        let from = cursor.map(str::parse::<Cursor>).transpose()?.unwrap_or_default();
        let built = self.current();
        let mut listed = built.visible_to(user).flat_map(|entry| {
            let id = entry.toolkit.definition.id.as_str();
            entry
                .tools
                .iter()
                .enumerate()
                .skip(from.listed_of(id))
                .map(move |(index, tool)| (id, index, tool))
        });
        let mut tools = Vec::new();
        let mut last = None;
        for (id, index, tool) in listed.by_ref().take(PAGE) {
            tools.push(tool.clone());
            last = Some((id, index));
        }
        let next =
            last.filter(|_| listed.next().is_some()).map(|(id, index)| Cursor::after(id, index).to_string());
        Ok(Page { tools, next })
    }

    /// A tool that `user` can see, if any of its parameters travels in a header.
    pub(super) fn with_headers(&self, user: &str, name: &str) -> Option<Tool> {
        let tool = self.toolkits.registry().find(name, user)?;
        let schema = &tool.definition().input_schema;
        let mut properties = schema.get("properties")?.as_object()?.values();
        properties
            .any(|property| property.get(HEADER_MEMBER).is_some())
            .then(|| listed(&tool.toolkit.definition.id, tool.definition()))
    }

    /// What `user` sees at this moment.
    pub(super) fn view(&self, user: &str) -> View {
        let mut hasher = DefaultHasher::new();
        self.current().visible_to(user).for_each(|entry| entry.hash.hash(&mut hasher));
        View(hasher.finish())
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

impl Built {
    fn visible_to<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.toolkit.is_visible_to(user))
    }
}

impl From<Arc<Registry>> for Built {
    fn from(registry: Arc<Registry>) -> Self {
        let entries = registry.all().map(|toolkit| Entry::from(toolkit.clone())).collect();
        Self { from: registry, entries }
    }
}

impl From<Arc<Live>> for Entry {
    fn from(toolkit: Arc<Live>) -> Self {
        let mut declared: Vec<_> = toolkit.definition.tools.iter().collect();
        declared.sort_by_key(|tool| !tool.always_on);
        let tools: Vec<_> = declared.into_iter().map(|tool| listed(&toolkit.definition.id, tool)).collect();
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(&tools).expect("tools always serialise").hash(&mut hasher);
        Self { toolkit, tools, hash: hasher.finish() }
    }
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
