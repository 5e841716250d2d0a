//! The access of a user who was ended: what was issued before is refused everywhere, and what is in progress ends.

use std::time::Duration;

use http::{HeaderMap, Method};
use kitbag_database::audit::Actor;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::elicitation;
use crate::harness::{
    CommandOutput, Events, Kitbag, Provider, Raw, Revision, ScriptedProvider, User, Visitor, eventually,
    guests, kitbag, run, within,
};
use crate::local_issuer::client;

const CALLBACK: &str = "/ui/signin/callback";

/// Ends a user's access, as an operator does.
async fn end(server: &Kitbag, user: &str) {
    server.users().end(user, &Actor::user_only("olga")).await.expect("it ends");
}

/// Waits until a sign-in of the user is recorded.
async fn recorded(server: &Kitbag, user: &str) {
    eventually("the sign-in is recorded", async || {
        let known = server.users().get(user).await.expect("the database answers");
        known.is_some_and(|known| known.sign_ins.is_some())
    })
    .await;
}

/// Waits until a token can be issued in a later second than before: times in tokens are in whole seconds.
async fn a_second() {
    sleep(Duration::from_millis(1100)).await;
}

impl User {
    /// Asserts that every route refuses the token.
    async fn assert_out(&self) {
        let ask = json!({ "query": "{ me { id } }" });
        for answer in [
            self.get("/toolkits").await,
            self.get("/keys").await,
            self.post("/keys", &json!({ "name": "late" })).await,
            self.post("/graphql", &ask).await,
            self.send(Method::POST, "/documents/file?title=A", "text/plain", "a").await,
            self.put("/toolkits/needy/secrets/API_KEY", "x").await,
            self.post_mcp("tools/list", None, json!({})).await,
        ] {
            let answer = answer.assert_problem(401, "valid access token");
            assert!(answer.header("www-authenticate").is_some_and(|it| it.contains("invalid_token")));
        }
        assert_eq!(self.try_to_listen().await.head.status, 401);
    }
}

#[tokio::test]
async fn what_was_issued_before_the_end_opens_nothing_and_a_later_sign_in_begins_anew() {
    let server = Kitbag::start().await;
    server.deploy(guests::NEEDS_SECRET).await;
    let ana = elicitation::client(&server, "ana", Revision::Current).await;
    let others = ["anabel", "an", "group:ana", "ana/end"].map(|name| server.as_user(name));
    let program = ana.post("/keys", &json!({ "name": "report" })).await.assert_status(201).json();
    let program = server.with_token(program["key"].as_str().expect("the key, once"));
    let visitor = Visitor::sign_in(&server, "ana").await;
    let link = ana.link().await;
    let older = ana.clone().speaking(Revision::Older).await;
    assert_eq!(elicitation::open(&server, &link, &[]).await.status, 200);
    let registered = json!({ "redirect_uris": [client::CALLBACK] });
    let client_id = client::register(&server.anonymous(), &registered).await;
    let consent = client::consent(&server.anonymous(), &client_id, "ana").await;
    let code = consent.query_pairs().find(|(name, _)| name == "code").expect("a code").1.into_owned();

    end(&server, "ana").await;

    ana.assert_out().await;
    older.assert_out().await;
    program.assert_out().await;
    assert_eq!(client::redeem(&server.anonymous(), &client_id, &code).await.status, 400);
    let sent = visitor.get("/ui/documents").await.assert_status(303);
    assert!(sent.header("location").is_some_and(|to| to.starts_with("/ui/signin")));
    visitor.get("/ui/signin?to=/ui/documents").await.assert_status(200);
    visitor.post("/ui/documents/new", &[("title", "A"), ("text", "a")]).await.assert_status(401);
    assert_eq!(elicitation::open(&server, &link, &[]).await.status, 404);
    for other in &others {
        other.get("/toolkits").await.assert_status(200);
    }

    a_second().await;
    let again = server.as_user("ana");
    again.get("/toolkits").await.assert_status(200);
    Visitor::sign_in(&server, "ana").await.get("/ui/documents").await.assert_status(200);
    again.post("/keys", &json!({ "name": "report" })).await.assert_status(201);
    ana.assert_out().await;
    program.assert_out().await;
    assert_eq!(elicitation::open(&server, &link, &[]).await.status, 404, "a link of before stays refused");
    let known = server.users().get("ana").await.expect("the database answers").expect("she is known");
    assert!(!known.is_ended() && known.ended.is_some(), "{known:?}");
    end(&server, "ana").await;
    again.assert_out().await;

    // A restart forgets none of it.
    let server = server.stop().await.start().await;
    server.with_token(ana.token()).get("/toolkits").await.assert_status(401);
    server.with_token(again.token()).get("/toolkits").await.assert_status(401);
}

/// Asserts that a stream ends in about a second.
async fn assert_ends(stream: Events) {
    let begun = Instant::now();
    stream.rest().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn streams_calls_and_uploads_that_are_in_progress_end() {
    let server = Kitbag::start_with(|settings| {
        settings.bounds.concurrent_calls_per_user = 1;
        settings.call_time = "1h".parse().expect("a duration");
    })
    .await;
    server.deploy(guests::HOSTILE).await;
    server.deploy(guests::HINTS).await;
    let [ana, ben] = ["ana", "ben"].map(|name| server.as_user(name));
    let older = ana.clone().speaking(Revision::Older).await;
    let (of_ana, of_older, of_ben) = (ana.listen().await, older.listen().await, ben.listen().await);
    ana.call("hostile__remember", json!({})).await.structured();
    let mut log = ana.follow("/toolkits/hostile/logs?follow=true").await;
    log.next().await.expect("the call");
    let mut uploading = Raw::connect(&server).await;
    let upload = format!(
        "POST /documents/file?title=A HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: text/plain\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
        server.base_url().authority(),
        ana.token(),
    );
    uploading.write(upload).await;
    assert!(uploading.head().await.starts_with("HTTP/1.1 100"));
    uploading.write("the first part").await;
    let calling = ana.occupy("hostile__sleep_poll", json!({}), "hints__plain").await;

    let begun = Instant::now();
    end(&server, "ana").await;

    assert_ends(of_ana).await;
    assert_ends(of_older).await;
    assert!(log.breaks_off().await, "it looks as if it were whole");
    let outcome = within("the call's end", calling).await.expect("no panic");
    assert!(outcome.raw().contains("valid access token"), "{}", outcome.raw());
    let answer = uploading.rest().await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let mut of_ben = of_ben;
    assert!(
        tokio::time::timeout(Duration::from_millis(300), async { while of_ben.message().await.is_some() {} })
            .await
            .is_err(),
        "another user's goes on"
    );
}

#[tokio::test]
async fn a_sign_in_that_began_before_the_end_gives_no_session_and_one_that_began_later_does() {
    let provider = ScriptedProvider::start().await;
    let server = provider.kitbag_with(|_| {}).await;
    let signed_in = provider.sign_in(&server, "ana").await;
    let by_token = provider.as_user(&server, "ana");
    by_token.get("/toolkits").await.assert_status(200);
    let (pending, state) = Visitor::begin_sign_in(&server, "/ui/").await;
    assert_eq!(provider.requests("/revoke").len(), 0);

    end(&server, "ana").await;

    by_token.assert_out().await;
    signed_in.get("/ui/").await.assert_status(303);
    eventually("its refresh token is revoked", async || !provider.requests("/revoke").is_empty()).await;
    let arrives = |state: &str| format!("{CALLBACK}?{}", provider.response("ana", state));
    let refused = pending.get(&arrives(&state)).await.assert_status(400);
    let set: Vec<_> = refused.headers.get_all("set-cookie").iter().collect();
    assert!(set.iter().all(|line| line.to_str().is_ok_and(|line| line.contains("Max-Age=0"))), "{set:?}");

    a_second().await;
    let again = provider.sign_in(&server, "ana").await;
    again.get("/ui/documents").await.assert_status(200);
    signed_in.get("/ui/").await.assert_status(303);
    by_token.assert_out().await;
}

#[tokio::test]
async fn with_sessions_of_the_provider_an_ended_user_is_sent_to_sign_in_and_not_round_in_circles() {
    let provider = Provider::start().await;
    let server = provider
        .kitbag_with(|settings| {
            settings.allowed_origins = "https://app.example".parse().expect("a list");
        })
        .await;
    let mut claims = provider.session_claims(&server, "ana");
    claims["azp"] = server.base_url().origin().ascii_serialization().into();
    let cookie = format!("__session={}", provider.sign("JWT", &claims));
    let ana = Visitor::with_cookies(&server, &cookie);
    ana.get("/ui/").await.assert_status(200);

    end(&server, "ana").await;

    let sent = ana.get("/ui/?q=a").await.assert_status(303);
    ana.get(sent.header("location").expect("a page")).await.assert_status(401);
    ana.post("/ui/toolkits/none/settings", &[]).await.assert_status(401);
    let mut headers = HeaderMap::new();
    headers.insert("cookie", cookie.parse().expect("ASCII"));
    server.anonymous().send(Method::GET, "/toolkits", headers, "").await.assert_status(401);
}

/// Runs a command as a user.
pub(crate) async fn command(server: &Kitbag, user: &User, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(arguments);
    command.env("KITBAG_SERVER", server.base_url().as_str()).env("KITBAG_TOKEN", user.token());
    run(command).await
}

#[tokio::test]
async fn a_key_pauses_when_its_user_has_not_signed_in_for_a_month_and_goes_on_when_they_do() {
    const LONG_AGO: &str = "UPDATE program_keys SET created_at = created_at - 3456000000";

    let provider = Provider::start().await;
    let server = provider.kitbag().await;
    let signed_in = |server: &Kitbag, user: &str| {
        server.with_token(&provider.sign("at+jwt", &provider.access_claims(server, user)))
    };
    let ana = signed_in(&server, "ana");
    let printed = command(&server, &ana, &["key", "new", "report"]).await;
    assert!(
        printed.stderr.contains("unless you sign in before, and goes on once you do"),
        "{}",
        printed.stderr
    );
    let key = printed.succeeded().trim().to_owned();
    server.with_token(&key).get("/toolkits").await.assert_status(200);
    let listed = command(&server, &ana, &["key", "list"]).await.succeeded();
    assert!(listed.contains("pauses") && listed.contains("unless you sign in before"), "{listed}");
    let pause: jiff::Timestamp =
        ana.get("/keys").await.json()[0]["pausesAt"].as_str().expect("a time").parse().expect("RFC 3339");
    let days = (pause.as_second() - jiff::Timestamp::now().as_second() + 600) / 86_400;
    assert_eq!(days, 30);
    recorded(&server, "ana").await;

    // Forty days later.
    let stopped = server.stop().await;
    stopped.alter(LONG_AGO).await;
    stopped
        .alter("UPDATE users SET first_seen_at = first_seen_at - 3456000000, signed_in_at = signed_in_at - 3456000000")
        .await;
    let server = stopped.start().await;
    let program = server.with_token(&key);
    for words in ["has not signed in for 30 days", "setting keys-without-sign-in", "as soon as they sign in"]
    {
        program.get("/toolkits").await.assert_problem(401, words);
        program.post_mcp("tools/list", None, json!({})).await.assert_problem(401, words);
    }
    signed_in(&server, "anabel").get("/toolkits").await.assert_status(200);
    program.get("/toolkits").await.assert_status(401);

    signed_in(&server, "ana").get("/toolkits").await.assert_status(200);
    eventually("the key goes on", async || program.get("/toolkits").await.status == 200).await;

    let unlimited = |settings: &mut kitbag::settings::Settings| {
        settings.keys_without_sign_in = "unlimited".parse().expect("a limit");
    };
    let server = server.stop().await.changed(unlimited).start().await;
    let listed: Value = signed_in(&server, "ana").get("/keys").await.json();
    assert_eq!(listed[0]["pausesAt"], Value::Null);
}

#[tokio::test]
async fn with_local_sign_in_no_key_pauses_unless_the_setting_says_so() {
    const LONG_AGO: &str = "UPDATE program_keys SET created_at = created_at - 3456000000";

    let server = Kitbag::start().await;
    let ana = server.as_user("ana");
    let key = ana.post("/keys", &json!({ "name": "report" })).await.assert_status(201).json();
    assert_eq!(key["pausesAt"], Value::Null);
    let key = key["key"].as_str().expect("the key, once").to_owned();
    recorded(&server, "ana").await;

    let stopped = server.stop().await;
    stopped.alter(LONG_AGO).await;
    stopped.alter("UPDATE users SET first_seen_at = 1, signed_in_at = 1").await;
    let server = stopped.start().await;
    server.with_token(&key).get("/toolkits").await.assert_status(200);

    let limited = |settings: &mut kitbag::settings::Settings| {
        settings.keys_without_sign_in = "7d".parse().expect("a limit");
    };
    let server = server.stop().await.changed(limited).start().await;
    server.with_token(&key).get("/toolkits").await.assert_problem(401, "has not signed in for 7 days");
}
