//! Keys that protect the audit log, derived from the master keys.

use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use kitbag_database::audit::{AnchorKey, SealingKey, SealingKeys};
use secrecy::zeroize::Zeroizing;

use super::master_key::{Creation, KeySource, MasterKey, MasterKeyError, MasterKeys};

/// Reads the master keys, and derives the keys that verify the seals of the audit log. Creates none.
pub async fn audit_keys(source: &KeySource) -> Result<SealingKeys, MasterKeyError> {
    MasterKeys::load(source, Creation::Refused).await.map(|keys| derived(&keys))
}

/// Derives the keys that protect the audit log, in the order of the master keys.
pub(super) fn derived(keys: &MasterKeys) -> SealingKeys {
    SealingKeys::new(keys.all().map(of_master))
}

/// Derives the keys for the audit log. They differ from the master key and from all others derived from it.
fn of_master(master: &MasterKey) -> SealingKey {
    let derived = Salt::new(HKDF_SHA256, b"kitbag audit 1").extract(master.bytes().as_slice());
    let seal = derived.expand(&[b"HMAC-SHA256"], HMAC_SHA256).expect("HKDF makes longer keys too");
    SealingKey { master: master.name().to_owned(), seal: hmac::Key::from(seal), anchor: anchor_key(&derived) }
}

fn anchor_key(derived: &Prk) -> AnchorKey {
    let mut seed = Zeroizing::new([0; 32]);
    let material = derived.expand(&[b"Ed25519"], HKDF_SHA256).expect("HKDF makes longer keys too");
    material.fill(&mut *seed).expect("it has as many bytes");
    AnchorKey::of_seed(&seed)
}
