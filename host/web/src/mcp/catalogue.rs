//! `tools/list`, and the lists of prompts and resources (`offers`): the list of each toolkit is made once for each live version, and the pages that users get are encoded
//! once for all who see the same.
//!
//! Invariant: encoded pages are found by the SHA-256 of what they list, and never by who asks. So a user who sees
//! something else gets something else, and a change is in the next response.

mod cursor;
mod encoded;
mod finding;
mod offers;
mod searched;
mod vectors;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use kitbag_access::values::toolkits::listed_name;
use kitbag_access::{Access, User, VisibleToolkit};
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_base::turns::Turns;
use kitbag_manifest::portability::portable;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::modes::{self, Mode};
use super::selection::Selection;
use cursor::Cursor;
pub(super) use cursor::InvalidCursor;
use encoded::EncodedLists;
pub(super) use encoded::Shape;
use offers::ToolkitOffers;
pub(super) use offers::{Offers, OffersView};
use searched::SearchedTools;
use vectors::VectorQueue;

/// Tools on one page: older SDKs read the first page only.
const PAGE_SIZE: usize = 1000;
/// Bytes of the tools on one page; a single larger tool is a page of its own.
const PAGE_BYTES: usize = 2 << 20;

/// A parameter whose schema has this member travels in a header too (2026-07-28).
const HEADER_MEMBER: &str = "x-mcp-header";

/// The tools of live toolkits as MCP lists them.
pub(super) struct Catalogue {
    access: Access,
    /// By the address of the declaration, which is another one for users who may call some of the tools.
    lists: Mutex<Lists>,
    /// Of the server's own tools.
    own: OnceLock<Arc<ToolList>>,
    encoded: EncodedLists,
    vectors: VectorQueue,
    computing: Turns,
}

type Lists = HashMap<usize, Listed>;

/// A list, and the declaration that it was made for. As long as this is here, no other one has its address.
struct Listed {
    of: Weak<ToolkitDefinition>,
    list: Arc<ToolList>,
    offers: Arc<ToolkitOffers>,
}

/// The tools of one toolkit.
struct ToolList {
    toolkit: String,
    always_on: Vec<ListedTool>,
    others: Vec<ListedTool>,
    /// Of all that is listed.
    digest: Digest,
    /// All tools of the toolkit, also those that are not in this list.
    searched: Arc<SearchedTools>,
}

#[derive(Clone)]
struct ListedTool {
    tool: Arc<Tool>,
    /// Its index among all tools of its toolkit.
    index: usize,
    /// Of its JSON, which has this hash.
    bytes: usize,
    digest: Digest,
}

/// A part of the whole list: the `alwaysOn` tools of all toolkits come before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Section {
    #[default]
    AlwaysOn,
    Others,
}

/// The tools that a user sees: toolkits by id, in each section.
struct WholeList(Vec<Arc<ToolList>>);

/// What a user sees, told from what others see, or the user saw before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct View(Digest);

/// A part of the list.
pub(super) struct Page {
    tools: Vec<Tool>,
    /// Where the next page begins, when there is one.
    next: Option<Cursor>,
}

impl Catalogue {
    pub(super) fn new(access: Access) -> Self {
        let (lists, own, encoded) = (Mutex::default(), OnceLock::new(), EncodedLists::new());
        let (vectors, computing) = (VectorQueue::start(access.clone()), finding::turns());
        Self { access, lists, own, encoded, vectors, computing }
    }

    /// Signals whenever users may see something else.
    pub(super) fn published(&self) -> watch::Receiver<()> {
        self.access.published()
    }

    /// One page of the tools that `user` can see, and the client has chosen.
    pub(super) fn page(
        &self,
        (user, chosen): (&User, &Selection),
        cursor: Option<&str>,
    ) -> Result<Page, InvalidCursor> {
        let from = cursor.map(str::parse).transpose()?.unwrap_or_default();
        Ok(self.listed(user, chosen).page(&from))
    }

    /// The same as the `result` of a response; `None` unless a page of the list begins at `cursor`.
    pub(super) fn encoded_page(
        &self,
        (user, chosen): (&User, &Selection),
        cursor: Option<&str>,
        shape: Shape,
    ) -> Option<Arc<RawValue>> {
        let from = cursor.map(str::parse).transpose().ok()?.unwrap_or_default();
        self.encoded.page(&self.listed(user, chosen), &from, shape)
    }

    /// What `user` sees at this moment, of what the client has chosen.
    pub(super) fn view(&self, user: &User, chosen: &Selection) -> View {
        self.listed(user, chosen).view()
    }

    /// What the client lists, of all that its user sees and it has chosen.
    fn listed(&self, user: &User, chosen: &Selection) -> WholeList {
        let whole = self.whole_list(user, chosen);
        match chosen.mode() {
            Mode::List => whole,
            mode @ (Mode::Search | Mode::Code) => whole.in_mode(mode),
        }
    }

    fn whole_list(&self, user: &User, chosen: &Selection) -> WholeList {
        let toolkits = user.toolkits();
        let own =
            user.own_tools().map(|own| self.own.get_or_init(|| Arc::new(ToolList::of_own(own))).clone());
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = own
            .into_iter()
            .chain(toolkits.iter().map(|toolkit| listed_now(&mut lists, toolkit).list.clone()));
        let mut lists: Vec<_> = lists.filter_map(|list| part(list, chosen)).collect();
        lists.sort_by(|one, other| one.toolkit.cmp(&other.toolkit));
        WholeList(lists)
    }
}

/// Whether any parameter of a tool travels in a header.
pub(super) fn has_header_parameters(tool: &ToolDefinition) -> bool {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.values().any(|it| it.get(HEADER_MEMBER).is_some()))
}

/// The list of a toolkit, made now if its declaration is new.
fn listed_now<'a>(lists: &'a mut Lists, toolkit: &VisibleToolkit) -> &'a Listed {
    let definition = toolkit.shared_definition();
    let address = Arc::as_ptr(definition) as usize;
    if !lists.contains_key(&address) {
        let listed = list(lists, definition);
        lists.retain(|_, known| known.of.strong_count() > 0);
        lists.insert(address, listed);
    }
    &lists[&address]
}

fn list(lists: &Lists, definition: &Arc<ToolkitDefinition>) -> Listed {
    let list = Arc::new(ToolList::from(&**definition));
    // The same tools in another version: their vectors stay.
    let same =
        lists.values().find(|known| known.list.toolkit == list.toolkit && known.list.digest == list.digest);
    let list = same.map_or(list, |known| known.list.clone());
    let offers = Arc::new(ToolkitOffers::from(&**definition));
    Listed { of: Arc::downgrade(definition), list, offers }
}

/// The tools of a toolkit that a client has chosen, if any.
fn part(list: Arc<ToolList>, chosen: &Selection) -> Option<Arc<ToolList>> {
    if chosen.has_all_of(&list.toolkit) {
        return Some(list);
    }
    let [always_on, others] = [&list.always_on, &list.others].map(|tools| {
        let tools = tools.iter().filter(|tool| chosen.has(&tool.tool.name));
        tools.cloned().collect::<Vec<_>>()
    });
    let is_empty = always_on.is_empty() && others.is_empty();
    (!is_empty).then(|| Arc::new(ToolList::new(list.searched.clone(), always_on, others)))
}

impl WholeList {
    fn page(&self, from: &Cursor) -> Page {
        let sections = [Section::AlwaysOn, Section::Others].into_iter();
        let lists = sections.flat_map(|section| self.0.iter().map(move |list| (section, list)));
        let mut listed = lists.flat_map(|(section, list)| {
            let tools = list.section(section).iter().enumerate();
            let tools = tools.skip(from.listed_of(section, &list.toolkit));
            tools.map(move |(index, tool)| (Cursor::after(section, &list.toolkit, index), tool))
        });
        let mut page = Page { tools: Vec::new(), next: None };
        let (mut bytes, mut last) = (0, None);
        for (cursor, tool) in listed.by_ref() {
            let is_full = page.tools.len() == PAGE_SIZE || bytes + tool.bytes > PAGE_BYTES;
            if is_full && last.is_some() {
                page.next = last;
                break;
            }
            bytes += tool.bytes;
            page.tools.push(Tool::clone(&tool.tool));
            last = Some(cursor);
        }
        page
    }

    /// The mode's own tools and, unless code calls all others, those that are always listed.
    fn in_mode(&self, mode: Mode) -> Self {
        let is_by_code = mode == Mode::Code;
        let hiding = self.0.iter().filter(|list| is_by_code || !list.others.is_empty());
        let own = modes::definition(mode, hiding.map(|list| list.toolkit.as_str()));
        let always_on = self.0.iter().filter(|list| !is_by_code && !list.always_on.is_empty());
        let always_on = always_on
            .map(|list| Arc::new(ToolList::new(list.searched.clone(), list.always_on.clone(), Vec::new())));
        Self(std::iter::once(Arc::new(ToolList::of_own(&own))).chain(always_on).collect())
    }

    fn view(&self) -> View {
        let mut hasher = Sha256::new();
        self.0.iter().for_each(|list| hasher.update(list.digest));
        View(hasher.finish())
    }
}

impl ToolList {
    fn new(searched: Arc<SearchedTools>, always_on: Vec<ListedTool>, others: Vec<ListedTool>) -> Self {
        let mut hasher = Sha256::new();
        // The number tells where one section ends and the next begins.
        hasher.update(always_on.len().to_le_bytes());
        always_on.iter().chain(&others).for_each(|tool| hasher.update(tool.digest));
        Self { toolkit: searched.toolkit.clone(), always_on, others, digest: hasher.finish(), searched }
    }

    fn section(&self, section: Section) -> &[ListedTool] {
        match section {
            Section::AlwaysOn => &self.always_on,
            Section::Others => &self.others,
        }
    }
}

impl From<&ToolkitDefinition> for ToolList {
    fn from(definition: &ToolkitDefinition) -> Self {
        Self::of(definition, |name| listed_name(&definition.id, name))
    }
}

impl ToolList {
    /// The list of the server's own tools, which have no prefix.
    fn of_own(definition: &ToolkitDefinition) -> Self {
        Self::of(definition, str::to_owned)
    }

    fn of(definition: &ToolkitDefinition, listed_name: impl Fn(&str) -> String) -> Self {
        let tool = |declared: &ToolDefinition| Arc::new(listed(listed_name(&declared.name), declared));
        let tools: Vec<_> = definition.tools.iter().map(tool).collect();
        let indexed = tools.iter().enumerate().map(|(index, tool)| ListedTool::new(tool.clone(), index));
        let (always_on, others) = indexed.partition(|listed| definition.tools[listed.index].always_on);
        Self::new(Arc::new(SearchedTools::new(&definition.id, tools)), always_on, others)
    }
}

impl ListedTool {
    fn new(tool: Arc<Tool>, index: usize) -> Self {
        let json = serde_json::to_vec(&*tool).expect("tools always serialise");
        Self { tool, index, bytes: json.len(), digest: Sha256::digest(json) }
    }
}

/// A tool as it is listed under a name.
pub(super) fn listed(name: String, declared: &ToolDefinition) -> Tool {
    let schema = Arc::new(listed_schema(&declared.input_schema));
    let mut tool = Tool::new(name, declared.description.clone(), schema);
    tool.title.clone_from(&declared.title);
    tool.output_schema = declared.output_schema.as_ref().map(|schema| Arc::new(listed_schema(schema)));
    let hints = declared.annotations;
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = hints.read_only_hint;
    annotations.destructive_hint = hints.destructive_hint;
    annotations.idempotent_hint = hints.idempotent_hint;
    annotations.open_world_hint = hints.open_world_hint;
    tool.annotations = Some(annotations);
    tool
}

/// A schema as every client can read it. The rules of a declaration let only objects through.
fn listed_schema(schema: &Value) -> JsonObject {
    match portable(schema.clone()) {
        Value::Object(schema) => schema,
        _ => JsonObject::default(),
    }
}
