//! Rotation of the master key: every record's key is wrapped with a new one.
//!
//! Invariant: a key file managed by the server always contains every key that a record refers to, and a
//! broken record does not prevent the server from starting.

use std::collections::HashSet;
use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::{Act, Actor, Entry};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::master_key::{KeySource, MasterKeyError, MasterKeys};
use super::seal::SecretId;
use super::store::Row;
use super::{OpenError, Vault, VaultError, audit_keys, log_broken, seal};

/// Maximum number of records rewrapped in one transaction.
const BATCH_ROWS: u32 = 500;

/// Result of a rotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotated {
    /// Name of the new master key.
    pub master_key: String,
    /// Number of records that were rewrapped.
    pub rewrapped: u64,
    /// Number of records that cannot be decrypted, and are unchanged; the log names each.
    pub broken: u64,
}

/// Number of rewrapped and of broken records.
#[derive(Default)]
struct Rewrapped {
    whole: u64,
    broken: u64,
}

impl Vault {
    /// Rewraps every record with a new master key. If the server manages the key file, the new key is created
    /// here and the old ones are removed; otherwise the new key is the first of those given by the operator.
    /// Records that cannot be decrypted are kept, and so are their keys. Fails if there is nothing to rotate.
    pub async fn rotate(self: &Arc<Self>, by: &Actor) -> Result<Rotated, VaultError> {
        let vault = self.clone();
        let by = by.clone();
        to_its_end(async move { vault.rotate_now(&by).await }).await?
    }

    async fn rotate_now(&self, by: &Actor) -> Result<Rotated, VaultError> {
        let _sealing = self.sealing.lock().await;
        if let KeySource::File(path) = &self.source {
            let keys = self.keys.load().with_new_key();
            // Both keys must be in the file before the first record is wrapped with the new one.
            keys.save(path)?;
            self.store.database().seal_audit_with(audit_keys::derived(&keys)).await?;
            self.keys.store(Arc::new(keys));
        }
        let master_key = self.keys.load().current().name().to_owned();
        let sealed_log = self.store.database().audit_key_names().await?;
        let Rewrapped { whole: rewrapped, broken } = self.rewrap_all().await?;
        // Where the server manages the keys, it has just made a new one, and sealed the log with it.
        let is_given = !matches!(self.source, KeySource::File(_));
        if is_given && rewrapped == 0 && sealed_log.iter().all(|name| *name == master_key) {
            return Err(VaultError::NothingRotated { master_key, broken });
        }
        self.store.record(&Entry::new(Act::MasterKeyRotated, by).name(&master_key)).await?;
        self.save(&self.without_unused_keys().await?)?;
        info!(%master_key, rewrapped, broken, "rotated the master key");
        Ok(Rotated { master_key, rewrapped, broken })
    }

    /// Completes a rotation that a crash interrupted: a file with several keys is from such a rotation, or
    /// from one with broken records. The audit entry is written before the old keys are removed from the
    /// file, so at least once.
    pub(super) async fn finish_rotation(&self) -> Result<(), OpenError> {
        if matches!(self.source, KeySource::File(_)) && self.keys.load().has_old_keys() {
            let Rewrapped { whole: rewrapped, broken } = self.rewrap_all().await?;
            let keys = self.without_unused_keys().await?;
            if rewrapped > 0 || keys.names().len() < self.keys.load().names().len() {
                let by = Actor::server();
                let entry = Entry::new(Act::MasterKeyRotated, &by).name(keys.current().name());
                self.store.record(&entry).await?;
            }
            self.save(&keys)?;
            if broken == 0 {
                info!(rewrapped, "finished the rotation of the master key");
            } else {
                warn!(rewrapped, broken, "an old master key stays for the secrets that do not open");
            }
        }
        Ok(())
    }

    /// Returns the current key and those that records refer to.
    async fn without_unused_keys(&self) -> Result<MasterKeys, VaultError> {
        let used: HashSet<_> = self.store.master_keys().await?.into_iter().map(|(name, _)| name).collect();
        Ok(self.keys.load().only_current_and(&used))
    }

    /// Replaces the key file, if the server manages one.
    fn save(&self, keys: &MasterKeys) -> Result<(), MasterKeyError> {
        if let KeySource::File(path) = &self.source { keys.save(path) } else { Ok(()) }
    }

    /// Rewraps secrets, seals the audit log again, and deletes the cached values of toolkits, which can be
    /// obtained again.
    async fn rewrap_all(&self) -> Result<Rewrapped, VaultError> {
        let keys = self.keys.load_full();
        let current = keys.current();
        self.store.forget_cached(current.name()).await?;
        self.store.database().reseal_audit().await?;
        let mut done = Rewrapped::default();
        let mut last: Option<Row> = None;
        loop {
            let after = last.as_ref().map_or(SecretId { user: "", toolkit: "", name: "" }, Row::id);
            let mut rows = self.store.not_wrapped_by(current.name(), after, BATCH_ROWS).await?;
            let mut wrapped = Vec::with_capacity(rows.len());
            for row in &rows {
                let old = keys.named(&row.master_key).ok_or(seal::Broken);
                let wrapped_key =
                    old.and_then(|old| seal::rewrap(old, current, row.id(), &row.sealed.wrapped_key));
                if let Ok(wrapped_key) = wrapped_key {
                    wrapped.push((row, wrapped_key));
                } else {
                    log_broken(row.id());
                    done.broken += 1;
                }
            }
            self.store.rewrap(&wrapped, current.name()).await?;
            done.whole += wrapped.len() as u64;
            last = rows.pop();
            if last.is_none() {
                return Ok(done);
            }
        }
    }
}

impl From<MasterKeyError> for VaultError {
    fn from(error: MasterKeyError) -> Self {
        Self::Storage(error.to_string())
    }
}
