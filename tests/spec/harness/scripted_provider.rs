//! `OpenID` provider on loopback: signs users in without asking, and answers refresh requests as a test
//! specifies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http_body_util::BodyExt;
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::{Url, form_urlencoded};

use super::signer::now;
use super::{Kitbag, Signer, User, Visitor};

/// Path of the token endpoint.
const TOKEN: &str = "/token";

/// Response to a refresh request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Tokens of this user.
    For(&'static str),
    /// Rejection of the refresh token.
    Refused,
    /// Status 503, also for codes.
    Down,
}

/// Provider on loopback. Stops when dropped.
pub(crate) struct ScriptedProvider {
    issuer: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    signer: Signer,
    metadata: Value,
    script: Mutex<Script>,
}

struct Script {
    refresh: Refresh,
    /// Lifetime of access tokens, in seconds.
    lifetime_seconds: u64,
    gives_refresh_tokens: bool,
    /// Value of the claim `groups`.
    groups: Vec<&'static str>,
    issued: usize,
    /// Requests to the token and revocation endpoints.
    requests: Vec<FormRequest>,
}

/// Form received by the provider.
#[derive(Clone, Debug)]
pub(crate) struct FormRequest {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) fields: HashMap<String, String>,
}

impl ScriptedProvider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let metadata = json!({
            "issuer": issuer,
            "jwks_uri": format!("{issuer}/keys"),
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}{TOKEN}"),
            "revocation_endpoint": format!("{issuer}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        let script = Script {
            refresh: Refresh::For("ana"),
            lifetime_seconds: 300,
            gives_refresh_tokens: true,
            groups: Vec::new(),
            issued: 0,
            requests: Vec::new(),
        };
        let shared =
            Arc::new(Shared { signer: Signer::generate(&issuer), metadata, script: Mutex::new(script) });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata_document))
            .route("/keys", get(keys))
            .route(TOKEN, post(token))
            .route("/revoke", post(revoke))
            .with_state(shared.clone());
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { issuer, shared, serving }
    }

    /// Starts a server whose web pages are the provider's client "pages", with the settings changed by
    /// `change`.
    pub(crate) async fn kitbag_with(&self, change: impl FnOnce(&mut Settings)) -> Kitbag {
        Kitbag::start_with(|settings| {
            settings.issuer = self.issuer.parse().expect("an issuer");
            settings.web_client_id = "pages".parse().expect("an id");
            change(settings);
        })
        .await
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Access token of `user` for the server at `base_url`.
    pub(crate) fn token(&self, base_url: &Url, user: &str) -> String {
        let signer = &self.shared.signer;
        signer.sign(&signer.header("at+jwt"), &signer.claims_for(base_url, user))
    }

    /// Logout token of `user` for the client "pages", with the members of its header and claims that `change` sets.
    pub(crate) fn logout_token(&self, user: &str, change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let signer = &self.shared.signer;
        let mut header = signer.header("logout+jwt");
        let mut claims = json!({
            "iss": self.issuer, "aud": "pages", "sub": user, "iat": now(), "exp": now() + 120, "jti": "1",
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
        });
        change(&mut header, &mut claims);
        signer.sign(&header, &claims)
    }

    /// Query of the authorization response for a sign-in of `user` with this state.
    pub(crate) fn response(&self, user: &str, state: &str) -> String {
        form_urlencoded::Serializer::new(String::new())
            .append_pair("code", user)
            .append_pair("state", state)
            .append_pair("iss", &self.issuer)
            .finish()
    }

    /// Signs a user in on the pages, and returns a browser that has only the session cookie.
    pub(crate) async fn sign_in(&self, kitbag: &Kitbag, user: &str) -> Visitor {
        let (mut visitor, state) = Visitor::begin_sign_in(kitbag, "/ui/").await;
        let path = format!("/ui/signin/callback?{}", self.response(user, &state));
        let arrived = visitor.get(&path).await.assert_status(303);
        visitor.keep_cookie(&arrived);
        visitor.get("/ui/").await.assert_status(200);
        visitor
    }

    /// A user with an access token.
    pub(crate) fn as_user(&self, kitbag: &Kitbag, user: &str) -> User {
        kitbag.with_token(&self.token(kitbag.base_url(), user))
    }

    pub(crate) fn set_refresh(&self, refresh: Refresh) {
        self.script().refresh = refresh;
    }

    pub(crate) fn set_lifetime(&self, seconds: u64) {
        self.script().lifetime_seconds = seconds;
    }

    /// Sets the groups in tokens issued from now on.
    pub(crate) fn set_groups(&self, groups: &[&'static str]) {
        self.script().groups = groups.to_vec();
    }

    pub(crate) fn give_no_refresh_tokens(&self) {
        self.script().gives_refresh_tokens = false;
    }

    /// Forms received so far at this path.
    pub(crate) fn requests(&self, path: &str) -> Vec<FormRequest> {
        self.script().requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script()
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no writer panicked")
    }

    /// Records a form, and returns its fields.
    async fn record(&self, request: Request) -> HashMap<String, String> {
        let path = request.uri().path().to_owned();
        let authorization = request.headers().get(header::AUTHORIZATION);
        let authorization = authorization.map(|value| value.to_str().expect("ASCII").to_owned());
        let body = request.into_body().collect().await.expect("a whole form").to_bytes();
        let fields: HashMap<_, _> = form_urlencoded::parse(&body).into_owned().collect();
        self.script().requests.push(FormRequest { path, authorization, fields: fields.clone() });
        fields
    }

    fn tokens(&self, user: &str, resource: &str) -> Response {
        let mut script = self.script();
        script.issued += 1;
        let (number, lifetime) = (script.issued, script.lifetime_seconds);
        let claims = json!({
            "iss": self.metadata["issuer"], "aud": resource, "sub": user, "client_id": "pages", "iat": now(),
            "exp": now() + lifetime, "jti": number.to_string(), "groups": script.groups,
        });
        let mut tokens = json!({
            "access_token": self.signer.sign(&self.signer.header("at+jwt"), &claims),
            "token_type": "Bearer",
            "expires_in": lifetime,
        });
        if script.gives_refresh_tokens {
            tokens["refresh_token"] = format!("refresh-token-{number}").into();
        }
        Json(tokens).into_response()
    }
}

async fn metadata_document(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(shared.metadata.clone())
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({ "keys": [shared.signer.jwk()] }))
}

/// Token endpoint. An authorization code is the name of the signed-in user.
async fn token(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fields = shared.record(request).await;
    let resource = &fields["resource"];
    let refresh = shared.script().refresh;
    if fields["grant_type"] == "authorization_code" && refresh != Refresh::Down {
        return shared.tokens(&fields["code"], resource);
    }
    match refresh {
        Refresh::For(user) => shared.tokens(user, resource),
        Refresh::Refused => {
            (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response()
        }
        Refresh::Down => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn revoke(State(shared): State<Arc<Shared>>, request: Request) -> StatusCode {
    shared.record(request).await;
    StatusCode::OK
}
