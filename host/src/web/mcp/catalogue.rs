//! `tools/list`: the list of each toolkit is made once for each live version, and not for each request.

mod cursor;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use tokio::sync::watch;

use crate::access::{Access, User, VisibleToolkit};
use crate::toolkits::{Live, listed_name};
use cursor::Cursor;
pub(super) use cursor::InvalidCursor;

/// Tools on one page.
const PAGE_SIZE: usize = 100;

/// A parameter whose schema has this member travels in a header too (2026-07-28).
const HEADER_MEMBER: &str = "x-mcp-header";

/// The tools of live toolkits as MCP lists them.
pub(super) struct Catalogue {
    access: Access,
    /// By the toolkit's id.
    lists: Mutex<HashMap<String, Listed>>,
}

/// A list, and the live version that it was made for.
struct Listed {
    of: Weak<Live>,
    list: Arc<ToolList>,
}

/// The tools of one toolkit, the `alwaysOn` ones first.
struct ToolList {
    toolkit: String,
    tools: Vec<Tool>,
    /// Of all that is listed.
    hash: u64,
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
impl Catalogue {
    pub(super) fn new(access: Access) -> Self {
        Self { access, lists: Mutex::default() }
    }

    /// Signals whenever users may see something else.
    pub(super) fn published(&self) -> watch::Receiver<()> {
        self.access.published()
    }

    /// One page of the tools that `user` can see: toolkits by id.
    pub(super) fn page(&self, user: &User, cursor: Option<&str>) -> Result<Page, InvalidCursor> {
        let from = cursor.map(str::parse::<Cursor>).transpose()?.unwrap_or_default();
        let lists = self.lists_of(user);
        let mut listed = lists.iter().flat_map(|list| {
            let tools = list.tools.iter().enumerate().skip(from.listed_of(&list.toolkit));
            tools.map(|(index, tool)| (&list.toolkit, index, tool))
        });
        let mut tools = Vec::new();
        let mut last = None;
        for (toolkit, index, tool) in listed.by_ref().take(PAGE_SIZE) {
            tools.push(tool.clone());
            last = Some((toolkit, index));
        }
        let next = last.filter(|_| listed.next().is_some());
        let next = next.map(|(toolkit, index)| Cursor::after(toolkit, index).to_string());
        Ok(Page { tools, next })
    }

    /// A tool that `user` can see, if any of its parameters travels in a header.
    pub(super) fn with_headers(user: &User, name: &str) -> Option<Tool> {
        let tool = user.tool(name)?;
        let schema = &tool.definition().input_schema;
        let mut properties = schema.get("properties")?.as_object()?.values();
        properties
            .any(|property| property.get(HEADER_MEMBER).is_some())
            .then(|| listed(&tool.toolkit.definition.id, tool.definition()))
    }

    /// What `user` sees at this moment.
    pub(super) fn view(&self, user: &User) -> View {
        let mut hasher = DefaultHasher::new();
        self.lists_of(user).iter().for_each(|list| list.hash.hash(&mut hasher));
        View(hasher.finish())
    }

    fn lists_of(&self, user: &User) -> Vec<Arc<ToolList>> {
        user.toolkits().iter().map(|toolkit| self.list(toolkit)).collect()
    }

    fn list(&self, toolkit: &VisibleToolkit) -> Arc<ToolList> {
        let (live, definition) = (toolkit.live(), toolkit.definition());
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(&definition.id)
            && known.of.as_ptr() == Arc::as_ptr(live)
        {
            return known.list.clone();
        }
        lists.retain(|_, known| known.of.strong_count() > 0);
        let list = Arc::new(ToolList::from(definition));
        lists.insert(definition.id.clone(), Listed { of: Arc::downgrade(live), list: list.clone() });
        list
    }
}

impl From<&ToolkitDefinition> for ToolList {
    fn from(definition: &ToolkitDefinition) -> Self {
        let mut declared: Vec<_> = definition.tools.iter().collect();
        declared.sort_by_key(|tool| !tool.always_on);
        let tools: Vec<_> = declared.into_iter().map(|tool| listed(&definition.id, tool)).collect();
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(&tools).expect("tools always serialise").hash(&mut hasher);
        Self { toolkit: definition.id.clone(), tools, hash: hasher.finish() }
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
