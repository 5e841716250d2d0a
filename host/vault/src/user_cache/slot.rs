//! Owner of cached values: user, toolkit and its owner.

use std::fmt;
use std::sync::Arc;

use kitbag_base::sha256::Sha256;

/// Identifies the values that a toolkit has cached for one user. All fields are set by the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSlot {
    /// User id.
    pub user: Arc<str>,
    /// Toolkit id.
    pub toolkit: Arc<str>,
    /// Owner of the toolkit when the call began. A call that is running during a take-over neither leaves
    /// values for the new owner nor finds theirs.
    pub owner: Arc<str>,
}

impl CacheSlot {
    /// Returns the SHA-256 of the slot and a key. Each part has a length prefix, so that the parts are
    /// unambiguous.
    pub(super) fn digest(&self, key: &str) -> [u8; 32] {
        let mut bytes = Vec::new();
        for part in ["kitbag cache 1", &self.user, &self.toolkit, &self.owner, key] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        Sha256::digest(bytes)
    }
}

/// Writes toolkit and user, separated by a space, which toolkit ids do not contain.
impl fmt::Display for CacheSlot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.toolkit, self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_slot_or_key_has_the_same_digest() {
        let slot = |user: &str, toolkit: &str, owner: &str| CacheSlot {
            user: user.into(),
            toolkit: toolkit.into(),
            owner: owner.into(),
        };
        let ours = slot("ana", "books", "op");

        let digest = ours.digest("key");

        assert_eq!(digest, slot("ana", "books", "op").digest("key"));
        for other in [
            slot("eve", "books", "op"),
            slot("ana", "films", "op"),
            slot("ana", "books", "eve"),
            // The same letters, split differently.
            slot("anab", "ooks", "op"),
        ] {
            assert_ne!(digest, other.digest("key"), "{other:?}");
        }
        assert_ne!(digest, ours.digest("key\0"));
    }
}
