//! An identity provider on loopback that signs any token a test wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::routing::get;
use axum::{Json, Router};
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::signer::rsa_jwk;
use super::{Kitbag, Signer};

/// Provider that publishes its metadata, its signing key, and an RSA key that it does not sign with. Stops
/// when dropped.
pub(crate) struct Provider {
    issuer: String,
    metadata: Value,
    signer: Signer,
    requests: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let signer = Signer::generate(&issuer);
        let metadata = json!({
            "issuer": issuer,
            "jwks_uri": format!("{issuer}/keys"),
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
        });
        let (published, keys) = (Json(metadata.clone()), Json(json!({ "keys": [signer.jwk(), rsa_jwk()] })));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let count = move |request: Request, next: Next| {
            counted.fetch_add(1, Ordering::SeqCst);
            next.run(request)
        };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(async || published))
            .route("/keys", get(async || keys))
            .layer(middleware::from_fn(count));
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { issuer, metadata, signer, requests, serving }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn metadata(&self) -> Value {
        self.metadata.clone()
    }

    /// Starts a server that trusts this provider.
    pub(crate) async fn kitbag(&self) -> Kitbag {
        self.kitbag_with(|_| {}).await
    }

    /// Starts a server that trusts this provider, with its settings changed by `change`.
    pub(crate) async fn kitbag_with(&self, change: impl FnOnce(&mut Settings)) -> Kitbag {
        Kitbag::start_with(|settings| {
            settings.issuer = self.issuer.parse().expect("an issuer");
            change(settings);
        })
        .await
    }

    /// Number of requests received so far.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The signer of its tokens.
    pub(crate) fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Claims of an OAuth access token of `user` for `kitbag`.
    pub(crate) fn access_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        self.signer.access_claims(kitbag, user)
    }

    /// Claims of a session token of `user` for `kitbag`.
    pub(crate) fn session_claims(&self, kitbag: &Kitbag, user: &str) -> Value {
        self.signer.session_claims(kitbag, user)
    }

    /// Signs a token of the type `typ`.
    pub(crate) fn sign(&self, typ: &str, claims: &Value) -> String {
        self.signer.sign(&self.signer.header(typ), claims)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
