//! `kitbag:toolkit/ingest`: writes into the calling user's knowledge base, as documents of this
//! toolkit. Granted by scope `svc:ingest`.
//!
//! Invariants: the caller's secrets are removed from documents before they are stored, as from all output of
//! the sandbox; files are named only at hosts that the operator permits to toolkits for the caller. The size of a batch is limited before it is copied, by the store's hostcall fuel.

mod clean;

use std::sync::Arc;

use kitbag_base::memory::Lease;
use kitbag_knowledge::{Knowledge, NewDocument, Origin};
use kitbag_manifest::Problems;
use kitbag_net::egress::{EgressError, LiveHostPolicy, Membership};
use kitbag_vault::UserSecrets;
use kitbag_vault::outbound_auth::AttachedTokens;
use wasmtime::component::{HasData, Linker};

use super::{CallContext, Grants, in_call};
use crate::contract::interfaces::ingest::{self, Document};
use crate::contract::interfaces::knowledge::{self, KnowledgeError};

/// Write access to one user's knowledge base. All of this state comes from the host, never from the guest.
#[derive(Clone, Default)]
pub struct Ingest {
    /// `None` outside a call.
    knowledge: Option<Knowledge>,
    /// The verified user of the call, who owns the documents.
    user_id: Arc<str>,
    /// Grants of the running toolkit, to which the documents are attributed.
    grants: Grants,
    /// The user's secrets, which must not be stored.
    secrets: Arc<UserSecrets>,
    /// Tokens attached by the host, which must not be stored either.
    tokens: AttachedTokens,
    /// The hosts that the operator permits to toolkits, and the groups of the user by which it does.
    host_policy: LiveHostPolicy,
    membership: Membership,
    /// The call's lease on the memory budget for all calls.
    lease: Option<Arc<Lease>>,
}

impl Ingest {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        Self {
            knowledge: call.services.knowledge.clone(),
            user_id: call.user_id.clone(),
            grants: call.grants.clone(),
            secrets: call.secrets.clone(),
            tokens: call.observations.tokens.clone(),
            host_policy: call.services.egress.host_policy().clone(),
            membership: call.membership.clone(),
            lease: Some(call.lease.clone()),
        }
    }
}

impl knowledge::Host for Ingest {}

impl ingest::Host for Ingest {
    async fn ingest(&mut self, documents: Vec<Document>) -> wasmtime::Result<Result<u32, KnowledgeError>> {
        let knowledge = in_call(self.knowledge.as_ref())?;
        // Counts the documents, as received and as cleaned, until they are stored.
        let bytes = documents.iter().map(size).sum::<usize>();
        let _held = self.lease.as_ref().map(|lease| lease.count_existing(2 * bytes));
        let documents = documents.into_iter().map(Into::into).collect();
        let redactor = self.tokens.redactor_with(&self.secrets);
        let documents = match clean::documents(documents, redactor, knowledge.workers(), &self.user_id).await
        {
            Ok(documents) => documents,
            Err(problems) => return Ok(Err(KnowledgeError::Invalid(problems.to_string()))),
        };
        let problems = self.forbidden_files(&documents);
        if !problems.0.is_empty() {
            return Ok(Err(KnowledgeError::Invalid(problems.to_string())));
        }
        let source = self.grants.definition().id.clone();
        let ingested = knowledge.ingest(&Origin::own(&self.user_id, &source), documents).await;
        Ok(ingested.map(|all| u32::try_from(all.len()).expect("a batch is bounded")).map_err(Into::into))
    }
}

impl Ingest {
    /// Returns the files at hosts that the operator does not permit to toolkits. The caller's groups are known only
    /// here; the capture checks the hosts that redirects lead to.
    fn forbidden_files(&self, documents: &[NewDocument]) -> Problems {
        let mut problems = Problems::default();
        for (index, document) in documents.iter().enumerate() {
            for (field, url) in [("fileUrl", &document.file_url), ("audioUrl", &document.audio_url)] {
                // The rules for documents refuse what is not a URL.
                let Some(url) = url else { continue };
                let checked = self.host_policy.expect_permitted(url, &self.membership);
                if let Err(error @ EgressError::ForbiddenHost { .. }) = checked {
                    problems.add(format!("documents[{index}].{field}"), error.to_string());
                }
            }
        }
        problems
    }
}

/// Approximate size of a document in memory, in bytes.
fn size(document: &Document) -> usize {
    let Document { title, text, url, author, file_url, audio_url, .. } = document;
    let texts = [text, url, author, file_url, audio_url];
    size_of_val(document) + title.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
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
