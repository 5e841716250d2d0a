//! Sign-in on the pages with an external provider: sessions, and attacks on them.

use std::time::Duration;

use futures::future::join_all;
use http::{HeaderMap, Method};
use kitbag::settings::Settings;
use tokio::time::sleep;
use url::Url;

use crate::harness::sign_in::access_tokens_expire;
use crate::harness::{Answer, Browser, Provider, Refresh, ScriptedProvider, SignIn, Visitor};

const CALLBACK: &str = "/ui/signin/callback";
/// Lifetime of access tokens whose expiry a test waits for, in seconds.
const LIFETIME_SECONDS: u64 = 3;

fn registers(settings: &mut Settings) {
    settings.web_client_id = "register".parse().expect("an id");
}

#[track_caller]
fn assert_no_session(answer: &Answer, status: u16) {
    assert_eq!(answer.status.as_u16(), status, "{}", String::from_utf8_lossy(&answer.body));
    for line in answer.headers.get_all("set-cookie") {
        let line = line.to_str().expect("ASCII");
        assert!(line.contains("=; ") && line.contains("Max-Age=0"), "{line}");
    }
}

#[tokio::test]
async fn a_person_signs_in_once_and_comes_back_to_where_they_were() {
    let at = SignIn::external_with(registers).await;
    let url: Url = at.url().parse().expect("a URL");
    let mut ana = Browser::default();

    let (arrived, page) = ana.sign_in(&format!("{}/ui/?q=weather", at.url()), "ana").await;

    assert_eq!(arrived.as_str(), format!("{}/ui/?q=weather", at.url()));
    assert!(page.assert_status(200).text().contains("<bdi>ana</bdi>"));
    at.transcript.assert_in_order(&["POST /reg → 201", "GET /auth → ", "POST /token → 200"]);
    let mut headers = HeaderMap::new();
    headers.insert("cookie", ana.cookies(&url).parse().expect("ASCII"));
    for path in ["/toolkits", "/toolkits/text/secrets"] {
        let answer = at.kitbag.anonymous().send(Method::GET, path, headers.clone(), "").await;
        answer.assert_status(401);
    }
    // The server registers itself as a client only once.
    let (_, page) = Browser::default().sign_in(&format!("{}/ui/", at.url()), "ben").await;
    assert!(page.text().contains("<bdi>ben</bdi>"));
    let lines = at.transcript.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("POST /reg")).count(), 1, "{lines:#?}");
}

#[tokio::test]
async fn a_session_is_renewed_by_one_request_and_revoked_at_sign_out() {
    let at = SignIn::external_with(registers).await;
    let mut ana = Browser::default();
    ana.sign_in(&format!("{}/ui/", at.url()), "ana").await;
    let ana = Visitor::with_cookies(&at.kitbag, &ana.cookies(&at.url().parse().expect("a URL")));

    access_tokens_expire().await;
    at.transcript.clear();
    for page in join_all((0..8).map(|_| ana.get("/ui/"))).await {
        page.assert_status(200);
    }
    let lines = at.transcript.lines();
    assert_eq!(lines.iter().filter(|line| *line == "POST /token → 200").count(), 1, "{lines:#?}");

    let out = ana.post("/ui/signout", &[]).await.assert_status(303);
    assert_eq!(out.header("location"), Some("/ui/signedout"));
    assert_no_session(&out, 303);
    at.transcript.assert_in_order(&["POST /token/revocation → 200"]);
    ana.get("/ui/").await.assert_status(303);
    let page = Visitor::new(&at.kitbag).get("/ui/signedout").await.assert_status(200);
    assert!(page.text().contains("/session/end?client_id="), "{}", page.text());
}

#[tokio::test]
async fn a_code_is_good_once_and_in_the_browser_that_asked() {
    let at = SignIn::external_with(registers).await;
    let mut ana = Browser::default();
    let callback = ana.sign_in_until(&format!("{}/ui/", at.url()), "ana", CALLBACK).await;
    let asked = ana.cookies(&callback);
    let of = |cookies: &str| {
        let mut browser = Browser::default();
        cookies.split("; ").filter(|pair| !pair.is_empty()).for_each(|pair| browser.plant(&callback, pair));
        browser
    };

    // Another browser opens the callback URL.
    let stolen = Browser::default().open(&callback).await;
    assert_no_session(&stolen, 400);
    let mut other = Browser::default();
    let of_other = other.sign_in_until(&format!("{}/ui/", at.url()), "eve", CALLBACK).await;
    assert_no_session(&other.open(&callback).await, 400);
    // Login CSRF: Eve makes Ana's browser open the callback of Eve's sign-in.
    assert_no_session(&ana.open(&of_other).await, 400);

    let arrived = ana.open(&callback).await.assert_status(303);
    assert_eq!(arrived.header("location"), Some("/ui/"));
    let replayed = of(&asked).open(&callback).await;
    assert_no_session(&replayed, 400);
    assert_no_session(&Browser::default().open(&callback).await, 400);
}

#[tokio::test]
async fn two_tabs_of_a_browser_sign_in_and_each_comes_back_to_its_page() {
    let at = SignIn::external_with(registers).await;
    let mut ana = Browser::default();
    let place = |tab: &str| format!("{}/ui/?q={tab}", at.url());

    let first = ana.sign_in_until(&place("first"), "ana", CALLBACK).await;
    let second = ana.sign_in_until(&place("second"), "ana", CALLBACK).await;
    for (callback, tab) in [(&first, "first"), (&second, "second")] {
        let arrived = ana.open(callback).await.assert_status(303);
        assert_eq!(arrived.header("location"), Some(format!("/ui/?q={tab}").as_str()));
    }

    let left = ana.cookies(&at.url().parse().expect("a URL"));
    assert_eq!(left.matches("kitbag").count(), 1, "the session alone: {left}");
    access_tokens_expire().await;
    let page = ana.open(&place("later").parse().expect("a URL")).await;
    assert!(page.assert_status(200).text().contains("<bdi>ana</bdi>"), "the session is still renewed");
}

#[tokio::test]
async fn a_browser_has_a_bounded_number_of_pending_sign_ins() {
    const MAX_BYTES: usize = 4 << 10;

    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let place = |number: usize| -> Url {
        let long = "x".repeat(if number.is_multiple_of(5) { 1000 } else { 0 });
        format!("{}ui/signin?to=/ui/?q={number}{long}", kitbag.base_url()).parse().expect("a URL")
    };
    let mut ana = Browser::default();
    let mut states = Vec::new();
    for number in 1..=20 {
        let sent = ana.open(&place(number)).await.assert_status(303);
        let page: Url = sent.header("location").expect("a page").parse().expect("a URL");
        states.push(page.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned());
        let pending = ana.cookies(kitbag.base_url());
        assert!(pending.len() < MAX_BYTES, "{number}: {} bytes", pending.len());
        assert!(pending.contains(&states[number - 1]), "the newest is always there");
    }

    let arrive = async |ana: &mut Browser, state: &str| {
        let query = provider.response("ana", state);
        ana.open(&format!("{}{}?{query}", kitbag.base_url(), &CALLBACK[1..]).parse().expect("a URL")).await
    };
    assert_no_session(&arrive(&mut ana, &states[0]).await, 400);
    // A state that is no name of a cookie.
    for hostile in ["", "a b", "a=b; c=d", "\r\nSet-Cookie: a=b", &"x".repeat(5000)] {
        assert_no_session(&arrive(&mut ana, hostile).await, 400);
    }
    let arrived = arrive(&mut ana, &states[18]).await.assert_status(303);
    assert_eq!(arrived.header("location"), Some("/ui/?q=19"));
}

#[tokio::test]
async fn a_response_that_was_not_asked_for_or_comes_from_elsewhere_redeems_nothing() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let (ana, state) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let good = provider.response("ana", &state);

    for (query, status) in [
        (String::new(), 400),
        (good.replace(&state, "guess"), 400),
        (format!("{good}&state={state}"), 400),
        (format!("code=ana&state={state}"), 403),
        (format!("code=ana&state={state}&iss=https%3A%2F%2Fevil.example"), 403),
        (good.replace("code=ana", "error=access_denied"), 403),
    ] {
        let answer = ana.get(&format!("{CALLBACK}?{query}")).await;
        assert_no_session(&answer, status);
        assert!(answer.text().contains("href=\"/ui/signin\""), "{query}: {}", answer.text());
    }
    assert_no_session(&Visitor::new(&kitbag).get(&format!("{CALLBACK}?{good}")).await, 400);
    let said = "error_description=%3Cscript%3E%E2%80%AE".to_owned();
    let refused = ana.get(&format!("{CALLBACK}?{}&{said}", good.replace("code=", "error="))).await;
    assert!(!refused.text().contains("<script>") && !refused.text().contains('\u{202e}'));
    assert!(provider.requests("/token").is_empty(), "a code was sent");

    ana.get(&format!("{CALLBACK}?{good}")).await.assert_status(303);
    let sent = &provider.requests("/token")[0];
    let resource = format!("{}mcp", kitbag.base_url());
    assert_eq!(sent.fields["resource"], resource);
    assert!(sent.fields.contains_key("code_verifier") && sent.authorization.is_none(), "{sent:?}");
}

#[tokio::test]
async fn a_sign_in_ends_once_and_its_repetitions_do_not_reach_the_provider() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let (mallory, state) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let (ana, of_ana) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let ends = provider.response("mallory", &state);
    let path = format!("{CALLBACK}?{ends}");

    let answers = join_all((0..50).map(|_| mallory.get(&path))).await;

    let ended = answers.iter().filter(|answer| answer.status == 303).count();
    let refused = answers.iter().filter(|answer| answer.status == 400).count();
    assert_eq!((ended, refused, provider.requests("/token").len()), (1, 49, 1));
    let good = provider.response("ana", &of_ana);
    ana.get(&format!("{CALLBACK}?{good}")).await.assert_status(303);
}

#[tokio::test]
async fn an_address_ends_so_many_sign_ins_a_minute_and_the_provider_is_asked_no_more() {
    const ATTEMPTS: usize = 60;

    let provider = ScriptedProvider::start().await;
    // By default, loopback is a trusted proxy, and no limit per address applies to it.
    let kitbag =
        provider.kitbag_with(|settings| settings.trusted_proxies = "".parse().expect("a list")).await;

    let begun = join_all((0..3 * ATTEMPTS).map(|_| Visitor::begin_sign_in(&kitbag, "/ui/"))).await;
    let ending = begun.iter().map(async |(mallory, state)| {
        let ends = provider.response("mallory", state);
        mallory.get(&format!("{CALLBACK}?{ends}")).await.status.as_u16()
    });
    let statuses = join_all(ending).await;

    let ended = statuses.iter().filter(|status| **status == 303).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert!(ended >= ATTEMPTS && refused > 0 && ended + refused == statuses.len(), "{statuses:?}");
    assert_eq!(provider.requests("/token").len(), ended);
}

#[tokio::test]
async fn sign_in_leads_nowhere_but_to_pages_of_this_server() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;

    for (to, place) in [
        ("/ui/toolkits/a%3Fb", "/ui/toolkits/a?b"),
        ("//evil.example", "/ui/"),
        ("https://evil.example/ui/", "/ui/"),
        ("/ui/%5Cevil.example", "/ui/"),
        ("/ui//evil.example", "/ui/"),
        ("/oauth/authorize", "/ui/"),
        ("/ui/%2E%2E/oauth/authorize", "/ui/"),
        ("/ui/%252E%252E/oauth/authorize", "/ui/"),
    ] {
        let (visitor, state) = Visitor::begin_sign_in(&kitbag, to).await;
        let arrived = visitor.get(&format!("{CALLBACK}?{}", provider.response("ana", &state))).await;
        assert_eq!(arrived.assert_status(303).header("location"), Some(place), "{to}");
    }
}

#[tokio::test]
async fn a_sign_in_begins_a_new_session_and_ends_the_one_before() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let name = format!("kitbag-{}", kitbag.base_url().port().expect("a port"));

    // Session fixation: an attacker has planted a session cookie.
    let (visitor, state) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let planted = format!("{name}=planted; {}", visitor.cookie().expect("it is pending"));
    let victim = Visitor::with_cookies(&kitbag, &planted);
    let arrived = victim.get(&format!("{CALLBACK}?{}", provider.response("ana", &state))).await;
    let cookie = arrived.assert_status(303).header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.starts_with(&format!("{name}=")) && !cookie.contains("planted"), "{cookie}");
    assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    Visitor::with_cookies(&kitbag, &format!("{name}=planted")).get("/ui/").await.assert_status(303);

    // Ben signs in in a browser with Ana's session.
    let ana = provider.sign_in(&kitbag, "ana").await;
    let (pending, state) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let both = format!("{}; {}", ana.cookie().expect("a session"), pending.cookie().expect("it is pending"));
    let mut ben = Visitor::with_cookies(&kitbag, &both);
    let arrived = ben.get(&format!("{CALLBACK}?{}", provider.response("ben", &state))).await;
    ben.keep_cookie(&arrived);
    assert!(ben.get("/ui/").await.assert_status(200).text().contains("<bdi>ben</bdi>"));
    ana.get("/ui/").await.assert_status(303);
}

#[tokio::test]
async fn a_session_ends_when_the_provider_refuses_to_renew_it_and_not_while_it_is_down() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    provider.set_lifetime(LIFETIME_SECONDS);

    for (refresh, status) in [(Refresh::Refused, 303), (Refresh::For("eve"), 303), (Refresh::Down, 503)] {
        provider.set_refresh(Refresh::For("ana"));
        let ana = provider.sign_in(&kitbag, "ana").await;
        provider.set_refresh(refresh);
        sleep(Duration::from_millis(1000 * LIFETIME_SECONDS + 100)).await;

        let page = ana.get("/ui/").await.assert_status(status);
        assert!(!page.text().contains("<bdi>eve</bdi>"));

        provider.set_refresh(Refresh::For("ana"));
        let later = if refresh == Refresh::Down { 200 } else { 303 };
        ana.get("/ui/").await.assert_status(later);
    }
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_as_such_and_the_next_sign_in_succeeds() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let (ana, state) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    provider.set_refresh(Refresh::Down);

    let answer = ana.get(&format!("{CALLBACK}?{}", provider.response("ana", &state))).await;

    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(answer.assert_status(503).text().contains("the identity provider cannot be used"));
    provider.set_refresh(Refresh::For("ana"));
    provider.sign_in(&kitbag, "ana").await;
}

#[tokio::test]
async fn without_a_refresh_token_a_session_ends_with_its_access_token() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    provider.set_lifetime(LIFETIME_SECONDS);
    provider.give_no_refresh_tokens();
    let ana = provider.sign_in(&kitbag, "ana").await;

    sleep(Duration::from_millis(1000 * LIFETIME_SECONDS + 100)).await;

    let sent = ana.get("/ui/toolkits/a").await.assert_status(303);
    assert_eq!(sent.header("location"), Some("/ui/signin?to=%2Fui%2Ftoolkits%2Fa"));
    ana.post("/ui/toolkits/a/settings", &[("unit", "metric")]).await.assert_status(401);
    assert_eq!(provider.requests("/token").len(), 1);
}

#[tokio::test]
async fn the_database_has_no_refresh_token_and_a_client_with_a_secret_authenticates() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|settings| {
        settings.web_client_secret = "pages-secret".parse().expect("a secret");
    });
    let kitbag = kitbag.await;
    let ana = provider.sign_in(&kitbag, "ana").await;

    for file in ["kitbag.sqlite", "kitbag.sqlite-wal"] {
        let stored = std::fs::read(kitbag.data().join(file)).unwrap_or_default();
        for secret in ["refresh-token-1", "pages-secret", "eyJ"] {
            let is_stored = stored.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
            assert!(!is_stored, "{file} has {secret}");
        }
    }
    ana.post("/ui/signout", &[]).await.assert_status(303);
    let revoked = &provider.requests("/revoke")[0];
    assert_eq!(revoked.fields["token"], "refresh-token-1");
    for request in [revoked, &provider.requests("/token")[0]] {
        // "pages:pages-secret"
        assert_eq!(request.authorization.as_deref(), Some("Basic cGFnZXM6cGFnZXMtc2VjcmV0"));
        assert!(!request.fields.contains_key("client_secret"), "{request:?}");
    }
}

#[tokio::test]
async fn a_cookie_of_another_session_or_of_the_provider_signs_nobody_in() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|_| {}).await;
    let ana = provider.sign_in(&kitbag, "ana").await;
    let (name, value) = ana.cookie().expect("a session").split_once('=').expect("a pair");

    let (pending, _) = Visitor::begin_sign_in(&kitbag, "/ui/").await;
    let pending = pending.cookie().expect("it is pending").split_once('=').expect("a pair").1.to_owned();
    let other: String = value.chars().rev().collect();
    for cookies in [
        format!("{name}={other}"),
        format!("{name}={value}; {name}={other}"),
        format!("{name}={pending}"),
        format!("__session={value}"),
    ] {
        Visitor::with_cookies(&kitbag, &cookies).get("/ui/").await.assert_status(303);
    }
}

#[tokio::test]
async fn without_a_client_id_the_session_is_that_of_the_operators_applications() {
    let provider = Provider::start().await;
    let origins = "https://app.example";
    let kitbag =
        provider.kitbag_with(|settings| settings.allowed_origins = origins.parse().expect("a list")).await;
    let session = |claims: &serde_json::Value| format!("__session={}", provider.sign("JWT", claims));
    let mut claims = provider.session_claims(&kitbag, "ana");
    claims["azp"] = kitbag.base_url().origin().ascii_serialization().into();
    let ana = Visitor::with_cookies(&kitbag, &session(&claims));

    let page = ana.get("/ui/").await.assert_status(200);
    assert!(page.text().contains("<bdi>ana</bdi>") && !page.text().contains("Sign out"), "{}", page.text());
    ana.post("/ui/toolkits/none/settings", &[]).await.assert_status(404);
    claims["exp"] = 1.into();
    let expired = Visitor::with_cookies(&kitbag, &session(&claims));
    let sent = expired.get("/ui/?q=a").await.assert_status(303);
    let page = expired.get(sent.header("location").expect("a page")).await.assert_status(401);
    assert!(page.text().contains("href=\"https://app.example\"") && page.text().contains("allowed-origins"));
    expired.post("/ui/toolkits/none/settings", &[("unit", "a")]).await.assert_status(401);
    Visitor::new(&kitbag).get(CALLBACK).await.assert_status(404);
}
