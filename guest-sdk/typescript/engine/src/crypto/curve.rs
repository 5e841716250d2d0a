//! Elliptic-curve keys: P-256 (FIPS 186-5), Ed25519 (RFC 8032) and X25519 (RFC 7748).
//!
//! A private key is the scalar or seed, of 32 bytes. A public key is an uncompressed point (SEC 1 §2.3.3) for
//! P-256, and 32 bytes for the others.

use ed25519_dalek::Signer as _;
use p256::ecdsa::signature::hazmat::{PrehashSigner as _, PrehashVerifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::elliptic_curve::sec1::ToSec1Point as _;
use p256::pkcs8::der::Decode as _;
use p256::pkcs8::der::asn1::OctetStringRef;
use p256::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    ObjectIdentifier, PrivateKeyInfoRef, SubjectPublicKeyInfoRef,
};
use p256::{PublicKey, SecretKey};

use super::hash::{Hash, digest};

/// A curve of the Web Cryptography API (§23, and "Secure Curves").
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Curve {
    P256,
    Ed25519,
    X25519,
}

/// `PrivateKeyInfo` up to the 32 bytes of the seed, with 0 as last byte of the object identifier (RFC 8410
/// §7).
const OCTET_KEY_PRIVATE: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0, 4, 0x22, 4, 0x20];
/// `SubjectPublicKeyInfo` up to the 32 bytes of the key, with 0 as last byte of the object identifier (RFC
/// 8410 §4).
const OCTET_KEY_PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0, 3, 0x21, 0];

impl Curve {
    /// Returns the curve with a registered name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "P-256" => Some(Self::P256),
            "Ed25519" => Some(Self::Ed25519),
            "X25519" => Some(Self::X25519),
            _ => None,
        }
    }

    /// Returns the last byte of the object identifier `1.3.101.x` of Ed25519 or X25519 (RFC 8410 §3).
    const fn octet_key_arc(self) -> u8 {
        if matches!(self, Self::X25519) { 110 } else { 112 }
    }

    fn octet_key_identifier(self) -> ObjectIdentifier {
        if matches!(self, Self::X25519) {
            ObjectIdentifier::new_unwrap("1.3.101.110")
        } else {
            ObjectIdentifier::new_unwrap("1.3.101.112")
        }
    }
}

/// Returns the public key of a private key; `None` if the private key is not valid.
pub(super) fn public_of(curve: Curve, private: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(point(&SecretKey::from_slice(private).ok()?.public_key()));
    }
    let private: [u8; 32] = private.try_into().ok()?;
    Some(if curve == Curve::X25519 {
        x25519_dalek::PublicKey::from(&x25519_dalek::StaticSecret::from(private)).to_bytes().to_vec()
    } else {
        ed25519_dalek::SigningKey::from_bytes(&private).verifying_key().to_bytes().to_vec()
    })
}

/// Reads a public key from its point, compressed or not; `None` if the point is not on the curve.
pub(super) fn public_from_point(curve: Curve, bytes: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(point(&PublicKey::from_sec1_bytes(bytes).ok()?));
    }
    octets(bytes)
}

/// Reads a private key from `PrivateKeyInfo` (RFC 5208).
pub(super) fn private_from_pkcs8(curve: Curve, der: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(SecretKey::from_pkcs8_der(der).ok()?.to_bytes().to_vec());
    }
    let info = PrivateKeyInfoRef::try_from(der).ok()?;
    if info.algorithm.oid != curve.octet_key_identifier() || info.algorithm.parameters.is_some() {
        return None;
    }
    octets(<&OctetStringRef>::from_der(info.private_key.as_bytes()).ok()?.as_bytes())
}

/// Returns `PrivateKeyInfo` of a private key, including the public key if the curve's standard has it.
pub(super) fn private_to_pkcs8(curve: Curve, private: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(SecretKey::from_slice(private).ok()?.to_pkcs8_der().ok()?.as_bytes().to_vec());
    }
    Some(octet_key(OCTET_KEY_PRIVATE, 11, curve, private))
}

/// Reads a public key from `SubjectPublicKeyInfo` (RFC 5280 §4.1).
pub(super) fn public_from_spki(curve: Curve, der: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(point(&PublicKey::from_public_key_der(der).ok()?));
    }
    let info = SubjectPublicKeyInfoRef::try_from(der).ok()?;
    if info.algorithm.oid != curve.octet_key_identifier() || info.algorithm.parameters.is_some() {
        return None;
    }
    octets(info.subject_public_key.as_bytes()?)
}

/// Returns `SubjectPublicKeyInfo` of a public key.
pub(super) fn public_to_spki(curve: Curve, public: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        return Some(PublicKey::from_sec1_bytes(public).ok()?.to_public_key_der().ok()?.as_bytes().to_vec());
    }
    Some(octet_key(OCTET_KEY_PUBLIC, 8, curve, public))
}

/// Returns the shared secret of two keys (SEC 1 §3.3.1, RFC 7748 §6.1); `None` if it is all zeros with
/// X25519.
pub(super) fn shared_secret(curve: Curve, private: &[u8], public: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        let key = SecretKey::from_slice(private).ok()?;
        let public = PublicKey::from_sec1_bytes(public).ok()?;
        return Some(key.diffie_hellman(&public).raw_secret_bytes().to_vec());
    }
    let private: [u8; 32] = private.try_into().ok()?;
    let public: [u8; 32] = public.try_into().ok()?;
    let shared = x25519_dalek::StaticSecret::from(private).diffie_hellman(&public.into());
    shared.was_contributory().then(|| shared.as_bytes().to_vec())
}

/// Signs data: with ECDSA, as `r` followed by `s` with a nonce from key and data (RFC 6979), or with EdDSA.
pub(super) fn sign(curve: Curve, hash: Hash, private: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    if curve == Curve::P256 {
        let key = SigningKey::from(SecretKey::from_slice(private).ok()?);
        let signature: Signature = key.sign_prehash(&digest(hash, data)).ok()?;
        return Some(signature.to_bytes().to_vec());
    }
    let key = ed25519_dalek::SigningKey::from_bytes(private.try_into().ok()?);
    Some(key.sign(data).to_bytes().to_vec())
}

/// Verifies a signature; `None` if it is wrong.
pub(super) fn verify(curve: Curve, hash: Hash, public: &[u8], signature: &[u8], data: &[u8]) -> Option<()> {
    if curve == Curve::P256 {
        let key = VerifyingKey::from_sec1_bytes(public).ok()?;
        return key.verify_prehash(&digest(hash, data), &Signature::from_slice(signature).ok()?).ok();
    }
    let key = ed25519_dalek::VerifyingKey::from_bytes(public.try_into().ok()?).ok()?;
    key.verify_strict(data, &ed25519_dalek::Signature::from_bytes(signature.try_into().ok()?)).ok()
}

fn point(key: &PublicKey) -> Vec<u8> {
    key.to_sec1_point(false).as_bytes().to_vec()
}

fn octets(key: &[u8]) -> Option<Vec<u8>> {
    (key.len() == 32).then(|| key.to_vec())
}

fn octet_key<const N: usize>(mut prefix: [u8; N], identifier_at: usize, curve: Curve, key: &[u8]) -> Vec<u8> {
    prefix[identifier_at] = curve.octet_key_arc();
    [&prefix, key].concat()
}
