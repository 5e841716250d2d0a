//! A test provider on loopback, and its signing keys.

use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Response, StatusCode};
use http_body_util::Full;
use kitbag_net::egress::EgressSettings;
use kitbag_net::egress::test_server::TestServer;

use super::*;
use crate::identity::Issuer;
use crate::jwks::{Provider, Schedule};

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Key pair that signs any claims, valid or not.
pub(super) struct TestKey {
    pub(super) jwk: Value,
    algorithm: Algorithm,
    sign: Sign,
}

impl TestKey {
    pub(super) fn generate(kid: &str, algorithm: Algorithm) -> Self {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let random = SystemRandom::new();
        match algorithm {
            Algorithm::ES256 => {
                let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
                let point = key.public_key().as_ref();
                let x = text(&point[1..33]);
                let y = text(&point[33..]);
                let jwk = json!({ "kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": x, "y": y });
                let sign =
                    Box::new(move |message: &[u8]| key.sign(&random, message).unwrap().as_ref().to_vec());
                Self { jwk, algorithm, sign }
            }
            Algorithm::EdDSA => {
                let key = Ed25519KeyPair::generate().unwrap();
                let x = text(key.public_key().as_ref());
                let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "kid": kid, "alg": "EdDSA", "x": x });
                let sign = Box::new(move |message: &[u8]| key.sign(message).as_ref().to_vec());
                Self { jwk, algorithm, sign }
            }
            Algorithm::RS256 => {
                let key = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
                let pkcs8: Pkcs8V1Der<'_> = key.as_der().unwrap();
                let key = RsaKeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
                let public = key.public_key();
                let n = public.modulus();
                let e = public.exponent();
                let n = n.big_endian_without_leading_zero();
                let e = e.big_endian_without_leading_zero();
                let jwk = json!({ "kty": "RSA", "kid": kid, "alg": "RS256", "n": text(n), "e": text(e) });
                let sign = Box::new(move |message: &[u8]| {
                    let mut signature = vec![0; key.public_modulus_len()];
                    key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                    signature
                });
                Self { jwk, algorithm, sign }
            }
            other => unreachable!("no test signs with {other:?}"),
        }
    }

    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    pub(super) fn sign_text(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode((self.sign)(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    pub(super) fn token(&self, typ: &str, claims: &Value) -> String {
        let header = json!({ "typ": typ, "alg": format!("{:?}", self.algorithm), "kid": self.jwk["kid"] });
        self.sign(&header, claims)
    }
}

/// Provider with one key at a time; unreachable once dropped.
pub(super) struct TestProvider {
    server: TestServer,
    key: TestKey,
    documents: Arc<Mutex<Documents>>,
}

struct Documents {
    jwks: Value,
    /// Path of the metadata.
    metadata_path: &'static str,
    /// Members that are added to the default metadata, or replace its members.
    metadata: Value,
}

pub(super) const OPENID: &str = "/.well-known/openid-configuration";
pub(super) const OAUTH: &str = "/.well-known/oauth-authorization-server";
pub(super) const JWKS: &str = "/jwks";

impl TestProvider {
    pub(super) async fn start() -> Self {
        Self::with_key(TestKey::generate("k1", Algorithm::ES256)).await
    }

    pub(super) async fn with_key(key: TestKey) -> Self {
        let jwks = json!({ "keys": [key.jwk] });
        let documents = Arc::new(Mutex::new(Documents { jwks, metadata_path: OPENID, metadata: json!({}) }));
        let published = Arc::clone(&documents);
        let server = TestServer::start(move |request| {
            let documents = published.lock().unwrap();
            let origin = format!("http://{}", request.headers["host"].to_str().unwrap());
            let body = match request.uri.path() {
                JWKS => documents.jwks.clone(),
                path if path == documents.metadata_path => {
                    let ordinary = json!({ "issuer": origin, "jwks_uri": format!("{origin}{JWKS}") });
                    with(ordinary, documents.metadata.clone())
                }
                _ => return Response::builder().status(StatusCode::NOT_FOUND).body(Full::default()).unwrap(),
            };
            Response::new(Full::from(body.to_string()))
        })
        .await;
        Self { server, key, documents }
    }

    pub(super) fn issuer(&self) -> String {
        self.server.origin()
    }

    pub(super) fn key(&self) -> &TestKey {
        &self.key
    }

    pub(super) fn hits(&self, path: &str) -> usize {
        self.server.hits(path)
    }

    pub(super) fn token(&self, typ: &str, claims: &Value) -> String {
        self.key.token(typ, claims)
    }

    /// Replaces the signing key with a new one.
    pub(super) fn rotate(&mut self, kid: &str) {
        self.key = TestKey::generate(kid, Algorithm::ES256);
        self.documents.lock().unwrap().jwks = json!({ "keys": [self.key.jwk] });
    }

    pub(super) fn serve_metadata(&self, path: &'static str, changes: Value) {
        let mut documents = self.documents.lock().unwrap();
        documents.metadata_path = path;
        documents.metadata = changes;
    }

    pub(super) fn identity(&self, settings: IdentitySettings) -> Identity {
        self.scheduled_identity(settings, Schedule::default())
    }

    pub(super) fn scheduled_identity(&self, settings: IdentitySettings, schedule: Schedule) -> Identity {
        let egress = Egress::new(EgressSettings::default());
        let provider = Provider::with_schedule(&self.issuer(), egress, schedule).unwrap();
        Identity::new(settings, &self.issuer(), Issuer::Provider(provider)).unwrap()
    }
}
