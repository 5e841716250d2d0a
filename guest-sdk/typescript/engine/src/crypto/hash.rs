//! SHA-1 and SHA-2 (FIPS 180-4), HMAC (RFC 2104), HKDF (RFC 5869) and PBKDF2 (RFC 8018 §5.2).

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// A hash function of the Web Cryptography API (§30).
#[derive(Clone, Copy)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// Returns the hash function with a registered name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "SHA-1" => Some(Self::Sha1),
            "SHA-256" => Some(Self::Sha256),
            "SHA-384" => Some(Self::Sha384),
            "SHA-512" => Some(Self::Sha512),
            _ => None,
        }
    }
}

/// Evaluates an expression with `$digest` as the type that implements `$hash`.
macro_rules! with_hash {
    ($hash:expr, $digest:ident => $value:expr) => {
        match $hash {
            Hash::Sha1 => {
                type $digest = Sha1;
                $value
            }
            Hash::Sha256 => {
                type $digest = Sha256;
                $value
            }
            Hash::Sha384 => {
                type $digest = Sha384;
                $value
            }
            Hash::Sha512 => {
                type $digest = Sha512;
                $value
            }
        }
    };
}
pub(super) use with_hash;

/// Returns the digest of `data`.
pub(super) fn digest(hash: Hash, data: &[u8]) -> Vec<u8> {
    with_hash!(hash, D => D::digest(data).to_vec())
}

/// Returns the HMAC of `data`, as long as the hash function's output.
pub(super) fn hmac(hash: Hash, key: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    with_hash!(hash, D => {
        let mac = Hmac::<D>::new_from_slice(key).ok()?;
        Some(mac.chain_update(data).finalize().into_bytes().to_vec())
    })
}

/// Returns whether `signature` is the HMAC of `data`, compared in constant time.
pub(super) fn hmac_verify(hash: Hash, key: &[u8], signature: &[u8], data: &[u8]) -> bool {
    with_hash!(hash, D => {
        Hmac::<D>::new_from_slice(key).is_ok_and(|mac| mac.chain_update(data).verify_slice(signature).is_ok())
    })
}

/// Derives `length` bytes with HKDF; `None` if that is more than 255 times the hash function's output.
pub(super) fn hkdf(hash: Hash, key: &[u8], salt: &[u8], info: &[u8], length: usize) -> Option<Vec<u8>> {
    if length > 255 * 64 {
        return None;
    }
    let mut derived = zeroed(length)?;
    with_hash!(hash, D => Hkdf::<D>::new(Some(salt), key).expand(info, &mut derived).ok()?);
    Some(derived)
}

/// Derives `length` bytes with PBKDF2 and HMAC.
pub(super) fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    length: usize,
) -> Option<Vec<u8>> {
    let mut derived = zeroed(length)?;
    with_hash!(hash, D => pbkdf2::pbkdf2_hmac::<D>(password, salt, iterations, &mut derived));
    Some(derived)
}

/// Allocates `length` zero bytes; `None` if there is not enough memory.
fn zeroed(length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(bytes)
}
