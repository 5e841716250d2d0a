//! Authentication: accepted requests, and the refusal of others.

use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;

use crate::harness::{Kitbag, Provider, ServerProcess, guests, kitbag, run};

/// Routes that need an access token.
const PROTECTED: [(Method, &str); 20] = [
    (Method::POST, "/mcp"),
    (Method::GET, "/mcp"),
    (Method::GET, "/toolkits"),
    (Method::POST, "/toolkits"),
    (Method::GET, "/toolkits/text"),
    (Method::DELETE, "/toolkits/text"),
    (Method::POST, "/toolkits/text/rollback"),
    (Method::POST, "/toolkits/text/release"),
    (Method::POST, "/toolkits/text/take-over"),
    (Method::GET, "/toolkits/text/secrets"),
    (Method::PUT, "/toolkits/text/secrets/KEY"),
    (Method::DELETE, "/toolkits/text/secrets/KEY"),
    (Method::POST, "/vault/rotate"),
    (Method::GET, "/toolkits/text/logs"),
    (Method::GET, "/toolkits/text/config"),
    (Method::PATCH, "/toolkits/text/config"),
    (Method::POST, "/graphql"),
    (Method::POST, "/documents/file"),
    (Method::GET, "/documents/x/artifact"),
    (Method::GET, "/toolkits/text/logs?follow=true"),
];

#[tokio::test]
async fn a_request_without_a_valid_token_learns_where_to_sign_in() {
    let (kitbag, elsewhere) = (Kitbag::start().await, Kitbag::start().await);
    kitbag.deploy(guests::TEXT).await;
    let of_another_server = elsewhere.as_operator().headers();
    let nonsense =
        HeaderMap::from_iter([("authorization".parse().expect("a name"), header("Bearer nonsense"))]);
    // RFC 6750, section 3.1: the challenge has an error code only if the request has a token.
    let without = format!(
        r#"Bearer resource_metadata="{}.well-known/oauth-protected-resource", scope="profile email offline_access""#,
        kitbag.base_url()
    );
    let wrong = format!(r#"{without}, error="invalid_token""#);

    for (method, path) in PROTECTED {
        for (headers, challenge) in
            [(HeaderMap::new(), &without), (nonsense.clone(), &wrong), (of_another_server.clone(), &wrong)]
        {
            let answer = kitbag.anonymous().send(method.clone(), path, headers, "").await;

            let answer = answer.assert_problem(401, "valid access token");
            assert_eq!(answer.header("www-authenticate"), Some(challenge.as_str()), "{method} {path}");
        }
    }
    kitbag.as_operator().get("/toolkits/text").await.assert_status(200);
}

#[tokio::test]
async fn the_protected_resource_is_described_to_anybody() {
    let kitbag = Kitbag::start().await;
    let base = kitbag.base_url().as_str().trim_end_matches('/');
    let expected = json!({
        "resource": format!("{base}/mcp"),
        "authorization_servers": [base],
        "scopes_supported": ["profile", "email", "offline_access"],
        "bearer_methods_supported": ["header"],
    });

    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let answer = kitbag.anonymous().get(path).await.assert_status(200);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(answer.json(), expected, "{path}");
    }
}

#[tokio::test]
async fn in_local_mode_the_server_describes_itself_as_the_authorization_server() {
    let kitbag = Kitbag::start().await;
    let base = kitbag.base_url().as_str().trim_end_matches('/');

    let metadata =
        kitbag.anonymous().get("/.well-known/oauth-authorization-server").await.assert_status(200).json();

    assert_eq!(metadata["issuer"], base);
    for endpoint in ["authorization_endpoint", "token_endpoint"] {
        assert!(metadata[endpoint].as_str().expect("a URL").starts_with(base), "{metadata}");
    }
    assert_eq!(metadata["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    let keys = metadata["jwks_uri"].as_str().expect("a URL").strip_prefix(base).expect("here").to_owned();
    let keys = kitbag.anonymous().get(&keys).await.assert_status(200).json();
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(1));
    assert_eq!(keys["keys"][0].get("d"), None, "the private key is out");
}

#[tokio::test]
async fn health_needs_no_token() {
    let kitbag = Kitbag::start().await;

    for path in ["/healthz", "/readyz"] {
        kitbag.anonymous().get(path).await.assert_status(200);
    }
    kitbag.anonymous().get("/elsewhere").await.assert_problem(404, "nothing here");
}

#[tokio::test]
async fn tokens_of_the_configured_provider_are_accepted_and_those_of_another_are_not() {
    let (provider, other_provider) = (Provider::start().await, Provider::start().await);
    let kitbag = provider.kitbag().await;
    let claims = provider.access_claims(&kitbag, "ana");

    let ours = provider.sign("at+jwt", &claims);
    let forged = other_provider.sign("at+jwt", &claims);
    let foreign = other_provider.sign("at+jwt", &other_provider.access_claims(&kitbag, "ana"));

    assert_eq!(kitbag.with_token(&ours).get("/toolkits").await.assert_status(200).json(), json!([]));
    for token in [forged, foreign] {
        kitbag.with_token(&token).get("/toolkits").await.assert_status(401);
    }
}

#[tokio::test]
async fn a_signature_algorithm_that_the_operator_did_not_list_is_refused() {
    let provider = Provider::start().await;
    for (listed, status) in [("RS256,EdDSA", 401), ("RS256,ES256", 200)] {
        let kitbag = provider
            .kitbag_with(|settings| settings.token_algorithms = listed.parse().expect("a list"))
            .await;
        let token = provider.sign("at+jwt", &provider.access_claims(&kitbag, "ana"));

        kitbag.with_token(&token).get("/toolkits").await.assert_status(status);
    }
}

#[tokio::test]
async fn a_session_token_comes_in_the_header_or_in_the_cookie_of_an_allowed_page() {
    let provider = Provider::start().await;
    let kitbag = provider.kitbag_with(|settings| {
        settings.allowed_origins = "https://app.example".parse().expect("a list");
    });
    let kitbag = kitbag.await;
    let session = provider.sign("JWT", &provider.session_claims(&kitbag, "ana"));
    let cookie = |origin: &'static str| {
        let session = header(&format!("__session={session}"));
        HeaderMap::from_iter([
            ("cookie".parse().expect("a name"), session),
            ("origin".parse().expect("a name"), header(origin)),
        ])
    };

    kitbag.with_token(&session).get("/toolkits").await.assert_status(200);
    let http = kitbag.anonymous();
    http.send(Method::GET, "/toolkits", cookie("https://app.example"), "").await.assert_status(200);
}

#[tokio::test]
async fn with_a_provider_the_server_names_it_and_passes_its_metadata_on() {
    let provider = Provider::start().await;
    let kitbag = provider.kitbag().await;
    let http = kitbag.anonymous();

    let resource = http.get("/.well-known/oauth-protected-resource").await.json();
    let metadata = http.get("/.well-known/oauth-authorization-server").await.assert_status(200).json();

    assert_eq!(resource["authorization_servers"], json!([provider.issuer()]));
    assert_eq!(metadata, provider.metadata());
    http.get("/oauth/jwks").await.assert_status(404);
}

#[tokio::test]
async fn operators_are_those_whom_the_setting_names() {
    let provider = Provider::start().await;
    let kitbag = provider.kitbag_with(|settings| settings.operators = "olga".parse().expect("a list")).await;
    let as_user = |name| kitbag.with_token(&provider.sign("at+jwt", &provider.access_claims(&kitbag, name)));

    as_user("olga").deploy(guests::HINTS.bytes()).await.assert_status(201);
    for name in ["ana", "local"] {
        as_user(name).deploy(guests::HINTS.bytes()).await.assert_problem(403, "operators");
    }
}

fn header(text: &str) -> HeaderValue {
    text.parse().expect("a header's value")
}

#[tokio::test]
async fn the_users_of_one_issuer_do_not_become_those_of_another_unseen() {
    const ONE: &[&str] = &["--issuer", "https://one.example", "--base-url", "https://kitbag.example"];
    const OTHER: &[&str] = &["--issuer", "https://other.example", "--base-url", "https://kitbag.example"];
    const WRONG: &[&str] = &["--issuer-replaces", "https://other.example"];

    let data = tempfile::tempdir().expect("a scratch directory");
    let serve = |flags: &'static [&'static str]| {
        let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data.path()).args(flags);
        command
    };
    ServerProcess::start(data.path()).await.terminate().await;

    let refused = run(serve(ONE)).await;
    refused.assert_failed("those of the issuer local");
    refused.assert_failed("--issuer-replaces local");
    let mut wrong = serve(ONE);
    wrong.args(WRONG);
    run(wrong).await.assert_failed("--issuer-replaces local");
    // A refused start does not change the recorded issuer.
    ServerProcess::start(data.path()).await.terminate().await;

    let replaced = |command: &mut tokio::process::Command| {
        command.args(ONE).args(["--issuer-replaces", "local"]);
    };
    ServerProcess::start_with(data.path(), replaced).await.terminate().await;
    run(serve(&[])).await.assert_failed("--issuer-replaces https://one.example");
    run(serve(OTHER)).await.assert_failed("--issuer-replaces https://one.example");
    let same = |command: &mut tokio::process::Command| {
        command.args(ONE);
    };
    ServerProcess::start_with(data.path(), same).await.terminate().await;
}
