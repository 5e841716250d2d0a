//! `kitbag:toolkit/search`: reads the calling user's own documents; with scope `svc:collections`, also those of the
//! collections that the user may read. Granted by scope `svc:search`.

use std::sync::Arc;

use kitbag_base::memory::Lease;
use kitbag_base::shares::Share;
use kitbag_knowledge::{DEFAULT_RESULTS, Holder, Knowledge, Query};
use kitbag_manifest::SCOPE_COLLECTIONS;
use wasmtime::component::{HasData, Linker};

use super::{CallContext, in_call};
use crate::contract::interfaces::knowledge::{self, KnowledgeError};
use crate::contract::interfaces::search::{self, Document, SearchOptions, SearchResult};

/// Read access to all documents of some holders, from any source.
#[derive(Default)]
pub struct Search {
    /// `None` outside a call.
    knowledge: Option<Knowledge>,
    /// The verified user of the call.
    user_id: Arc<str>,
    /// Whose documents the toolkit may read.
    holders: Vec<Holder>,
    /// The call's lease on the memory budget for all calls.
    lease: Option<Arc<Lease>>,
    /// Counts the returned data while it is copied to the guest, which can delay that arbitrarily.
    returned: Option<Share>,
}

impl Search {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let reads_collections = call.grants.definition().has_scope(SCOPE_COLLECTIONS);
        let holders = call.readable.iter().filter(|it| reads_collections || it.collection_id().is_none());
        Self {
            knowledge: call.services.knowledge.clone(),
            user_id: call.user_id.clone(),
            holders: holders.cloned().collect(),
            lease: Some(call.lease.clone()),
            returned: None,
        }
    }

    /// Releases the memory of the returned data.
    pub(super) fn after_host_call(&mut self) {
        self.returned = None;
    }

    fn returning(&mut self, bytes: usize) {
        self.returned = self.lease.as_ref().map(|lease| lease.count_existing(bytes));
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
        let found =
            in_call(self.knowledge.as_ref())?.search(&self.user_id, self.holders.clone(), &query).await;
        let results: Result<Vec<SearchResult>, _> =
            found.map(|found| found.hits.into_iter().map(Into::into).collect());
        if let Ok(results) = &results {
            self.returning(results.iter().map(size).sum());
        }
        Ok(results.map_err(Into::into))
    }

    async fn get_document(&mut self, id: String) -> wasmtime::Result<Result<Document, KnowledgeError>> {
        let found = in_call(self.knowledge.as_ref())?.document(self.holders.clone(), &id).await;
        if let Ok(document) = &found {
            self.returning(document.text.len());
        }
        Ok(found.map(Into::into).map_err(Into::into))
    }
}

/// Approximate size of a result in memory, in bytes.
fn size(result: &SearchResult) -> usize {
    let SearchResult { document, snippet, .. } = result;
    size_of_val(result) + snippet.len() + document.title.len() + document.url.as_ref().map_or(0, String::len)
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
