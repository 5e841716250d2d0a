//! A user's own secrets: set, removed, listed. No function returns a value.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::{Access, AccessError, User, VisibleToolkit, rules};
use crate::identity::Caller;
use crate::redaction;
use crate::toolkits::{Live, ToolkitError};
use crate::vault::{SecretSlot, SecretStatus, VaultError};

/// The right to set one secret of one user, for a toolkit that the user could see and that declared it. It is kept
/// while a person types the value, and is worth nothing once the toolkit is another owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSecret(SecretSlot);

/// What became of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    /// The secret's name.
    pub name: String,
    /// Whether the value is removed from all that leaves the sandbox: one that is too short is not.
    pub redacted: bool,
}

impl User {
    /// A secret that a toolkit declares which the user can see.
    pub fn secret(&self, toolkit: &str, name: &str) -> Result<OwnSecret, AccessError> {
        self.toolkit(toolkit)?.secret(name)
    }

    /// Each declared name, and whether the user has set it; then what the user has set that is not declared any
    /// more. Own values can be seen although the toolkit cannot.
    pub async fn secrets(&self, toolkit: &str) -> Result<Vec<SecretStatus>, AccessError> {
        let visible = self.toolkit(toolkit).ok();
        let declared = visible.as_ref().map_or(&[][..], |visible| &visible.definition().secrets);
        let list = self.stores().vault.list(self.id(), toolkit, declared).await?;
        if visible.is_none() && list.is_empty() {
            return Err(ToolkitError::Unknown(toolkit.to_owned()).into());
        }
        Ok(list)
    }

    /// Sets a value, if the toolkit is as it was when the right to set it was given.
    pub async fn set_secret(
        &self,
        secret: &OwnSecret,
        value: &SecretString,
    ) -> Result<StoredSecret, AccessError> {
        self.access.set_secret(secret, value).await
    }

    /// Removes a value: whatever is set can be removed, although the toolkit is hidden by now or does not declare
    /// the name any more.
    pub async fn unset_secret(&self, toolkit: &str, name: &str) -> Result<(), AccessError> {
        if !self.stores().vault.unset(self.id(), toolkit, name).await? {
            // Nothing was removed: a name that is misspelled is told from one that is not set.
            self.secret(toolkit, name)?;
        }
        Ok(())
    }
}

impl VisibleToolkit {
    /// A secret that the toolkit declares: a misspelled name must not swallow a credential.
    pub fn secret(&self, name: &str) -> Result<OwnSecret, AccessError> {
        let definition = self.definition();
        if !definition.secrets.iter().any(|declared| declared == name) {
            return Err(AccessError::UndeclaredSecret {
                toolkit: definition.id.clone(),
                name: name.to_owned(),
                declared: definition.secrets.clone(),
            });
        }
        Ok(OwnSecret(SecretSlot {
            user: self.user.id().to_owned(),
            toolkit: definition.id.clone(),
            owner: self.owner().to_owned(),
            name: name.to_owned(),
        }))
    }
}

impl OwnSecret {
    /// Whose it is, and for which toolkit of which owner.
    pub fn slot(&self) -> &SecretSlot {
        &self.0
    }

    /// Whether it is a secret of this caller.
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.0.user == caller.user_id
    }

    #[cfg(test)]
    pub(crate) fn for_test(user: &str, toolkit: &str, owner: &str, name: &str) -> Self {
        let [user, toolkit, owner, name] = [user, toolkit, owner, name].map(str::to_owned);
        Self(SecretSlot { user, toolkit, owner, name })
    }
}

impl Access {
    /// The toolkit of a secret, if it still is the same owner's, for the user to see, and declares the secret.
    pub fn toolkit_of(&self, OwnSecret(slot): &OwnSecret) -> Option<Arc<Live>> {
        let SecretSlot { user, toolkit, owner, name } = slot;
        let registry = self.stores().toolkits.registry();
        let live = registry.get(toolkit)?;
        let is_as_it_was =
            live.owner == *owner && rules::sees(user, live) && live.definition.secrets.contains(name);
        is_as_it_was.then(|| live.clone())
    }

    /// See [`User::set_secret`]: for a request that brings the right and no token.
    pub async fn set_secret(
        &self,
        secret: &OwnSecret,
        value: &SecretString,
    ) -> Result<StoredSecret, AccessError> {
        if self.toolkit_of(secret).is_none() {
            return Err(VaultError::ToolkitChanged.into());
        }
        let OwnSecret(slot) = secret;
        self.stores().disk.room_for_a_little()?;
        self.stores().vault.set(slot.clone(), value).await?;
        let redacted = redaction::is_findable(value.expose_secret());
        Ok(StoredSecret { name: slot.name.clone(), redacted })
    }
}
