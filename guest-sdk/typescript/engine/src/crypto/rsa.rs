//! RSA signatures (RFC 8017): RSASSA-PKCS1-v1_5 and RSASSA-PSS, with keys of 1,024 to 8,192 bits.
//!
//! A private key is `PrivateKeyInfo`, a public key `SubjectPublicKeyInfo`. Nothing here decrypts:
//! RUSTSEC-2023-0071 is about the timing of private operations that an attacker can trigger, and signing is
//! blinded.

use chacha20::ChaCha20Rng;
use rsa::pkcs1::{RsaPrivateKey as PrivateComponents, RsaPublicKey as PublicComponents, UintRef};
use rsa::pkcs8::der::Decode as _;
use rsa::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    PrivateKeyInfoRef, SubjectPublicKeyInfoRef,
};
use rsa::rand_core::SeedableRng as _;
use rsa::{BoxedUint, Pkcs1v15Sign, Pss, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::hash::{Hash, digest, with_hash};

const MAX_MODULUS_BYTES: usize = RsaPublicKey::MAX_SIZE / 8;
/// Maximum size of a key: nine numbers, of which the modulus and the private exponent are the longest, and
/// their encoding.
const MAX_DER_BYTES: usize = 5 * MAX_MODULUS_BYTES + 256;

/// Padding scheme: encodes a digest as the number to sign.
#[derive(Clone, Copy)]
pub(super) enum Padding {
    Pkcs1,
    /// RSASSA-PSS with a salt of this length, in bytes.
    Pss(usize),
}

/// Checks `PrivateKeyInfo`, and returns it re-encoded.
pub(super) fn private_from_pkcs8(der: &[u8]) -> Option<Vec<u8>> {
    pkcs8(&private_key(der)?)
}

/// Checks `SubjectPublicKeyInfo`, and returns it re-encoded.
pub(super) fn public_from_spki(der: &[u8]) -> Option<Vec<u8>> {
    spki(&public_key(der)?)
}

/// Returns `PrivateKeyInfo` for big-endian numbers: modulus, public and private exponent, and two primes.
#[expect(clippy::many_single_char_names, reason = "RFC 8017 names them so")]
pub(super) fn private_from_components([n, e, d, p, q]: [&[u8]; 5]) -> Option<Vec<u8>> {
    if [n, e, d, p, q].iter().any(|number| number.is_empty() || number.len() > MAX_MODULUS_BYTES) {
        return None;
    }
    let primes = [p, q].map(BoxedUint::from_be_slice_vartime).to_vec();
    let [n, e, d] = [n, e, d].map(BoxedUint::from_be_slice_vartime);
    let key = RsaPrivateKey::from_components(n, e, d, primes).ok()?;
    pkcs8(&key)
}

/// Returns `SubjectPublicKeyInfo` for big-endian numbers: modulus and public exponent.
pub(super) fn public_from_components([n, e]: [&[u8]; 2]) -> Option<Vec<u8>> {
    if [n, e].iter().any(|number| number.is_empty() || number.len() > MAX_MODULUS_BYTES) {
        return None;
    }
    let [n, e] = [n, e].map(BoxedUint::from_be_slice_vartime);
    spki(&RsaPublicKey::new(n, e).ok()?)
}

/// Returns the big-endian numbers of `PrivateKeyInfo`: `n`, `e`, `d`, `p`, `q`, `dp`, `dq` and `qi` of RFC
/// 7518 §6.3.
pub(super) fn private_components(der: &[u8]) -> Option<[Vec<u8>; 8]> {
    let info = PrivateKeyInfoRef::try_from(der).ok()?;
    let key = PrivateComponents::<UintRef<'_>>::from_der(info.private_key.as_bytes()).ok()?;
    let PrivateComponents {
        modulus,
        public_exponent,
        private_exponent,
        prime1,
        prime2,
        exponent1,
        exponent2,
        coefficient,
        ..
    } = key;
    Some(
        [modulus, public_exponent, private_exponent, prime1, prime2, exponent1, exponent2, coefficient]
            .map(|number| number.as_bytes().to_vec()),
    )
}

/// Returns the big-endian numbers of `SubjectPublicKeyInfo`: `n` and `e`.
pub(super) fn public_components(der: &[u8]) -> Option<[Vec<u8>; 2]> {
    let info = SubjectPublicKeyInfoRef::try_from(der).ok()?;
    let key = PublicComponents::<UintRef<'_>>::from_der(info.subject_public_key.as_bytes()?).ok()?;
    Some([key.modulus, key.public_exponent].map(|number| number.as_bytes().to_vec()))
}

/// Returns a signature, which is as long as the modulus. `random` is 32 random bytes of the platform, for
/// blinding and the salt.
pub(super) fn sign(
    padding: Padding,
    hash: Hash,
    private: &[u8],
    data: &[u8],
    random: &[u8],
) -> Option<Vec<u8>> {
    let mut random = ChaCha20Rng::from_seed(random.try_into().ok()?);
    let key = private_key(private)?;
    let digest = digest(hash, data);
    with_hash!(hash, D => match padding {
        Padding::Pkcs1 => key.sign_with_rng(&mut random, Pkcs1v15Sign::new::<D>(), &digest),
        Padding::Pss(salt) if salt <= MAX_MODULUS_BYTES => key.sign_with_rng(&mut random, Pss::<D>::new_with_salt(salt), &digest),
        Padding::Pss(_) => return None,
    })
    .ok()
}

/// Verifies a signature; `None` if it is wrong.
pub(super) fn verify(
    padding: Padding,
    hash: Hash,
    public: &[u8],
    signature: &[u8],
    data: &[u8],
) -> Option<()> {
    let key = public_key(public)?;
    let digest = digest(hash, data);
    with_hash!(hash, D => match padding {
        Padding::Pkcs1 => key.verify(Pkcs1v15Sign::new::<D>(), &digest, signature),
        Padding::Pss(salt) if salt <= MAX_MODULUS_BYTES => key.verify(Pss::<D>::new_with_salt(salt), &digest, signature),
        Padding::Pss(_) => return None,
    })
    .ok()
}

fn private_key(der: &[u8]) -> Option<RsaPrivateKey> {
    if der.len() > MAX_DER_BYTES {
        return None;
    }
    RsaPrivateKey::from_pkcs8_der(der).ok()
}

fn public_key(der: &[u8]) -> Option<RsaPublicKey> {
    if der.len() > MAX_DER_BYTES {
        return None;
    }
    RsaPublicKey::from_public_key_der(der).ok()
}

fn pkcs8(key: &RsaPrivateKey) -> Option<Vec<u8>> {
    Some(key.to_pkcs8_der().ok()?.as_bytes().to_vec())
}

fn spki(key: &RsaPublicKey) -> Option<Vec<u8>> {
    Some(key.to_public_key_der().ok()?.as_bytes().to_vec())
}
