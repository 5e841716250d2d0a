//! The host's services for calls, and the context of one call.

use std::sync::Arc;

use kitbag_base::memory::Lease;
use kitbag_knowledge::{Holder, Knowledge};
use kitbag_net::egress::{Egress, Membership};
use kitbag_vault::UserSecrets;
use kitbag_vault::outbound_auth::{Accounts, OutboundAuth};
use kitbag_vault::user_cache::UserCache;

use super::Grants;
use super::ask::Answers;
use super::fetch::FetchLimits;
use super::fetch::inner_calls::InnerCalls;
use super::progress::ProgressListener;
use crate::observations::Observations;

/// The host's services for calls. Clones share them.
#[derive(Clone)]
pub struct Services {
    pub(super) egress: Egress,
    pub(super) outbound_auth: OutboundAuth,
    pub(super) knowledge: Option<Knowledge>,
    pub(super) cache: Option<Arc<UserCache>>,
}

impl Services {
    /// Services without a knowledge base and a cache (calls to these trap), and without users' accounts.
    pub fn new(egress: Egress) -> Self {
        Self { outbound_auth: OutboundAuth::new(egress.clone()), egress, knowledge: None, cache: None }
    }

    /// Adds the users' connected accounts.
    #[must_use]
    pub fn with_accounts(self, accounts: Accounts) -> Self {
        Self { outbound_auth: self.outbound_auth.with_accounts(accounts), ..self }
    }

    /// Adds the knowledge base.
    #[must_use]
    pub fn with_knowledge(self, knowledge: Knowledge) -> Self {
        Self { knowledge: Some(knowledge), ..self }
    }

    /// Adds the per-user caches of toolkits.
    #[must_use]
    pub fn with_cache(self, cache: Arc<UserCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }
}

/// Context of a call, from which its capabilities are created. All of it comes from the host, never from the
/// guest.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The host's services for calls.
    pub services: &'a Services,
    /// The toolkit's grants.
    pub grants: &'a Grants,
    /// The toolkit's owner.
    pub owner: &'a str,
    /// The verified user.
    pub user_id: &'a Arc<str>,
    /// The user's groups, by which the operator permits hosts to toolkits.
    pub membership: &'a Membership,
    /// Holders whose documents the user may read; the user is one of them.
    pub readable: &'a [Holder],
    /// The user's secrets, for all toolkits.
    pub secrets: &'a Arc<UserSecrets>,
    /// Receives progress reports, if the client wants them.
    pub progress: Option<&'a ProgressListener>,
    /// The user's answers so far; `None` if the client cannot ask the user.
    pub answers: Option<&'a Arc<Answers>>,
    /// Recorder of the call's log, traffic and other observations.
    pub observations: &'a Observations,
    /// The call's lease on the memory budget for all calls.
    pub lease: &'a Arc<Lease>,
    /// Limits of the call's HTTP requests.
    pub fetch: &'a FetchLimits,
    /// Handler of the guest's HTTP requests in place of the network, if any.
    pub inner_calls: Option<&'a Arc<dyn InnerCalls>>,
}
