//! Sign-ins with the local issuer, by regular clients and by attackers.

mod authorization;
mod code;
mod documents;
mod granted_clients;
mod registration;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use kitbag_net::egress::{Egress, EgressSettings};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;
use url::form_urlencoded::Serializer;

use super::*;

const BASE_URL: &str = "http://127.0.0.1:8787";
const RESOURCE: &str = "http://127.0.0.1:8787/mcp";
const CALLBACK: &str = "http://localhost:6274/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Authorization server with its own data directory.
struct Fixture {
    server: AuthorizationServer,
    lifetimes: Lifetimes,
    data: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(Lifetimes::default()).await
    }

    async fn with(lifetimes: Lifetimes) -> Self {
        let data = tempfile::tempdir().unwrap();
        let server = open(&data, lifetimes).await;
        Self { server, lifetimes, data }
    }

    /// Opens a new server on the same data directory.
    async fn restarted(self) -> Self {
        let server = open(&self.data, self.lifetimes).await;
        Self { server, ..self }
    }

    /// Registers a client with the redirect URI [`CALLBACK`].
    async fn client(&self) -> String {
        self.register(&json!({ "redirect_uris": [CALLBACK] })).await.unwrap().client_id
    }

    async fn register(&self, metadata: &Value) -> Result<Registration, EndpointError> {
        self.server.register(metadata.to_string().as_bytes()).await
    }

    /// Returns the consent page of a valid request with `changes` applied.
    async fn ask(&self, client_id: &str, changes: &[(&str, &str)]) -> Consent {
        match self.server.authorize(&request(client_id, changes)).await.unwrap() {
            Step::Ask(consent) => *consent,
            Step::Return(url) => panic!("nobody is asked: {url}"),
        }
    }

    /// Returns an authorization code for `ana`.
    async fn code(&self, client_id: &str, changes: &[(&str, &str)]) -> String {
        let consent = self.ask(client_id, changes).await;
        let answer = self.decide(&self.allow(&consent, "ana")).await.unwrap();
        parameter(&answer, "code").expect("a code")
    }

    /// Submits a consent form, and returns the redirect URL.
    async fn decide(&self, form: &str) -> Result<String, AuthorizeError> {
        Ok(match self.server.decide(form).await? {
            Step::Return(url) => url,
            Step::Ask(consent) => panic!("the person is asked again: {:?}", consent.code),
        })
    }

    /// Consent form of an approval with the correct sign-in code.
    fn allow(&self, consent: &Consent, user: &str) -> String {
        allow_with(consent, user, self.sign_in_code().reveal().expose_secret())
    }

    fn sign_in_code(&self) -> SignInCode {
        SignInCode::read(self.data.path()).unwrap().expect("the server has made one")
    }

    async fn redeem(
        &self,
        client_id: &str,
        code: &str,
        changes: &[(&str, &str)],
    ) -> Result<Tokens, EndpointError> {
        let good = [
            ("grant_type", "authorization_code"),
            ("client_id", client_id),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        self.server.token(&form(&good, changes)).await
    }

    async fn refresh(
        &self,
        client_id: &str,
        refresh_token: &str,
        changes: &[(&str, &str)],
    ) -> Result<Tokens, EndpointError> {
        let good =
            [("grant_type", "refresh_token"), ("client_id", client_id), ("refresh_token", refresh_token)];
        self.server.token(&form(&good, changes)).await
    }

    async fn revoke(&self, client_id: &str, token: &str) -> Result<(), EndpointError> {
        self.server.revoke(&form(&[("client_id", client_id), ("token", token)], &[])).await
    }

    /// Registers a client and signs in; returns the client id and a refresh token for all scopes.
    async fn signed_in(&self) -> (String, String) {
        let client_id = self.client().await;
        let code = self.code(&client_id, &[]).await;
        let tokens = self.redeem(&client_id, &code, &[]).await.unwrap();
        (client_id, refresh_token(&tokens))
    }
}

async fn open(data: &TempDir, lifetimes: Lifetimes) -> AuthorizationServer {
    let database = Database::open(data.path()).await.unwrap();
    let code = SignInCode::open(data.path(), &database).await.unwrap();
    let issuer = LocalIssuer::open(data.path(), BASE_URL).unwrap();
    AuthorizationServer::new(
        Arc::new(issuer),
        code,
        database,
        Egress::new(EgressSettings::default()),
        lifetimes,
    )
}

/// Query of a valid authorization request with `changes` applied.
fn request(client_id: &str, changes: &[(&str, &str)]) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let good = [
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", CALLBACK),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("state", "s t&a=te"),
        ("resource", RESOURCE),
    ];
    form(&good, changes)
}

/// Encodes parameters with `changes` applied; an empty value counts as absent (RFC 6749, section 3.1).
fn form(parameters: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let kept = parameters.iter().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    Serializer::new(String::new()).extend_pairs(kept.chain(changes)).finish()
}

fn allow_with(consent: &Consent, user: &str, code: &str) -> String {
    form(&[("request_id", &consent.request_id), ("decision", "allow"), ("user", user), ("code", code)], &[])
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let value = values.next();
    assert_eq!(values.next(), None, "{name} is there twice: {url}");
    value
}

fn refresh_token(tokens: &Tokens) -> String {
    tokens.refresh_token.as_ref().expect("a refresh token").expose_secret().to_owned()
}

/// Returns the claims of an access token.
fn claims(tokens: &Tokens) -> Value {
    let payload = tokens.access_token.expose_secret().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, EndpointError>, code: ErrorCode, case: &str) {
    match outcome {
        Err(EndpointError::Refused(error)) => assert_eq!(error.code, code, "{case}: {error}"),
        other => panic!("{case}: {other:?}"),
    }
}
