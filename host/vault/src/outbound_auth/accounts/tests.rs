//! Tests of accounts against simulated providers, over real sockets and with a real vault.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::future::join_all;
use http::Response as HttpResponse;
use http_body_util::Full;
use kitbag_database::Database;
use kitbag_database::audit::Actor;
use kitbag_manifest::{Auth, Auths, ClientAuth, ToolkitDefinition};
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Allowlist, EgressSettings, Membership};
use tempfile::TempDir;
use url::{Url, form_urlencoded};

use super::connect::{ConnectError, Departure, Response};
use super::*;
use crate::outbound_auth::{AttachedTokens, Attachment, OutboundAuth, SignIn};
use crate::{KeySource, SecretSlot};

/// Queue of responses: status, media type and body.
type Answers = Arc<Mutex<VecDeque<(u16, &'static str, String)>>>;

/// A service with a user `ana`, a toolkit `books` of `olga`, and a provider that sends the queued responses
/// in order.
struct World {
    data: TempDir,
    database: Database,
    vault: Arc<Vault>,
    accounts: Accounts,
    service: OutboundAuth,
    server: TestServer,
    answers: Answers,
    definition: ToolkitDefinition,
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

impl World {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut OAuth2AuthorizationCode)) -> Self {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        database
            .execute(
                "INSERT INTO toolkit_versions VALUES ('books', '1.0.0', 'd', 1, '{}', '{}', '[]', 'olga', 0);
                 INSERT INTO toolkits VALUES ('books', 'olga', '1.0.0');",
            )
            .await;
        let vault = Vault::open(database.clone(), KeySource::File(data.path().join("master-key"))).await;
        let vault = Arc::new(vault.expect("the vault opens"));
        let answers = Answers::default();
        let script = answers.clone();
        let server = TestServer::start(move |_| {
            let next = script.lock().expect("no panic").pop_front();
            let (status, kind, body) =
                next.unwrap_or((500, "text/html", "<h1>no answer left</h1>".to_owned()));
            let response = HttpResponse::builder().status(status).header("content-type", kind);
            response.body(Full::from(Bytes::from(body))).expect("a response")
        })
        .await;
        let mut grant = OAuth2AuthorizationCode {
            authorization_url: "https://provider.example/authorize?tenant=1".to_owned(),
            token_url: format!("{}/token", server.origin()),
            client_id_secret: "CLIENT_ID".to_owned(),
            client_secret_secret: Some("CLIENT_SECRET".to_owned()),
            scope: Some("read write".to_owned()),
            revocation_url: Some(format!("{}/revoke", server.origin())),
            api_host: "api.example".to_owned(),
            ..OAuth2AuthorizationCode::default()
        };
        change(&mut grant);
        let definition = ToolkitDefinition {
            id: "books".to_owned(),
            egress: vec![format!("127.0.0.1:{}", server.port())],
            auth: Auth::AuthorizationCode(grant).into(),
            ..ToolkitDefinition::default()
        };
        let toolkit_ranges = ["127.0.0.0/8".parse().expect("a range")].into_iter().collect();
        let egress = Egress::new(EgressSettings { toolkit_ranges, ..EgressSettings::default() });
        let accounts = Accounts::new(egress.clone(), vault.clone());
        let service = OutboundAuth::new(egress).with_accounts(accounts.clone());
        let world = Self { data, database, vault, accounts, service, server, answers, definition };
        world.set("CLIENT_ID", "id").await;
        world.set("CLIENT_SECRET", "se:cret").await;
        world
    }

    async fn set(&self, name: &str, value: &str) {
        let [user, toolkit, owner, name] = ["ana", "books", "olga", name].map(str::to_owned);
        let slot = SecretSlot { user, toolkit, owner, name };
        self.vault.set(&Actor::server(), slot, &value.into()).await.expect("it can be set");
    }

    fn answer(&self, status: u16, kind: &'static str, body: &str) {
        self.answers.lock().expect("no panic").push_back((status, kind, body.to_owned()));
    }

    fn policy(&self) -> Policy {
        let allowlist = Arc::new(Allowlist::parse(&self.definition.egress).expect("hosts"));
        Policy::Toolkit { allowlist, user: "ana".into(), membership: Membership::none() }
    }

    /// Begins a connection as this user. Returns the state and the authorization URL.
    async fn depart(&self, user: &str) -> Result<(String, Url), ConnectError> {
        let secrets = self.vault.for_call("ana", "books").await.expect("they open");
        let grants = crate::outbound_auth::account_grants(&self.definition);
        let principal = principal(user);
        let departure = departure(&principal, &grants, &secrets);
        let url = self.accounts.depart(&departure)?;
        let state =
            url.query_pairs().find(|(name, _)| name == "state").expect("it has a state").1.into_owned();
        Ok((state, url))
    }

    /// Completes a connection as this user, with these query parameters.
    async fn arrive(&self, user: &str, parameters: &[(&str, &str)]) -> Result<(), ConnectError> {
        self.arrive_as(&principal(user), parameters).await
    }

    async fn arrive_as(
        &self,
        principal: &Principal,
        parameters: &[(&str, &str)],
    ) -> Result<(), ConnectError> {
        let secrets = self.vault.for_call("ana", "books").await.expect("they open");
        let grants = crate::outbound_auth::account_grants(&self.definition);
        let response =
            serde_json::to_value(parameters.iter().copied().collect::<std::collections::HashMap<_, _>>());
        let response: Response = serde_json::from_value(response.expect("texts")).expect("parameters");
        self.accounts.arrive(&departure(principal, &grants, &secrets), &self.policy(), &response).await
    }

    /// Connects the account of `ana`, with this response of the token endpoint.
    async fn connect(&self, status: u16, kind: &'static str, body: &str) -> Result<(), ConnectError> {
        self.answer(status, kind, body);
        let (state, _) = self.depart("ana").await?;
        self.arrive("ana", &[("code", "c"), ("state", &state)]).await
    }

    async fn sign_in(&self) -> SignIn {
        let secrets = self.vault.for_call("ana", "books").await.expect("they open");
        let attached = AttachedTokens::default();
        let mut all = self.service.sign_ins("ana", &self.definition, &secrets, &self.policy(), &attached);
        all.0.remove(0)
    }

    async fn token(&self) -> Result<String, SignInError> {
        self.sign_in().await.attachment(|| true).await.map(|it| exposed(&it).to_owned())
    }

    /// Waits until the provider has received this many revocations. Returns their forms.
    async fn revocations(&self, count: usize) -> Vec<Vec<(String, String)>> {
        for _ in 0..500 {
            if self.forms("/revoke").len() >= count {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        self.forms("/revoke")
    }

    /// Returns the forms that the provider has received at a path.
    fn forms(&self, path: &str) -> Vec<Vec<(String, String)>> {
        let received = self.server.received().into_iter().filter(|(head, _)| head.uri.path() == path);
        received.map(|(_, body)| form_urlencoded::parse(&body).into_owned().collect()).collect()
    }
}

fn principal(user: &str) -> Principal {
    Principal { user_id: user.to_owned(), toolkit_id: "books".into() }
}

fn departure<'a>(
    principal: &'a Principal,
    grants: &'a [OAuth2AuthorizationCode],
    secrets: &'a UserSecrets,
) -> Departure<'a> {
    let redirect_uri = "https://kb.example/ui/toolkits/books/auth/callback";
    Departure { principal, owner: "olga", grants, redirect_uri, secrets }
}

fn exposed(attachment: &Attachment) -> &str {
    attachment.token.as_ref().expect("it is a token").expose()
}

fn field<'a>(form: &'a [(String, String)], name: &str) -> &'a str {
    form.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
}

/// Returns a token response with numbered tokens.
fn tokens(number: usize, expires_in: u32) -> String {
    format!(
        r#"{{"access_token":"access-{number}","refresh_token":"refresh-{number}","token_type":"Bearer","expires_in":{expires_in}}}"#
    )
}

#[tokio::test]
async fn the_provider_is_asked_with_pkce_and_the_code_is_sent_with_the_verifier() {
    let world = World::with(|grant| {
        grant.authorization_params =
            [("prompt", "consent")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    })
    .await;
    world.answer(200, JSON, &tokens(1, 3600));

    let (state, url) = world.depart("ana").await.expect("it departs");
    world.arrive("ana", &[("code", "a code"), ("state", &state)]).await.expect("it is connected");

    let query: Vec<_> = url.query_pairs().into_owned().collect();
    for (name, expected) in [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "id"),
        ("redirect_uri", "https://kb.example/ui/toolkits/books/auth/callback"),
        ("code_challenge_method", "S256"),
        ("scope", "read write"),
        ("prompt", "consent"),
    ] {
        assert_eq!(field(&query, name), expected, "{url}");
    }
    let form = world.forms("/token").remove(0);
    assert_eq!(field(&form, "grant_type"), "authorization_code");
    assert_eq!(field(&form, "code"), "a code");
    assert_eq!(field(&form, "redirect_uri"), field(&query, "redirect_uri"));
    let challenge = {
        use base64::Engine as _;
        let digest = kitbag_base::sha256::Sha256::digest(field(&form, "code_verifier"));
        base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(digest)
    };
    assert_eq!(field(&query, "code_challenge"), challenge);
    assert_eq!((field(&form, "client_id"), field(&form, "client_secret")), ("", ""));
    assert!(
        world.server.received()[0].0.headers["authorization"].to_str().expect("ASCII").starts_with("Basic ")
    );
    assert_eq!(world.token().await.expect("a token"), "access-1");
    // The state, which passes through the browser, reveals neither the verifier nor the user.
    assert!(!state.contains("ana") && !state.contains(field(&form, "code_verifier")), "{state}");
}

#[tokio::test]
async fn clients_authenticate_as_declared() {
    let post = World::with(|grant| grant.client_auth = ClientAuth::Post).await;
    post.connect(200, JSON, &tokens(1, 3600)).await.expect("it is connected");
    let form = post.forms("/token").remove(0);
    assert_eq!((field(&form, "client_id"), field(&form, "client_secret")), ("id", "se:cret"));
    assert!(!post.server.received()[0].0.headers.contains_key("authorization"));

    let public = World::with(|grant| grant.client_secret_secret = None).await;
    public.connect(200, JSON, &tokens(1, 3600)).await.expect("it is connected");
    let form = public.forms("/token").remove(0);
    assert_eq!((field(&form, "client_id"), field(&form, "client_secret")), ("id", ""));
}

#[tokio::test]
async fn a_state_is_good_once_for_its_user_toolkit_and_declaration() {
    let mut world = World::new().await;
    world.answer(200, JSON, &tokens(1, 3600));
    let (state, _) = world.depart("ana").await.expect("it departs");
    let good = [("code", "c"), ("state", state.as_str())];

    let others = world.arrive("ben", &good).await;
    assert!(matches!(others, Err(ConnectError::OtherUser)), "{others:?}");
    for forged in ["", "x", "a.b.c", &state[1..], &format!("{state}A"), &"A".repeat(20_000)] {
        let refused = world.arrive("ana", &[("code", "c"), ("state", forged)]).await;
        assert!(matches!(refused, Err(ConnectError::NoState)), "{forged}: {refused:?}");
    }
    assert!(world.server.requests().is_empty(), "no code was sent");
    world.arrive("ana", &good).await.expect("it is connected");
    let again = world.arrive("ana", &good).await;
    assert!(matches!(again, Err(ConnectError::NoState)), "{again:?}");

    // Another toolkit: the state is encrypted for the toolkit's id.
    let (state, _) = world.depart("ana").await.expect("it departs");
    let films = Principal { user_id: "ana".to_owned(), toolkit_id: "films".into() };
    let refused = world.arrive_as(&films, &[("code", "c"), ("state", &state)]).await;
    assert!(matches!(refused, Err(ConnectError::NoState)), "{refused:?}");

    // An older declaration: the user agreed to other scopes.
    let Auths(auths) = &mut world.definition.auth;
    let Auth::AuthorizationCode(grant) = &mut auths[0] else { panic!("an account") };
    grant.scope = Some("everything".to_owned());
    let older = world.arrive("ana", &[("code", "c"), ("state", &state)]).await;
    assert!(matches!(older, Err(ConnectError::Changed)), "{older:?}");
    assert_eq!(world.forms("/token").len(), 1);
}

#[tokio::test]
async fn a_state_is_good_for_ten_minutes() {
    let world = World::new().await;
    let (state, _) = world.depart("ana").await.expect("it departs");
    let sealed = crate::SealedValue::from_word(&state).expect("a word");
    let text = world.vault.open_value("account state", "books", &sealed).expect("it opens");
    let mut value: serde_json::Value = serde_json::from_str(text.expose_secret()).expect("JSON");
    let expires = value["expires"].as_i64().expect("a number");
    assert!((595..=600).contains(&(expires - Timestamp::now().as_second())));

    value["expires"] = (Timestamp::now().as_second() - 1).into();
    let old = world.vault.seal_value("account state", "books", &value.to_string().into()).to_word();
    let refused = world.arrive("ana", &[("code", "c"), ("state", &old)]).await;
    assert!(matches!(refused, Err(ConnectError::NoState)), "{refused:?}");
}

#[tokio::test]
async fn the_answer_of_another_issuer_is_none() {
    let world = World::new().await;
    for (iss, is_own) in [
        ("https://provider.example", true),
        ("https://provider.example/tenant/v2.0", true),
        ("https://evil.example", false),
        ("http://provider.example", false),
        ("https://provider.example:8443", false),
        ("provider.example", false),
        ("", false),
    ] {
        world.answer(200, JSON, &tokens(1, 3600));
        let (state, _) = world.depart("ana").await.expect("it departs");
        let arrived = world.arrive("ana", &[("code", "c"), ("state", &state), ("iss", iss)]).await;
        assert_eq!(arrived.is_ok(), is_own, "{iss}: {arrived:?}");
        assert_eq!(matches!(arrived, Err(ConnectError::OtherIssuer)), !is_own, "{iss}");
    }
}

#[tokio::test]
async fn a_refusal_is_told_by_known_codes_alone() {
    let world = World::new().await;
    for (error, expected) in [("access_denied", "access_denied"), ("canary<b>", "without a known code")] {
        let (state, _) = world.depart("ana").await.expect("it departs");
        let parameters = [("error", error), ("error_description", "canary"), ("state", &state)];
        let refused = world.arrive("ana", &parameters).await.expect_err("it is refused").to_string();
        assert!(refused.contains(expected) && !refused.contains("canary"), "{refused}");
    }
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn answers_of_real_providers_connect_or_say_why_not() {
    let github = World::with(|grant| grant.client_auth = ClientAuth::Post).await;
    github
        .connect(200, FORM, "access_token=gho_1&scope=repo%2Cgist&token_type=bearer")
        .await
        .expect("connected");
    let account =
        github.vault.stored_account("ana", "books").await.expect("it is read").expect("it is there");
    let AccountState::Connected(kept) = &account.state else { panic!("it is connected") };
    assert_eq!(
        (kept.scope.as_deref(), kept.expires_at, kept.refresh_token.is_some()),
        (Some("repo gist"), None, false)
    );
    assert_eq!(github.token().await.expect("a token"), "gho_1");

    let slack = World::new().await;
    let refused = slack.connect(200, JSON, r#"{"ok":false,"error":"invalid_code"}"#).await;
    assert!(matches!(refused, Err(ConnectError::Failed(SignInError::Refused { .. }))), "{refused:?}");
    let user_token = r#"{"ok":true,"authed_user":{"id":"U","access_token":"xoxp"}}"#;
    let refused = slack.connect(200, JSON, user_token).await.expect_err("it has no token of the app");
    assert!(refused.to_string().contains("authed_user"), "{refused}");
    assert!(matches!(slack.token().await, Err(SignInError::NoAccount { .. })));

    let notion = World::new().await;
    notion
        .connect(200, JSON, r#"{"access_token":"ntn","token_type":"bearer","workspace_id":"w"}"#)
        .await
        .expect("connected");
    let (head, body) = notion.server.received().remove(0);
    assert!(head.headers["authorization"].to_str().expect("ASCII").starts_with("Basic "));
    assert!(
        head.headers["content-type"] == "application/x-www-form-urlencoded"
            && body.starts_with(b"grant_type=")
    );
}

#[tokio::test]
async fn a_token_endpoint_cannot_harm_with_what_it_answers() {
    let world = World::new().await;
    let huge = format!(r#"{{"access_token":"{}"}}"#, "x".repeat(10 << 20));
    for (status, kind, body) in [
        (200, "text/html", "<html>canary</html>".to_owned()),
        (200, JSON, huge),
        (200, JSON, r#"{"access_token":"canary\r\nX-Evil: 1"}"#.to_owned()),
        (307, JSON, String::new()),
        (200, JSON, "[".repeat(60_000)),
    ] {
        let refused = world.connect(status, kind, &body).await.expect_err("it is no token").to_string();
        assert!(!refused.contains("canary"), "{refused}");
        assert!(matches!(world.token().await, Err(SignInError::NoAccount { .. })));
    }

    let mut elsewhere = World::with(|grant| grant.token_url = "http://127.0.0.1:1/token".to_owned()).await;
    let refused = elsewhere.connect(200, JSON, &tokens(1, 3600)).await.expect_err("it is not listed");
    assert!(refused.to_string().contains("not listed"), "{refused}");
    elsewhere.definition.egress.push("10.0.0.1".to_owned());
    let Auths(auths) = &mut elsewhere.definition.auth;
    let Auth::AuthorizationCode(grant) = &mut auths[0] else { panic!("an account") };
    grant.token_url = "https://10.0.0.1/token".to_owned();
    let refused = elsewhere.connect(200, JSON, &tokens(1, 3600)).await.expect_err("a private address");
    assert!(matches!(refused, ConnectError::Failed(SignInError::Egress(_))), "{refused}");
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_for_all_calls_and_on_all_processes() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 0)).await.expect("connected");
    world.answer(200, JSON, &tokens(2, 3600));
    // Another process shares only the database.
    let path = world.data.path().join("master-key");
    let vault = Arc::new(Vault::open(world.database.clone(), KeySource::File(path)).await.expect("it opens"));
    let other = Accounts::new(world.accounts.egress.clone(), vault.clone());
    let other = OutboundAuth::new(world.accounts.egress.clone()).with_accounts(other);
    let secrets = vault.for_call("ana", "books").await.expect("they open");
    let mut calls = Vec::new();
    for index in 0..64 {
        calls.push(if index % 2 == 0 {
            world.sign_in().await
        } else {
            let attached = AttachedTokens::default();
            other.sign_ins("ana", &world.definition, &secrets, &world.policy(), &attached).0.remove(0)
        });
    }

    let obtained = join_all(calls.iter().map(|call| call.attachment(|| true))).await;

    assert!(obtained.iter().all(|it| exposed(it.as_ref().expect("a token")) == "access-2"));
    let refreshes = world.forms("/token");
    assert_eq!(refreshes.len(), 2, "one to connect, and one to renew");
    assert_eq!(field(&refreshes[1], "grant_type"), "refresh_token");
    assert_eq!(field(&refreshes[1], "refresh_token"), "refresh-1");
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_old_refresh_token_stays_where_none_comes() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    world.answer(200, JSON, r#"{"access_token":"access-2","token_type":"Bearer"}"#);
    let sign_in = world.sign_in().await;
    let refused = sign_in.attachment(|| true).await.expect("a token");

    let calls = (0..20).map(|_| sign_in.replace(&refused, || true));
    let renewed = join_all(calls).await;

    assert!(renewed.iter().all(|it| exposed(it.as_ref().expect("a token")) == "access-2"));
    assert_eq!(world.forms("/token").len(), 2);
    let account = world.vault.stored_account("ana", "books").await.expect("read").expect("there");
    let AccountState::Connected(kept) = account.state else { panic!("it is connected") };
    assert_eq!(kept.refresh_token.expect("the old one").expose_secret(), "refresh-1");
}

#[tokio::test]
async fn invalid_grant_ends_an_account_and_a_server_out_of_order_does_not() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 0)).await.expect("connected");
    for (status, body) in
        [(503, ""), (500, r#"{"error":"server_error"}"#), (429, ""), (401, r#"{"error":"invalid_client"}"#)]
    {
        world.answer(status, JSON, body);
        let error = world.token().await.expect_err("it has expired");
        assert!(!matches!(error, SignInError::AccountEnded { .. }), "{error}");
    }
    world.answer(400, JSON, r#"{"error":"invalid_grant"}"#);
    let error = world.token().await.expect_err("it is ended");
    assert!(matches!(error, SignInError::AccountEnded { .. }), "{error}");
    let asked = world.forms("/token").len();
    let error = world.token().await.expect_err("it stays ended");
    assert!(matches!(error, SignInError::AccountEnded { .. }), "{error}");
    assert_eq!(world.forms("/token").len(), asked, "nothing was asked again");

    world.connect(200, JSON, &tokens(2, 3600)).await.expect("it is connected anew");
    assert_eq!(world.token().await.expect("a token"), "access-2");
}

#[tokio::test]
async fn a_process_that_dies_while_it_renews_leaves_an_account_that_is_whole_or_ended() {
    for (status, body, is_whole) in
        [(200, tokens(2, 3600), true), (400, r#"{"error":"invalid_grant"}"#.to_owned(), false)]
    {
        let world = World::new().await;
        world.connect(200, JSON, &tokens(1, 0)).await.expect("connected");
        // The other process claimed the renewal, sent the request, and stored nothing.
        let begin = async |holder: &str, ended| {
            world.vault.begin_refresh("ana", "books", holder, ended).await.expect("the database answers")
        };
        assert!(begin("dead", None).await);
        assert!(!begin("other", None).await && !begin("other", Some("another")).await);
        world.vault.end_refresh("ana", "books", "other").await.expect("the database answers");
        assert!(!begin("other", None).await, "only the holder gives it back");
        assert!(begin("other", Some("dead")).await);
        world.vault.end_refresh("ana", "books", "other").await.expect("the database answers");
        world.answer(status, JSON, &body);

        let obtained = world.token().await;

        assert_eq!(obtained.is_ok(), is_whole, "{obtained:?}");
        let account = world.vault.stored_account("ana", "books").await.expect("read").expect("there");
        assert_eq!(matches!(account.state, AccountState::Connected(_)), is_whole);
    }
}

#[tokio::test]
async fn a_renewal_is_over_after_a_time_that_each_process_measures_by_itself() {
    let locks = RenewalLocks::default();
    assert!(!locks.is_over("ana", "books", "one"));
    assert!(!locks.is_over("ana", "books", "one"), "not yet");
    assert!(!locks.is_over("ana", "books", "two"), "it is another one's by now");
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_ends_its_account_once_it_is_refused() {
    let world = World::new().await;
    world.connect(200, JSON, r#"{"access_token":"gho_1"}"#).await.expect("connected");
    let sign_in = world.sign_in().await;
    let refused = sign_in.attachment(|| true).await.expect("a token");

    let error = sign_in.replace(&refused, || true).await.expect_err("there is no other");

    assert!(matches!(error, SignInError::AccountEnded { .. }), "{error}");
    assert!(matches!(world.token().await, Err(SignInError::AccountEnded { .. })));
    assert_eq!(world.forms("/token").len(), 1, "nothing was asked for");
}

#[tokio::test]
async fn what_github_says_of_an_old_refresh_token_ends_the_account() {
    let world = World::new().await;
    world
        .connect(200, FORM, "access_token=a&refresh_token=r&expires_in=0&token_type=bearer")
        .await
        .expect("connected");
    world.answer(200, FORM, "error=bad_refresh_token&error_description=canary");

    let error = world.token().await.expect_err("it is ended");

    assert!(
        matches!(&error, SignInError::AccountEnded { reason, .. } if reason.contains("bad_refresh_token")),
        "{error}"
    );
}

#[tokio::test]
async fn calls_that_wait_for_a_renewal_pay_for_none() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 0)).await.expect("connected");
    world.answer(200, JSON, &tokens(2, 3600));
    let sign_in = world.sign_in().await;
    let paid = AtomicUsize::new(0);

    let calls = (0..20).map(|_| sign_in.attachment(|| paid.fetch_add(1, Ordering::Relaxed) == 0));

    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(paid.into_inner(), 1);
}

#[tokio::test]
async fn an_account_that_its_user_has_ended_is_not_brought_back_by_a_renewal_under_way() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 0)).await.expect("connected");
    let before = world.vault.stored_account("ana", "books").await.expect("read").expect("there");
    assert!(
        world.vault.remove_account(&Actor::server(), "ana", "books").await.expect("it is removed").is_some()
    );

    let replaced = world.vault.replace_account("ana", "books", &before, &before).await;

    assert!(matches!(replaced, Err(VaultError::ToolkitChanged)), "{replaced:?}");
    assert!(matches!(world.token().await, Err(SignInError::NoAccount { .. })));
}

#[tokio::test]
async fn calls_under_way_lose_an_account_that_ends() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    let call = world.sign_in().await;
    call.attachment(|| true).await.expect("a token");

    world.vault.remove_account(&Actor::server(), "ana", "books").await.expect("it is removed");

    let error = call.attachment(|| true).await.expect_err("it is gone");
    assert!(matches!(error, SignInError::NoAccount { .. }), "{error}");
}

#[tokio::test]
async fn an_account_is_good_for_the_declaration_that_its_user_agreed_to() {
    let mut world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    let another_way = "the toolkit signs in in another way than when it was connected";
    for (change, expected) in [
        (
            (|grant| grant.scope = None) as fn(&mut OAuth2AuthorizationCode),
            "the toolkit asks for other scopes than when it was connected",
        ),
        (|grant| grant.api_host = "evil.example".to_owned(), another_way),
        (|grant| grant.token_url.push('2'), another_way),
        (|grant| grant.client_id_secret = "CLIENT_SECRET".to_owned(), another_way),
    ] {
        let before = world.definition.clone();
        let Auths(auths) = &mut world.definition.auth;
        let Auth::AuthorizationCode(grant) = &mut auths[0] else { panic!("an account") };
        change(grant);
        let Err(SignInError::AccountEnded { reason, .. }) = world.token().await else { panic!("{expected}") };
        assert_eq!(reason, expected);
        world.definition = before;
    }
    assert_eq!(world.token().await.expect("a token"), "access-1");
}

#[tokio::test]
async fn without_its_credentials_nothing_is_begun_and_the_missing_ones_are_named() {
    let world = World::new().await;
    world.vault.unset(&Actor::server(), "ana", "books", "CLIENT_SECRET").await.expect("it is removed");
    let refused = world.depart("ana").await.expect_err("no secret");
    let ConnectError::Failed(SignInError::MissingCredentials { names, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!(names, ["CLIENT_SECRET"]);
}

#[tokio::test]
async fn tokens_are_revoked_with_the_refresh_token_and_the_clients_own_credentials() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    world.answer(200, JSON, "");
    let secrets = world.vault.for_call("ana", "books").await.expect("they open");
    let account =
        world.vault.remove_account(&Actor::server(), "ana", "books").await.expect("removed").expect("there");

    world.accounts.revoke_later(vec![Revocation::of(principal("ana"), account, &secrets)]);

    let form = world.revocations(1).await.remove(0);
    assert_eq!((field(&form, "token"), field(&form, "token_type_hint")), ("refresh-1", "refresh_token"));
}

#[tokio::test]
async fn an_account_is_revoked_with_the_client_and_at_the_endpoints_that_it_was_connected_with() {
    let mut world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    let account = world.vault.stored_account("ana", "books").await.expect("read").expect("there");
    let mut is_revocable = |change: fn(&mut OAuth2AuthorizationCode)| {
        let before = world.definition.clone();
        let Auths(auths) = &mut world.definition.auth;
        let Auth::AuthorizationCode(grant) = &mut auths[0] else { panic!("an account") };
        change(grant);
        let is_revocable = account.is_revocable_by(&crate::outbound_auth::account_grants(&world.definition));
        world.definition = before;
        is_revocable
    };

    assert!(is_revocable(|_| {}));
    assert!(is_revocable(|grant| grant.scope = None) && is_revocable(|grant| grant.api_host.push('2')));
    for change in [
        (|grant| grant.revocation_url = None) as fn(&mut OAuth2AuthorizationCode),
        |grant| grant.revocation_url = Some("https://evil.example/revoke".to_owned()),
        |grant| grant.token_url.push('2'),
        |grant| grant.client_id_secret.push('2'),
        |grant| grant.client_secret_secret = None,
    ] {
        assert!(!is_revocable(change));
    }
    let ended = Account { state: AccountState::Ended { reason: String::new() }, ..account };
    assert!(!ended.is_revocable_by(&crate::outbound_auth::account_grants(&world.definition)));
}

#[tokio::test]
async fn no_token_is_in_the_database_or_in_what_is_printed() {
    let world = World::new().await;
    world.connect(200, JSON, &tokens(1, 3600)).await.expect("connected");
    let account = world.vault.stored_account("ana", "books").await.expect("read").expect("there");
    let sign_in = world.sign_in().await.attachment(|| true).await.expect("a token");
    let shown = format!("{account:?} {sign_in:?}");
    assert!(!shown.contains("access-1") && !shown.contains("refresh-1"), "{shown}");
    let rows: Vec<Vec<u8>> =
        world.database.column("SELECT sealed FROM secrets WHERE name = '@account'").await;
    assert_eq!(rows.len(), 1);
    for token in ["access-1", "refresh-1"] {
        assert!(!rows[0].windows(token.len()).any(|bytes| bytes == token.as_bytes()), "{token}");
    }
}

#[tokio::test]
async fn an_account_has_the_name_that_its_provider_or_the_api_says_and_is_connected_without_one() {
    // The payload is {"sub":"1","email":"ana@crm"}.
    const ID_TOKEN: &str = "e30.eyJzdWIiOiIxIiwiZW1haWwiOiJhbmFAY3JtIn0.c2ln";
    let with_id_token = format!(r#"{{"access_token":"t","token_type":"Bearer","id_token":"{ID_TOKEN}"}}"#);
    let without = r#"{"access_token":"t","token_type":"Bearer"}"#;
    let name = async |world: &World| {
        let account =
            world.vault.stored_account("ana", "books").await.expect("it is read").expect("it is there");
        account.name().map(str::to_owned)
    };

    let world = World::new().await;
    for (answer, expected) in [(&*with_id_token, Some("ana@crm")), (without, None)] {
        world.connect(200, JSON, answer).await.expect("it is connected");
        assert_eq!(name(&world).await.as_deref(), expected);
    }
    let sent = world.server.received().into_iter().map(|(head, _)| head.uri.path().to_owned());
    assert!(sent.into_iter().all(|path| path == "/token"), "nobody is asked who is not declared");

    let world = World::with(|grant| {
        let origin = grant.token_url.trim_end_matches("/token");
        let url = format!("{origin}/me");
        grant.account_name =
            Some(kitbag_manifest::AccountName { url, pointer: "/user/login".to_owned() }.into());
    })
    .await;
    for (status, document, expected) in [
        (200, r#"{"user":{"login":"octo-ana"}}"#, Some("octo-ana")),
        (200, "{\"user\":{\"login\":\"a\\u0007\"}}", Some("ana@crm")),
        (200, "<h1>canary</h1>", Some("ana@crm")),
        (404, r#"{"user":{"login":"octo-ana"}}"#, Some("ana@crm")),
        (302, "", Some("ana@crm")),
    ] {
        world.answer(200, JSON, &with_id_token);
        world.answer(status, JSON, document);
        let (state, _) = world.depart("ana").await.expect("it departs");
        world.arrive("ana", &[("code", "c"), ("state", &state)]).await.expect("it is connected");
        assert_eq!(name(&world).await.as_deref(), expected, "{status} {document}");
    }
    let asked: Vec<_> =
        world.server.received().into_iter().filter(|(head, _)| head.uri.path() == "/me").collect();
    assert_eq!(asked.len(), 5, "once each");
    assert_eq!(asked[0].0.headers["authorization"], "Bearer t");
    // A name alone is no reason to connect again.
    let account = world.vault.stored_account("ana", "books").await.expect("it is read").expect("it is there");
    let mut grants = account.grants.clone();
    grants[0].account_name = None;
    assert_eq!(account.misfit(&grants), None);
    grants[0].client_id_secret = "OTHER".to_owned();
    assert!(account.misfit(&grants).is_some());
}

#[tokio::test]
async fn the_name_of_an_account_is_asked_for_within_what_the_toolkit_may_reach() {
    let world = World::with(|grant| {
        let url = "https://elsewhere.example/me".to_owned();
        grant.account_name = Some(kitbag_manifest::AccountName { url, pointer: "/login".to_owned() }.into());
    })
    .await;

    world.connect(200, JSON, &tokens(1, 3600)).await.expect("it is connected");

    let account = world.vault.stored_account("ana", "books").await.expect("it is read").expect("it is there");
    assert_eq!(account.name(), None);
    assert_eq!(world.server.received().len(), 1, "the token endpoint alone");
}
