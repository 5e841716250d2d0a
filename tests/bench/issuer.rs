//! Identity provider on loopback. Servers with a PostgreSQL database have no sign-in of their own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::Outcome;

/// Lifetime of a token, in seconds: longer than any measurement.
const LIFETIME: u64 = 12 * 60 * 60;

/// Provider that signs tokens for any user. Serves its keys, from its own thread, until the process ends.
pub(crate) struct Issuer {
    url: String,
    key: EcdsaKeyPair,
}

impl Issuer {
    /// Starts a provider with a new key.
    pub(crate) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
        let metadata = json!({
            "issuer": url, "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
        });
        // An uncompressed point: one byte for the format, then x and y.
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let keys = json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "x": encode(x), "y": encode(y),
        }] });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(async || Json(metadata)))
            .route("/keys", get(async || Json(keys)));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::spawn(move || {
            runtime
                .block_on(async { axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await })
        });
        Ok(Self { url, key })
    }

    /// Issuer identifier.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Signs an access token of `user` for the service with this base URL, such as `http://127.0.0.1:8787`.
    pub(crate) fn token(&self, base_url: &str, user: &str) -> Outcome<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let claims = json!({
            "iss": self.url, "aud": format!("{base_url}/mcp"), "sub": user, "client_id": "bench", "iat": now,
            "exp": now + LIFETIME, "jti": "1",
        });
        let signed =
            format!("{}.{}", part(&json!({ "typ": "at+jwt", "alg": "ES256", "kid": "1" })), part(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes())?;
        Ok(format!("{signed}.{}", encode(signature.as_ref())))
    }
}

fn part(value: &Value) -> String {
    encode(value.to_string().as_bytes())
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
