//! `kitbag:toolkit/ingest`: writes into the calling user's knowledge base, as documents of this
//! toolkit. Granted by scope `svc:ingest`.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::NO_KNOWLEDGE_BASE;
use bindings::kitbag::toolkit::ingest::{self, Document, Host};
use bindings::kitbag::toolkit::knowledge::{self, KnowledgeError};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-ingest; world host { import kitbag:toolkit/ingest@0.1.0; }",
        world: "kitbag:host-ingest/host",
        imports: { default: async | trappable },
    });
}

/// Write access to one user's knowledge base. Both fields come from the host's own records of the
/// call, never from the guest; they are empty outside a call, where nothing can be written.
#[derive(Clone, Debug, Default)]
pub struct Ingest {
    /// Whose: the verified user of the call.
    pub user_id: Arc<str>,
    /// To whom the documents are attributed: the toolkit that runs.
    pub toolkit_id: Arc<str>,
}

impl knowledge::Host for Ingest {}

impl Host for Ingest {
    async fn ingest(&mut self, _documents: Vec<Document>) -> wasmtime::Result<Result<u32, KnowledgeError>> {
        Ok(Err(KnowledgeError::Unavailable(NO_KNOWLEDGE_BASE.to_owned())))
    }
}

/// Links the capability; `ingest` finds the invocation's state in the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    ingest: fn(&mut T) -> &mut Ingest,
) -> wasmtime::Result<()> {
    struct HasIngest;
    impl HasData for HasIngest {
        type Data<'a> = &'a mut Ingest;
    }
    ingest::add_to_linker::<T, HasIngest>(linker, ingest)
}
