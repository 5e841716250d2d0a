//! `kitbag:toolkit/search`: reads the calling user's knowledge base. Granted by scope `svc:search`.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::{CallContext, in_call};
use crate::contract::interfaces::knowledge::{self, KnowledgeError};
use crate::contract::interfaces::search::{self, Document, SearchOptions, SearchResult};
use crate::knowledge::{DEFAULT_RESULTS, Knowledge, Query};

/// Read access to one user's knowledge base: to all of the user's documents, of any source.
#[derive(Clone, Default)]
pub struct Search {
    /// `None` outside a call.
    knowledge: Option<Knowledge>,
    /// The verified user of the call.
    user_id: Arc<str>,
}

impl Search {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        Self { knowledge: call.services.knowledge.clone(), user_id: call.user_id.clone() }
    }
}

impl knowledge::Host for Search {}

impl search::Host for Search {
    async fn search(
        &mut self,
        query: String,
        options: SearchOptions,
    ) -> wasmtime::Result<Result<Vec<SearchResult>, KnowledgeError>> {
        let SearchOptions { limit, source, author } = options;
        let limit = limit.unwrap_or(DEFAULT_RESULTS);
        let query = Query { text: query, has_operators: false, limit, offset: 0, source, author };
        let found = in_call(self.knowledge.as_ref())?.search(&self.user_id, &query).await;
        Ok(found.map(|found| found.hits.into_iter().map(Into::into).collect()).map_err(Into::into))
    }

    async fn get_document(&mut self, id: String) -> wasmtime::Result<Result<Document, KnowledgeError>> {
        let found = in_call(self.knowledge.as_ref())?.document(&self.user_id, &id).await;
        Ok(found.map(Into::into).map_err(Into::into))
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
