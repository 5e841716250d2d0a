//! What the host knows of one call.

use std::sync::Arc;

use super::Grants;
use super::fetch::FetchLimits;
use super::progress::ProgressListener;
use crate::egress::Egress;
use crate::knowledge::Knowledge;
use crate::memory::Lease;
use crate::observations::Observations;
use crate::outbound_auth::OutboundAuth;
use crate::vault::UserSecrets;

/// What calls use of the rest of the host; a clone is the same.
#[derive(Clone)]
pub struct Services {
    pub(super) egress: Egress,
    pub(super) outbound_auth: OutboundAuth,
    pub(super) knowledge: Option<Knowledge>,
}

impl Services {
    /// Without a knowledge base: whoever uses it traps.
    pub fn new(egress: Egress) -> Self {
        Self { outbound_auth: OutboundAuth::new(egress.clone()), egress, knowledge: None }
    }

    /// Gives calls a knowledge base.
    #[must_use]
    pub fn with_knowledge(self, knowledge: Knowledge) -> Self {
        Self { knowledge: Some(knowledge), ..self }
    }
}

/// One call, as its capabilities see it. Everything here comes from the host's own records, never from the guest.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// What calls use of the rest of the host.
    pub services: &'a Services,
    /// What the toolkit declares.
    pub grants: &'a Grants,
    /// The verified user.
    pub user_id: &'a Arc<str>,
    /// What the user has set, for whichever toolkit.
    pub secrets: &'a Arc<UserSecrets>,
    /// Who wants to know how far the call has come.
    pub progress: Option<&'a ProgressListener>,
    /// What the capabilities note.
    pub observations: &'a Observations,
    /// What the call holds of the memory for all calls.
    pub lease: &'a Arc<Lease>,
    /// Bounds of its requests.
    pub fetch: &'a FetchLimits,
}
