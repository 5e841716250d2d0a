//! Signatures of components, as `cosign sign-blob` writes and `cosign verify-blob` reads them: ECDSA with P-256 over the
//! SHA-256 of the bytes, in DER, in base64.
//!
//! Invariant: signatures are verified against the hash that this process has computed, never against one that
//! was sent.

mod pem;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{Digest as LibraryDigest, SHA256};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

use crate::sha256::{Digest, Sha256};

/// Maximum length of a P-256 signature in DER, in bytes.
const MAX_SIGNATURE_BYTES: usize = 72;
/// Maximum length of a signature in base64, including surrounding white space.
const MAX_SIGNATURE_TEXT: usize = 256;

/// Reason why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text has no key.
    #[error("it has no public key in PEM (`-----BEGIN PUBLIC KEY-----`)")]
    NoPublicKey,
    /// The text has a private key where a public one is expected.
    #[error("it has a private key: give a file with the public one alone, and keep this one where it is")]
    PrivateKey,
    /// The text has several public keys.
    #[error("it has several public keys: give one")]
    SeveralPublicKeys,
    /// The text has no private key.
    #[error("it has no private key in PEM (`-----BEGIN PRIVATE KEY-----`)")]
    NoPrivateKey,
    /// The private key is encrypted in `cosign`'s own format.
    #[error(
        "it is encrypted by cosign, whose keys are not read here: sign with `cosign sign-blob --key KEY \
         --bundle FILE.bundle FILE`, and deploy with `--signature FILE.bundle`"
    )]
    CosignKey,
    /// The private key is encrypted.
    #[error("it is encrypted: `openssl pkcs8 -in KEY -out PLAIN` decrypts it")]
    Encrypted,
    /// The key has another algorithm, or is damaged.
    #[error("it is not a key of ECDSA with P-256, as `cosign generate-key-pair` makes them")]
    NotP256,
}

/// Error: the text is not a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "not a signature as `cosign sign-blob` writes it: a bundle of a signature by a key, or one line of base64"
)]
pub struct InvalidSignature;

/// Public key (ECDSA, P-256), in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

/// Private key (ECDSA, P-256).
pub struct SigningKey(EcdsaKeyPair);

/// A signature, in DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(Vec<u8>);

impl PublicKey {
    /// Reads a key from PEM (`SubjectPublicKeyInfo`).
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        // Refused even if the private key cannot be decoded, or is next to a public key.
        if text.contains("PRIVATE KEY") {
            return Err(KeyError::PrivateKey);
        }
        let sections = pem::sections(text);
        let mut keys = sections.iter().filter(|section| section.label == "PUBLIC KEY");
        match (keys.next(), keys.next()) {
            (Some(section), None) => Self::from_der(&section.content),
            (Some(_), Some(_)) => Err(KeyError::SeveralPublicKeys),
            (None, _) => Err(KeyError::NoPublicKey),
        }
    }

    /// Reads a key from DER. Equal keys have equal [`der`](Self::der), whatever form was read.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let parsed = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, der).parse();
        let parsed = parsed.map_err(|_| KeyError::NotP256)?;
        let der: PublicKeyX509Der<'_> = parsed.as_der().map_err(|_| KeyError::NotP256)?;
        Ok(Self(der.as_ref().to_vec()))
    }

    /// Returns the key in DER (`SubjectPublicKeyInfo`).
    pub fn der(&self) -> &[u8] {
        &self.0
    }

    /// Returns the SHA-256 of the key in DER, hexadecimal; same as `openssl pkey -pubin -in KEY.pub -outform
    /// DER | sha256sum`.
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(&self.0))
    }

    /// Whether `signature` is this key's signature of the bytes with this SHA-256.
    pub fn has_signed(&self, digest: &Digest, signature: &Signature) -> bool {
        let digest = LibraryDigest::import_less_safe(digest, &SHA256).expect("it has the length of SHA-256");
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        key.verify_digest(&digest, &signature.0).is_ok()
    }
}

impl SigningKey {
    /// Reads a key from PEM: PKCS#8, or SEC 1 as `openssl ecparam` writes it.
    pub fn from_pem(text: &SecretString) -> Result<Self, KeyError> {
        let sections = pem::sections(text.expose_secret());
        let found = sections.iter().find(|section| section.label.ends_with("PRIVATE KEY"));
        let section = found.ok_or(KeyError::NoPrivateKey)?;
        match section.label {
            "ENCRYPTED SIGSTORE PRIVATE KEY" | "ENCRYPTED COSIGN PRIVATE KEY" => Err(KeyError::CosignKey),
            "ENCRYPTED PRIVATE KEY" => Err(KeyError::Encrypted),
            _ => EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, &section.content)
                .map(Self)
                .map_err(|_| KeyError::NotP256),
        }
    }

    /// Signs bytes.
    pub fn sign(&self, bytes: &[u8]) -> Signature {
        let signature = self.0.sign(&aws_lc_rs::rand::SystemRandom::new(), bytes);
        Signature(signature.expect("a P-256 key signs any bytes").as_ref().to_vec())
    }

    /// Returns the corresponding public key.
    pub fn public_key(&self) -> PublicKey {
        let der: PublicKeyX509Der<'_> = self.0.public_key().as_der().expect("the key was read");
        PublicKey(der.as_ref().to_vec())
    }
}

/// Relevant fields of a bundle: Sigstore's (`MessageSignature`), or that of cosign 2.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    message_signature: Option<MessageSignature>,
    base64_signature: Option<String>,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

impl Signature {
    /// Reads a signature file: base64, or a bundle, of which only the signature is used.
    pub fn from_file(text: &str) -> Result<Self, InvalidSignature> {
        if !text.trim_start().starts_with('{') {
            return text.parse();
        }
        let bundle: Bundle = serde_json::from_str(text).map_err(|_| InvalidSignature)?;
        let signature = bundle.message_signature.map(|it| it.signature).or(bundle.base64_signature);
        signature.ok_or(InvalidSignature)?.parse()
    }
}

impl FromStr for Signature {
    type Err = InvalidSignature;

    fn from_str(text: &str) -> Result<Self, InvalidSignature> {
        if text.len() > MAX_SIGNATURE_TEXT {
            return Err(InvalidSignature);
        }
        let der = BASE64_STANDARD.decode(text.trim()).map_err(|_| InvalidSignature)?;
        // An ASN.1 sequence; verification checks that it contains two integers.
        let may_be_one = der.len() <= MAX_SIGNATURE_BYTES && der.first() == Some(&0x30);
        if may_be_one { Ok(Self(der)) } else { Err(InvalidSignature) }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&BASE64_STANDARD.encode(&self.0))
    }
}
