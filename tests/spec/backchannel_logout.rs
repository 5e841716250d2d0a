//! OpenID Connect Back-Channel Logout: who signs out at the provider is signed out here.

use futures::future::join_all;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::harness::{Answer, Browser, Kitbag, ScriptedProvider, SignIn, Visitor};

const PATH: &str = "/ui/signin/backchannel-logout";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Change of the header and the claims of a logout token.
type Change = fn(&mut Value, &mut Value);

/// Sends a form, as a provider does.
async fn send(server: &Kitbag, form: String) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().expect("a type"));
    server.anonymous().send(Method::POST, PATH, headers, form).await
}

pub(crate) async fn log_out(server: &Kitbag, token: &str) -> Answer {
    send(server, format!("logout_token={token}")).await
}

#[tokio::test]
async fn who_signs_out_at_a_real_provider_is_signed_out_here() {
    let at = SignIn::external_with(|settings| {
        settings.web_client_id = "register".parse().expect("an id");
    })
    .await;
    let page = format!("{}/ui/", at.url());
    let url = at.url().parse().expect("a URL");
    let (mut ana, mut ben) = (Browser::default(), Browser::default());
    ana.sign_in(&page, "ana").await;
    ben.sign_in(&page, "ben").await;
    let here = Visitor::with_cookies(&at.kitbag, &ana.cookies(&url));
    let of_ben = Visitor::with_cookies(&at.kitbag, &ben.cookies(&url));
    here.get("/ui/").await.assert_status(200);
    at.transcript.clear();

    ana.sign_out(&format!("{}/session/end", at.issuer())).await.assert_status(200);

    at.transcript
        .assert_in_order(&["POST /ui/signin/backchannel-logout → 200", "POST /session/end/confirm → 303"]);
    here.get("/ui/").await.assert_status(303);
    of_ben.get("/ui/").await.assert_status(200);
}

#[tokio::test]
async fn a_logout_ends_the_sessions_of_its_user_that_there_were_and_revokes_their_grants() {
    let provider = ScriptedProvider::start().await;
    let server = provider.kitbag_with(|settings| settings.operators = "olga".parse().expect("a list")).await;
    let ana = [provider.sign_in(&server, "ana").await, provider.sign_in(&server, "ana").await];
    let ben = provider.sign_in(&server, "ben").await;
    let token = provider.as_user(&server, "ana");

    let answer = log_out(&server, &provider.logout_token("ana", |_, _| {})).await.assert_status(200);

    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for visitor in &ana {
        visitor.get("/ui/").await.assert_status(303);
    }
    ben.get("/ui/").await.assert_status(200);
    token.get("/toolkits").await.assert_status(200);
    assert_eq!(provider.requests("/revoke").len(), 2, "both refresh tokens");
    let entries =
        provider.as_user(&server, "olga").get("/audit?since=1h").await.assert_status(200).json_lines();
    let ended: Vec<_> = entries.iter().filter(|entry| entry["act"] == "session.ended").collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!((&ended[0]["affectedUser"], &ended[0]["name"]), (&json!("ana"), &json!("all")), "{ended:?}");
    assert!(ended[0]["user"].as_str().unwrap_or_default() != "ana", "{ended:?}");

    // Repeated later, it ends nothing that began meanwhile: it was issued over a minute before.
    let again = provider.sign_in(&server, "ana").await;
    let stale = provider.logout_token("ana", |_, claims| {
        claims["iat"] = (claims["iat"].as_i64().expect("a number") - 100).into();
    });
    log_out(&server, &stale).await.assert_status(200);
    again.get("/ui/").await.assert_status(200);
    log_out(&server, &provider.logout_token("nobody", |_, _| {})).await.assert_status(200);
}

#[tokio::test]
async fn tokens_as_older_providers_send_them_are_accepted() {
    let provider = ScriptedProvider::start().await;
    let server = provider.kitbag_with(|_| {}).await;
    let accepted: [Change; 6] = [
        |header, _| header["typ"] = "JWT".into(),
        |header, _| drop(header.as_object_mut().expect("an object").remove("typ")),
        |_, claims| drop(claims.as_object_mut().expect("an object").remove("exp")),
        |_, claims| claims["aud"] = json!(["other", "pages"]),
        |_, claims| claims["sid"] = "08a5019c-17e1-4977-8f42-65a12843ea02".into(),
        |_, claims| claims["events"]["more"] = json!({}),
    ];
    for (number, change) in accepted.into_iter().enumerate() {
        let ana = provider.sign_in(&server, "ana").await;
        log_out(&server, &provider.logout_token("ana", change)).await.assert_status(200);
        assert_eq!(ana.get("/ui/").await.status, 303, "{number}");
    }
}

#[tokio::test]
async fn nothing_else_ends_a_session() {
    let provider = ScriptedProvider::start().await;
    let stranger = ScriptedProvider::start().await;
    let server = provider.kitbag_with(|_| {}).await;
    let ana = provider.sign_in(&server, "ana").await;
    let changes: [(&str, Change); 17] = [
        ("an access token", |header, _| header["typ"] = "at+jwt".into()),
        ("no signature", |header, _| header["alg"] = "none".into()),
        ("another issuer", |_, claims| claims["iss"] = "https://evil.example".into()),
        ("another client", |_, claims| claims["aud"] = "assistant".into()),
        ("no client", |_, claims| drop(claims.as_object_mut().expect("an object").remove("aud"))),
        ("an ID token", |_, claims| claims["nonce"] = "n".into()),
        ("an ID token with a nonce that is null", |_, claims| claims["nonce"] = Value::Null),
        ("no event", |_, claims| drop(claims.as_object_mut().expect("an object").remove("events"))),
        ("another event", |_, claims| {
            claims["events"] = json!({ "http://schemas.openid.net/event/other": {} });
        }),
        ("an event that is no object", |_, claims| claims["events"][EVENT] = json!(true)),
        ("no jti", |_, claims| drop(claims.as_object_mut().expect("an object").remove("jti"))),
        ("no iat", |_, claims| drop(claims.as_object_mut().expect("an object").remove("iat"))),
        ("expired", |_, claims| claims["exp"] = (claims["iat"].as_i64().expect("a number") - 1).into()),
        ("of tomorrow", |_, claims| {
            claims["iat"] = (claims["iat"].as_i64().expect("a number") + 86_400).into();
        }),
        ("a session alone", |_, claims| {
            drop(claims.as_object_mut().expect("an object").remove("sub"));
            claims["sid"] = "1".into();
        }),
        ("no user", |_, claims| claims["sub"] = "".into()),
        ("a list of users", |_, claims| claims["sub"] = json!(["ana"])),
    ];

    for (what, change) in changes {
        let answer = log_out(&server, &provider.logout_token("ana", change)).await;
        assert_eq!(answer.status, 400, "{what}: {}", String::from_utf8_lossy(&answer.body));
    }
    let forged = stranger.logout_token("ana", |_, claims| claims["iss"] = provider.issuer().into());
    let access = provider.token(server.base_url(), "ana");
    for (what, token) in
        [("forged", forged.as_str()), ("an access token", &access), ("nothing", ""), ("no JWS", "a.b")]
    {
        let answer = log_out(&server, token).await;
        assert_eq!(answer.status, 400, "{what}: {}", String::from_utf8_lossy(&answer.body));
    }
    let large = send(&server, format!("logout_token={}", "x".repeat(20 << 10))).await;
    assert_eq!(large.status, 413);
    assert_eq!(send(&server, "token=x".to_owned()).await.status, 400);
    join_all((0..40).map(|_| async { assert_eq!(log_out(&server, &forged).await.status, 400) })).await;

    ana.get("/ui/").await.assert_status(200);
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_thing() {
    let server = Kitbag::start().await;
    assert_eq!(log_out(&server, "a.b.c").await.status, 404);
}
