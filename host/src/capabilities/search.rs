//! `kitbag:toolkit/search`: reads the calling user's knowledge base. Granted by scope `svc:search`.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::NO_KNOWLEDGE_BASE;
use bindings::kitbag::toolkit::knowledge::{self, KnowledgeError};
use bindings::kitbag::toolkit::search::{self, Document, Host, SearchOptions, SearchResult};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-search; world host { import kitbag:toolkit/search@0.1.0; }",
        world: "kitbag:host-search/host",
        imports: { default: async | trappable },
    });
}

/// Read access to one user's knowledge base.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Whose: the verified user of the call. Empty outside a call, where nothing can be asked.
    pub user_id: Arc<str>,
}

impl knowledge::Host for Search {}

impl Host for Search {
    async fn search(
        &mut self,
        _query: String,
        _options: SearchOptions,
    ) -> wasmtime::Result<Result<Vec<SearchResult>, KnowledgeError>> {
        Ok(Err(KnowledgeError::Unavailable(NO_KNOWLEDGE_BASE.to_owned())))
    }

    async fn get_document(&mut self, _id: String) -> wasmtime::Result<Result<Document, KnowledgeError>> {
        Ok(Err(KnowledgeError::Unavailable(NO_KNOWLEDGE_BASE.to_owned())))
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
