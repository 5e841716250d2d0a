//! Keys that seal the audit log, derived from the master keys.

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use kitbag_database::audit::SealingKeys;

use super::master_key::{Creation, KeySource, MasterKey, MasterKeyError, MasterKeys};

/// Reads the master keys, and derives the keys that verify the seals of the audit log. Creates none.
pub async fn audit_keys(source: &KeySource) -> Result<SealingKeys, MasterKeyError> {
    MasterKeys::load(source, Creation::Refused).await.map(|keys| derived(&keys))
}

/// Derives the keys that seal the audit log, in the order of the master keys.
pub(super) fn derived(keys: &MasterKeys) -> SealingKeys {
    SealingKeys::new(keys.all().map(|master| (master.name().to_owned(), key(master))))
}

/// Derives the key for the audit log. It differs from the master key and from all others derived from it.
fn key(master: &MasterKey) -> hmac::Key {
    let derived = Salt::new(HKDF_SHA256, b"kitbag audit 1").extract(master.bytes().as_slice());
    let key = derived.expand(&[b"HMAC-SHA256"], HMAC_SHA256).expect("HKDF makes longer keys too");
    hmac::Key::from(key)
}
