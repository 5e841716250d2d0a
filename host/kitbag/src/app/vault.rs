//! Secrets, accounts and cached data of users.

use std::sync::Arc;

use kitbag_database::Database;
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::user_cache::UserCache;
use kitbag_vault::{KeySource, Vault};

use super::error::StartError;
use super::resources::Resources;
use crate::settings::{self, DatabaseLocation, MasterKey, Settings, SettingsError};

/// Everything that toolkits use on behalf of a user.
pub(super) struct UserData {
    pub(super) vault: Arc<Vault>,
    pub(super) accounts: Accounts,
    pub(super) cache: Arc<UserCache>,
}

impl UserData {
    /// Adds accounts and cached data to the vault.
    pub(super) fn of(vault: Arc<Vault>, resources: &Resources) -> Self {
        let Resources { database, egress, disk, .. } = resources;
        let cache = Arc::new(UserCache::new(database.clone(), vault.clone(), disk.clone()));
        cache.keep_sweeping();
        Self { accounts: Accounts::new(egress.clone(), vault.clone()), cache, vault }
    }
}

/// Opens the vault with the configured master keys.
pub(super) async fn open(settings: &Settings, database: &Database) -> Result<Arc<Vault>, StartError> {
    Ok(Arc::new(Vault::open(database.clone(), key_source(settings)?).await?))
}

/// Returns the source of the master keys.
pub fn key_source(settings: &Settings) -> Result<KeySource, SettingsError> {
    Ok(match &settings.master_key {
        MasterKey::File(path) => {
            let path = path.clone().unwrap_or_else(|| settings.data.join("master-key"));
            match settings.database {
                DatabaseLocation::Server(_) => KeySource::GivenFile(path),
                DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => KeySource::File(path),
            }
        }
        MasterKey::Variable(name) => KeySource::Text(settings::variable(name)?),
        MasterKey::Command(line) => KeySource::Command(line.clone()),
        MasterKey::Invalid => return Err(SettingsError::MasterKey),
    })
}
