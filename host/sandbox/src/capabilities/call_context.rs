//! The context of one call.

use std::sync::Arc;

use kitbag_base::memory::Lease;
use kitbag_knowledge::Knowledge;
use kitbag_net::egress::Egress;
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
    /// Services without a knowledge base and a cache, whose calls trap, and without accounts of users.
    pub fn new(egress: Egress) -> Self {
        Self { outbound_auth: OutboundAuth::new(egress.clone()), egress, knowledge: None, cache: None }
    }

    /// Gives calls the accounts of their users.
    #[must_use]
    pub fn with_accounts(self, accounts: Accounts) -> Self {
        Self { outbound_auth: self.outbound_auth.with_accounts(accounts), ..self }
    }

    /// Gives calls a knowledge base.
    #[must_use]
    pub fn with_knowledge(self, knowledge: Knowledge) -> Self {
        Self { knowledge: Some(knowledge), ..self }
    }

    /// Gives calls what toolkits keep for their users.
    #[must_use]
    pub fn with_cache(self, cache: Arc<UserCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }
}

/// The context of a call for its capabilities. All of it comes from the host, never from the guest.
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
    /// The user's secrets, for all toolkits.
    pub secrets: &'a Arc<UserSecrets>,
    /// Receives progress reports, if the client wants them.
    pub progress: Option<&'a ProgressListener>,
    /// What its user has answered; `None` if whoever calls cannot be asked.
    pub answers: Option<&'a Arc<Answers>>,
    /// Where the capabilities record the log, the traffic and the like.
    pub observations: &'a Observations,
    /// The call's memory in the budget for all calls.
    pub lease: &'a Arc<Lease>,
    /// Limits for its requests.
    pub fetch: &'a FetchLimits,
    /// What answers its requests, if that is not the network.
    pub inner_calls: Option<&'a Arc<dyn InnerCalls>>,
}
