//! Secrets and accounts of users, encrypted at rest; credentials attached to requests of toolkits; values
//! cached by toolkits.
//!
//! ```text
//! value ──AES-256-GCM──▶ sealed     under a key of the record's own
//!                 record's key ──▶ wrapped_key     under the master key
//! ```
//!
//! Invariants:
//! - the database never contains a value, or a key that decrypts one;
//! - values are given only to calls of their user, and values for everyone only to calls of their toolkit;
//! - a call uses the secrets as of its start;
//! - a change that has begun is completed with all its consequences, even if the caller no longer waits.
//!
//! # Modules
//!
//! - `link`: seals and opens links to the page of a secret (docs/decisions/0037)
//! - `user_cache`: values that toolkits cache for their users between calls, encrypted like secrets
//!   (docs/decisions/0077); `cached` deletes them when the secrets they were obtained with, or the master
//!   key, change
//! - `outbound_auth`: attaches the credentials declared in `auth` to requests of toolkits: tokens of accounts
//!   and of the toolkit's own grant, API keys, HTTP Basic
//! - `outbound_auth/accounts`: connected accounts: authorization at the provider, renewal, revocation
//!   (docs/decisions/0065)
//! - `account`: accounts as encrypted rows, and the lock for renewing the tokens of each
//! - `audit_keys`: the keys that seal the audit log (docs/decisions/0083)
//! - `call_secrets`: the secrets of a call: those of its user and those for everyone (docs/decisions/0066)

mod account;
mod audit_keys;
mod cached;
mod call_secrets;
mod check;
mod link;
mod master_key;
pub mod outbound_auth;
mod resealing;
mod rotation;
mod seal;
mod sealed_state;
mod sealed_value;
mod secret_cache;
mod store;
#[cfg(test)]
mod tests;
pub mod user_cache;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use kitbag_base::redaction;
use kitbag_base::tasks::{Interrupted, to_its_end};
use kitbag_database::audit::{Act, Actor, Entry};
use kitbag_database::{Database, DatabaseError, EVERYONE};
use kitbag_manifest::ToolkitDefinition;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::Mutex;
use tracing::{error, info};

pub use account::{Account, AccountState, Once, Tokens};
pub use audit_keys::audit_keys;
pub use cached::forget_most;
pub use check::{SecretsCheck, check_secrets, master_key_names};
pub use link::Link;
pub use master_key::{KeySource, MasterKeyError};
pub use resealing::Resealing;
pub use rotation::Rotated;
pub use sealed_value::SealedValue;
pub use secret_cache::UserSecrets;
pub use store::EveryoneOptions;

use account::ACCOUNT;
use call_secrets::CallSecrets;
use master_key::{Creation, MasterKeys};
use seal::SecretId;
use secret_cache::SecretCache;
use store::{Row, Store, Write};

/// Maximum length of a value, in bytes. A key or a certificate fits; a file does not.
pub const MAX_VALUE_BYTES: usize = 8 << 10;
/// Total size of all values of one user, in bytes: all output of the sandbox is searched for each of them.
pub const MAX_BYTES_PER_USER: usize = 64 << 10;

/// Total lines of all values of one user: each line is searched for separately, in many encodings.
pub const MAX_LINES_PER_USER: usize = 512;

/// Maximum number of connected accounts per user.
pub const MAX_ACCOUNTS_PER_USER: usize = 100;

/// Time after a user's last call for which their decrypted secrets stay in memory.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// Interval at which expired secrets are removed from memory.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Store of encrypted secrets, with a cache of decrypted ones.
pub struct Vault {
    store: Store,
    source: KeySource,
    /// Keys are only added while the process runs, so a record read just before a rotation can still be
    /// decrypted.
    keys: ArcSwap<MasterKeys>,
    cache: SecretCache,
    merged: Arc<CallSecrets>,
    /// Locked while a value is encrypted or the keys change, so that no value is encrypted with a key being
    /// retired.
    sealing: Mutex<()>,
}

/// Status of a secret that is declared or has a value, without the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretStatus {
    /// The secret's name.
    pub name: String,
    /// Whether the live version of the toolkit declares it.
    pub declared: bool,
    /// Whether the toolkit can read the value. Otherwise only the server uses it, to sign in for the toolkit.
    #[serde(default)]
    pub readable: bool,
    /// Whether the user has set a value.
    pub set: bool,
    /// Time at which the value was set: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Value set by an operator for everyone, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_everyone: Option<ForEveryone>,
}

/// Status of a value that an operator has set for all users of a toolkit, without the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForEveryone {
    /// Whether the value overrides the users' own ones.
    pub only: bool,
    /// Time at which the value was set: RFC 3339, UTC.
    pub updated_at: String,
}

impl SecretStatus {
    /// Returns whether calls of the user have a value.
    pub fn has_value(&self) -> bool {
        self.set || self.for_everyone.is_some()
    }
}

/// A value that a user has stored for a toolkit, without the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredName {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Name of the secret; `None` for the account.
    pub name: Option<String>,
    /// Time at which it was set or renewed: RFC 3339, UTC.
    pub updated_at: String,
}

/// Identifies a user's secret for a toolkit of a given owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSlot {
    /// User id.
    pub user: String,
    /// Id of the toolkit that may use the secret.
    pub toolkit: String,
    /// Owner of the toolkit, whom the user trusts with the secret.
    pub owner: String,
    /// Name of the secret, as declared by the toolkit.
    pub name: String,
}

impl SecretSlot {
    fn id(&self) -> SecretId<'_> {
        SecretId { user: &self.user, toolkit: &self.toolkit, name: &self.name }
    }
}

/// Errors of vault operations.
#[derive(Debug, Error)]
pub enum VaultError {
    /// The value is not allowed; the text says why, without quoting it.
    #[error("{0}")]
    Refused(String),
    /// The toolkit was removed, its version differs from the one shown to the user, or its owner is no longer
    /// the one in the [`SecretSlot`].
    #[error("the toolkit has another version, or was removed or taken over in the meantime; nothing was set")]
    ToolkitChanged,
    /// The link was used before.
    #[error("the link was used before; nothing was set")]
    LinkSpent,
    /// Everything is sealed with the current master key, so a rotation has nothing to do.
    #[error(
        "Nothing was rotated: the master key {master_key}, the first that this server was given, seals everything already{}. \
         To replace that key, give it a new one before that one, restart it, and rotate again (where several processes serve, \
         give all of them the new one after the old one first).",
        if *broken > 0 { format!(", except for {broken} secrets that do not open") } else { String::new() }
    )]
    NothingRotated {
        /// Name of the current master key.
        master_key: String,
        /// Number of records that cannot be decrypted; the log names each.
        broken: u64,
    },
    /// An operator has ended the user; nothing is stored for them.
    #[error("the access of the user was ended; nothing was set")]
    UserEnded,
    /// An internal error; the text is for the log.
    #[error("the vault failed: {0}")]
    Storage(String),
}

/// Errors of opening the vault.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The master keys cannot be read.
    #[error(transparent)]
    Key(#[from] MasterKeyError),
    /// Records need a master key that is not available.
    #[error(
        "{records} secrets are sealed with the master key {name}, which this server was not given: give it the key it had before, after the new one if there is a new one"
    )]
    KeyMissing {
        /// The key's name.
        name: String,
        /// Number of records sealed with it.
        records: i64,
    },
    /// The records cannot be read.
    #[error("cannot read the vault: {0}")]
    Storage(String),
}

impl From<DatabaseError> for VaultError {
    fn from(error: DatabaseError) -> Self {
        if error.is_user_ended() { Self::UserEnded } else { Self::Storage(error.to_string()) }
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
    /// Reads the master keys, and checks that all keys used by the records are available.
    pub async fn open(database: Database, source: KeySource) -> Result<Self, OpenError> {
        let store = Store::new(database.clone());
        let used = store.master_keys().await?;
        let creation = if used.is_empty() { Creation::Allowed } else { Creation::Refused };
        let keys = MasterKeys::load(&source, creation).await?;
        if let Some((name, records)) = used.into_iter().find(|(name, _)| keys.named(name).is_none()) {
            return Err(OpenError::KeyMissing { name, records });
        }
        database.seal_audit_with(audit_keys::derived(&keys)).await?;
        let merged = Arc::new(CallSecrets::new(IDLE_TIMEOUT));
        let vault = Self {
            store,
            source,
            keys: ArcSwap::from_pointee(keys),
            cache: SecretCache::new(IDLE_TIMEOUT, SWEEP_INTERVAL, merged.clone()),
            merged,
            sealing: Mutex::default(),
        };
        vault.finish_rotation().await?;
        vault.store.end_refreshes_of_the_last_process().await?;
        Ok(vault)
    }

    /// Returns the names of the master keys. The first one encrypts.
    pub fn master_keys(&self) -> Vec<String> {
        self.keys.load().names()
    }

    /// Returns the secrets that a user has set, decrypted at the first call and cached for a limited time.
    pub async fn of_user(&self, user: &str) -> Result<Arc<UserSecrets>, VaultError> {
        let opened = self.cache.get_or(user, || self.read(user)).await;
        opened.map_err(|error: Arc<VaultError>| VaultError::Storage(error.to_string()))
    }

    /// Removes the decrypted secrets of a user from memory unless they have this revision.
    pub async fn catch_up(&self, user: &str, revision: i64) {
        self.cache.catch_up(user, revision, || self.read(user)).await;
    }

    /// Returns the secrets of a user, and their revision.
    async fn read(&self, user: &str) -> Result<(i64, UserSecrets), VaultError> {
        let (revision, rows) = self.store.of_user(user).await?;
        if rows.is_empty() {
            return Ok((revision, UserSecrets::default()));
        }
        // Loaded after the records, so the keys that wrap them are included.
        let keys = self.keys.load_full();
        // Preparing many large secrets for redaction takes a while.
        let open = tokio::task::spawn_blocking(move || UserSecrets::open(rows, &keys));
        Ok((revision, open.await.map_err(Interrupted::from)??))
    }

    /// Encrypts and stores a value for one user and one toolkit. The caller has checked that the name is
    /// declared.
    pub async fn set(
        self: &Arc<Self>,
        by: &Actor,
        slot: SecretSlot,
        value: &SecretString,
    ) -> Result<(), VaultError> {
        self.set_with(by, slot, value, None, EveryoneOptions::default()).await
    }

    /// Encrypts and stores a value for all users of a toolkit. The caller has checked that the actor is an
    /// operator and that the name is declared.
    pub async fn set_for_everyone(
        self: &Arc<Self>,
        by: &Actor,
        slot: SecretSlot,
        value: &SecretString,
        options: EveryoneOptions,
    ) -> Result<(), VaultError> {
        self.set_with(by, SecretSlot { user: EVERYONE.to_owned(), ..slot }, value, None, options).await
    }

    async fn set_with(
        self: &Arc<Self>,
        by: &Actor,
        slot: SecretSlot,
        value: &SecretString,
        once: Option<Once>,
        options: EveryoneOptions,
    ) -> Result<(), VaultError> {
        check(value)?;
        let vault = self.clone();
        let by = by.clone();
        let value = value.clone();
        to_its_end(async move { vault.set_now(&by, &slot, &value, once.as_ref(), options).await }).await?
    }

    async fn set_now(
        &self,
        by: &Actor,
        slot: &SecretSlot,
        value: &SecretString,
        once: Option<&Once>,
        options: EveryoneOptions,
    ) -> Result<(), VaultError> {
        let id = slot.id();
        let SecretId { user, toolkit, name } = id;
        let _sealing = self.sealing.lock().await;
        let keys = self.keys.load_full();
        let sealed = seal::seal(keys.current(), id, value);
        let check = |rows: &[Row]| check_share(rows, &keys, id, value).map(|()| true);
        let owner = Some(slot.owner.as_str());
        let act = if user == EVERYONE { Act::SecretSetForEveryone } else { Act::SecretSet };
        let audit = Some(Entry::new(act, by).toolkit(toolkit).name(name));
        let write = Write { owner, master_key: keys.current().name(), sealed, once, options, audit };
        if !self.store.put(slot, write, check).await? {
            return Err(VaultError::ToolkitChanged);
        }
        self.cache.forget(user).await;
        info!(%user, toolkit.id = %toolkit, %name, "set a secret");
        Ok(())
    }

    /// Removes a value, declared or not. Returns whether there was one.
    pub async fn unset(
        self: &Arc<Self>,
        by: &Actor,
        user: &str,
        toolkit: &str,
        name: &str,
    ) -> Result<bool, VaultError> {
        // Accounts are removed by `remove_account` only.
        if name == ACCOUNT {
            return Ok(false);
        }
        let vault = self.clone();
        let by = by.clone();
        let [user, toolkit, name] = [user, toolkit, name].map(str::to_owned);
        let change = async move {
            let id = SecretId { user: &user, toolkit: &toolkit, name: &name };
            let act = if id.user == EVERYONE { Act::SecretUnsetForEveryone } else { Act::SecretUnset };
            let audit = Entry::new(act, &by).toolkit(id.toolkit).name(id.name);
            let is_own = by.user() == id.user || id.user == EVERYONE;
            let audit = if is_own { audit } else { audit.affects(id.user) };
            let deleted = vault.store.delete(id, &audit).await?;
            vault.cache.forget(&user).await;
            if deleted {
                info!(%user, toolkit.id = %toolkit, %name, "removed a secret");
            }
            Ok(deleted)
        };
        to_its_end(change).await?
    }

    /// Lists the status of all declared secrets, and of other secrets that have a value.
    pub async fn list(
        &self,
        user: &str,
        toolkit: &str,
        definition: Option<&ToolkitDefinition>,
    ) -> Result<Vec<SecretStatus>, VaultError> {
        let mut known: BTreeMap<_, _> = self.store.names(user, toolkit).await?.into_iter().collect();
        let mut everyones: BTreeMap<_, _> = self
            .store
            .for_everyone(toolkit)
            .await?
            .into_iter()
            .map(|it| (it.name, (it.updated_at, it.overrides)))
            .collect();
        let shown = |at| Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        let status = |name: &str| {
            let updated_at = known.remove(name).map(shown);
            let for_everyone = everyones
                .remove(name)
                .map(|(at, overrides)| ForEveryone { only: overrides != 0, updated_at: shown(at) });
            SecretStatus {
                name: name.to_owned(),
                declared: true,
                readable: definition.is_some_and(|it| it.reads(name)),
                set: updated_at.is_some(),
                updated_at,
                for_everyone,
            }
        };
        let declared = definition.map(ToolkitDefinition::credentials).unwrap_or_default();
        let mut list: Vec<_> = declared.into_iter().map(status).collect();
        // Lets an operator remove values that a version no longer declares but a later one may declare again.
        list.extend(everyones.into_iter().filter(|_| definition.is_some()).map(|(name, (at, overrides))| {
            let updated_at = known.remove(&name).map(shown);
            let for_everyone = Some(ForEveryone { only: overrides != 0, updated_at: shown(at) });
            let set = updated_at.is_some();
            SecretStatus { name, declared: false, readable: false, set, updated_at, for_everyone }
        }));
        list.extend(known.into_iter().map(|(name, at)| SecretStatus {
            name,
            declared: false,
            readable: false,
            set: true,
            updated_at: Some(shown(at)),
            for_everyone: None,
        }));
        Ok(list)
    }

    /// Returns the names of everything that a user has stored, by toolkit: secrets, and accounts.
    pub async fn stored_names(&self, user: &str) -> Result<Vec<StoredName>, VaultError> {
        let all = self.store.all_names(user).await?.into_iter().map(|(toolkit, name, at)| StoredName {
            toolkit,
            name: Some(name).filter(|name| name != ACCOUNT),
            updated_at: Timestamp::from_millisecond(at).unwrap_or_default().to_string(),
        });
        Ok(all.collect())
    }

    /// Deletes what toolkits have cached for a user, and claims on renewals of the user's accounts. Returns the number of
    /// cached values.
    pub async fn forget_cached(&self, user: &str) -> Result<u64, VaultError> {
        self.store.end_refreshes_of(user).await?;
        Ok(cached::forget_user(self.store.database(), user).await?)
    }

    /// Returns the names of the secrets that a user has set for a toolkit.
    pub async fn names(&self, user: &str, toolkit: &str) -> Result<HashSet<String>, VaultError> {
        Ok(self.store.names(user, toolkit).await?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the names of the secrets that users have set for a toolkit, declared or not, each with the
    /// number of users.
    pub async fn users(&self, toolkit: &str) -> Result<BTreeMap<String, u64>, VaultError> {
        let users = self.store.users(toolkit).await?.into_iter();
        Ok(users.map(|(name, users)| (name, u64::try_from(users).unwrap_or_default())).collect())
    }

    /// Fails if secrets cannot be read, or the master key of an arbitrary one is not available.
    pub async fn check(&self) -> Result<(), VaultError> {
        match self.store.any_master_key().await? {
            Some(name) if self.keys.load().named(&name).is_none() => {
                Err(VaultError::Storage(format!("secrets are sealed with the unknown master key {name}")))
            }
            _ => Ok(()),
        }
    }

    /// Clears the cache of decrypted secrets, after records were deleted with a toolkit or the database was
    /// replaced.
    pub fn clear_cache(&self) {
        self.cache.forget_all();
        self.merged.forget_all();
    }
}

/// Fails if a value would exceed the limits together with the user's other secrets. A record that cannot be
/// decrypted counts by its size, so that the user can still replace it.
fn check_share(
    rows: &[Row],
    keys: &MasterKeys,
    id: SecretId<'_>,
    value: &SecretString,
) -> Result<(), VaultError> {
    let measure =
        |value: &SecretString| (value.expose_secret().len(), redaction::lines_to_find(value.expose_secret()));
    let (mut bytes, mut lines) = measure(value);
    let is_together = |row: &&Row| {
        row.id() != id && row.name != ACCOUNT && (id.user != EVERYONE || row.toolkit_id == id.toolkit)
    };
    for row in rows.iter().filter(is_together) {
        let (more_bytes, more_lines) =
            row.open(keys).map_or((row.sealed.value.len(), 0), |other| measure(&other));
        bytes += more_bytes;
        lines += more_lines;
    }
    let refused = |what: String| {
        let whose = if id.user == EVERYONE { "for everyone, for one toolkit," } else { "of one user" };
        Err(VaultError::Refused(format!("all secrets {whose} together may {what}")))
    };
    if bytes > MAX_BYTES_PER_USER {
        return refused(format!("take {MAX_BYTES_PER_USER} bytes"));
    }
    if lines > MAX_LINES_PER_USER {
        return refused(format!("have {MAX_LINES_PER_USER} lines; this would make {lines}"));
    }
    Ok(())
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

/// Creates the error for a record that cannot be decrypted, because it was changed outside the vault. The
/// user's calls must fail then: an unknown value could not be redacted.
fn broken_record(id: SecretId<'_>) -> VaultError {
    log_broken(id);
    VaultError::Storage("a sealed secret does not open".to_owned())
}

fn log_broken(id: SecretId<'_>) {
    error!(user = %id.user, toolkit.id = %id.toolkit, name = %id.name, "a sealed secret does not open");
}
