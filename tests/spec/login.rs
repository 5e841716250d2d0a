//! `kitbag login`: sign-in in a terminal, and use of the session by other commands.

mod discovery;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::join;

use crate::harness::sign_in::access_tokens_expire;
use crate::harness::{Browser, Http, Kitbag, SignIn, Terminal, guests, run};

#[tokio::test]
async fn a_person_signs_in_and_every_command_uses_and_renews_the_session() {
    let check = async |at: SignIn| {
        at.deploy(guests::TEXT).await;
        let (ana, endpoints) = (Terminal::at(at.url()), at.endpoints());

        ana.login("ana").await;
        let listed = ana.run(&["toolkit", "list"]).await.succeeded();
        access_tokens_expire().await;
        let before = ana.sessions();
        let again = ana.run(&["toolkit", "list"]).await.succeeded();

        assert!(listed.contains("text") && again == listed, "{listed}");
        assert_ne!(ana.sessions(), before, "nothing was renewed");
        at.transcript.assert_in_order(&[
            "GET /.well-known/oauth-protected-resource/mcp → 200",
            "GET /.well-known/openid-configuration → ",
            &format!("POST {} → 201", endpoints.register),
            &format!("GET {} → ", endpoints.authorize),
            &format!("POST {} → 200", endpoints.token),
            "GET /toolkits → 200",
            &format!("POST {} → 200", endpoints.token),
            "GET /toolkits → 200",
        ]);
        // A session does not make its user an operator.
        let component = guests::HINTS.path();
        let refused = ana.run(&["toolkit", "deploy", component.to_str().expect("UTF-8")]).await;
        refused.assert_failed("operators");
    };
    join!(async { check(SignIn::local().await).await }, async { check(SignIn::external().await).await });
}

#[tokio::test]
async fn logout_ends_the_session_here_and_at_the_issuer() {
    let check = async |at: SignIn| {
        let ana = Terminal::at(at.url());
        ana.login("ana").await;
        let kept: Value = serde_json::from_str(&ana.sessions()).expect("JSON");

        ana.run(&["logout"]).await.succeeded();

        ana.run(&["toolkit", "list"]).await.assert_failed("kitbag login --server");
        ana.run(&["logout"]).await.assert_failed("nobody is signed in");
        at.transcript.assert_in_order(&[&format!("POST {} → 200", at.endpoints().revoke)]);
        let session = &kept[at.url()];
        let text = |name: &str| session[name].as_str().expect("text").to_owned();
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "refresh_token")
            .append_pair("client_id", &text("client_id"))
            .append_pair("refresh_token", &text("refresh_token"))
            .finish();
        let issuer = Http::new(text("issuer").parse().expect("a URL"));
        let headers = [("content-type", "application/x-www-form-urlencoded")]
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        let refused =
            issuer.send(Method::POST, at.endpoints().token, HeaderMap::from_iter(headers), form).await;
        assert_eq!(refused.assert_status(400).json()["error"], "invalid_grant");
    };
    join!(async { check(SignIn::local().await).await }, async { check(SignIn::external().await).await });
}

#[tokio::test]
async fn a_session_is_for_its_owner_alone() {
    let server = Kitbag::start().await;
    let ana = Terminal::at(server.base_url().as_str());
    ana.login("ana").await;
    let (file, folder) = (ana.session_file(), ana.session_file().parent().expect("a folder").to_owned());
    let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;

    assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
    for exposed in [0o640, 0o604, 0o620] {
        fs::set_permissions(&file, fs::Permissions::from_mode(exposed)).expect("it is ours");

        let refused = ana.run(&["toolkit", "list"]).await;

        refused.assert_failed("other users of this machine may read your sessions");
        refused.assert_failed("chmod 600");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    ana.run(&["toolkit", "list"]).await.succeeded();
}

#[tokio::test]
async fn a_session_goes_to_no_other_server() {
    let (ours, theirs) = (SignIn::local().await, SignIn::local().await);
    let ana = Terminal::at(ours.url());
    ana.login("ana").await;

    let refused = ana.run(&["toolkit", "list", "--server", theirs.url()]).await;

    refused.assert_failed("you are not signed in at");
    refused.assert_failed(&format!("kitbag login --server {}", theirs.url()));
    assert_eq!(theirs.transcript.lines(), [""; 0]);
}

#[tokio::test]
async fn without_a_name_the_only_server_with_a_session_is_meant() {
    let (one, other) = (SignIn::local().await, SignIn::local().await);
    let mut ana = Terminal::at(one.url());
    let list = |ana: &Terminal| run(ana.command_without_server(&["toolkit", "list"]));

    list(&ana).await.assert_failed("there is no server to talk to");
    ana.login("ana").await;
    list(&ana).await.succeeded();
    ana.login_also_at(other.url(), "ana").await;
    let refused = list(&ana).await;
    refused.assert_failed("you are signed in at several servers");
    refused.assert_failed(other.url());
}

#[tokio::test]
async fn a_server_that_calls_itself_something_else_gets_no_sign_in() {
    let at = SignIn::local().await;
    // The same server at its own address: its metadata documents name the URL of the proxy.
    let elsewhere = Terminal::at(&format!("http://{}", at.kitbag.address()));

    let refused = elsewhere.run(&["login", "--no-browser"]).await;

    refused.assert_failed("calls itself");
    refused.assert_failed(&format!("kitbag login --server {}", at.url()));
    Terminal::at("http://kitbag.example").run(&["login"]).await.assert_failed("is not protected");
}

#[tokio::test]
async fn of_commands_that_run_at_once_one_renews_the_session() {
    let at = SignIn::local_for(Duration::from_hours(1)).await;
    let ana = Terminal::at(at.url());
    ana.login("ana").await;
    let mut sessions: Value = serde_json::from_str(&ana.sessions()).expect("JSON");
    sessions[at.url()]["expires_at"] = 0.into();
    fs::write(ana.session_file(), sessions.to_string()).expect("it is ours");
    at.transcript.clear();

    let list = || ana.run(&["toolkit", "list"]);
    for ran in futures::future::join_all([list(), list(), list(), list()]).await {
        ran.succeeded();
    }

    let lines = at.transcript.lines();
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    assert_eq!((count("POST /oauth/token → 200"), count("GET /toolkits → 200")), (1, 4), "{lines:#?}");
    assert_eq!(lines.len(), 5, "{lines:#?}");
}

#[tokio::test]
async fn what_the_browser_brings_counts_only_if_it_answers_the_question() {
    let at = SignIn::local().await;
    let ana = Terminal::at(at.url());
    let mut login = ana.start_login();
    let page: url::Url = login.page().await.parse().expect("a URL");
    let parameter =
        |name: &str| page.query_pairs().find(|(key, _)| key == name).expect("it is there").1.into_owned();
    let (callback, state) = (parameter("redirect_uri"), parameter("state"));
    let browser = Http::new(callback.parse().expect("a URL"));
    let issuer = at.issuer();

    for (query, status) in [
        (String::new(), 400),
        ("?code=stolen".to_owned(), 400),
        (format!("?code=stolen&state=guess&iss={issuer}"), 400),
        (format!("?error=access_denied&state=guess&iss={issuer}"), 400),
    ] {
        browser.get(&format!("{callback}{query}")).await.assert_status(status);
    }
    browser.get("/elsewhere").await.assert_status(404);
    let (_, answer) = Browser::default().sign_in(page.as_str(), "ana").await;
    answer.assert_status(200);
    login.finished().await.succeeded();

    let mut login = ana.start_login();
    let page: url::Url = login.page().await.parse().expect("a URL");
    let state_of =
        |page: &url::Url| page.query_pairs().find(|(key, _)| key == "state").expect("a state").1.into_owned();
    assert_ne!(state_of(&page), state, "a state is used once");
    let callback =
        page.query_pairs().find(|(key, _)| key == "redirect_uri").expect("it is there").1.into_owned();
    let mixed_up = format!("{callback}?code=c&state={}&iss=https://evil.example", state_of(&page));
    browser.get(&mixed_up).await.assert_status(200);
    login.finished().await.assert_failed("the answer is not from");
}

#[tokio::test]
async fn a_person_may_say_no() {
    let at = SignIn::local().await;
    let ana = Terminal::at(at.url());
    let mut login = ana.start_login();
    let page = login.page().await;

    Browser::default().refuse(&page).await.1.assert_status(200);

    login.finished().await.assert_failed("did not agree");
    assert!(!ana.session_file().exists());
}

#[tokio::test]
async fn an_access_token_that_the_server_does_not_take_is_renewed() {
    let server = Kitbag::start().await;
    let ana = Terminal::at(server.base_url().as_str());
    ana.login("ana").await;
    let before: Value = serde_json::from_str(&ana.sessions()).expect("JSON");
    let origin = server.base_url().origin().ascii_serialization();
    let damage = |sessions: &str| {
        let mut sessions: Value = serde_json::from_str(sessions).expect("JSON");
        sessions[&origin]["access_token"] = "damaged".into();
        fs::write(ana.session_file(), sessions.to_string()).expect("it is ours");
    };

    for _ in 0..2 {
        damage(&ana.sessions());
        ana.run(&["toolkit", "list"]).await.succeeded();
        assert!(!ana.sessions().contains("damaged"));
    }

    // An older refresh token that comes late gets the newest one; a damaged one does not: the user must sign in again.
    damage(&before.to_string());
    ana.run(&["toolkit", "list"]).await.succeeded();
    let mut sessions: Value = serde_json::from_str(&ana.sessions()).expect("JSON");
    sessions[&origin]["refresh_token"] = "damaged".into();
    damage(&sessions.to_string());
    let over = ana.run(&["toolkit", "list"]).await;
    over.assert_failed("is over");
    over.assert_failed("kitbag login --server");
}

#[tokio::test]
async fn a_token_of_ones_own_wins_over_the_session() {
    let server = Kitbag::start().await;
    let ana = Terminal::at(server.base_url().as_str());
    ana.login("ana").await;
    let mut list = ana.command(&["toolkit", "list"]);
    list.env("KITBAG_TOKEN", "nonsense");

    run(list).await.assert_failed("valid access token");
    ana.run(&["toolkit", "list"]).await.succeeded();
}
