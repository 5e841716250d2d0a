//! `kitbag:toolkit/search`: reads the calling user's knowledge base. Granted by scope `svc:search`.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::knowledge_base::{Refusal, of_call};
use crate::knowledge::{self as base, DEFAULT_RESULTS, Knowledge, Query};
use bindings::kitbag::toolkit::knowledge::{self, KnowledgeError};
use bindings::kitbag::toolkit::search::{self, Document, DocumentSummary, Host, SearchOptions, SearchResult};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-search; world host { import kitbag:toolkit/search@0.1.0; }",
        world: "kitbag:host-search/host",
        imports: { default: async | trappable },
    });
}

/// Read access to one user's knowledge base: to all of the user's documents, whatever their source.
#[derive(Clone, Default)]
pub struct Search {
    /// Nothing outside a call.
    pub knowledge: Option<Knowledge>,
    /// Whose: the verified user of the call. Empty outside a call, where nothing can be asked.
    pub user_id: Arc<str>,
}

impl knowledge::Host for Search {}

impl Host for Search {
    async fn search(
        &mut self,
        query: String,
        options: SearchOptions,
    ) -> wasmtime::Result<Result<Vec<SearchResult>, KnowledgeError>> {
        let SearchOptions { limit, source, author } = options;
        let limit = limit.unwrap_or(DEFAULT_RESULTS);
        let query = Query { text: query, limit, offset: 0, source, author };
        let found = of_call(self.knowledge.as_ref())?.search(&self.user_id, &query).await;
        Ok(found.map(|found| found.hits.into_iter().map(Into::into).collect()).map_err(refused))
    }

    async fn get_document(&mut self, id: String) -> wasmtime::Result<Result<Document, KnowledgeError>> {
        let found = of_call(self.knowledge.as_ref())?.document(&self.user_id, &id).await;
        let document = |it: base::Document| Document { summary: it.summary.into(), text: it.text };
        Ok(found.map(document).map_err(refused))
    }
}

fn refused(error: base::KnowledgeError) -> KnowledgeError {
    match error.into() {
        Refusal::NotFound => KnowledgeError::NotFound,
        Refusal::Invalid(problems) => KnowledgeError::Invalid(problems),
        Refusal::Unavailable(reason) => KnowledgeError::Unavailable(reason),
    }
}

impl From<base::Hit> for SearchResult {
    fn from(hit: base::Hit) -> Self {
        Self { document: hit.document.into(), snippet: hit.snippet, score: hit.score }
    }
}

impl From<base::Summary> for DocumentSummary {
    fn from(it: base::Summary) -> Self {
        let base::Summary { id, title, url, author, source, feed, .. } = it;
        Self { id, title, url, author, source, feed: feed.map(|feed| feed.name) }
    }
}

/// Links the capability; `search` finds the invocation's state in the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    search: fn(&mut T) -> &mut Search,
) -> wasmtime::Result<()> {
    struct HasSearch;
    impl HasData for HasSearch {
        type Data<'a> = &'a mut Search;
    }
    search::add_to_linker::<T, HasSearch>(linker, search)
}
