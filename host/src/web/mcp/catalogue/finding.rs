//! Finding tools among those that a user sees.

use std::sync::Arc;

use kitbag_embedding::rows::Probe;
use rmcp::model::Tool;

use super::searched::SearchedTools;
use super::{Catalogue, ListedTool, ToolList, WholeList};
use crate::access::User;
use crate::knowledge::brief::{BriefCandidate, rank};
use crate::web::mcp::selection::Selection;

/// The tools that a user sees, of what the client has chosen: toolkits, each with the indexes of its tools.
pub(in crate::web::mcp) struct Searchable(Vec<(Arc<SearchedTools>, Vec<usize>)>);

impl Catalogue {
    /// What a search of this user goes through: exactly what a listing without a mode lists. Has missing vectors made.
    pub(in crate::web::mcp) fn searchable(&self, user: &User, chosen: &Selection) -> Searchable {
        let WholeList(lists) = self.whole_list(user, chosen);
        lists.iter().for_each(|list| self.vectors.want(&list.searched));
        Searchable::of(&lists)
    }
}

impl Searchable {
    fn of(lists: &[Arc<ToolList>]) -> Self {
        let indexes = |list: &ToolList| {
            let tools = list.always_on.iter().chain(&list.others);
            tools.map(|ListedTool { index, .. }| *index).collect()
        };
        Self(lists.iter().map(|list| (list.searched.clone(), indexes(list))).collect())
    }

    /// The tools that match best, best first. The one that has the query as its name comes before all others. Computes for
    /// milliseconds.
    pub(in crate::web::mcp) fn find(
        &self,
        query: &str,
        vector: Option<Vec<f32>>,
        limit: usize,
    ) -> Vec<Arc<Tool>> {
        let probe = vector.map(Probe::new);
        let (mut candidates, mut tools) = (Vec::new(), Vec::new());
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
