//! Tokens in the documented formats of providers, with the operator's settings for each
//! (`docs/operating.md`).

use super::*;

const CLIENT: &str = "client_01ABC";
const API: &str = "6e74172b-be56-4843-9ff4-e66a39bb12e3";

/// Format of a provider's access tokens.
struct Shape {
    name: &'static str,
    typ: Option<&'static str>,
    claims: Value,
}

fn shape(name: &'static str, typ: Option<&'static str>, claims: Value) -> Shape {
    Shape { name, typ, claims }
}

fn shapes() -> Vec<Shape> {
    let aud = "https://kb.example/mcp";
    vec![
        shape(
            "auth0",
            Some("at+jwt"),
            json!({ "aud": [aud, "https://id.example/userinfo"], "client_id": CLIENT, "scope": "profile" }),
        ),
        shape(
            "auth0, older",
            Some("JWT"),
            json!({ "aud": [aud, "https://id.example/userinfo"], "azp": CLIENT, "scope": "profile" }),
        ),
        shape(
            "keycloak with a mapper",
            Some("JWT"),
            json!({ "typ": "Bearer", "aud": [aud, "account"], "azp": CLIENT, "scope": "profile" }),
        ),
        shape(
            "keycloak",
            Some("JWT"),
            json!({ "typ": "Bearer", "aud": "account", "azp": CLIENT, "scope": "profile" }),
        ),
        shape(
            "okta",
            None,
            json!({ "aud": aud, "cid": CLIENT, "uid": "00u1", "scp": ["profile"], "ver": 1 }),
        ),
        shape("cognito", None, json!({ "client_id": CLIENT, "token_use": "access", "scope": "openid" })),
        shape(
            "cognito, bound",
            None,
            json!({ "aud": aud, "client_id": CLIENT, "token_use": "access", "scope": "openid" }),
        ),
        shape(
            "entra v1",
            Some("JWT"),
            json!({ "aud": format!("api://{API}"), "appid": CLIENT, "scp": "access_as_user" }),
        ),
        shape(
            "entra v2",
            Some("JWT"),
            json!({ "aud": API, "azp": CLIENT, "scp": "access_as_user", "jti": null }),
        ),
        shape("workos", Some("JWT"), json!({ "aud": CLIENT, "sid": "s", "org_id": "o" })),
        shape("zitadel", Some("at+jwt"), json!({ "aud": [API], "client_id": CLIENT, "scope": "profile" })),
        shape(
            "authentik",
            Some("JWT"),
            json!({ "aud": CLIENT, "azp": CLIENT, "scope": "profile", "uid": "u" }),
        ),
    ]
}

/// Claims that mark an ID token of the same client.
const ID_TOKENS: [(&str, &str); 5] =
    [("nonce", "n"), ("at_hash", "h"), ("c_hash", "h"), ("token_use", "id"), ("typ", "ID")];

async fn outcome(
    provider: &TestProvider,
    identity: &Identity,
    typ: Option<&str>,
    claims: Value,
) -> Result<Arc<Caller>, AuthError> {
    let base = json!({ "iss": provider.issuer(), "sub": "ana", "iat": in_seconds(0), "exp": in_seconds(300), "jti": "1" });
    let mut header = json!({ "alg": "ES256", "kid": "k1" });
    if let Some(typ) = typ {
        header["typ"] = typ.into();
    }
    identity.authenticate(&bearer(&provider.key().sign(&header, &with(base, claims)))).await
}

fn listing(audiences: &[&str], untyped_tokens: UntypedTokens) -> IdentitySettings {
    let audiences = audiences.iter().map(|it| (*it).to_owned()).collect();
    IdentitySettings { audiences, untyped_tokens, ..settings() }
}

#[tokio::test]
async fn access_tokens_of_providers_are_accepted_with_the_settings_for_them_and_without_refused() {
    let provider = TestProvider::start().await;
    let plain = provider.identity(settings());
    let entra = format!("api://{API}");
    let set = provider.identity(listing(&[CLIENT, API, &entra, "account"], UntypedTokens::Accepted));
    let needs_nothing = ["auth0", "auth0, older", "keycloak with a mapper"];

    for Shape { name, typ, claims } in shapes() {
        let without = outcome(&provider, &plain, typ, claims.clone()).await;
        assert_eq!(without.is_ok(), needs_nothing.contains(&name), "{name}: {without:?}");
        let caller = outcome(&provider, &set, typ, claims).await;
        assert_eq!(caller.as_ref().map(|caller| &*caller.user_id), Ok("ana"), "{name}");
    }
}

#[tokio::test]
async fn with_entras_id_of_the_user_no_token_without_it_is_accepted_and_its_sub_is_nobody() {
    let provider = TestProvider::start().await;
    let by_oid = IdentitySettings { user_id_claim: UserIdClaim::Oid, ..settings() };
    let identity = provider.identity(by_oid);
    let access = json!({ "aud": "https://kb.example/mcp", "client_id": CLIENT, "sub": "pairwise" });
    let with_oid = |oid: Value| outcome(&provider, &identity, Some("at+jwt"), with(access.clone(), oid));

    let caller = with_oid(json!({ "oid": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef" })).await;
    assert_eq!(caller.expect("it is valid").user_id, "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef");
    assert_refused(&with_oid(json!({})).await, "no oid (setting `user-id-claim`)", "without");
    for oid in ["", &"x".repeat(1025), "a\0b"] {
        let refused = with_oid(json!({ "oid": oid })).await;
        assert!(refused.is_err(), "{oid}: {refused:?}");
    }
    let by_sub = provider.identity(settings());
    let caller = outcome(&provider, &by_sub, Some("at+jwt"), with(access, json!({ "oid": "ana" }))).await;
    assert_eq!(caller.expect("it is valid").user_id, "pairwise");
}

#[tokio::test]
async fn an_id_token_of_a_client_that_is_listed_is_refused_all_the_same() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(listing(&[CLIENT, API], UntypedTokens::Accepted));
    let of_sign_in = json!({ "aud": CLIENT, "email": "ana@kb.example", "name": "Ana", "jti": "1" });

    for typ in [Some("JWT"), None] {
        for (name, value) in ID_TOKENS {
            let claims = with(of_sign_in.clone(), json!({ name: value, "scope": "profile" }));
            let refused = outcome(&provider, &identity, typ, claims).await;
            assert_refused(&refused, "an ID token", format!("{typ:?} {name}"));
        }
        let refused = outcome(&provider, &identity, typ, of_sign_in.clone()).await;
        assert_refused(&refused, "nothing shows that it is an access token", format!("{typ:?}"));
    }
}

#[tokio::test]
async fn tokens_for_others_are_refused_whatever_is_listed() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(listing(&[CLIENT, API], UntypedTokens::Accepted));

    for (typ, claims) in [
        (None, json!({ "client_id": "another", "token_use": "access" })),
        (None, json!({ "aud": "another", "client_id": CLIENT, "token_use": "access" })),
        (Some("JWT"), json!({ "aud": "another", "azp": CLIENT, "scp": "x" })),
        (Some("at+jwt"), json!({ "aud": "another", "client_id": CLIENT })),
        (Some("JWT"), json!({ "azp": "https://evil.example", "scope": "profile" })),
    ] {
        let refused = outcome(&provider, &identity, typ, claims.clone()).await;
        assert!(refused.is_err(), "{claims}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_was_expected_and_what_came() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(listing(&[API], UntypedTokens::Refused));

    let long = format!("{}\n", "x".repeat(1000));
    let refused = outcome(&provider, &identity, Some("JWT"), json!({ "aud": ["account", long] })).await;

    let said = refused.expect_err("another audience").to_string();
    assert!(said.starts_with(&format!("invalid token: another audience (aud): expected https://kb.example/mcp or https://kb.example or {API}, found account, xxx")), "{said}");
    assert!(said.len() < 400 && !said.contains('\n'), "{said}");
}

#[tokio::test]
async fn clients_are_told_to_ask_for_scopes_that_the_provider_has() {
    let provider = TestProvider::start().await;
    let supported = json!({ "scopes_supported": ["openid", "email", "profile", "phone"] });
    provider.serve_metadata(super::provider::OPENID, supported);

    let own = provider.identity(settings()).scopes().await;
    let set = provider.identity(IdentitySettings { scopes: vec!["api/read".to_owned()], ..settings() });

    assert_eq!(own, Some(vec!["profile".to_owned(), "email".to_owned()]));
    assert_eq!(set.scopes().await, Some(vec!["api/read".to_owned()]));
    provider.serve_metadata(super::provider::OPENID, json!({}));
    assert_eq!(provider.identity(settings()).scopes().await, None);
}
