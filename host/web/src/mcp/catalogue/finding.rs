//! Search among the tools that a user can see.

use std::sync::Arc;
use std::time::Duration;

use kitbag_access::User;
use kitbag_access::values::knowledge::brief::{BriefCandidate, rank};
use kitbag_base::tasks::off_thread;
use kitbag_base::turns::Turns;
use kitbag_embedding::rows::Probe;
use rmcp::model::Tool;
use tokio::time::timeout;

use super::searched::SearchedTools;
use super::{Catalogue, ListedTool, ToolList, WholeList};
use crate::mcp::modes::{Mode, Wanted, found};
use crate::mcp::selection::Selection;

/// Timeout for the vector of a query; after it, only words are compared.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum concurrent searches, of all users and of one: a search among thousands of tools takes milliseconds
/// of CPU.
const MAX_COMPUTING: usize = 4;
const MAX_COMPUTING_PER_USER: usize = 1;

/// Tools that a user can see and the client has selected: toolkits with the indexes of their tools.
struct Searchable(Vec<(Arc<SearchedTools>, Vec<usize>)>);

impl Catalogue {
    /// Searches the tools that a listing without a mode contains, and returns the answer as text.
    pub(in crate::mcp) async fn find(&self, user: &User, chosen: &Selection, wanted: Wanted) -> String {
        let Wanted { query, limit } = wanted;
        let has_types = chosen.listed_mode() == Mode::Code;
        let vector = timeout(QUERY_TIMEOUT, user.query_vector(&query)).await.unwrap_or_default();
        let _turn = self.computing.take(user.id()).await;
        let WholeList(lists) = self.whole_list(user, chosen);
        for list in &lists {
            self.vectors.want(&list.searched);
        }
        off_thread(move || found::answer(&Searchable::of(&lists).find(&query, vector, limit), has_types))
            .await
    }
}

/// Creates the queue that limits concurrent searches.
pub(super) fn turns() -> Turns {
    Turns::new(MAX_COMPUTING, MAX_COMPUTING_PER_USER)
}

impl Searchable {
    fn of(lists: &[Arc<ToolList>]) -> Self {
        let indexes = |list: &ToolList| {
            let tools = list.always_on.iter().chain(&list.others);
            tools.map(|ListedTool { index, .. }| *index).collect()
        };
        Self(lists.iter().map(|list| (list.searched.clone(), indexes(list))).collect())
    }

    /// Returns the best matches in descending order. A tool whose name equals the query comes first. Takes
    /// milliseconds of CPU.
    fn find(&self, query: &str, vector: Option<Vec<f32>>, limit: usize) -> Vec<Arc<Tool>> {
        let probe = vector.map(Probe::new);
        let mut candidates = Vec::new();
        let mut tools = Vec::new();
        for (searched, indexes) in &self.0 {
            let words = searched.words();
            let cosines = probe.as_ref().and_then(|probe| searched.cosines(probe, indexes));
            for (place, index) in indexes.iter().enumerate() {
                let cosine = cosines.as_ref().map(|cosines| cosines[place]);
                candidates.push(BriefCandidate { words: &words[*index], cosine });
                tools.push(searched.tool(*index));
            }
        }
        let name = query.trim();
        let named = tools.iter().position(|tool| tool.name == name);
        let others = rank(&candidates, query).into_iter().filter(|index| Some(*index) != named);
        named.into_iter().chain(others).take(limit).map(|index| tools[index].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use kitbag_base::shares::Shares;
    use kitbag_embedding::rows::Rows;
    use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
    use serde_json::json;

    use super::super::searched::ToolVectors;
    use super::*;

    fn list() -> ToolList {
        let tool = |(name, always_on): (&str, bool)| ToolDefinition {
            name: name.to_owned(),
            description: format!("Does what {name} does."),
            input_schema: json!({ "type": "object" }),
            always_on,
            ..ToolDefinition::default()
        };
        let tools = [("north", false), ("east", true), ("south", false)].map(tool).into();
        ToolList::from(&ToolkitDefinition { id: "a".to_owned(), tools, ..ToolkitDefinition::default() })
    }

    fn names(list: ToolList, query: &str, vector: Option<Vec<f32>>) -> Vec<String> {
        let found = Searchable::of(&[Arc::new(list)]).find(query, vector, 9);
        found.iter().map(|tool| tool.name.to_string()).collect()
    }

    /// One vector for each tool, in the order of the declaration.
    fn give_vectors(list: &ToolList) {
        let mut rows = Rows::new(2);
        for row in [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]] {
            assert!(rows.push(row.into_iter()));
        }
        let room = Shares::new(1, 1).take("", 1).expect("there is room");
        list.searched.end(Some(ToolVectors { rows, room }));
    }

    #[test]
    fn tools_are_found_by_their_own_words_and_vectors_whatever_part_of_them_is_seen() {
        let south = Some(vec![0.0, -1.0]);
        assert_eq!(names(list(), "to the east", south.clone()), ["a__east"], "there are no vectors yet");

        let whole = list();
        give_vectors(&whole);
        assert_eq!(names(whole, "xyzzy", south.clone()), ["a__south", "a__east", "a__north"]);

        let ToolList { searched, others, .. } = list();
        let part = ToolList::new(searched, Vec::new(), others);
        give_vectors(&part);
        assert_eq!(names(part, "xyzzy", south), ["a__south", "a__north"]);
        let ToolList { searched, always_on, .. } = list();
        assert!(names(ToolList::new(searched, always_on, Vec::new()), "south", None).is_empty());
    }

    #[test]
    fn a_name_is_found_first_whatever_else_is_near() {
        let list = list();
        give_vectors(&list);

        assert_eq!(names(list, " a__north ", Some(vec![0.0, -1.0]))[0], "a__north");
    }
}
