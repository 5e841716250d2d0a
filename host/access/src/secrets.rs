//! Setting, removing and listing a user's own secrets. No function returns a value.

use std::sync::Arc;

use kitbag_base::redaction;
use kitbag_database::EVERYONE;
use kitbag_database::audit::Actor;
use kitbag_database::peers::{Hint, Subject};
use kitbag_identity::Caller;
use kitbag_toolkits::{FirstAct, Live, Reach};
use kitbag_vault::{EveryoneOptions, Link, SecretSlot, VaultError};
use secrecy::{ExposeSecret, SecretString};
use tracing::info;

use super::error::AccessError;
use super::operator::Operator;
use super::toolkits::VisibleToolkit;
use super::user::User;
use super::{Access, rules};

/// Permission to set one secret of one user, for a toolkit that the user could see and that declared it. It
/// outlives the request that shows the form, and becomes invalid when the toolkit's owner changes.
#[derive(Clone, Debug)]
pub struct OwnSecret {
    slot: SecretSlot,
    /// Reach of the toolkit as shown to the user; `None` if that is unknown.
    reach: Option<Reach>,
}

/// The result of setting a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    /// The secret's name.
    pub name: String,
    /// Whether the value is redacted from the sandbox's output; too short values are not.
    pub redacted: bool,
}

/// Authorization for setting a secret.
pub(super) enum SetBy<'a> {
    /// The signed-in user.
    User(&'a Actor),
    /// A link to the secret's page.
    Link(&'a Link),
}

impl User {
    /// Returns the permission to set a declared secret of a toolkit that the user can see.
    pub fn secret(&self, toolkit: &str, name: &str) -> Result<OwnSecret, AccessError> {
        self.toolkit(toolkit)?.secret(name)
    }

    /// Sets a value, if the user's permission is still valid.
    pub async fn set_secret(
        &self,
        secret: &OwnSecret,
        value: &SecretString,
    ) -> Result<StoredSecret, AccessError> {
        self.admit_own_act()?;
        self.access.set_with(secret, value, SetBy::User(&self.actor())).await
    }
}

impl Operator {
    /// Sets a value for everyone who may use a toolkit. Fails for a secret that the toolkit can read, unless
    /// `options.readable` is set.
    pub async fn set_secret_for_everyone(
        &self,
        secret: &OwnSecret,
        value: &SecretString,
        options: EveryoneOptions,
    ) -> Result<StoredSecret, AccessError> {
        let live = self.0.access.toolkit_of(secret).ok_or(VaultError::ToolkitChanged)?;
        let OwnSecret { slot, .. } = secret;
        let is_read = live.definition.reads(&slot.name);
        if is_read && !options.readable {
            let toolkit = slot.toolkit.clone();
            let name = slot.name.clone();
            return Err(AccessError::ReadableSecret { toolkit, name });
        }
        self.0.stores().disk.room_for_a_little()?;
        // If the current version cannot read the secret, later versions cannot read it either.
        let options = EveryoneOptions { readable: is_read, ..options };
        self.0.stores().vault.set_for_everyone(&self.0.actor(), slot.clone(), value, options).await?;
        info!(by = self.0.id(), toolkit.id = %slot.toolkit, name = %slot.name, "set a secret for everyone");
        self.0.access.hints().tell_all(Hint::Secret(secret.subject()));
        Ok(StoredSecret::of(slot, value))
    }

    /// Removes a value for everyone, even if the toolkit no longer declares the name.
    pub async fn unset_secret_for_everyone(&self, toolkit: &str, name: &str) -> Result<(), AccessError> {
        let visible = self.0.toolkit(toolkit)?;
        if !self.0.stores().vault.unset(&self.0.actor(), EVERYONE, toolkit, name).await? {
            visible.secret(name)?;
        }
        Ok(())
    }
}

impl StoredSecret {
    fn of(slot: &SecretSlot, value: &SecretString) -> Self {
        Self { name: slot.name.clone(), redacted: redaction::is_findable(value.expose_secret()) }
    }
}

impl VisibleToolkit {
    /// Returns the permission to set a declared secret. Refuses other names, so that no credential is stored
    /// under a misspelled name.
    pub fn secret(&self, name: &str) -> Result<OwnSecret, AccessError> {
        let definition = self.definition();
        let declared = definition.credentials();
        if !declared.contains(&name) {
            return Err(AccessError::UndeclaredSecret {
                toolkit: definition.id.clone(),
                name: name.to_owned(),
                declared: declared.into_iter().map(str::to_owned).collect(),
            });
        }
        let slot = SecretSlot {
            user: self.user.id().to_owned(),
            toolkit: definition.id.clone(),
            owner: self.owner().to_owned(),
            name: name.to_owned(),
        };
        Ok(OwnSecret { slot, reach: Some(self.live().reach.clone()) })
    }
}

/// Ignores the reach.
impl PartialEq for OwnSecret {
    fn eq(&self, other: &Self) -> bool {
        self.slot == other.slot
    }
}

impl OwnSecret {
    /// Returns the user, toolkit, owner and name of the secret.
    pub fn slot(&self) -> &SecretSlot {
        &self.slot
    }

    pub(super) fn of_slot(slot: SecretSlot) -> Self {
        Self { slot, reach: None }
    }

    /// Returns the same secret, with the reach that its user was shown.
    #[must_use]
    pub fn seen_with(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// Subject of the hint that the secret is set.
    pub(super) fn subject(&self) -> Subject {
        let SecretSlot { user, toolkit, name, .. } = &self.slot;
        Subject::of(&["secret", user, toolkit, name])
    }

    /// Whether the secret belongs to the caller's user.
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.slot.user == caller.user_id
    }
}

impl Access {
    /// Returns the toolkit of a secret, if its owner is unchanged, the user may still see it, and it declares
    /// the secret.
    pub fn toolkit_of(&self, OwnSecret { slot, .. }: &OwnSecret) -> Option<Arc<Live>> {
        let SecretSlot { user, toolkit, owner, name } = slot;
        let registry = self.stores().toolkits.registry.load();
        let live = registry.get(toolkit)?;
        let is_still_valid = live.owner == *owner
            && rules::may_see(user, live)
            && live.definition.credentials().contains(&name.as_str());
        is_still_valid.then(|| live.clone())
    }

    pub(super) async fn set_with(
        &self,
        secret: &OwnSecret,
        value: &SecretString,
        by: SetBy<'_>,
    ) -> Result<StoredSecret, AccessError> {
        let live = self.toolkit_of(secret).ok_or(VaultError::ToolkitChanged)?;
        let OwnSecret { slot, .. } = secret;
        self.stores().disk.room_for_a_little()?;
        let reach = secret.reach.as_ref().unwrap_or(&live.reach);
        if !self.stores().toolkits.consents.agree_first(&slot.user, &live, reach, FirstAct::Gift).await? {
            return Err(VaultError::ToolkitChanged.into());
        }
        match by {
            SetBy::Link(link) => self.stores().vault.set_by_link(link, value).await?,
            SetBy::User(by) => self.stores().vault.set(by, slot.clone(), value).await?,
        }
        self.hints().tell_all(Hint::Secret(secret.subject()));
        Ok(StoredSecret::of(slot, value))
    }
}
