//! Tests of the client-credentials grant over real sockets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::join_all;
use http::Response;
use http_body_util::Full;
use kitbag_manifest::OAuth2ClientCredentials;
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Allowlist, EgressError, EgressSettings, Membership};
use secrecy::ExposeSecret as _;

use super::*;

/// Starts a token endpoint that returns `token-1`, `token-2`, … with the additional fields `with`.
async fn token_server(with: &'static str) -> TestServer {
    let minted = AtomicUsize::new(0);
    TestServer::start(move |_| {
        let number = minted.fetch_add(1, Ordering::Relaxed) + 1;
        json(200, &format!(r#"{{{with}"access_token":"token-{number}"}}"#))
    })
    .await
}

fn json(status: u16, body: &str) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::from(body.to_owned())).unwrap()
}

const HOUR: &str = r#""token_type":"Bearer","expires_in":3600,"#;

fn service() -> OutboundAuth {
    let toolkit_ranges = ["127.0.0.0/8".parse().unwrap()].into_iter().collect();
    OutboundAuth::new(Egress::new(EgressSettings { toolkit_ranges, ..EgressSettings::default() }))
}

fn declaration(server: &TestServer) -> OAuth2ClientCredentials {
    OAuth2ClientCredentials {
        token_url: format!("{}/token", server.origin()),
        client_id_secret: "CLIENT_ID".to_owned(),
        client_secret_secret: "CLIENT_SECRET".to_owned(),
        scope: Some("read write".to_owned()),
        api_host: "api.example.com".to_owned(),
    }
}

/// Values of the two declared secrets.
#[derive(Default)]
struct Credentials {
    client_id: Option<SecretString>,
    client_secret: Option<SecretString>,
}

fn credentials(id: &str, secret: &str) -> Credentials {
    Credentials { client_id: Some(id.into()), client_secret: Some(secret.into()) }
}

fn account(user: &str, toolkit: &str) -> Principal {
    Principal { user_id: user.to_owned(), toolkit_id: toolkit.into() }
}

fn policy(server: &TestServer) -> Policy {
    let listed = [format!("127.0.0.1:{}", server.port())];
    let allowlist = Arc::new(Allowlist::parse(listed).unwrap());
    Policy::Toolkit { allowlist, user: "ana".into(), membership: Membership::none() }
}

fn sign_in(service: &OutboundAuth, server: &TestServer) -> SignIn {
    sign_in_as(service, server, account("ana", "books"), credentials("id", "secret"))
}

fn sign_in_as(service: &OutboundAuth, server: &TestServer, who: Principal, with: Credentials) -> SignIn {
    sign_in_with(service, who, declaration(server), with, (policy(server), AttachedTokens::default()))
}

fn sign_in_with(
    service: &OutboundAuth,
    Principal { user_id, toolkit_id }: Principal,
    declaration: OAuth2ClientCredentials,
    Credentials { client_id, client_secret }: Credentials,
    (policy, attached): (Policy, AttachedTokens),
) -> SignIn {
    let definition = ToolkitDefinition {
        id: toolkit_id.to_string(),
        auth: Auth::ClientCredentials(declaration).into(),
        ..ToolkitDefinition::default()
    };
    let named = [("CLIENT_ID", client_id), ("CLIENT_SECRET", client_secret)];
    let secrets = named
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| ((toolkit_id.to_string(), name.to_owned()), value)));
    let secrets = UserSecrets::of(secrets.collect());
    service.sign_ins(&user_id, &definition, &secrets, &policy, &attached).0.remove(0)
}

/// Returns the bearer token of an attachment.
fn exposed(attachment: &Attachment) -> &str {
    attachment.token.as_ref().expect("it is a token").expose()
}

async fn token(sign_in: &SignIn) -> String {
    exposed(&sign_in.attachment(|| true).await.unwrap()).to_owned()
}

#[tokio::test]
async fn the_token_request_is_the_one_of_the_grant() {
    let server = token_server(HOUR).await;
    let with = credentials("id with ü&", "se:cret/+%");

    token(&sign_in_as(&service(), &server, account("ana", "books"), with)).await;

    let (head, body) = server.received().remove(0);
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/token"));
    assert_eq!(body, "grant_type=client_credentials&scope=read+write");
    assert_eq!(head.headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(head.headers["accept"], "application/json");
    let basic = STANDARD.encode("id+with+%C3%BC%26:se%3Acret%2F%2B%25");
    assert_eq!(head.headers["authorization"], format!("Basic {basic}"));
}

#[tokio::test]
async fn without_a_scope_none_is_sent() {
    let server = token_server(HOUR).await;
    let declaration = OAuth2ClientCredentials { scope: None, ..declaration(&server) };
    let with = credentials("id", "secret");

    let sign_in = sign_in_with(
        &service(),
        account("ana", "books"),
        declaration,
        with,
        (policy(&server), AttachedTokens::default()),
    );
    token(&sign_in).await;

    assert_eq!(server.received()[0].1, "grant_type=client_credentials");
}

#[tokio::test]
async fn a_token_is_minted_on_first_use_and_kept_over_calls() {
    let server = token_server(HOUR).await;
    let service = service();

    let first = sign_in(&service, &server);
    assert!(server.requests().is_empty());
    let tokens = [token(&first).await, token(&first).await, token(&sign_in(&service, &server)).await];

    assert_eq!(tokens, ["token-1", "token-1", "token-1"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn calls_that_need_a_token_at_the_same_time_share_one_request() {
    let server = token_server(HOUR).await;
    let service = service();
    let calls: Vec<_> = (0..20).map(|_| sign_in(&service, &server)).collect();

    let tokens = join_all(calls.iter().map(token)).await;

    assert!(tokens.iter().all(|token| token == "token-1"), "{tokens:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_crowd_shares_a_failure_and_the_next_call_tries_again() {
    let server = TestServer::start(|_| json(503, "")).await;
    let service = service();
    let calls: Vec<_> = (0..20).map(|_| sign_in(&service, &server)).collect();

    let crowd = join_all(calls.iter().map(|call| call.attachment(|| true))).await;
    assert!(crowd.iter().all(Result::is_err));
    assert_eq!(server.requests().len(), 1);

    assert!(sign_in(&service, &server).attachment(|| true).await.is_err());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_call_that_ends_while_it_mints_gives_its_turn_to_the_next() {
    let slot = cache::Slot::default();

    let abandoned = slot.token(None, std::future::pending());
    assert!(tokio::time::timeout(Duration::from_millis(50), abandoned).await.is_err());

    let minted = token::Token::new("token-1".into(), std::time::Instant::now(), None).unwrap();
    assert_eq!(slot.token(None, async { Ok(minted) }).await.unwrap().expose(), "token-1");
}

#[tokio::test]
async fn no_other_user_toolkit_credentials_or_declaration_gets_the_token() {
    let server = token_server(HOUR).await;
    let service = service();
    assert_eq!(token(&sign_in(&service, &server)).await, "token-1");

    let ana = || account("ana", "books");
    let with = || credentials("id", "secret");
    let bob = sign_in_as(&service, &server, account("bob", "books"), with());
    let films = sign_in_as(&service, &server, account("ana", "films"), with());
    assert_eq!(token(&bob).await, "token-2");
    assert_eq!(token(&films).await, "token-3");

    // Each differs from the one before in one way.
    let changed = [("id", "other"), ("ido", "ther"), ("new", "ther")];
    for (number, (id, secret)) in changed.into_iter().enumerate() {
        let sign_in = sign_in_as(&service, &server, ana(), credentials(id, secret));
        assert_eq!(token(&sign_in).await, format!("token-{}", number + 4));
    }

    let declarations: [fn(&mut OAuth2ClientCredentials); 3] = [
        |it| it.scope = Some("read".to_owned()),
        |it| it.api_host = "other.example.com".to_owned(),
        |it| it.token_url.push('2'),
    ];
    for (number, change) in declarations.into_iter().enumerate() {
        let mut another = declaration(&server);
        change(&mut another);
        let sign_in =
            sign_in_with(&service, ana(), another, with(), (policy(&server), AttachedTokens::default()));
        assert_eq!(token(&sign_in).await, format!("token-{}", number + 7));
    }

    // The tokens that were replaced are no longer cached.
    assert_eq!(token(&sign_in(&service, &server)).await, "token-10");
    assert_eq!(token(&bob).await, "token-2");
}

#[tokio::test]
async fn a_long_call_with_old_credentials_and_calls_with_new_ones_leave_each_others_token_alone() {
    let server = token_server(HOUR).await;
    let service = service();
    let long = sign_in(&service, &server);
    assert_eq!(token(&long).await, "token-1");
    let new = || sign_in_as(&service, &server, account("ana", "books"), credentials("id", "new"));

    for _ in 0..3 {
        assert_eq!(token(&new()).await, "token-2");
        assert_eq!(token(&long).await, "token-1");
    }

    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_token_is_replaced_before_it_expires() {
    let server = token_server(r#""token_type":"bearer","expires_in":"1","#).await;
    let sign_in = sign_in(&service(), &server);

    assert_eq!((token(&sign_in).await, token(&sign_in).await), ("token-1".into(), "token-1".into()));
    tokio::time::sleep(Duration::from_millis(600)).await;

    assert_eq!(token(&sign_in).await, "token-2");
}

#[tokio::test]
async fn a_token_without_a_lifetime_is_used_until_it_is_refused() {
    let server = token_server(r#""token_type":"BEARER","#).await;
    let sign_in = sign_in(&service(), &server);

    let first = sign_in.attachment(|| true).await.unwrap();
    assert_eq!(token(&sign_in).await, "token-1");

    assert_eq!(exposed(&sign_in.replace(&first, || true).await.unwrap()), "token-2");
    assert_eq!(token(&sign_in).await, "token-2");
}

#[tokio::test]
async fn refusals_of_one_token_share_one_replacement() {
    let server = token_server(HOUR).await;
    let service = service();
    let calls: Vec<_> = (0..20).map(|_| sign_in(&service, &server)).collect();
    let refused = join_all(calls.iter().map(|call| call.attachment(|| true))).await;

    let replaced = calls.iter().zip(&refused);
    let replaced = replaced.map(|(call, refused)| call.replace(refused.as_ref().unwrap(), || true));
    let replaced = join_all(replaced).await;

    assert!(replaced.iter().all(|token| exposed(token.as_ref().unwrap()) == "token-2"));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_forgotten_token_is_minted_anew_by_whoever_needs_it_next() {
    let server = token_server(HOUR).await;
    let sign_in = sign_in(&service(), &server);
    let first = sign_in.attachment(|| true).await.unwrap();

    sign_in.forget(&first).await;
    assert_eq!(token(&sign_in).await, "token-2");

    sign_in.forget(&first).await;
    assert_eq!(token(&sign_in).await, "token-2");
}

#[tokio::test]
async fn a_call_without_a_request_left_mints_nothing_and_stops_nobody() {
    let server = token_server(HOUR).await;
    let sign_in = sign_in(&service(), &server);

    let none_left = sign_in.attachment(|| false).await;

    assert!(matches!(none_left, Err(SignInError::NoRequestLeft)));
    assert!(server.requests().is_empty());
    assert_eq!(token(&sign_in).await, "token-1");
    assert!(sign_in.attachment(|| false).await.is_ok(), "a token that is there costs nothing");
}

#[tokio::test]
async fn a_missing_credential_names_the_command_that_sets_it() {
    let server = token_server(HOUR).await;
    let id = || credentials("id", "secret").client_id;
    let line = async |with| {
        let sign_in = sign_in_as(&service(), &server, account("ana", "books"), with);
        sign_in.attachment(|| true).await.unwrap_err().to_string()
    };

    let one = line(Credentials { client_id: id(), client_secret: None }).await;
    let both = line(Credentials::default()).await;

    assert!(one.ends_with("with kitbag secret set books CLIENT_SECRET --from-stdin"), "{one}");
    assert!(both.contains("kitbag secret set books CLIENT_ID --from-stdin and kitbag secret set"), "{both}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_answer_without_a_token_type_is_a_bearer_token() {
    for answer in [r#"{"access_token":"token-1"}"#, r#"{"access_token":"token-1","token_type":null}"#] {
        let server = TestServer::start(move |_| json(200, answer)).await;

        assert_eq!(token(&sign_in(&service(), &server)).await, "token-1", "{answer}");
    }
}

#[tokio::test]
async fn what_the_caller_can_mend_is_told_with_the_command_that_does() {
    let server = token_server(HOUR).await;
    let sign_in = sign_in_as(&service(), &server, account("ana", "books"), Credentials::default());
    let host = || "auth.example".to_owned();
    let refused = |status| SignInError::Refused { host: host(), status, code: Some("invalid_client") };

    let missing = sign_in.attachment(|| true).await.unwrap_err();
    for (error, told) in [
        (missing, Some("The credentials CLIENT_ID and CLIENT_SECRET are not set. Set them with: kitbag ")),
        (refused(StatusCode::UNAUTHORIZED), Some("The token endpoint auth.example refused the credentials ")),
        (
            SignInError::Unusable { host: host(), reason: "it is odd" },
            Some("The answer of the token endpoint "),
        ),
        (SignInError::NoRequestLeft, None),
    ] {
        let failure = sign_in.for_model(&error);

        assert_eq!(failure.is_some(), told.is_some(), "{error}");
        assert!(failure.is_none_or(|it| !it.retryable && it.error.starts_with(told.unwrap())), "{error}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_is_down_is_told_as_such_and_may_be_tried_again() {
    let server = token_server(HOUR).await;
    let sign_in = sign_in_as(&service(), &server, account("ana", "books"), Credentials::default());
    let host = || "auth.example".to_owned();
    let refused = |status| SignInError::Refused { host: host(), status, code: None };
    let connect = EgressError::Connect {
        authority: host(),
        source: Arc::new(std::io::ErrorKind::ConnectionRefused.into()),
    };

    for (error, told) in [
        (refused(StatusCode::SERVICE_UNAVAILABLE), "auth.example answered with HTTP status 503"),
        (refused(StatusCode::BAD_GATEWAY), "auth.example answered with HTTP status 502"),
        (refused(StatusCode::TOO_MANY_REQUESTS), "auth.example answered with HTTP status 429"),
        (connect.into(), "The token endpoint 127.0.0.1 cannot be reached"),
        (EgressError::Timeout { authority: host() }.into(), "cannot be reached"),
        (SignInError::Busy, "cannot sign in for this tool at the moment"),
        (SignInError::Unavailable, "cannot sign in for this tool at the moment"),
    ] {
        let failure = sign_in.for_model(&error).expect("it is told");

        assert!(error.is_passing() && failure.retryable && failure.error.contains(told), "{failure:?}");
        assert!(!error.to_string().contains("refused the credentials"), "{error}");
    }
    let closed = SignInError::from(EgressError::NotListed { authority: host() });
    assert!(!closed.is_passing() && sign_in.for_model(&closed).is_none());
}

#[tokio::test]
async fn an_answer_that_is_no_bearer_token_is_refused() {
    for answer in [
        "",
        "token",
        "[]",
        r#"{"token_type":"Bearer"}"#,
        r#"{"access_token":"canary","token_type":"mac"}"#,
        r#"{"access_token":"canary","token_type":7}"#,
        r#"{"access_token":"","token_type":"Bearer"}"#,
        r#"{"access_token":"canary\r\nx-evil: 1","token_type":"Bearer"}"#,
        r#"{"access_token":7,"token_type":"Bearer"}"#,
    ] {
        let server = TestServer::start(move |_| json(200, answer)).await;

        let error = sign_in(&service(), &server).attachment(|| true).await.unwrap_err();

        assert!(matches!(error, SignInError::Unusable { .. }), "{answer}: {error}");
        assert!(!format!("{error} {error:?}").contains("canary"), "{answer}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_repeats_the_registered_code_and_nothing_else() {
    for (status, answer, shown) in [
        (
            401,
            r#"{"error":"invalid_client","error_description":"canary"}"#,
            "401 Unauthorized invalid_client",
        ),
        (400, r#"{"error":"canary"}"#, "400 Bad Request"),
        (500, "canary", "500 Internal Server Error"),
        (201, r#"{"access_token":"canary","token_type":"Bearer"}"#, "201 Created"),
    ] {
        let server = TestServer::start(move |_| json(status, answer)).await;
        let with = credentials("canary-id", "canary-secret");

        let sign_in = sign_in_as(&service(), &server, account("ana", "books"), with);
        let error = sign_in.attachment(|| true).await.unwrap_err();

        assert!(error.to_string().ends_with(shown), "{error}");
        assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let server = TestServer::start(|_| json(200, &" ".repeat(100_000))).await;

    let error = sign_in(&service(), &server).attachment(|| true).await.unwrap_err();

    assert!(error.to_string().contains("sent more than 65536 bytes"), "{error}");
}

#[tokio::test]
async fn the_token_request_follows_no_redirect() {
    let elsewhere = token_server(HOUR).await;
    let location = format!("{}/token", elsewhere.origin());
    let server = TestServer::start(move |_| {
        Response::builder().status(307).header("location", &location).body(Full::default()).unwrap()
    })
    .await;

    let error = sign_in(&service(), &server).attachment(|| true).await.unwrap_err();

    assert!(matches!(error, SignInError::Refused { status, .. } if status == 307), "{error}");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn the_token_request_goes_only_where_the_toolkit_may_go() {
    let server = token_server(HOUR).await;
    let listed = token_server(HOUR).await;
    let declaration = declaration(&server);
    let with = credentials("id", "secret");

    let sign_in = sign_in_with(
        &service(),
        account("ana", "books"),
        declaration,
        with,
        (policy(&listed), AttachedTokens::default()),
    );
    let error = sign_in.attachment(|| true).await.unwrap_err();

    assert!(error.to_string().contains("is not listed in egress"), "{error}");
    assert!(server.requests().is_empty() && listed.requests().is_empty());
}

#[tokio::test]
async fn every_token_that_was_handed_out_is_remembered_once() {
    let server = token_server(HOUR).await;
    let attached = AttachedTokens::default();
    let who = account("ana", "books");
    let with = credentials("id", "secret");
    let record = (policy(&server), attached.clone());
    let sign_in = sign_in_with(&service(), who, declaration(&server), with, record);
    assert!(attached.values().is_empty());

    let first = sign_in.attachment(|| true).await.unwrap();
    token(&sign_in).await;
    sign_in.replace(&first, || true).await.unwrap();

    let values: Vec<_> = attached.values().iter().map(|value| value.expose_secret().to_owned()).collect();
    assert_eq!(values, ["token-1", "token-2"]);
    assert!(!format!("{attached:?}").contains("token-1"));
}
