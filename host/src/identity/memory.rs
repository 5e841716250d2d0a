//! Tokens that were verified before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest as hash};

use super::claims::Verified;

/// SHA-256 of a token; the token itself is not kept.
pub(super) type Digest = [u8; 32];

/// How many tokens are remembered at most.
const CAPACITY: usize = 10_000;

/// Remembers verified tokens until they expire or the issuer's key set changes.
///
/// Invariant: an entry counts only for the generation of keys that verified it. So a token signed by
/// a key that the issuer has withdrawn is forgotten as soon as the new set is fetched, and whoever
/// asks must have let the key set refresh itself first. Every other token is then verified once more.
///
/// Only verified tokens get in, so nobody can push others out with garbage.
#[derive(Debug, Default)]
pub(super) struct Memory {
    halves: Mutex<Halves>,
}

/// Two maps that replace each other: when the young one is full it becomes the old one, and the old
/// one goes. Whatever was used meanwhile has moved up; no list of uses is needed.
#[derive(Debug, Default)]
struct Halves {
    young: HashMap<Digest, Entry>,
    old: HashMap<Digest, Entry>,
}

#[derive(Debug)]
struct Entry {
    generation: u64,
    verified: Arc<Verified>,
}

impl Memory {
    /// The verified token of this digest, unless it expired or its generation of keys has passed.
    pub(super) fn recall(&self, digest: &Digest, generation: u64, now: f64) -> Option<Arc<Verified>> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = halves.old.remove(digest) {
            halves.insert(*digest, entry);
        }
        let entry = halves.young.get(digest)?;
        if entry.generation != generation || now >= entry.verified.expires {
            halves.young.remove(digest);
            return None;
        }
        Some(Arc::clone(&entry.verified))
    }

    /// Remembers a token that the keys of `generation` verified.
    pub(super) fn remember(&self, digest: Digest, generation: u64, verified: Arc<Verified>) {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        halves.insert(digest, Entry { generation, verified });
    }
}

impl Halves {
    fn insert(&mut self, digest: Digest, entry: Entry) {
        if self.young.len() >= CAPACITY / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, entry);
    }
}

pub(super) fn digest(token: &str) -> Digest {
    hash(&SHA256, token.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{Caller, TokenProfile};

    fn verified(expires: f64) -> Arc<Verified> {
        let caller = Caller {
            user_id: "ana".to_owned(),
            profile: TokenProfile::Session,
            client_id: None,
            scopes: Vec::new(),
        };
        Arc::new(Verified { caller, authorized_party: None, expires })
    }

    #[test]
    fn a_token_is_forgotten_when_it_expires() {
        let memory = Memory::default();
        memory.remember(digest("t"), 1, verified(100.0));

        assert!(memory.recall(&digest("t"), 1, 99.9).is_some());
        assert!(memory.recall(&digest("t"), 1, 100.0).is_none());
        assert!(memory.recall(&digest("u"), 1, 0.0).is_none());
    }

    #[test]
    fn a_token_is_forgotten_when_the_keys_change() {
        let memory = Memory::default();
        memory.remember(digest("t"), 1, verified(100.0));

        assert!(memory.recall(&digest("t"), 2, 0.0).is_none());
        assert!(memory.recall(&digest("t"), 1, 0.0).is_none());
    }

    #[test]
    fn the_memory_is_bounded_and_keeps_what_is_in_use() {
        let memory = Memory::default();
        memory.remember(digest("in use"), 1, verified(100.0));
        for number in 0..3 * CAPACITY {
            memory.remember(digest(&number.to_string()), 1, verified(100.0));
            assert!(memory.recall(&digest("in use"), 1, 0.0).is_some(), "lost after {number}");
        }

        let halves = memory.halves.lock().unwrap();
        assert!(halves.young.len() + halves.old.len() <= CAPACITY);
    }
}
