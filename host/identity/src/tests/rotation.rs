//! Key rotation and outages of the provider.

use std::time::Duration;

use futures::future::join_all;
use kitbag_net::egress::EgressSettings;

use super::provider::{JWKS, OAUTH, OPENID};
use super::*;
use crate::jwks::Schedule;

/// Schedule under which documents are always expired.
const ALWAYS_STALE: Schedule = Schedule {
    max_age: Duration::ZERO,
    max_stale: Duration::from_hours(1),
    retry: Duration::ZERO,
    retry_without_keys: Duration::ZERO,
};

fn header_of(provider: &TestProvider, jti: &str) -> HeaderMap {
    bearer(&provider.token("at+jwt", &with(access_claims(&provider.issuer()), json!({ "jti": jti }))))
}

#[tokio::test]
async fn many_first_requests_share_one_fetch() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let requests: Vec<_> = (0..20).map(|number| header_of(&provider, &number.to_string())).collect();

    let outcomes = join_all(requests.iter().map(|headers| identity.authenticate(headers))).await;

    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!((provider.hits(OPENID), provider.hits(JWKS)), (1, 1));
}

#[tokio::test]
async fn unknown_keys_are_asked_for_again_after_the_interval() {
    let provider = TestProvider::start().await;
    let schedule = Schedule { retry: Duration::from_millis(50), ..Schedule::default() };
    let identity = provider.scheduled_identity(settings(), schedule);
    let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": "unknown" });
    let unknown = bearer(&provider.key().sign(&header, &access_claims(&provider.issuer())));

    identity.authenticate(&unknown).await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(60)).await;
    identity.authenticate(&unknown).await.unwrap_err();

    assert_eq!(provider.hits(JWKS), 3);
}

#[tokio::test]
async fn a_new_key_is_found_and_the_old_one_forgotten_with_its_tokens() {
    let mut provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let old = header_of(&provider, "1");
    assert!(identity.authenticate(&old).await.is_ok());

    provider.rotate("k2");
    let new = header_of(&provider, "2");

    assert!(identity.authenticate(&old).await.is_ok(), "nobody has asked the provider yet");
    assert!(identity.authenticate(&new).await.is_ok());
    assert_refused(&identity.authenticate(&old).await, "no key of this kid", "withdrawn key");
}

#[tokio::test]
async fn another_key_under_the_same_id_is_found_and_wrong_signatures_ask_no_more_often_than_unknown_keys() {
    let mut provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let old = header_of(&provider, "1");
    assert!(identity.authenticate(&old).await.is_ok());

    provider.rotate("k1");
    let new = header_of(&provider, "2");

    assert!(identity.authenticate(&new).await.is_ok());
    assert_eq!(provider.hits(JWKS), 2);
    assert_refused(&identity.authenticate(&old).await, "a wrong signature", "withdrawn key");
    let unknown = json!({ "typ": "at+jwt", "alg": "ES256", "kid": "unknown" });
    let unknown = bearer(&provider.key().sign(&unknown, &access_claims(&provider.issuer())));
    assert_refused(&identity.authenticate(&unknown).await, "no key of this kid", "unknown key");
    assert_eq!(provider.hits(JWKS), 2, "the next fetch has to wait");
}

#[tokio::test]
async fn a_remembered_token_does_not_outlive_its_key_even_if_no_other_token_comes() {
    let mut provider = TestProvider::start().await;
    let identity = provider.scheduled_identity(settings(), ALWAYS_STALE);
    let headers = header_of(&provider, "1");
    assert!(identity.authenticate(&headers).await.is_ok());

    provider.rotate("k2");

    assert_refused(&identity.authenticate(&headers).await, "no key of this kid", "withdrawn key");
}

#[tokio::test]
async fn known_keys_serve_while_the_provider_is_down() {
    let provider = TestProvider::start().await;
    let identity = provider.scheduled_identity(settings(), ALWAYS_STALE);
    let seen = header_of(&provider, "1");
    let unseen = header_of(&provider, "2");
    assert!(identity.authenticate(&seen).await.is_ok());

    drop(provider);

    assert!(identity.authenticate(&seen).await.is_ok());
    assert!(identity.authenticate(&unseen).await.is_ok());
    assert!(identity.authorization_server_metadata().await.is_ok());
}

#[tokio::test]
async fn known_keys_do_not_serve_for_ever_while_the_provider_is_down() {
    let provider = TestProvider::start().await;
    let schedule = Schedule { max_stale: Duration::from_millis(200), ..ALWAYS_STALE };
    let identity = provider.scheduled_identity(settings(), schedule);
    let seen = header_of(&provider, "1");
    assert!(identity.authenticate(&seen).await.is_ok());

    drop(provider);
    tokio::time::sleep(Duration::from_millis(250)).await;

    assert_eq!(identity.authenticate(&seen).await, Err(AuthError::Unavailable));
    assert_eq!(identity.authorization_server_metadata().await, Err(AuthError::Unavailable));
}

#[tokio::test]
async fn a_provider_that_never_answered_is_unavailable() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let headers = header_of(&provider, "1");

    drop(provider);

    assert_eq!(identity.authenticate(&headers).await, Err(AuthError::Unavailable));
    assert_eq!(identity.authorization_server_metadata().await, Err(AuthError::Unavailable));
}

#[tokio::test]
async fn a_client_that_hangs_up_does_not_undo_the_fetch() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let headers = header_of(&provider, "1");

    assert!(futures::poll!(Box::pin(identity.authenticate(&headers))).is_pending());

    assert!(identity.authenticate(&headers).await.is_ok());
    assert_eq!(provider.hits(JWKS), 1);
}

#[tokio::test]
async fn metadata_is_found_in_either_place_and_passed_on() {
    for path in [OPENID, OAUTH] {
        let provider = TestProvider::start().await;
        provider.serve_metadata(path, json!({ "token_endpoint": "https://id.example/token" }));
        let identity = provider.identity(settings());

        let metadata = identity.authorization_server_metadata().await.unwrap();
        let metadata: Value = serde_json::from_slice(&metadata).unwrap();

        assert_eq!(metadata["issuer"], provider.issuer());
        assert_eq!(metadata["token_endpoint"], "https://id.example/token");
        assert!(identity.authenticate(&header_of(&provider, "1")).await.is_ok(), "{path}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_is_not_used() {
    let provider = TestProvider::start().await;
    let headers = header_of(&provider, "1");

    for changes in [
        json!({ "issuer": "https://id.example" }),
        json!({ "issuer": format!("{}/", provider.issuer()) }),
        json!({ "issuer": null }),
        json!({ "jwks_uri": null }),
        json!({ "jwks_uri": "ftp://id.example/jwks" }),
    ] {
        provider.serve_metadata(OPENID, changes.clone());
        let outcome = provider.identity(settings()).authenticate(&headers).await;
        assert_eq!(outcome, Err(AuthError::Unavailable), "{changes}");
    }
    assert_eq!(provider.hits(JWKS), 0);
}

#[tokio::test]
async fn the_local_issuers_tokens_are_accepted_without_any_provider() {
    let directory = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalIssuer::open(directory.path(), BASE_URL).unwrap());
    let identity = Identity::with_local_issuer(settings(), Arc::clone(&local)).unwrap();
    let grant = |lifetime| AccessGrant { user: "ana", client_id: "cli", scopes: &["profile"], lifetime };

    let token = local.mint_access_token(grant(Duration::from_mins(5)));
    let caller = identity.authenticate(&bearer(secrecy::ExposeSecret::expose_secret(&token))).await.unwrap();

    assert_eq!((caller.user_id.as_str(), caller.client_id.as_deref()), ("ana", Some("cli")));
    assert_eq!((caller.profile, &caller.scopes), (TokenProfile::Access, &vec!["profile".to_owned()]));
    let expired = local.mint_access_token(grant(Duration::ZERO));
    let outcome = identity.authenticate(&bearer(secrecy::ExposeSecret::expose_secret(&expired))).await;
    assert_refused(&outcome, "expired", "no lifetime");
}

#[tokio::test]
async fn the_local_issuer_keeps_its_key_and_another_ones_tokens_are_refused() {
    let ours = tempfile::tempdir().unwrap();
    let theirs = tempfile::tempdir().unwrap();
    let open = |directory: &tempfile::TempDir| LocalIssuer::open(directory.path(), BASE_URL).unwrap();
    let identity = Identity::with_local_issuer(settings(), Arc::new(open(&ours))).unwrap();
    let grant = AccessGrant { user: "ana", client_id: "cli", scopes: &[], lifetime: Duration::from_mins(5) };
    let mint =
        |local: LocalIssuer| bearer(secrecy::ExposeSecret::expose_secret(&local.mint_access_token(grant)));

    assert!(identity.authenticate(&mint(open(&ours))).await.is_ok(), "after a restart");
    assert_refused(
        &identity.authenticate(&mint(open(&theirs))).await,
        "no key of this kid",
        "another data directory",
    );
}

#[test]
fn the_local_issuers_public_documents_hold_no_private_part() {
    let directory = tempfile::tempdir().unwrap();
    let local = LocalIssuer::open(directory.path(), "http://127.0.0.1:8787/").unwrap();

    let jwks = local.jwks();
    let mut members: Vec<_> = jwks["keys"][0].as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();

    assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    assert_eq!(local.metadata()["issuer"], "http://127.0.0.1:8787");
    assert_eq!(local.metadata()["jwks_uri"], "http://127.0.0.1:8787/oauth/jwks");
}

#[tokio::test]
async fn an_issuer_that_is_no_url_is_refused() {
    let result = Identity::with_provider(settings(), "id.example", Egress::new(EgressSettings::default()));

    assert_eq!(result.unwrap_err(), InvalidSettings::Issuer("id.example".to_owned()));
}
