//! A cache of users' decrypted secrets.
//!
//! Invariant: secrets read before a change are not returned after it. Each entry has the generation that its
//! user had before it was read, and each committed change increments the generation. Changes by other
//! processes are detected by the revision in the database ([`SecretCache::catch_up`]).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use kitbag_base::redaction::Redactor;
use kitbag_database::EVERYONE;
use moka::future::Cache;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::account::{ACCOUNT, Account};
use super::call_secrets::CallSecrets;
use super::master_key::MasterKeys;
use super::store::Row;
use super::{VaultError, broken_record, log_broken, seal};

/// Maximum size in memory of the decrypted secrets of all users, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Number of slots, which users share by hash. After a collision, one user's change makes the other's secrets
/// be read again.
const SLOTS: usize = 1024;

/// All secrets of one user, decrypted.
#[derive(Default)]
pub struct UserSecrets {
    values: HashMap<(String, String), SecretString>,
    /// Keys of `values` that override the users' own values.
    overriding: HashSet<(String, String)>,
    /// Keys of `values` that only the server may use, whatever the toolkit declares.
    sealed: HashSet<(String, String)>,
    /// Toolkits with a value for everyone that cannot be decrypted.
    broken: HashSet<String>,
    /// Accounts by toolkit. Their tokens are redacted only from the output of calls that they were attached
    /// in.
    accounts: HashMap<String, Arc<Account>>,
    redactor: Arc<Redactor>,
}

/// Decrypted secrets by user.
pub(super) struct SecretCache {
    /// Secrets by user. Of concurrent calls, one reads and the others wait for its result.
    cache: Cache<String, Known>,
    slots: Box<[Slot]>,
    hasher: RandomState,
    /// Stops the sweep task when dropped.
    _sweeping: DropGuard,
}

#[derive(Default)]
struct Slot {
    /// Number of changes by this process.
    generation: AtomicU64,
    /// Number of calls in [`SecretCache::get_or`], which may be reading secrets.
    readers: AtomicUsize,
}

/// Guard that counts a reader.
struct Reader<'a>(&'a Slot);

#[derive(Clone)]
struct Known {
    generation: u64,
    /// Revision in the database before the secrets were read.
    revision: i64,
    secrets: Arc<UserSecrets>,
}

impl SecretCache {
    /// Creates a cache in which unused secrets stay for `idle`, and up to `sweep` longer.
    pub(super) fn new(idle: Duration, sweep: Duration, merged: Arc<CallSecrets>) -> Self {
        let cache: Cache<String, Known> = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|_, known: &Known| known.secrets.memory())
            .time_to_idle(idle)
            .build();
        let stopped = CancellationToken::new();
        // The cache has no thread of its own: without calls, expired entries would stay in memory.
        let swept = cache.clone();
        let until = stopped.clone();
        let sweeping = async move {
            loop {
                sleep(sweep).await;
                swept.run_pending_tasks().await;
                merged.sweep();
            }
        };
        tokio::spawn(async move { until.run_until_cancelled(sweeping).await });
        Self {
            cache,
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            hasher: RandomState::new(),
            _sweeping: stopped.drop_guard(),
        }
    }

    /// Returns the cached secrets of a user, or those that `open` reads with their revision; never secrets
    /// that were read before a change that was complete when this was called.
    pub(super) async fn get_or<Opening>(
        &self,
        user: &str,
        open: impl Fn() -> Opening,
    ) -> Result<Arc<UserSecrets>, Arc<VaultError>>
    where
        Opening: Future<Output = Result<(i64, UserSecrets), VaultError>>,
    {
        let slot = self.slot(user);
        let _reader = Reader::of(slot);
        let wanted = slot.generation.load(Ordering::SeqCst);
        loop {
            let known = self.read(user, &open).await?;
            if known.generation >= wanted {
                return Ok(known.secrets);
            }
            // Read before the change and cached after it, so it is read again.
            self.cache.invalidate(user).await;
        }
    }

    /// Removes the secrets of a user unless they have this revision. Waits for a read in progress, which may
    /// cache secrets from before the change.
    pub(super) async fn catch_up<Opening>(&self, user: &str, revision: i64, open: impl Fn() -> Opening)
    where
        Opening: Future<Output = Result<(i64, UserSecrets), VaultError>>,
    {
        let known = if self.slot(user).readers.load(Ordering::SeqCst) > 0 {
            // A failed read caches nothing.
            self.read(user, &open).await.ok()
        } else {
            self.cache.get(user).await
        };
        if known.is_some_and(|known| known.revision != revision) {
            self.forget(user).await;
        }
    }

    /// Returns the cached secrets, or joins the read in progress, or starts one.
    async fn read<Opening>(&self, user: &str, open: &impl Fn() -> Opening) -> Result<Known, Arc<VaultError>>
    where
        Opening: Future<Output = Result<(i64, UserSecrets), VaultError>>,
    {
        let opening = async {
            let generation = self.slot(user).generation.load(Ordering::SeqCst);
            let (revision, secrets) = open().await?;
            Ok(Known { generation, revision, secrets: Arc::new(secrets) })
        };
        self.cache.try_get_with_by_ref(user, opening).await
    }

    /// Removes the secrets of a user whose records have changed.
    pub(super) async fn forget(&self, user: &str) {
        self.slot(user).generation.fetch_add(1, Ordering::SeqCst);
        self.cache.invalidate(user).await;
    }

    /// Removes all secrets.
    pub(super) fn forget_all(&self) {
        for slot in &self.slots {
            slot.generation.fetch_add(1, Ordering::SeqCst);
        }
        self.cache.invalidate_all();
    }

    fn slot(&self, user: &str) -> &Slot {
        let index = self.hasher.hash_one(user) % SLOTS as u64;
        &self.slots[usize::try_from(index).expect("it is below SLOTS")]
    }
}

impl<'a> Reader<'a> {
    fn of(slot: &'a Slot) -> Self {
        slot.readers.fetch_add(1, Ordering::SeqCst);
        Self(slot)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl UserSecrets {
    pub(super) fn open(rows: Vec<Row>, keys: &MasterKeys) -> Result<Self, VaultError> {
        let mut values = HashMap::with_capacity(rows.len());
        let mut overriding = HashSet::new();
        let mut accounts = HashMap::new();
        let mut broken = HashSet::new();
        let mut sealed = HashSet::new();
        for row in rows {
            if row.name == ACCOUNT {
                // An account that cannot be decrypted counts as missing: its user connects it again.
                accounts.extend(Account::open(&row, keys).map(|it| (row.toolkit_id, Arc::new(it))));
                continue;
            }
            let value = match row.open(keys) {
                Ok(value) => value,
                // Calls of other toolkits still succeed.
                Err(seal::Broken) if row.user_id == EVERYONE => {
                    log_broken(row.id());
                    broken.insert(row.toolkit_id);
                    continue;
                }
                Err(seal::Broken) => return Err(broken_record(row.id())),
            };
            let key = (row.toolkit_id, row.name);
            if row.for_everyone.only {
                overriding.insert(key.clone());
            }
            if row.user_id == EVERYONE && !row.for_everyone.readable {
                sealed.insert(key.clone());
            }
            values.insert(key, value);
        }
        Ok(Self { overriding, sealed, broken, accounts, ..Self::of(values) })
    }

    /// Creates from decrypted values, by toolkit and name.
    pub fn of(values: HashMap<(String, String), SecretString>) -> Self {
        let redactor = Arc::new(Redactor::new(values.values()));
        Self { values, redactor, ..Self::default() }
    }

    /// Returns whether a value for this toolkit cannot be decrypted.
    pub(super) fn is_broken_for(&self, toolkit: &str) -> bool {
        self.broken.contains(toolkit)
    }

    /// Returns whether there is a value for this toolkit.
    pub(super) fn has_any_for(&self, toolkit: &str) -> bool {
        self.values.keys().any(|(of, _)| of == toolkit)
    }

    /// Merges these secrets of a user with those for everyone who uses the toolkit. The user's own value
    /// wins, unless the value for everyone is marked as overriding.
    pub(super) fn with_everyones(&self, everyones: &Self, toolkit: &str) -> Self {
        let mut values = self.values.clone();
        let mut sealed = HashSet::new();
        for (key, value) in everyones.values.iter().filter(|((of, _), _)| of == toolkit) {
            if everyones.overriding.contains(key) || !values.contains_key(key) {
                values.insert(key.clone(), value.clone());
                sealed.extend(everyones.sealed.get(key).cloned());
            }
        }
        let redactor = Arc::new(Redactor::new(self.values.values().chain(values.values())));
        Self { values, sealed, redactor, accounts: self.accounts.clone(), ..Self::default() }
    }

    /// Returns the user's account for a toolkit.
    pub(super) fn account(&self, toolkit: &str) -> Option<&Arc<Account>> {
        self.accounts.get(toolkit)
    }

    /// Returns the name at its provider of the user's account for a toolkit, while it is connected.
    pub fn account_name(&self, toolkit: &str) -> Option<&str> {
        self.account(toolkit).and_then(|account| account.name())
    }

    /// Returns the value of a secret, for a call of that toolkit.
    pub fn get(&self, toolkit: &str, name: &str) -> Option<&SecretString> {
        self.values.get(&(toolkit.to_owned(), name.to_owned()))
    }

    /// As [`get`](Self::get), but only if the toolkit itself may read the value. For values for everyone, the
    /// operator decides that when setting them: a later version that declares the name does not get a value
    /// set for the server alone.
    pub fn readable(&self, toolkit: &str, name: &str) -> Option<&SecretString> {
        let key = (toolkit.to_owned(), name.to_owned());
        self.values.get(&key).filter(|_| !self.sealed.contains(&key))
    }

    /// Returns a redactor for all of these values.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns a redactor for these values and for `others`. A single redactor handles overlapping values, of
    /// which two in sequence would leave a part. Cheap without `others`, which are few.
    pub fn redactor_with(&self, others: &[SecretString]) -> Arc<Redactor> {
        if others.is_empty() {
            return self.redactor.clone();
        }
        Arc::new(Redactor::new(self.values.values().chain(others)))
    }

    /// Approximate size in memory, in bytes.
    pub(super) fn memory(&self) -> u32 {
        const OVERHEAD: usize = 256;
        let values: usize = self.values.values().map(|value| value.expose_secret().len() + OVERHEAD).sum();
        let accounts: usize = self.accounts.values().map(|it| it.memory() + OVERHEAD).sum();
        u32::try_from(OVERHEAD + values + accounts + self.redactor.memory()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn secrets(value: &str) -> UserSecrets {
        UserSecrets::of(HashMap::from([(("books".to_owned(), "KEY".to_owned()), value.into())]))
    }

    fn cache(idle: Duration, sweep: Duration) -> SecretCache {
        SecretCache::new(idle, sweep, Arc::new(CallSecrets::new(idle)))
    }

    #[tokio::test]
    async fn what_nobody_uses_leaves_the_memory_of_a_server_without_calls() {
        let cache = cache(Duration::from_millis(20), Duration::from_millis(20));
        let opening = cache.get_or("ana", || async { Ok((1, secrets("s3cr3t-value"))) }).await;
        let known = opening.map(|known| Arc::downgrade(&known)).expect("it opens");

        for _ in 0..500 {
            if known.upgrade().is_none() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }

        panic!("it is still there");
    }

    #[tokio::test]
    async fn what_was_read_before_a_change_is_not_handed_out_after_it() {
        let cache = Arc::new(cache(Duration::from_mins(5), Duration::from_mins(1)));
        let reached = Arc::new(tokio::sync::Notify::new());
        let go_on = Arc::new(tokio::sync::Notify::new());
        let slow = {
            let cache = cache.clone();
            let reached = reached.clone();
            let go_on = go_on.clone();
            tokio::spawn(async move {
                let open = || async {
                    reached.notify_one();
                    go_on.notified().await;
                    Ok((1, secrets("before-the-change")))
                };
                cache.get_or("ana", open).await.map(drop)
            })
        };
        reached.notified().await;

        // The slow reader has read, but has not finished.
        cache.forget("ana").await;
        go_on.notify_one();
        slow.await.expect("no panic").expect("it opens");
        let times = AtomicUsize::new(0);
        let open = || async {
            times.fetch_add(1, Ordering::SeqCst);
            Ok((2, secrets("after-the-change")))
        };
        let found = cache.get_or("ana", open).await.expect("it opens");

        assert_eq!(found.get("books", "KEY").map(ExposeSecret::expose_secret), Some("after-the-change"));
        cache.get_or("ana", open).await.expect("it opens");
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn what_another_process_has_changed_is_not_handed_out_although_its_read_is_under_way() {
        let cache = Arc::new(cache(Duration::from_mins(5), Duration::from_mins(1)));
        let reached = Arc::new(tokio::sync::Notify::new());
        let go_on = Arc::new(tokio::sync::Notify::new());
        let slow = {
            let cache = cache.clone();
            let reached = reached.clone();
            let go_on = go_on.clone();
            tokio::spawn(async move {
                let open = || async {
                    reached.notify_one();
                    go_on.notified().await;
                    Ok((1, secrets("before-the-change")))
                };
                cache.get_or("ana", open).await.map(drop)
            })
        };
        reached.notified().await;
        let times = AtomicUsize::new(0);
        let open = || async {
            times.fetch_add(1, Ordering::SeqCst);
            Ok((2, secrets("after-the-change")))
        };

        tokio::join!(cache.catch_up("ana", 2, open), async { go_on.notify_one() });
        let found = cache.get_or("ana", open).await.expect("it opens");

        slow.await.expect("no panic").expect("it opens");
        assert_eq!(found.get("books", "KEY").map(ExposeSecret::expose_secret), Some("after-the-change"));
        cache.catch_up("ana", 2, open).await;
        cache.get_or("ana", open).await.expect("it opens");
        assert_eq!(times.load(Ordering::SeqCst), 1, "it is still the same");
        cache.catch_up("ana", 1, open).await;
        cache.get_or("ana", open).await.expect("it opens");
        assert_eq!(times.load(Ordering::SeqCst), 2, "any other revision is another one, also a smaller one");
    }
}
