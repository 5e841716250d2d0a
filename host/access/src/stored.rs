//! Data that a user has stored for one toolkit, which they see and remove even if they can no longer see the
//! toolkit.

use kitbag_toolkits::ToolkitError;
use kitbag_vault::SecretStatus;
use kitbag_vault::user_cache::CacheUsage;

use super::error::AccessError;
use super::stores::Stores;
use super::toolkits::VisibleToolkit;
use super::user::User;

/// A user's data for one toolkit: secrets, the account, cached data, and what is set about its tools.
#[derive(Clone, Copy)]
pub struct StoredData<'a> {
    user: &'a User,
    toolkit: &'a str,
}

impl User {
    /// Returns the user's data for a toolkit, also for one that the user can no longer see.
    pub fn stored_for<'a>(&'a self, toolkit: &'a str) -> StoredData<'a> {
        StoredData { user: self, toolkit }
    }
}

impl StoredData<'_> {
    /// Returns the declared names, with whether the user has set them, and names that are set but no longer
    /// declared.
    pub async fn secrets(&self) -> Result<Vec<SecretStatus>, AccessError> {
        let Self { user, toolkit } = *self;
        let visible = user.toolkit(toolkit).ok();
        let definition = visible.as_ref().map(VisibleToolkit::definition);
        let list = user.stores().vault.list(user.id(), toolkit, definition).await?;
        if visible.is_none() && list.is_empty() {
            return Err(ToolkitError::Unknown(toolkit.to_owned()).into());
        }
        Ok(list)
    }

    /// Removes a value, even if the toolkit no longer declares the name.
    pub async fn unset_secret(&self, name: &str) -> Result<(), AccessError> {
        let Self { user, toolkit } = *self;
        if !user.stores().vault.unset(&user.actor(), user.id(), toolkit, name).await? {
            // Nothing was removed: fails if the name is not declared, for instance misspelled.
            user.secret(toolkit, name)?;
        }
        Ok(())
    }

    /// Disconnects the account, and tries to revoke its tokens at the provider. Returns whether there was
    /// one.
    pub async fn end_account(&self) -> Result<bool, AccessError> {
        let Self { user, toolkit } = *self;
        let Stores { vault, accounts, .. } = user.stores();
        let Some(account) = vault.remove_account(&user.actor(), user.id(), toolkit).await? else {
            return Ok(false);
        };
        accounts
            .revoke_later(user.access.revocation(user.id(), toolkit, account).await.into_iter().collect());
        Ok(true)
    }

    /// Removes all data that the toolkit caches for the user. Returns its size.
    pub async fn clear_cache(&self) -> Result<CacheUsage, AccessError> {
        let Self { user, toolkit } = *self;
        // No toolkit has another id; the id becomes the name of a lock.
        if !toolkit.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Ok(CacheUsage::default());
        }
        user.stores().cache.clear(user.id(), toolkit).await.map_err(AccessError::Cache)
    }

    /// Withdraws the permission of code to call a tool.
    pub async fn disallow_in_code(&self, tool: &str) -> Result<(), AccessError> {
        let Self { user, toolkit } = *self;
        Ok(user.stores().toolkits.code_tools.disallow(&user.actor(), toolkit, tool).await?)
    }

    /// Shows a hidden tool again, or everything hidden of the toolkit.
    pub async fn show_again(&self, tool: Option<&str>) -> Result<(), AccessError> {
        let Self { user, toolkit } = *self;
        let hidden = user.hidden().await?;
        let is_hidden = match tool {
            Some(_) if hidden.has_all_of(toolkit) => {
                return Err(AccessError::HiddenAsAWhole(toolkit.to_owned()));
            }
            Some(tool) => hidden.has(toolkit, tool),
            None => hidden.has_any_of(toolkit),
        };
        if !is_hidden {
            user.tools_of(toolkit)?;
            return Ok(());
        }
        Ok(user.stores().toolkits.hidden.show_again(user.id(), toolkit, tool).await?)
    }
}
