//! Public keys of an issuer (RFC 7517), and the algorithms that each may verify.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, crypto};
use serde::Deserialize;

use super::error::AuthError;
use super::error::invalid;
use super::token::Token;

/// The usable keys of one issuer.
///
/// Invariant: every key is asymmetric, meant for signatures, and bound to the
/// algorithms that its `kty`, `crv` and `alg` agree on.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<Key>,
    generation: u64,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    intended_use: Option<String>,
    key_ops: Option<Vec<String>>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Parses a JWK set; `None` if the document is not one. Skips unusable keys, as RFC 7517, section 5 asks,
    /// so that a provider may add unknown types of keys.
    pub(super) fn parse(document: &[u8], generation: u64) -> Option<Self> {
        let document: Document = serde_json::from_slice(document).ok()?;
        let jwks = document.keys.into_iter().filter_map(|value| serde_json::from_value(value).ok());
        Some(Self { keys: jwks.filter_map(|jwk| Key::from_jwk(&jwk)).collect(), generation })
    }

    /// Generation number: increases when a fetched document differs from the previous one.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Verifies the token's signature.
    pub(super) fn verify<K>(&self, token: &Token<'_, K>) -> Result<(), AuthError> {
        let candidates: Vec<_> = self.candidates(token).collect();
        if candidates.is_empty() {
            return Err(invalid("no key of this kid and algorithm"));
        }
        if token.key_id.is_none() && candidates.len() > 1 {
            return Err(invalid("no kid, and more than one key it could mean"));
        }
        let verifies = |key: &&Key| {
            crypto::verify(token.signature, token.signed.as_bytes(), &key.decoding, token.algorithm)
                .unwrap_or(false)
        };
        if candidates.iter().any(verifies) { Ok(()) } else { Err(invalid("a wrong signature")) }
    }

    fn candidates<K>(&self, token: &Token<'_, K>) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|key| {
            (token.key_id.is_none() || key.id == token.key_id) && key.algorithms.contains(&token.algorithm)
        })
    }
}

impl Key {
    fn from_jwk(jwk: &Jwk) -> Option<Self> {
        let for_signatures = jwk.intended_use.as_deref().is_none_or(|intended| intended == "sig");
        let for_verifying =
            jwk.key_ops.as_ref().is_none_or(|operations| operations.iter().any(|name| name == "verify"));
        if !for_signatures || !for_verifying {
            return None;
        }
        let (decoding, mut algorithms) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let key = DecodingKey::from_rsa_components(jwk.n.as_deref()?, jwk.e.as_deref()?);
                (key.ok()?, AlgorithmFamily::Rsa.algorithms().to_vec())
            }
            ("EC", Some("P-256")) => (ec_key(jwk, 32)?, vec![Algorithm::ES256]),
            ("EC", Some("P-384")) => (ec_key(jwk, 48)?, vec![Algorithm::ES384]),
            ("OKP", Some("Ed25519")) => {
                (DecodingKey::from_ed_components(jwk.x.as_deref()?).ok()?, vec![Algorithm::EdDSA])
            }
            _ => return None,
        };
        if let Some(name) = &jwk.alg {
            algorithms.retain(|algorithm| name.parse::<Algorithm>().is_ok_and(|named| named == *algorithm));
        }
        (!algorithms.is_empty()).then(|| Self { id: jwk.kid.clone(), algorithms, decoding })
    }
}

/// Parses an EC key. The coordinates' fixed size (RFC 7518, section 6.2.1.2) is checked here: the library
/// joins coordinates of any length.
fn ec_key(jwk: &Jwk, coordinate_bytes: usize) -> Option<DecodingKey> {
    let x = jwk.x.as_deref()?;
    let y = jwk.y.as_deref()?;
    let has_size =
        |part: &str| URL_SAFE_NO_PAD.decode(part).is_ok_and(|bytes| bytes.len() == coordinate_bytes);
    if !has_size(x) || !has_size(y) {
        return None;
    }
    DecodingKey::from_ec_components(x, y).ok()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
    use kitbag_base::sha256::Sha256;
    use serde_json::{Value, json};

    use super::*;

    const COORDINATE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[track_caller]
    fn check(key: &Value, expected: &[Algorithm]) {
        let document = json!({ "keys": [key] }).to_string();
        let set = KeySet::parse(document.as_bytes(), 0).unwrap();
        let algorithms: Vec<_> = set.keys.iter().flat_map(|key| key.algorithms.clone()).collect();
        assert_eq!(algorithms, expected, "{document}");
    }

    #[test]
    fn a_key_serves_only_what_its_members_agree_on() {
        let x = COORDINATE;
        let y = COORDINATE;

        check(&json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y }), &[Algorithm::ES256]);
        check(
            &json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig", "alg": "ES256" }),
            &[Algorithm::ES256],
        );
        check(
            &json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "key_ops": ["verify"] }),
            &[Algorithm::ES256],
        );
        check(&json!({ "kty": "OKP", "crv": "Ed25519", "x": x }), &[Algorithm::EdDSA]);
        let n = modulus();
        check(&json!({ "kty": "RSA", "n": n, "e": "AQAB", "alg": "PS256" }), &[Algorithm::PS256]);
        check(&json!({ "kty": "RSA", "n": n, "e": "AQAB" }), AlgorithmFamily::Rsa.algorithms());
    }

    #[test]
    fn keys_that_contradict_themselves_are_left_out() {
        let x = COORDINATE;
        let y = COORDINATE;

        check(&json!({ "kty": "oct", "k": x }), &[]);
        check(&json!({ "kty": "oct", "k": x, "alg": "HS256" }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "alg": "RS256" }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "alg": "HS256" }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "enc" }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "key_ops": ["sign"] }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-384", "x": x, "y": y }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": y }), &[]);
        check(&json!({ "kty": "EC", "crv": "P-256", "x": x }), &[]);
        check(&json!({ "kty": "OKP", "crv": "X25519", "x": x }), &[]);
        check(&json!({ "kty": "RSA", "n": modulus() }), &[]);
        check(&json!("no key"), &[]);
    }

    #[test]
    fn keys_that_anybody_can_sign_with_verify_nothing() {
        const SHA256_INFO: &str = "3031300d060960864801650304020105000420";
        let message = b"header.claims";
        let digest = [hex::decode(SHA256_INFO).unwrap(), Sha256::digest(message).to_vec()].concat();
        let verifies = |n: &str, e: &str, signature: &[u8]| {
            let key = DecodingKey::from_rsa_components(n, e).unwrap();
            let signature = URL_SAFE_NO_PAD.encode(signature);
            crypto::verify(&signature, message, &key, Algorithm::RS256).unwrap_or(false)
        };
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let n = URL_SAFE_NO_PAD.encode(pair.public_key().modulus().big_endian_without_leading_zero());
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
        assert!(verifies(&n, "AQAB", &signature));

        // With the exponent 1 a signature is its own padded digest (RFC 8017, section 9.2).
        for n in [n, URL_SAFE_NO_PAD.encode([0xff; 128])] {
            let length = URL_SAFE_NO_PAD.decode(&n).unwrap().len();
            let padding = vec![0xff; length - digest.len() - 3];
            let forged = [&[0, 1][..], &padding, &[0], &digest].concat();

            assert!(!verifies(&n, "AQ", &forged), "{} bits", length * 8);
        }
    }

    /// Returns the RSA modulus of a generated key, in base64url.
    fn modulus() -> String {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        URL_SAFE_NO_PAD.encode(pair.public_key().modulus().big_endian_without_leading_zero())
    }

    #[test]
    fn a_document_that_is_no_key_set_is_refused() {
        for document in ["", "[]", "{}", r#"{"keys":{}}"#, "<html>"] {
            assert!(KeySet::parse(document.as_bytes(), 0).is_none(), "{document}");
        }
    }
}
