//! The signing key of a trusted issuer.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use url::Url;

use super::Kitbag;

/// ES256 signer for arbitrary headers and claims.
pub(crate) struct Signer {
    issuer: String,
    key: EcdsaKeyPair,
    key_id: String,
}

impl Signer {
    /// Generates a signing key for `issuer`.
    pub(crate) fn generate(issuer: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        Self { issuer: issuer.to_owned(), key, key_id: "1".to_owned() }
    }

    /// Reads the signing key of a server in local mode.
    pub(crate) async fn of_local_issuer(kitbag: &Kitbag) -> Self {
        let file = std::fs::read(kitbag.data().join("local-issuer.p8")).expect("the server has made its key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &file).expect("a key");
        let keys = kitbag.anonymous().get("/oauth/jwks").await.assert_status(200).json();
        let key_id = keys["keys"][0]["kid"].as_str().expect("a kid").to_owned();
        Self { issuer: kitbag.base_url().origin().ascii_serialization(), key, key_id }
    }

    /// Public key as a JWK (RFC 7517).
    pub(crate) fn jwk(&self) -> Value {
        // An uncompressed point: one byte for the format, then x and y.
        let (x, y) = self.public_key()[1..].split_at(32);
        json!({
            "kty": "EC", "crv": "P-256", "kid": self.key_id, "use": "sig",
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        })
    }

    /// Public key as an uncompressed point.
    pub(crate) fn public_key(&self) -> &[u8] {
        self.key.public_key().as_ref()
    }

    /// Claims of an OAuth access token of `user` for `kitbag`.
    pub(crate) fn access_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        self.claims_for(kitbag.base_url(), user)
    }

    /// Like [`Self::access_claims`], for the server at `base_url`.
    pub(crate) fn claims_for(&self, base_url: &Url, user: &str) -> Value {
        json!({
            "iss": self.issuer, "aud": format!("{base_url}mcp"), "sub": user,
            "client_id": "assistant", "iat": now(), "exp": now() + 300, "jti": "1",
        })
    }

    /// Claims of a session token of `user` for `kitbag`.
    pub(crate) fn session_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        let audience = kitbag.base_url().as_str().trim_end_matches('/');
        json!({ "iss": self.issuer, "aud": audience, "sub": user, "exp": now() + 60 })
    }

    /// The header of a token of the type `typ`.
    pub(crate) fn header(&self, typ: &str) -> Value {
        json!({ "typ": typ, "alg": "ES256", "kid": self.key_id })
    }

    /// Signs a token.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_parts(&encode(header.to_string()), &encode(claims.to_string()))
    }

    /// Signs a token from header and payload that are already encoded.
    pub(crate) fn sign_parts(&self, header: &str, payload: &str) -> String {
        let signed = format!("{header}.{payload}");
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).expect("the key signs");
        format!("{signed}.{}", encode(signature))
    }
}

/// Encodes as base64url without padding.
pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Public RSA key with the `kid` "rsa". No token is signed with it.
pub(crate) fn rsa_jwk() -> Value {
    static KEY: LazyLock<Value> = LazyLock::new(|| {
        let key = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).expect("a key");
        let (n, e) = (key.public_key().modulus(), key.public_key().exponent());
        json!({
            "kty": "RSA", "kid": "rsa",
            "n": encode(n.big_endian_without_leading_zero()),
            "e": encode(e.big_endian_without_leading_zero()),
        })
    });
    KEY.clone()
}

/// Unix time in seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_secs()
}
