//! The hash of an entry, over its content and the hash of the entry before it.

use kitbag_base::sha256::{Digest, Sha256};
use serde::Serialize;

/// Predecessor hash of the first entry of a chain.
pub(super) const GENESIS: Digest = [0; 32];

/// Input of the hash of an entry, in this order: a JSON array without spaces. Other systems compute it too
/// ([format](../../docs/audit.md)).
#[derive(Serialize)]
pub(super) struct Covered<'a>(
    /// Hash of the previous entry, hexadecimal.
    pub(super) &'a str,
    /// Chain name.
    pub(super) &'a str,
    /// Sequence number in the chain.
    pub(super) i64,
    /// Milliseconds since 1970.
    pub(super) i64,
    /// Act, outcome and user.
    pub(super) [&'a str; 3],
    /// Client, key, toolkit, version, digest, name and affected user.
    pub(super) [Option<&'a str>; 7],
);

impl Covered<'_> {
    pub(super) fn hash(&self) -> Digest {
        Sha256::digest(serde_json::to_string(self).expect("texts and numbers are valid in JSON"))
    }
}
