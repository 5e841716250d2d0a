//! Cache of encoded pages of `tools/list`, shared by all users with the same list.

use std::sync::Arc;

use kitbag_manifest::portability::as_one_object;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use rmcp::model::{JsonObject, ListToolsResult};
use serde_json::value::{RawValue, to_raw_value};

use super::super::answer;
use super::super::headers::Revision;
use super::{Cursor, Page, View, WholeList};

/// Memory limit of all encoded lists, in bytes; evicts the least recently used.
const MAX_BYTES: u64 = 32 << 20;
/// Overhead of a page besides its text, in bytes.
const PAGE_BYTES: usize = 256;

/// Memory-bounded cache of encoded lists. Clones share it.
#[derive(Clone)]
pub(super) struct EncodedLists(Cache<(View, Revision), EncodedPages>);

/// All pages of a list.
#[derive(Clone)]
struct EncodedPages(Arc<[EncodedPage]>);

struct EncodedPage {
    from: Cursor,
    result: Arc<RawValue>,
}

impl EncodedLists {
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, EncodedPages(pages): &EncodedPages| {
                let bytes = pages.iter().map(|page| PAGE_BYTES + page.result.get().len()).sum::<usize>();
                u32::try_from(bytes).unwrap_or(u32::MAX)
            })
            .eviction_policy(EvictionPolicy::lru());
        Self(cache.build())
    }

    /// Returns the page that begins at `from`, if the list is cached and a page begins there.
    pub(super) fn cached_page(
        &self,
        list: &WholeList,
        from: &Cursor,
        revision: Revision,
    ) -> Option<Arc<RawValue>> {
        self.0.get(&(list.view(), revision))?.beginning_at(from)
    }

    /// Returns the page that begins at `from`. Encodes the pages of the list, once for all who need them at the same
    /// time, and one that begins elsewhere, since the list has changed, for itself.
    pub(super) fn page(&self, list: &WholeList, from: &Cursor, revision: Revision) -> Arc<RawValue> {
        let pages = self.0.get_with((list.view(), revision), || encode(list, revision));
        pages.beginning_at(from).unwrap_or_else(|| result(list.page(from), revision))
    }
}

impl EncodedPages {
    /// Returns the page that begins at `from`, if there is one.
    fn beginning_at(&self, from: &Cursor) -> Option<Arc<RawValue>> {
        self.0.iter().find(|page| page.from == *from).map(|page| page.result.clone())
    }
}

/// Encodes all pages of a list.
fn encode(list: &WholeList, revision: Revision) -> EncodedPages {
    let mut pages = Vec::new();
    let mut start = Some(Cursor::default());
    while let Some(from) = start {
        let page = list.page(&from);
        let next = page.next.clone();
        pages.push(EncodedPage { from, result: result(page, revision) });
        start = next;
    }
    EncodedPages(pages.into())
}

/// Encodes a page as the `result` of a response. In the older revisions, arguments are one object at the root
/// of their schema: the current one allows combinations there, and clients of the others drop such a tool.
fn result(mut page: Page, revision: Revision) -> Arc<RawValue> {
    if revision == Revision::Older {
        for tool in &mut page.tools {
            tool.input_schema = Arc::new(as_one_object(JsonObject::clone(&tool.input_schema)));
        }
    }
    let result = answer::completed(ListToolsResult::from(page).into(), revision);
    to_raw_value(&result).expect("tools always serialise").into()
}

impl From<Page> for ListToolsResult {
    fn from(Page { tools, next, .. }: Page) -> Self {
        let mut result = Self::with_all_items(tools);
        result.next_cursor = next.map(|cursor| cursor.to_string());
        result
    }
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
    use serde_json::{Value, json};

    use super::super::{PAGE_BYTES, PAGE_SIZE, Section, ToolList};
    use super::*;

    fn toolkit(id: &str, tools: usize, description: &str) -> Arc<ToolList> {
        let tool = |index| ToolDefinition {
            name: format!("t{index}"),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            ..ToolDefinition::default()
        };
        let tools = (0..tools).map(tool).collect();
        let definition = ToolkitDefinition { id: id.to_owned(), tools, ..ToolkitDefinition::default() };
        Arc::new(ToolList::from(&definition))
    }

    fn list(toolkits: &[(&str, usize)]) -> WholeList {
        WholeList(toolkits.iter().map(|(id, tools)| toolkit(id, *tools, "")).collect())
    }

    /// Returns the names on all pages, and the number of pages.
    fn names(encoded: &EncodedLists, list: &WholeList, revision: Revision) -> (Vec<String>, usize) {
        let mut names = Vec::new();
        let mut pages = 0;
        let mut next = Some(Cursor::default());
        while let Some(from) = next {
            let page = encoded.page(list, &from, revision);
            let page: Value = serde_json::from_str(page.get()).expect("it is JSON");
            names.extend(
                page["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].to_string()),
            );
            pages += 1;
            next = page["nextCursor"].as_str().map(|cursor| cursor.parse().expect("a cursor"));
        }
        (names, pages)
    }

    #[test]
    fn a_page_is_encoded_once_and_the_pages_have_every_tool_once() {
        let encoded = EncodedLists::new();
        let list = list(&[("a", PAGE_SIZE - 1), ("b", PAGE_SIZE + 1), ("c", 1)]);

        for revision in [Revision::Current, Revision::Older] {
            let (mut names, pages) = names(&encoded, &list, revision);
            names.dedup();
            assert_eq!((names.len(), pages), (2 * PAGE_SIZE + 1, 3), "{revision:?}");
        }
        let first = Cursor::default();
        let inside = Cursor::after(Section::Others, "a", PAGE_SIZE - 2);
        let page = encoded.cached_page(&list, &first, Revision::Current).expect("it is cached");
        assert!(Arc::ptr_eq(&page, &encoded.page(&list, &first, Revision::Current)));
        assert!(encoded.cached_page(&list, &inside, Revision::Current).is_none(), "no page begins there");
        let page: Value =
            serde_json::from_str(encoded.page(&list, &inside, Revision::Current).get()).expect("JSON");
        assert_eq!(page["tools"].as_array().map(Vec::len), Some(PAGE_SIZE));
        assert_eq!(page["tools"][0]["name"], "b__t0");
    }

    #[test]
    fn tools_that_are_always_on_come_first_whatever_toolkit_has_them() {
        let with_last_always_on = |id: &str| {
            let tool = |name: &str, always_on| ToolDefinition {
                name: name.to_owned(),
                always_on,
                input_schema: json!({ "type": "object" }),
                ..ToolDefinition::default()
            };
            let tools = vec![tool("other", false), tool("first", true)];
            let definition = ToolkitDefinition { id: id.to_owned(), tools, ..ToolkitDefinition::default() };
            Arc::new(ToolList::from(&definition))
        };
        let list = WholeList(vec![with_last_always_on("a"), with_last_always_on("b")]);

        let (names, pages) = names(&EncodedLists::new(), &list, Revision::Current);

        assert_eq!(names, [r#""a__first""#, r#""b__first""#, r#""a__other""#, r#""b__other""#]);
        assert_eq!(pages, 1);
    }

    #[test]
    fn a_page_ends_where_its_tools_become_too_large() {
        let third = "x".repeat(PAGE_BYTES / 3);
        let list = WholeList(vec![toolkit("a", 7, &third), toolkit("b", 1, &"x".repeat(2 * PAGE_BYTES))]);

        let (names, pages) = names(&EncodedLists::new(), &list, Revision::Current);

        assert_eq!((names.len(), pages), (8, 5));
    }

    #[test]
    fn whoever_sees_something_else_gets_something_else() {
        let encoded = EncodedLists::new();
        let names_of = |toolkits: &[(&str, usize)]| names(&encoded, &list(toolkits), Revision::Current).0;

        let all = names_of(&[("a", 1), ("b", 2)]);

        assert_eq!(all, [r#""a__t0""#, r#""b__t0""#, r#""b__t1""#]);
        assert_eq!(names_of(&[("b", 2)]), all[1..]);
        assert_eq!(names_of(&[("a", 1), ("b", 1)]), all[..2]);
        assert!(names_of(&[]).is_empty());
        assert_eq!(names_of(&[("a", 1), ("b", 2)]), all);
    }

    #[test]
    fn the_memory_of_encoded_lists_is_bounded() {
        let encoded = EncodedLists::new();
        let long = "x".repeat(1 << 20);

        for index in 0..40 {
            let list = WholeList(vec![toolkit(&index.to_string(), 1, &long)]);
            encoded.page(&list, &Cursor::default(), Revision::Current);
        }

        encoded.0.run_pending_tasks();
        assert!(encoded.0.weighted_size() <= MAX_BYTES && encoded.0.entry_count() > 1);
    }
}
