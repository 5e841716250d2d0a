//! An identity provider on loopback.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Kitbag;

/// Publishes its metadata and one key. Dropped, it is down.
pub(crate) struct Provider {
    issuer: String,
    metadata: Value,
    key: EcdsaKeyPair,
    serving: JoinHandle<()>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let metadata = json!({
            "issuer": issuer,
            "jwks_uri": format!("{issuer}/keys"),
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
        });
        let (published, keys) = (Json(metadata.clone()), Json(json!({ "keys": [public_key(&key)] })));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(async || published))
            .route("/keys", get(async || keys));
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { issuer, metadata, key, serving }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn metadata(&self) -> Value {
        self.metadata.clone()
    }

    /// A server that trusts this provider.
    pub(crate) async fn kitbag(&self) -> Kitbag {
        self.kitbag_with(|_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn kitbag_with(&self, change: impl FnOnce(&mut Settings)) -> Kitbag {
        Kitbag::start_with(|settings| {
            settings.issuer = self.issuer.parse().expect("an issuer");
            change(settings);
        })
        .await
    }

    /// What an OAuth access token of `user` for `kitbag` says.
    pub(crate) fn access_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        json!({
            "iss": self.issuer, "aud": format!("{}mcp", kitbag.base_url()), "sub": user,
            "client_id": "assistant", "iat": now(), "exp": now() + 300, "jti": "1",
        })
    }

    /// What a session token of `user` for `kitbag` says.
    pub(crate) fn session_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        let audience = kitbag.base_url().as_str().trim_end_matches('/');
        json!({ "iss": self.issuer, "aud": audience, "sub": user, "exp": now() + 60 })
    }

    /// Signs a token of the type `typ`.
    pub(crate) fn sign(&self, typ: &str, claims: &Value) -> String {
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let header = json!({ "typ": typ, "alg": "ES256", "kid": "1" });
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).expect("the key signs");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn public_key(key: &EcdsaKeyPair) -> Value {
    // An uncompressed point: one byte of form, then x and y.
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    json!({
        "kty": "EC", "crv": "P-256", "kid": "1", "use": "sig",
        "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_secs()
}
