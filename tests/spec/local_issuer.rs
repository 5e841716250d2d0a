//! OAuth sign-in in local mode: a client needs only the server's URL.

pub(crate) mod client;
mod code;

use std::time::Duration;

use http::{HeaderMap, Method};
use kitbag::settings::Issuer;
use serde_json::json;

use self::client::{
    CALLBACK, VERIFIER, consent, fetch_document, get_as, header_of, metadata_url, parameter, post, post_with,
    redeem, refresh, register, request, text,
};
use crate::harness::{Http, Kitbag, Terminal, User};

#[tokio::test]
async fn a_client_gets_from_the_url_to_a_call_and_on() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.refresh_grace = "0s".parse().expect("a duration");
    })
    .await;
    let http = kitbag.anonymous();

    let challenge = http.get("/toolkits").await.assert_status(401);
    let resource = fetch_document(&http, metadata_url(&challenge)).await;
    let issuer = resource["authorization_servers"][0].as_str().expect("an issuer").to_owned();
    let server = fetch_document(&http, &format!("{issuer}/.well-known/oauth-authorization-server")).await;
    assert_eq!(server["issuer"], *issuer);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["token_endpoint_auth_methods_supported"], json!(["none"]));
    assert_eq!(server["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(server["response_types_supported"], json!(["code"]));
    assert_eq!(server["scopes_supported"], json!(["profile", "email", "offline_access"]));
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    for (endpoint, path) in [
        ("registration_endpoint", "/oauth/register"),
        ("authorization_endpoint", "/oauth/authorize"),
        ("token_endpoint", "/oauth/token"),
    ] {
        assert_eq!(server[endpoint], format!("{issuer}{path}"));
    }

    let client_id = register(&http, &json!({ "client_name": "Spec", "redirect_uris": [CALLBACK] })).await;
    let back = consent(&http, &client_id, "ana").await;
    assert_eq!(parameter(&back, "state").as_deref(), Some("xyz"));
    assert_eq!(parameter(&back, "iss"), Some(issuer));
    let code = parameter(&back, "code").expect("a code");
    let answer = redeem(&http, &client_id, &code).await.assert_status(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let tokens = answer.json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
    User::new(http.clone(), text(&tokens, "access_token")).get("/toolkits").await.assert_status(200);

    let renewed = refresh(&http, &client_id, text(&tokens, "refresh_token")).await.assert_status(200).json();
    User::new(http.clone(), text(&renewed, "access_token")).get("/toolkits").await.assert_status(200);
    let last = refresh(&http, &client_id, text(&renewed, "refresh_token")).await.assert_status(200).json();
    // Reuse of a refresh token whose successor was used revokes the grant.
    for spent in [&tokens, &last] {
        let refused = refresh(&http, &client_id, text(spent, "refresh_token")).await.assert_status(400);
        assert_eq!(refused.json()["error"], "invalid_grant");
    }

    // No code, token or verifier is in the log.
    for secret in [&code, text(&tokens, "refresh_token"), text(&renewed, "access_token"), VERIFIER] {
        assert!(!kitbag.log().text().contains(secret));
    }
}

#[tokio::test]
async fn a_server_on_loopback_is_localhost_as_well() {
    let kitbag = Kitbag::start().await;
    let own = kitbag.base_url().as_str().trim_end_matches('/').to_owned();
    let port = kitbag.base_url().port().expect("a port");

    for name in ["127.0.0.1", "localhost"] {
        let url = format!("http://{name}:{port}");
        let http = Http::new(url.parse().expect("a URL"));
        for path in ["/mcp", "/mcp/", "/toolkits"] {
            let challenge = http.send(Method::POST, path, HeaderMap::new(), "{}").await.assert_status(401);
            let resource = fetch_document(&http, metadata_url(&challenge)).await;
            assert_eq!(resource["resource"], format!("{url}/mcp"));
            assert_eq!(resource["authorization_servers"], json!([own]), "there is one issuer");
        }
        // Commands compare all URLs, and send the resource that the metadata names.
        let terminal = Terminal::at(&url);
        terminal.login("ana").await;
        terminal.run(&["toolkit", "list"]).await.succeeded();
    }
    let by_name = Http::new(format!("http://localhost:{port}").parse().expect("a URL"));
    for path in ["/ui/documents?q=a", "/oauth/authorize?client_id=a"] {
        // The cookies and the consent page have one name.
        let moved = by_name.get(path).await.assert_status(307);
        assert_eq!(moved.header("location"), Some(&*format!("{own}{path}")));
    }
    by_name.send(Method::POST, "/oauth/token", HeaderMap::new(), "").await.assert_status(421);
}

#[tokio::test]
async fn whoever_signs_in_is_who_they_say_and_no_more() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let client_id = register(&http, &json!({ "redirect_uris": [CALLBACK] })).await;

    for (name, status) in [("ana", 403), ("local", 422)] {
        let code = parameter(&consent(&http, &client_id, name).await, "code").expect("a code");
        let tokens = redeem(&http, &client_id, &code).await.assert_status(200).json();
        let user = User::new(http.clone(), text(&tokens, "access_token"));

        user.deploy(b"no component".to_vec()).await.assert_status(status);
    }
}

#[tokio::test]
async fn the_consent_page_runs_no_script_and_fits_in_no_frame() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let name = "<script>alert(1)</script>\"><form action='https://evil.example'>";
    let client_id = register(&http, &json!({ "client_name": name, "redirect_uris": [CALLBACK] })).await;

    let pages = [
        http.get(&request(&client_id)).await.assert_status(200),
        http.get("/oauth/authorize?client_id=%3Cscript%3E&redirect_uri=javascript:alert(1)").await,
    ];

    for page in pages {
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("location"), None);
        let html = String::from_utf8(page.body.to_vec()).expect("UTF-8").to_lowercase();
        assert!(!html.contains("<script") && !html.contains("evil.example'>"), "{html}");
        assert!(html.matches("<form").count() <= 1, "{html}");
    }
}

#[tokio::test]
async fn the_consent_page_says_for_how_long() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.bounds.access_token_lifetime = Duration::from_mins(90);
    })
    .await;
    let http = kitbag.anonymous();
    let client_id = register(&http, &json!({ "redirect_uris": [CALLBACK] })).await;

    for (scope, words) in [("", "and renew its access by itself"), ("&scope=profile", "for 1h 30m")] {
        let page = http.get(&format!("{}{scope}", request(&client_id))).await.assert_status(200);
        let html = String::from_utf8(page.body.to_vec()).expect("UTF-8");
        assert!(html.contains(words), "no {words:?} in {html}");
    }
}

#[tokio::test]
async fn no_other_page_can_show_or_answer_the_question() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let client_id = register(&http, &json!({ "redirect_uris": [CALLBACK] })).await;
    let own = kitbag.base_url().origin().ascii_serialization();
    let request_id = client::request_id(&http, &client_id).await;
    let form = client::answer(&http, &request_id, "ana");
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();

    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "none"),
        ("origin", "https://evil.example"),
        ("origin", "http://127.0.0.1:1"),
    ] {
        let answer = post_with(&http, "/oauth/authorize", &form, &[(name, value)]).await;
        assert_eq!(answer.assert_status(403).header("location"), None, "{name}: {value}");
    }
    for destination in ["iframe", "image", "empty"] {
        let headers = HeaderMap::from_iter([header_of("sec-fetch-dest", destination)]);
        http.send(Method::GET, &request(&client_id), headers, "").await.assert_status(403);
    }

    let browser = [("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "document"), ("origin", "null")];
    post_with(&http, "/oauth/authorize", &form, &browser).await.assert_status(303);
    let request_id = client::request_id(&http, &client_id).await;
    let form = [("request_id", request_id.as_str()), ("decision", "deny"), ("user", "")];
    post_with(&http, "/oauth/authorize", &form, &[("origin", &own)]).await.assert_status(303);
}

#[tokio::test]
async fn a_name_that_was_bent_to_this_machine_leads_nowhere() {
    let kitbag = Kitbag::start().await;
    let (base_url, own) = (kitbag.base_url(), kitbag.base_url().authority());
    let port = base_url.port().expect("a port");

    for path in ["/oauth/authorize?client_id=x", "/oauth/register", "/oauth/token", "/oauth/jwks"] {
        for hosts in [&[format!("evil.example:{port}")][..], &["127.0.0.1".to_owned()], &[String::new()], &[]]
        {
            let answer = get_as(base_url, hosts, path).await;
            assert!(answer.starts_with("HTTP/1.1 421"), "{path} {hosts:?}: {answer}");
        }
        let answer = get_as(base_url, &[own.to_owned(), "evil.example".to_owned()], path).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{path}: {answer}");
    }
    let answer = get_as(base_url, &[own.to_owned()], "/oauth/jwks").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn bodies_are_small_and_of_the_right_type() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let large = "a".repeat(17 * 1024);
    let registration = json!({ "redirect_uris": [CALLBACK], "padding": large }).to_string();
    let json = HeaderMap::from_iter([header_of("content-type", "application/json")]);
    let plain = HeaderMap::from_iter([header_of("content-type", "text/plain")]);

    for (path, headers, body, error) in [
        ("/oauth/register", &json, registration.as_str(), "invalid_client_metadata"),
        (
            "/oauth/register",
            &plain,
            "{\"redirect_uris\":[\"https://a.example/\"]}",
            "invalid_client_metadata",
        ),
        ("/oauth/register", &json, "{\"redirect_uris\":[\"data:,\"]}", "invalid_redirect_uri"),
        ("/oauth/token", &plain, "grant_type=refresh_token", "invalid_request"),
        ("/oauth/token", &json, "{\"grant_type\":\"refresh_token\"}", "invalid_request"),
    ] {
        let answer = http.send(Method::POST, path, headers.clone(), body.to_owned()).await.assert_status(400);
        assert_eq!(answer.json()["error"], error);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let answer = post(&http, "/oauth/token", &[("grant_type", &large)]).await.assert_status(400);
    assert_eq!(answer.json()["error"], "invalid_request");
    let answer = post(&http, "/oauth/token", &[("grant_type", "refresh_token"), ("client_id", "x")]).await;
    assert_eq!(answer.assert_status(401).json()["error"], "invalid_client");
    http.get(&format!("/oauth/authorize?{large}")).await.assert_status(400);
}

#[tokio::test]
async fn clients_in_a_browser_may_discover_register_and_redeem_but_not_read_the_page() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let page = header_of("origin", "https://inspector.example");
    for (path, open) in [
        ("/.well-known/oauth-protected-resource/mcp", true),
        ("/.well-known/oauth-authorization-server", true),
        ("/oauth/register", true),
        ("/oauth/token", true),
        ("/oauth/authorize", false),
        ("/toolkits", false),
    ] {
        let asked = [page.clone(), header_of("access-control-request-method", "POST")];
        let answer = http.send(Method::OPTIONS, path, HeaderMap::from_iter(asked), "").await;

        assert_eq!(answer.header("access-control-allow-origin"), open.then_some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
    }
}

#[tokio::test]
async fn with_an_external_issuer_there_is_no_local_one() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.issuer = Issuer::External("https://id.example.com".to_owned());
    })
    .await;
    let http = kitbag.anonymous();

    for path in ["/oauth/authorize", "/oauth/register", "/oauth/token", "/oauth/jwks"] {
        http.get(path).await.assert_problem(404, "nothing here");
        post(&http, path, &[]).await.assert_problem(404, "nothing here");
    }
    assert!(!kitbag.files("").iter().any(|name| name == "local-issuer.p8"));
}
