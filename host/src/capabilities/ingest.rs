//! `kitbag:toolkit/ingest`: writes into the calling user's knowledge base, as documents of this
//! toolkit. Granted by scope `svc:ingest`.
//!
//! Invariant: what a toolkit stores is cleaned of its caller's secrets first, as is all that leaves the
//! sandbox. How much a guest may pass at once is bounded before it is copied, by the store's fuel.

mod clean;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::knowledge_base::{Refusal, of_call};
use crate::knowledge::{self as base, Knowledge, NewDocument, NewFeed, Origin};
use crate::outbound_auth::AttachedTokens;
use crate::vault::UserSecrets;
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

/// Write access to one user's knowledge base. Everything here comes from the host's own records of the
/// call, never from the guest; it is empty outside a call, where nothing can be written.
#[derive(Clone, Default)]
pub struct Ingest {
    /// Nothing outside a call.
    pub knowledge: Option<Knowledge>,
    /// Whose: the verified user of the call.
    pub user_id: Arc<str>,
    /// To whom the documents are attributed: the toolkit that runs.
    pub toolkit_id: Arc<str>,
    /// What must not be stored: all that the user has set.
    pub secrets: Arc<UserSecrets>,
    /// And what the host has signed in with.
    pub tokens: AttachedTokens,
}

impl knowledge::Host for Ingest {}

impl Host for Ingest {
    async fn ingest(&mut self, documents: Vec<Document>) -> wasmtime::Result<Result<u32, KnowledgeError>> {
        let knowledge = of_call(self.knowledge.as_ref())?;
        let documents = documents.into_iter().map(Into::into).collect();
        let documents = match clean::documents(documents, &self.secrets, &self.tokens).await {
            Ok(documents) => documents,
            Err(problems) => return Ok(Err(KnowledgeError::Invalid(problems.to_string()))),
        };
        let origin = Origin { user_id: self.user_id.to_string(), source: self.toolkit_id.to_string() };
        let ingested = knowledge.ingest(&origin, documents).await;
        Ok(ingested.map(|all| u32::try_from(all.len()).expect("a batch is bounded")).map_err(refused))
    }
}

fn refused(error: base::KnowledgeError) -> KnowledgeError {
    match error.into() {
        Refusal::NotFound => KnowledgeError::NotFound,
        Refusal::Invalid(problems) => KnowledgeError::Invalid(problems),
        Refusal::Unavailable(reason) => KnowledgeError::Unavailable(reason),
    }
}

impl From<Document> for NewDocument {
    fn from(it: Document) -> Self {
        let feed = |feed: ingest::Feed| NewFeed { key: feed.key, name: feed.name, label: feed.label };
        Self {
            title: it.title,
            text: it.text,
            url: it.url,
            author: it.author,
            file_url: it.file_url,
            audio_url: it.audio_url,
            mime_type: it.mime_type,
            capture_only: it.capture_only,
            feed: it.feed.map(feed),
        }
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
