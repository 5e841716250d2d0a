//! The vault: secrets of users, for each toolkit, sealed at rest.
//!
//! ```text
//! value ──AES-256-GCM──▶ sealed     under a key of the record's own
//!                 record's key ──▶ wrapped_key     under the master key
//! ```
//!
//! Invariants:
//! - the database never holds a value, nor a key that opens one;
//! - no function here gives a value to anybody but a call of its owner;
//! - a call sees the secrets as they were when it began;
//! - a change that was begun is ended, with all that follows from it, whether or not anybody waits.

mod master_key;
mod rotation;
mod seal;
mod secret_cache;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::Mutex;
use tracing::{error, info};

use crate::database::{Database, DatabaseError};
use crate::redaction;
use crate::tasks::{Interrupted, to_its_end};
pub use master_key::{KeySource, MasterKeyError};
pub use rotation::Rotated;
pub use secret_cache::UserSecrets;

use master_key::{Creation, MasterKeys};
use seal::SecretId;
use secret_cache::SecretCache;
use store::Store;

/// Longest value, in bytes. A key or a certificate fits; a file does not.
pub const MAX_VALUE_BYTES: usize = 8 << 10;
/// What all values of one user may take, in bytes: each of them is looked for in all that leaves the
/// sandbox.
pub const MAX_BYTES_OF_USER: usize = 64 << 10;

/// Lines that all values of one user may have: each is looked for by itself, in many encodings.
pub const MAX_LINES_OF_USER: usize = 512;

/// How long the opened secrets of a user who makes no calls stay in memory.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// How often what has stayed too long is looked for.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Sealed secrets, and a cache of opened ones.
pub struct Vault {
    store: Store,
    source: KeySource,
    /// Keys are only added while the process runs: a record that was read just before a rotation still opens.
    keys: ArcSwap<MasterKeys>,
    cache: SecretCache,
    /// Held while a value is sealed or the keys change: none is sealed with a key on its way out.
    sealing: Mutex<()>,
}

/// A name that is declared or has a value, for a person: never the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretStatus {
    /// As declared.
    pub name: String,
    /// Whether the toolkit still declares it, and so can read it.
    pub declared: bool,
    /// Whether it has a value.
    pub set: bool,
    /// When it was set: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// Where a value goes: to a user's secret for a toolkit, as long as the toolkit is its owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSlot {
    /// Whose secret it is.
    pub user: String,
    /// Id of the toolkit that may read it.
    pub toolkit: String,
    /// The toolkit's owner, whom the user trusts with it.
    pub owner: String,
    /// The secret's name, which the toolkit declares.
    pub name: String,
}

impl SecretSlot {
    fn id(&self) -> SecretId<'_> {
        SecretId { user: &self.user, toolkit: &self.toolkit, name: &self.name }
    }
}

/// Why the vault did not do what it was asked to.
#[derive(Debug, Error)]
pub enum VaultError {
    /// The value cannot be a secret; says why, without quoting it.
    #[error("{0}")]
    Refused(String),
    /// The toolkit is gone, or is another owner's than the one whom the user knows.
    #[error("the toolkit was removed or taken over in the meantime; nothing was set")]
    ToolkitChanged,
    /// An internal error; the text is for the log.
    #[error("the vault failed: {0}")]
    Storage(String),
}

/// Why the vault did not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The keys cannot be had.
    #[error(transparent)]
    Key(#[from] MasterKeyError),
    /// Records wait for a key that is not among these.
    #[error(
        "{records} secrets are sealed with the master key {name}, which this server was not given: give it the key it had before, after the new one where there is a new one"
    )]
    KeyMissing {
        /// The key's name.
        name: String,
        /// How many.
        records: i64,
    },
    /// The records cannot be read.
    #[error("cannot read the vault: {0}")]
    Storage(String),
}

impl From<DatabaseError> for VaultError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<Interrupted> for VaultError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Storage(interrupted.to_string())
    }
}

impl From<VaultError> for OpenError {
    fn from(error: VaultError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<DatabaseError> for OpenError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl Vault {
    /// Reads the master keys, and checks that they open what is there.
    pub async fn open(database: Database, source: KeySource) -> Result<Self, OpenError> {
        let store = Store::new(database);
        let used = store.master_keys().await?;
        let creation = if used.is_empty() { Creation::Allowed } else { Creation::Refused };
        let keys = MasterKeys::load(&source, creation).await?;
        if let Some((name, records)) = used.into_iter().find(|(name, _)| keys.named(name).is_none()) {
            return Err(OpenError::KeyMissing { name, records });
        }
        let vault = Self {
            store,
            source,
            keys: ArcSwap::from_pointee(keys),
            cache: SecretCache::new(IDLE_TIMEOUT, SWEEP_INTERVAL),
            sealing: Mutex::default(),
        };
        vault.finish_rotation().await?;
        Ok(vault)
    }

    /// The secrets of a user, opened at the first call and remembered for a while.
    pub async fn of_user(&self, user: &str) -> Result<Arc<UserSecrets>, VaultError> {
        let opened = self.cache.get_or(user, || self.read(user)).await;
        opened.map_err(|error: Arc<VaultError>| VaultError::Storage(error.to_string()))
    }

    async fn read(&self, user: &str) -> Result<UserSecrets, VaultError> {
        let rows = self.store.of_user(user).await?;
        if rows.is_empty() {
            return Ok(UserSecrets::default());
        }
        // Loaded after the records: whichever key wraps one of them is among these.
        let keys = self.keys.load_full();
        // Many large secrets take their time to be prepared for redaction.
        let open = tokio::task::spawn_blocking(move || UserSecrets::open(rows, &keys));
        open.await.map_err(Interrupted::from)?
    }

    /// Seals a value for one toolkit of one user. Whoever calls has checked that the name is declared.
    pub async fn set(self: &Arc<Self>, slot: SecretSlot, value: &SecretString) -> Result<(), VaultError> {
        check(value)?;
        let (vault, value) = (self.clone(), value.clone());
        to_its_end(async move { vault.set_now(&slot, &value).await }).await?
    }

    async fn set_now(&self, slot: &SecretSlot, value: &SecretString) -> Result<(), VaultError> {
        let id = slot.id();
        let SecretId { user, toolkit, name } = id;
        let _sealing = self.sealing.lock().await;
        self.check_share(id, value).await?;
        let keys = self.keys.load_full();
        let sealed = seal::seal(keys.current(), id, value);
        if !self.store.put(slot, keys.current().name(), sealed).await? {
            return Err(VaultError::ToolkitChanged);
        }
        self.cache.forget(user).await;
        info!(%user, toolkit.id = %toolkit, %name, "set a secret");
        Ok(())
    }

    /// Refuses a value that would give its user more than a share. A record that does not open counts
    /// by its size, so that setting it again is a way out.
    async fn check_share(&self, id: SecretId<'_>, value: &SecretString) -> Result<(), VaultError> {
        let measure = |value: &SecretString| {
            (value.expose_secret().len(), redaction::lines_to_find(value.expose_secret()))
        };
        let (mut bytes, mut lines) = measure(value);
        let rows = self.store.of_user(id.user).await?;
        let keys = self.keys.load_full();
        for row in rows.iter().filter(|row| row.id() != id) {
            let (more_bytes, more_lines) =
                row.open(&keys).map_or((row.sealed.value.len(), 0), |other| measure(&other));
            bytes += more_bytes;
            lines += more_lines;
        }
        let refused =
            |what: String| Err(VaultError::Refused(format!("all secrets of one user together may {what}")));
        if bytes > MAX_BYTES_OF_USER {
            return refused(format!("take {MAX_BYTES_OF_USER} bytes"));
        }
        if lines > MAX_LINES_OF_USER {
            return refused(format!("have {MAX_LINES_OF_USER} lines; this would make {lines}"));
        }
        Ok(())
    }

    /// Removes a value, declared or not; says whether there was one.
    pub async fn unset(self: &Arc<Self>, user: &str, toolkit: &str, name: &str) -> Result<bool, VaultError> {
        let vault = self.clone();
        let [user, toolkit, name] = [user, toolkit, name].map(str::to_owned);
        let change = async move {
            let id = SecretId { user: &user, toolkit: &toolkit, name: &name };
            let deleted = vault.store.delete(id).await?;
            vault.cache.forget(&user).await;
            if deleted {
                info!(%user, toolkit.id = %toolkit, %name, "removed a secret");
            }
            Ok(deleted)
        };
        to_its_end(change).await?
    }

    /// Says which of the `declared` names have a value, and which others still do.
    pub async fn list(
        &self,
        user: &str,
        toolkit: &str,
        declared: &[String],
    ) -> Result<Vec<SecretStatus>, VaultError> {
        let mut known: BTreeMap<_, _> = self.store.names(user, toolkit).await?.into_iter().collect();
        let shown = |at| Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        let status = |name: &String| {
            let updated_at = known.remove(name).map(shown);
            SecretStatus { name: name.clone(), declared: true, set: updated_at.is_some(), updated_at }
        };
        let mut list: Vec<_> = declared.iter().map(status).collect();
        list.extend(known.into_iter().map(|(name, at)| SecretStatus {
            name,
            declared: false,
            set: true,
            updated_at: Some(shown(at)),
        }));
        Ok(list)
    }

    /// Whether secrets can be read, and the key of one that there is, is known.
    pub async fn check(&self) -> Result<(), VaultError> {
        match self.store.any_master_key().await? {
            Some(name) if self.keys.load().named(&name).is_none() => {
                Err(VaultError::Storage(format!("secrets are sealed with the unknown master key {name}")))
            }
            _ => Ok(()),
        }
    }

    /// Forgets what is open: the records of a toolkit have gone with it.
    pub fn forget_opened(&self) {
        self.cache.forget_all();
    }
}

fn check(value: &SecretString) -> Result<(), VaultError> {
    let refused = |reason: String| Err(VaultError::Refused(reason));
    match value.expose_secret().len() {
        0 => refused("the value is empty; `kitbag secret unset` removes a value".to_owned()),
        length if length > MAX_VALUE_BYTES => {
            refused(format!("the value is longer than {MAX_VALUE_BYTES} bytes"))
        }
        _ => Ok(()),
    }
}

/// A record that its key does not open was changed from outside: nobody's call may go on without it,
/// because what is not known cannot be redacted.
fn broken_at(id: SecretId<'_>) -> VaultError {
    log_broken(id);
    VaultError::Storage("a sealed secret does not open".to_owned())
}

fn log_broken(id: SecretId<'_>) {
    error!(user = %id.user, toolkit.id = %id.toolkit, name = %id.name, "a sealed secret does not open");
}
