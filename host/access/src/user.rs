//! A signed-in user: who they are, and which toolkits they may see.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kitbag_database::audit::Actor;
use kitbag_identity::{Caller, Groups, TokenProfile};
use kitbag_net::egress::Membership;
use kitbag_net::traces::Arrival;
use kitbag_toolkits::Live;
use kitbag_toolkits::audience::Part;
use serde::Serialize;

use super::error::AccessError;
use super::stores::Stores;
use super::{Access, rules};

/// A toolkit that a key of a program does not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreachable {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Why the key does not reach it.
    pub reason: UnreachableReason,
}

/// Reason why a key does not reach a toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnreachableReason {
    /// The user sees no such toolkit.
    Unknown,
    /// The user sees it through a group that does not count for keys.
    Group,
}

/// A signed-in user, created only from a verified token.
#[derive(Clone)]
pub struct User {
    pub(super) access: Access,
    pub(super) caller: Arc<Caller>,
    /// Arrival of the user's request, if calls are traced.
    pub(super) arrival: Option<Arrival>,
    /// Names of the collections that this caller may read, and `mine`; `None`: all that the user may.
    pub(super) collections: Option<Arc<BTreeSet<String>>>,
}

impl Access {
    /// The caller as a user, with their permissions.
    pub fn of(&self, caller: &Arc<Caller>) -> User {
        User { access: self.clone(), caller: caller.clone(), arrival: None, collections: None }
    }
}

impl User {
    /// Returns for how long the audit log keeps each call of the user, with their name; `None` if it has no calls
    /// (setting `record-callers`).
    pub fn calls_recorded_for(&self) -> Option<Duration> {
        self.stores().audit.keeps_calls_for()
    }

    /// Returns the user's id at the identity provider.
    pub fn id(&self) -> &str {
        &self.caller.user_id
    }

    /// Returns the OAuth client that acts for the user, if any.
    pub fn client(&self) -> Option<&str> {
        self.caller.client_id.as_deref()
    }

    /// Returns the user, with the client or key, in the form that audit entries contain.
    pub fn actor(&self) -> Actor {
        Actor::with(self.id(), self.client(), self.caller.key_id())
    }

    /// Whether a program acts for the user, with a key.
    pub fn is_program(&self) -> bool {
        self.caller.profile == TokenProfile::Key
    }

    /// Whether the caller is limited to calling tools of certain toolkits.
    pub fn is_limited(&self) -> bool {
        self.caller.toolkits.is_some()
    }

    /// Whether the caller's key, if limited to certain toolkits, includes this one.
    pub(super) fn is_for(&self, toolkit: &str) -> bool {
        self.caller.toolkits.as_ref().is_none_or(|toolkits| toolkits.contains(toolkit))
    }

    /// Returns the user's groups, from their token or from the current settings.
    pub(super) fn groups(&self) -> Groups {
        self.access.0.roles.load().groups(&self.caller)
    }

    /// Returns the user's groups, as the egress policy takes them.
    pub(super) fn membership(&self) -> Membership {
        Membership::Of(self.groups().names())
    }

    /// Returns the tools of a toolkit that the user may see and call through this caller.
    pub(super) fn part_of(&self, toolkit: &Live) -> Part {
        if self.is_for(&toolkit.definition.id) {
            rules::part_of(self.id(), &self.groups(), toolkit)
        } else {
            Part::Nothing
        }
    }

    /// Whether the user can see the toolkit.
    pub(super) fn sees(&self, toolkit: &Live) -> bool {
        self.part_of(toolkit) != Part::Nothing
    }

    /// Returns the toolkits that a key of the user does not reach at present, by id: of those that it is
    /// limited to, or else of those that the user sees.
    pub fn unreachable_with_key(
        &self,
        limited_to: Option<&BTreeSet<String>>,
        groups_of_keys: &Groups,
    ) -> Vec<Unreachable> {
        let registry = self.stores().toolkits.registry.load();
        let own = self.stores().knowledge_tools.as_ref().map(|own| own.definition().id.as_str());
        let is_seen = |id: &str, groups: &Groups| {
            own == Some(id)
                || registry.get(id).is_some_and(|it| rules::part_of(self.id(), groups, it) != Part::Nothing)
        };
        let groups = self.groups();
        let mut ids: Vec<_> = match limited_to {
            Some(ids) => ids.iter().cloned().collect(),
            None => registry.all().map(|live| live.definition.id.clone()).collect(),
        };
        ids.retain(|id| !is_seen(id, groups_of_keys) && (limited_to.is_some() || is_seen(id, &groups)));
        ids.sort();
        let reason = |id: &str| {
            if is_seen(id, &groups) { UnreachableReason::Group } else { UnreachableReason::Unknown }
        };
        ids.into_iter().map(|toolkit| Unreachable { reason: reason(&toolkit), toolkit }).collect()
    }

    /// Returns the groups that count for keys of the user.
    pub async fn groups_of_keys(&self) -> Result<Groups, AccessError> {
        self.stores().program_keys.groups_of(self.id()).await.map_err(AccessError::Users)
    }

    /// Whether the user may deploy and manage toolkits.
    pub fn is_operator(&self) -> bool {
        self.access.0.roles.load().is_operator(&self.caller)
    }

    /// Counts an act of the user on their own account, such as setting a secret, or refuses it: each act
    /// writes an audit entry, which has a long retention.
    pub fn admit_own_act(&self) -> Result<(), AccessError> {
        Ok(self.access.0.own_acts.admit(self.id())?)
    }

    /// Sets the arrival time of the user's request.
    #[must_use]
    pub fn arrived(self, arrival: Option<Arrival>) -> Self {
        Self { arrival, ..self }
    }

    pub(super) fn stores(&self) -> &Stores {
        self.access.stores()
    }
}
