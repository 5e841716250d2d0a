//! Forged and valid tokens, with a real provider on loopback and real signatures.

mod presentation;
mod provider;
mod providers;
mod rotation;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jsonwebtoken::Algorithm;
use kitbag_net::egress::Egress;
use serde_json::{Value, json};

use self::provider::{TestKey, TestProvider};
use super::*;

const BASE_URL: &str = "https://kb.example";

fn settings() -> IdentitySettings {
    IdentitySettings {
        base_url: format!("{BASE_URL}/"),
        algorithms: Algorithms::default(),
        allowed_origins: vec!["https://app.example".to_owned()],
        session_audience: SessionAudience::Required,
        audiences: Vec::new(),
        untyped_tokens: UntypedTokens::Refused,
        mcp_client_id: None,
        user_id_claim: UserIdClaim::Sub,
        groups_claim: None,
        scopes: Vec::new(),
    }
}

fn in_seconds(offset: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + offset
}

fn access_claims(issuer: &str) -> Value {
    json!({
        "iss": issuer, "aud": "https://kb.example/mcp", "sub": "ana", "client_id": "assistant",
        "scope": "profile email", "iat": in_seconds(0), "exp": in_seconds(300), "jti": "1",
    })
}

fn session_claims(issuer: &str) -> Value {
    json!({ "iss": issuer, "aud": BASE_URL, "sub": "ana", "exp": in_seconds(60) })
}

/// Returns the object with `changes` applied; `null` removes a member.
fn with(mut object: Value, changes: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    for (name, value) in changes {
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
    object
}

fn bearer(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())])
}

#[track_caller]
fn assert_refused(outcome: &Result<Arc<Caller>, AuthError>, reason: &str, case: impl std::fmt::Display) {
    let found = match outcome {
        Err(AuthError::Invalid(found)) => found,
        Err(AuthError::Unexpected { reason, .. }) => reason,
        other => panic!("{case}: {other:?}"),
    };
    assert!(found.contains(reason), "{case}: refused for {found:?} and not for {reason:?}");
}

#[tokio::test]
async fn an_access_token_names_its_caller() {
    for algorithm in [Algorithm::ES256, Algorithm::EdDSA, Algorithm::RS256] {
        let provider = TestProvider::with_key(TestKey::generate("k1", algorithm)).await;
        let claims = access_claims(&provider.issuer());
        let token = provider.token("at+jwt", &claims);

        let caller = provider.identity(settings()).authenticate(&bearer(&token)).await.unwrap();

        let expected = Caller {
            user_id: "ana".to_owned(),
            profile: TokenProfile::Access,
            client_id: Some("assistant".to_owned()),
            key: None,
            // The provider's clock may be a minute ahead.
            issued_at: (claims["iat"].as_i64().unwrap() - 60) * 1000,
            scopes: vec!["profile".to_owned(), "email".to_owned()],
            toolkits: None,
            groups: Groups::default(),
        };
        assert_eq!(*caller, expected, "{algorithm:?}");
    }
}

#[tokio::test]
async fn typ_chooses_the_profile_in_any_case() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let access = access_claims(&provider.issuer());
    let session = session_claims(&provider.issuer());

    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "Application/AT+jwt"] {
        let caller = identity.authenticate(&bearer(&provider.token(typ, &access))).await.unwrap();
        assert_eq!(caller.profile, TokenProfile::Access, "{typ}");
    }
    for typ in ["JWT", "jwt"] {
        let caller = identity.authenticate(&bearer(&provider.token(typ, &session))).await.unwrap();
        assert_eq!(caller.profile, TokenProfile::Session, "{typ}");
    }
    for typ in
        ["", "at", "jose", "dpop+jwt", "logout+jwt", "application/jwt", "application/application/at+jwt"]
    {
        let outcome = identity.authenticate(&bearer(&provider.token(typ, &access))).await;
        assert_refused(&outcome, "a typ that is neither", typ);
    }
}

#[tokio::test]
async fn an_embedded_key_is_ignored_and_not_an_error() {
    let provider = TestProvider::start().await;
    let stranger = TestKey::generate("k1", Algorithm::ES256);
    let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": "k1", "jwk": stranger.jwk, "jku": "https://evil.example" });
    let token = provider.key().sign(&header, &access_claims(&provider.issuer()));

    let outcome = provider.identity(settings()).authenticate(&bearer(&token)).await;

    assert!(outcome.is_ok(), "{outcome:?}");
}

#[tokio::test]
async fn an_algorithm_that_the_operator_did_not_list_is_refused() {
    let provider = TestProvider::start().await;
    let settings = IdentitySettings { algorithms: Algorithms::parse(["RS256"]).unwrap(), ..settings() };
    let token = provider.token("at+jwt", &access_claims(&provider.issuer()));

    let outcome = provider.identity(settings).authenticate(&bearer(&token)).await;

    assert_refused(&outcome, "an algorithm that is not accepted", "ES256");
}

#[tokio::test]
async fn claims_of_access_tokens_are_checked_one_by_one() {
    let provider = TestProvider::start().await;
    let identity =
        provider.identity(IdentitySettings { session_audience: SessionAudience::Optional, ..settings() });
    let issuer = provider.issuer();

    let refused = [
        (json!({ "iss": null }), "malformed JSON"),
        (json!({ "iss": format!("{issuer}/") }), "another issuer"),
        (json!({ "iss": issuer.to_uppercase() }), "another issuer"),
        (json!({ "exp": null }), "malformed JSON"),
        (json!({ "exp": "9999999999" }), "malformed JSON"),
        (json!({ "exp": in_seconds(0) }), "expired"),
        (json!({ "exp": in_seconds(-3600) }), "expired"),
        (json!({ "exp": -1 }), "expired"),
        (json!({ "nbf": in_seconds(120) }), "not valid yet"),
        (json!({ "iat": in_seconds(120) }), "issued in the future"),
        (json!({ "iat": null }), "without iat"),
        (json!({ "jti": null }), "without jti"),
        (json!({ "jti": "" }), "without jti"),
        (json!({ "client_id": null }), "without client_id"),
        (json!({ "client_id": "" }), "without client_id"),
        (json!({ "sub": null }), "malformed JSON"),
        (json!({ "sub": "" }), "an empty or overlong sub"),
        (json!({ "sub": "x".repeat(256) }), "an empty or overlong sub"),
        (json!({ "sub": "ana\0" }), "a sub with NUL"),
        (json!({ "sub": 7 }), "malformed JSON"),
        (json!({ "aud": null }), "no aud"),
        (json!({ "aud": "https://other.example/mcp" }), "another audience"),
        (json!({ "aud": "https://kb.example/graphql" }), "another audience"),
        (json!({ "aud": "https://KB.example/mcp" }), "another audience"),
        (json!({ "aud": "" }), "another audience"),
        (json!({ "aud": [] }), "another audience"),
        (json!({ "aud": ["a", "b"] }), "another audience"),
        (json!({ "aud": { "https://kb.example/mcp": true } }), "malformed JSON"),
    ];
    for (changes, reason) in refused {
        let token = provider.token("at+jwt", &with(access_claims(&issuer), changes.clone()));
        assert_refused(&identity.authenticate(&bearer(&token)).await, reason, changes);
    }

    let accepted = [
        json!({ "aud": BASE_URL }),
        json!({ "aud": "https://kb.example/" }),
        json!({ "aud": "https://kb.example/mcp/" }),
        json!({ "aud": ["https://other.example", "https://kb.example/mcp"] }),
        json!({ "nbf": in_seconds(30), "iat": in_seconds(30) }),
        json!({ "exp": 4_102_444_800.5 }),
        json!({ "scope": ["profile", "email"] }),
        json!({ "nonce": "an access token may have one" }),
    ];
    for changes in accepted {
        let token = provider.token("at+jwt", &with(access_claims(&issuer), changes.clone()));
        let outcome = identity.authenticate(&bearer(&token)).await;
        assert!(outcome.is_ok(), "{changes}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_member_that_is_there_twice_or_null_is_refused() {
    let provider = TestProvider::start().await;
    let identity =
        provider.identity(IdentitySettings { session_audience: SessionAudience::Optional, ..settings() });
    let claims = session_claims(&provider.issuer()).to_string();
    let twice = claims.replacen('{', r#"{"sub":"bob","#, 1);
    let null = claims.replace(r#""aud":"https://kb.example""#, r#""aud":null"#);
    assert_ne!(null, claims);

    for payload in [twice, null] {
        let token = provider.key().sign_text(r#"{"typ":"JWT","alg":"ES256","kid":"k1"}"#, &payload);
        assert_refused(&identity.authenticate(&bearer(&token)).await, "malformed JSON", payload);
    }
    let header = r#"{"typ":"JWT","alg":"ES256","kid":"k1","crit":null}"#;
    let token = provider.key().sign_text(header, &claims);
    assert_refused(&identity.authenticate(&bearer(&token)).await, "a crit header", header);
}

#[tokio::test]
async fn what_shares_the_session_tokens_typ_is_refused() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());

    for (changes, reason) in [
        (json!({ "aud": "client-1", "nonce": "n" }), "another audience"),
        (json!({ "nonce": "n" }), "an ID token"),
        (json!({ "at_hash": "h" }), "an ID token"),
        (json!({ "c_hash": "h" }), "an ID token"),
        (json!({ "s_hash": "h" }), "an ID token"),
        (json!({ "token_use": "id" }), "an ID token"),
        (json!({ "events": {} }), "a security event token"),
    ] {
        let token = provider.token("JWT", &with(session_claims(&provider.issuer()), changes.clone()));
        assert_refused(&identity.authenticate(&bearer(&token)).await, reason, changes);
    }
}

/// Prints the time to verify a request's token, uncached and cached:
/// `cargo test --workspace --lib -- --nocapture a_token_that_was_seen`.
#[tokio::test]
async fn a_token_that_was_seen_before_costs_less_than_its_signature() {
    const TOKENS: usize = 200;
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let claims = access_claims(&provider.issuer());
    let requests: Vec<_> = (0..TOKENS)
        .map(|number| provider.token("at+jwt", &with(claims.clone(), json!({ "jti": number.to_string() }))))
        .map(|token| bearer(&token))
        .collect();
    let median = async || {
        let mut times = Vec::with_capacity(TOKENS);
        for headers in &requests {
            let start = std::time::Instant::now();
            identity.authenticate(headers).await.unwrap();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        times[TOKENS / 2]
    };

    let first = median().await;
    let again = median().await;

    println!("a new token (ES256): {first:?}; a token seen before: {again:?}");
    assert!(again < first, "{again:?} is no less than {first:?}");
}
