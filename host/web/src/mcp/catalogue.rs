//! `tools/list`, and the lists of prompts and resources (`offers`). The list of a toolkit is built once for
//! each live version; pages are encoded once for all users with the same list.
//!
//! Invariant: encoded pages are looked up by the SHA-256 of their content, and never by the user. So users
//! with different lists get different pages, and a change is in the next response.

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

use super::headers::Revision;
use super::modes::{self, Mode};
use super::selection::Selection;
use crate::share::RequestShare;
use cursor::Cursor;
pub(super) use cursor::InvalidCursor;
use encoded::EncodedLists;
use offers::ToolkitOffers;
pub(super) use offers::{Offers, OffersView};
use searched::SearchedTools;
use vectors::VectorQueue;

/// Maximum tools per page; high, since older SDKs read the first page only.
const PAGE_SIZE: usize = 1000;
/// Maximum bytes of the tools on a page; a single larger tool is a page of its own.
const PAGE_BYTES: usize = 2 << 20;

/// Tools of live toolkits in the form of MCP.
pub(super) struct Catalogue {
    access: Access,
    /// Lists by the address of the declaration; users who may call only some tools have declarations of their
    /// own.
    lists: Mutex<Lists>,
    /// The server's own tools.
    own: OnceLock<Arc<ToolList>>,
    encoded: EncodedLists,
    vectors: VectorQueue,
    computing: Turns,
}

type Lists = HashMap<usize, Listed>;

/// A list with the declaration it was built for. The `Weak` keeps that declaration's address from being
/// reused.
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
    /// Digest of the whole list.
    digest: Digest,
    /// All tools of the toolkit, also those that are not in this list.
    searched: Arc<SearchedTools>,
}

#[derive(Clone)]
struct ListedTool {
    tool: Arc<Tool>,
    /// Index among all tools of its toolkit.
    index: usize,
    /// Length of its JSON; `digest` is the hash of that JSON.
    bytes: usize,
    digest: Digest,
}

/// Section of the whole list: `alwaysOn` tools of all toolkits come before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Section {
    #[default]
    AlwaysOn,
    Others,
}

/// Tools visible to a user: toolkits by id, within each section.
struct WholeList(Vec<Arc<ToolList>>);

/// Digest of a list, to compare it with those of other users or with earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct View(Digest);

/// One page of a list.
struct Page {
    tools: Vec<Tool>,
    /// Start of the next page, if any.
    next: Option<Cursor>,
}

impl Catalogue {
    pub(super) fn new(access: Access) -> Self {
        let lists = Mutex::default();
        let own = OnceLock::new();
        let encoded = EncodedLists::new();
        let vectors = VectorQueue::start(access.clone());
        let computing = finding::turns();
        Self { access, lists, own, encoded, vectors, computing }
    }

    /// Notifies whenever the tools visible to users may have changed.
    pub(super) fn published(&self) -> watch::Receiver<()> {
        self.access.published()
    }

    /// Returns a page of the tools that `user` can see and the client has selected, as an encoded `result`.
    pub(super) async fn page(
        &self,
        (user, chosen): (&User, &Selection),
        cursor: Option<&str>,
        revision: Revision,
        request: &RequestShare,
    ) -> Result<Arc<RawValue>, InvalidCursor> {
        let from = cursor.map(str::parse).transpose()?.unwrap_or_default();
        let list = self.listed(user, chosen);
        if let Some(page) = self.encoded.cached_page(&list, &from, revision) {
            return Ok(page);
        }
        let encoded = self.encoded.clone();
        Ok(request.work(list.bytes(), move || encoded.page(&list, &from, revision)).await)
    }

    /// Digest of the current list of `user`, limited to the client's selection.
    pub(super) fn view(&self, user: &User, chosen: &Selection) -> View {
        self.listed(user, chosen).view()
    }

    /// Returns the tools that the client lists in its mode, of those visible and selected.
    fn listed(&self, user: &User, chosen: &Selection) -> WholeList {
        let whole = self.whole_list(user, chosen);
        match chosen.listed_mode() {
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

/// Returns the list of a toolkit; builds it if the declaration is new.
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
    // Reuses the list of another version with the same tools, and its vectors.
    let same =
        lists.values().find(|known| known.list.toolkit == list.toolkit && known.list.digest == list.digest);
    let list = same.map_or(list, |known| known.list.clone());
    let offers = Arc::new(ToolkitOffers::from(&**definition));
    Listed { of: Arc::downgrade(definition), list, offers }
}

/// Returns the tools of a toolkit that the client has selected, if any.
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
        let mut bytes = 0;
        let mut last = None;
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

    /// Length of all tools as JSON, in bytes.
    fn bytes(&self) -> usize {
        self.0.iter().flat_map(|list| list.always_on.iter().chain(&list.others)).map(|tool| tool.bytes).sum()
    }

    /// The mode's own tools, and those that are always listed; in code mode only the mode's own.
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
        // The number marks the boundary between the sections.
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
    /// Creates the list of the server's own tools, which have no prefix.
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

/// Converts a tool to its form in MCP, under the given name.
fn listed(name: String, declared: &ToolDefinition) -> Tool {
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

/// A schema that every client can read. Declarations have only objects here, by their rules.
fn listed_schema(schema: &Value) -> JsonObject {
    match portable(schema.clone()) {
        Value::Object(schema) => schema,
        _ => JsonObject::default(),
    }
}
