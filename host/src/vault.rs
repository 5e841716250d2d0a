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
//! - a call sees the secrets as they were when it began.

mod master_key;
mod seal;
mod store;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use moka::future::Cache;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Mutex, RwLock};
use tracing::{error, info};

use crate::database::Database;
use crate::redaction::Redactor;
pub use master_key::{KeySource, MasterKeyError};

use master_key::{Creation, MasterKeys};
use seal::Place;
use store::{Row, Store};

/// Longest value, in bytes. A key or a certificate fits; a file does not.
pub const LONGEST: usize = 8 << 10;
/// What all values of one user may take, in bytes: each of them is looked for in all that leaves the
/// sandbox.
pub const MOST_OF_USER: usize = 64 << 10;

/// How long the opened secrets of a user who makes no calls stay in memory.
const IDLE: Duration = Duration::from_mins(5);
/// What the opened secrets of all users may take in memory, in bytes.
const OPENED: u64 = 256 << 20;
/// Records that are rewrapped in one transaction.
const BATCH: u32 = 500;

/// Sealed secrets, and whoever's secrets are open at the moment.
pub struct Vault {
    store: Store,
    source: KeySource,
    /// Grows while the process lives: a record that was read just before a rotation still opens.
    keys: ArcSwap<MasterKeys>,
    /// By user. Of calls that begin at once, one opens and the others wait for it.
    opened: Cache<String, Arc<UserSecrets>>,
    /// Held for reading while records are opened, for writing while they change: what is open is never
    /// older than the last change.
    changing: RwLock<()>,
    /// Held while a value is sealed or the keys change: none is sealed with a key on its way out.
    sealing: Mutex<()>,
}

/// All secrets of one user, open.
#[derive(Default)]
pub struct UserSecrets {
    values: HashMap<(String, String), SecretString>,
    redactor: Redactor,
}

/// A declared name, for a person: never the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretStatus {
    /// As declared.
    pub name: String,
    /// Whether it has a value.
    pub set: bool,
    /// When it was set: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotated {
    /// Name of the master key that seals from now on.
    pub master_key: String,
    /// How many records were wrapped anew.
    pub rewrapped: u64,
}

/// Why the vault did not do what it was asked to.
#[derive(Debug, Error)]
pub enum VaultError {
    /// The value cannot be a secret; says why, without quoting it.
    #[error("{0}")]
    Refused(String),
    /// There is no such toolkit any more.
    #[error("the toolkit is gone")]
    NoToolkit,
    /// Our fault; the text is for the log.
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

impl From<sqlx::Error> for VaultError {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(refused) if refused.is_foreign_key_violation() => Self::NoToolkit,
            _ => Self::Storage(error.to_string()),
        }
    }
}

impl From<VaultError> for OpenError {
    fn from(error: VaultError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
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
        let opened = Cache::builder()
            .max_capacity(OPENED)
            .weigher(|_, secrets: &Arc<UserSecrets>| secrets.memory())
            .time_to_idle(IDLE)
            .build();
        let vault = Self {
            store,
            source,
            keys: ArcSwap::from_pointee(keys),
            opened,
            changing: RwLock::default(),
            sealing: Mutex::default(),
        };
        vault.finish_rotation().await?;
        Ok(vault)
    }

    /// The secrets of a user, opened at the first call and remembered for a while.
    pub async fn of_user(&self, user: &str) -> Result<Arc<UserSecrets>, VaultError> {
        if let Some(opened) = self.opened.get(user).await {
            return Ok(opened);
        }
        let _unchanged = self.changing.read().await;
        let opened = self.opened.try_get_with_by_ref(user, self.read(user)).await;
        opened.map_err(|error: Arc<VaultError>| VaultError::Storage(error.to_string()))
    }

    async fn read(&self, user: &str) -> Result<Arc<UserSecrets>, VaultError> {
        let rows = self.store.of_user(user).await?;
        if rows.is_empty() {
            return Ok(Arc::default());
        }
        // Loaded after the records: whichever key wraps one of them is among these.
        let keys = self.keys.load_full();
        // Many large secrets take their time to be prepared for redaction.
        let open = tokio::task::spawn_blocking(move || UserSecrets::open(rows, &keys)).await;
        open.map_err(|panic| VaultError::Storage(panic.to_string()))?.map(Arc::new)
    }

    /// Seals a value for one toolkit of one user. Whoever calls has checked that the name is declared.
    pub async fn set(
        &self,
        user: &str,
        toolkit: &str,
        name: &str,
        value: &SecretString,
    ) -> Result<(), VaultError> {
        check(value)?;
        let place = Place { user, toolkit, name };
        let _sealing = self.sealing.lock().await;
        let others = self.of_user(user).await?.size_without(toolkit, name);
        if others + value.expose_secret().len() > MOST_OF_USER {
            let detail = format!("all secrets of one user together may take {MOST_OF_USER} bytes");
            return Err(VaultError::Refused(detail));
        }
        let keys = self.keys.load_full();
        let sealed = seal::seal(keys.current(), place, value);
        {
            let _changing = self.changing.write().await;
            self.store.put(place, keys.current().name(), sealed).await?;
            self.opened.invalidate(user).await;
        }
        info!(%user, toolkit.id = %toolkit, %name, "set a secret");
        Ok(())
    }

    /// Removes a value; says whether there was one.
    pub async fn unset(&self, user: &str, toolkit: &str, name: &str) -> Result<bool, VaultError> {
        let _changing = self.changing.write().await;
        let deleted = self.store.delete(Place { user, toolkit, name }).await?;
        self.opened.invalidate(user).await;
        info!(%user, toolkit.id = %toolkit, %name, "removed a secret");
        Ok(deleted)
    }

    /// Says which of the `declared` names have a value.
    pub async fn list(
        &self,
        user: &str,
        toolkit: &str,
        declared: &[String],
    ) -> Result<Vec<SecretStatus>, VaultError> {
        let known: HashMap<_, _> = self.store.names(user, toolkit).await?.into_iter().collect();
        let status = |name: &String| {
            let updated_at = known.get(name).copied();
            let shown = |at| Timestamp::from_millisecond(at).unwrap_or_default().to_string();
            SecretStatus { name: name.clone(), set: updated_at.is_some(), updated_at: updated_at.map(shown) }
        };
        Ok(declared.iter().map(status).collect())
    }

    /// Forgets what is open: the records of a toolkit have gone with it.
    pub async fn forget_opened(&self) {
        let _changing = self.changing.write().await;
        self.opened.invalidate_all();
    }

    /// Wraps every record with a new master key. Where the keys are in a file, the new one is made here
    /// and the old ones go; elsewhere the new one is the first of those that the operator gave.
    pub async fn rotate(&self) -> Result<Rotated, VaultError> {
        let _sealing = self.sealing.lock().await;
        let failed = |error: MasterKeyError| VaultError::Storage(error.to_string());
        if let KeySource::File(path) = &self.source {
            let keys = self.keys.load().with_new();
            // Both keys are in the file before the first record is under the new one.
            keys.save(path).map_err(failed)?;
            self.keys.store(Arc::new(keys));
        }
        let rewrapped = self.rewrap_all().await?;
        if let KeySource::File(path) = &self.source {
            self.keys.load().only_current().save(path).map_err(failed)?;
        }
        let master_key = self.keys.load().current().name().to_owned();
        info!(%master_key, rewrapped, "rotated the master key");
        Ok(Rotated { master_key, rewrapped })
    }

    /// Ends what a crash has interrupted: a file with more than one key is a rotation half done.
    async fn finish_rotation(&self) -> Result<(), OpenError> {
        let KeySource::File(path) = &self.source else { return Ok(()) };
        if self.keys.load().are_several() {
            let rewrapped = self.rewrap_all().await?;
            self.keys.load().only_current().save(path)?;
            info!(rewrapped, "finished the rotation of the master key");
        }
        Ok(())
    }

    async fn rewrap_all(&self) -> Result<u64, VaultError> {
        let keys = self.keys.load_full();
        let current = keys.current();
        let mut rewrapped = 0;
        loop {
            let rows = self.store.not_under(current.name(), BATCH).await?;
            if rows.is_empty() {
                return Ok(rewrapped);
            }
            let wrap = |row: Row| {
                let old = keys.named(&row.master_key).ok_or(seal::Broken);
                let wrapped =
                    old.and_then(|old| seal::rewrap(old, current, row.place(), &row.sealed.wrapped_key));
                let wrapped_key = wrapped.map_err(|_| broken_at(row.place()))?;
                Ok::<_, VaultError>((row, wrapped_key))
            };
            let wrapped: Vec<_> = rows.into_iter().map(wrap).collect::<Result<_, _>>()?;
            self.store.rewrap(&wrapped, current.name()).await?;
            rewrapped += wrapped.len() as u64;
        }
    }
}

impl UserSecrets {
    fn open(rows: Vec<Row>, keys: &MasterKeys) -> Result<Self, VaultError> {
        let mut values = HashMap::with_capacity(rows.len());
        for row in rows {
            let key = keys.named(&row.master_key).ok_or(seal::Broken);
            let value = key.and_then(|key| seal::open(key, row.place(), &row.sealed));
            let value = value.map_err(|_| broken_at(row.place()))?;
            values.insert((row.toolkit_id, row.name), value);
        }
        Ok(Self::of(values))
    }

    /// Takes values that are open already, by toolkit and name.
    pub fn of(values: HashMap<(String, String), SecretString>) -> Self {
        let redactor = Redactor::new(values.values());
        Self { values, redactor }
    }

    /// The value of a name, for a call of that toolkit.
    pub fn get(&self, toolkit: &str, name: &str) -> Option<&SecretString> {
        self.values.get(&(toolkit.to_owned(), name.to_owned()))
    }

    /// Removes every one of these values from text.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    fn size_without(&self, toolkit: &str, name: &str) -> usize {
        let others =
            self.values.iter().filter(|((of, named), _)| (of.as_str(), named.as_str()) != (toolkit, name));
        others.map(|(_, value)| value.expose_secret().len()).sum()
    }

    /// What they take in memory, in bytes.
    fn memory(&self) -> u32 {
        const OVERHEAD: usize = 256;
        let values: usize = self.values.values().map(|value| value.expose_secret().len() + OVERHEAD).sum();
        u32::try_from(OVERHEAD + values + self.redactor.memory()).unwrap_or(u32::MAX)
    }
}

fn check(value: &SecretString) -> Result<(), VaultError> {
    let refused = |reason: String| Err(VaultError::Refused(reason));
    match value.expose_secret().len() {
        0 => refused("the value is empty; `kitbag secret unset` removes a value".to_owned()),
        length if length > LONGEST => refused(format!("the value is longer than {LONGEST} bytes")),
        _ => Ok(()),
    }
}

/// A record that its key does not open was changed from outside: nobody's call may go on without it,
/// because what is not known cannot be redacted.
fn broken_at(place: Place<'_>) -> VaultError {
    error!(user = %place.user, toolkit.id = %place.toolkit, name = %place.name, "a sealed secret does not open");
    VaultError::Storage("a sealed secret does not open".to_owned())
}
