//! Seals of the log: HMAC-SHA256 over the ends of each chain, and over the names of all chains.
//!
//! The keys are derived from the master keys, which this crate does not know. Without them, somebody who can
//! only write to the database cannot make other ends look as if the server had written them.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, PoisonError, RwLock};

use aws_lc_rs::hmac;
use thiserror::Error;

use super::anchors::AnchorKey;

/// First element of what is sealed: seals of one kind are none of the other.
const CHAIN: &str = "kitbag audit chain 1";
const LOG: &str = "kitbag audit log 1";

/// Keys that protect the log. The first ones seal and sign; all verify.
#[derive(Clone)]
pub struct SealingKeys(Arc<[SealingKey]>);

/// The keys that were derived from one master key.
#[derive(Clone)]
pub struct SealingKey {
    /// Name of the master key.
    pub master: String,
    /// Key of seals.
    pub seal: hmac::Key,
    /// Key of anchors.
    pub anchor: AnchorKey,
}

/// The keys that a process appends with. Clones share them; `None` until the master keys were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealing(Arc<RwLock<Option<SealingKeys>>>);

/// What a seal covers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Covered<'a> {
    /// The ends of a chain: its name; number, time and hash of the last removed entry; number and hash of the
    /// newest one.
    Chain { chain: &'a str, removed: (i64, i64, &'a [u8]), newest: (i64, &'a [u8]) },
    /// The log: when it began, and the names of all chains in ascending order.
    Log { begun_at: i64, chains: &'a [String] },
}

/// A seal, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seal {
    /// Name of the master key; empty without a seal.
    pub(super) key: String,
    pub(super) bytes: Vec<u8>,
}

/// Fault of a seal, as a clause about what it covers.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum SealFault {
    #[error("is not sealed")]
    Missing,
    #[error("is sealed with the master key {0}, which is not at hand")]
    UnknownKey(String),
    #[error("was changed")]
    Wrong,
}

impl SealingKeys {
    /// Creates the set of keys, the one that seals first.
    pub fn new(keys: impl IntoIterator<Item = SealingKey>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Returns whether there is a key derived from this master key.
    pub fn has(&self, name: &str) -> bool {
        self.key(name).is_some()
    }

    fn key(&self, name: &str) -> Option<&hmac::Key> {
        self.0.iter().find(|key| key.master == name).map(|key| &key.seal)
    }

    /// Returns the key that signs anchors.
    pub(super) fn signing(&self) -> Option<&AnchorKey> {
        self.0.first().map(|key| &key.anchor)
    }

    /// Returns the thumbprints of the keys of anchors, the one that signs first.
    pub(super) fn thumbprints(&self) -> Vec<String> {
        self.0.iter().map(|key| key.anchor.thumbprint()).collect()
    }

    pub(super) fn seal(&self, covered: Covered<'_>) -> Seal {
        let Some(key) = self.0.first() else { return Seal::default() };
        let bytes = hmac::sign(&key.seal, &covered.bytes()).as_ref().to_vec();
        Seal { key: key.master.clone(), bytes }
    }

    pub(super) fn check(&self, seal: &Seal, covered: Covered<'_>) -> Result<(), SealFault> {
        if seal.key.is_empty() {
            return Err(SealFault::Missing);
        }
        let key = self.key(&seal.key).ok_or_else(|| SealFault::UnknownKey(seal.key.clone()))?;
        hmac::verify(key, &covered.bytes(), &seal.bytes).map_err(|_| SealFault::Wrong)
    }
}

impl Debug for SealingKeys {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|key| &key.master)).finish()
    }
}

impl Sealing {
    pub(crate) fn set(&self, keys: SealingKeys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    }

    pub(crate) fn keys(&self) -> Option<SealingKeys> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Covered<'_> {
    /// Returns a JSON array, which is unambiguous.
    fn bytes(self) -> Vec<u8> {
        let json = match self {
            Self::Chain { chain, removed: (removed, at, before), newest: (newest, last) } => {
                serde_json::to_vec(&(
                    CHAIN,
                    chain,
                    removed,
                    at,
                    hex::encode(before),
                    newest,
                    hex::encode(last),
                ))
            }
            Self::Log { begun_at, chains } => serde_json::to_vec(&(LOG, begun_at, chains)),
        };
        json.expect("texts and numbers are valid in JSON")
    }
}
