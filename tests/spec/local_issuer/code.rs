//! Sign-in code: other accounts of the machine do not know it, and get no tokens.

use serde_json::json;
use url::Url;

use super::client::{CALLBACK, VERIFIER, parameter, post, register, request, request_id};
use crate::harness::{Browser, Kitbag, ServerProcess, Terminal, User, Visitor, kitbag, run, sign_in_code};

#[tokio::test]
async fn a_stranger_gets_no_code_whatever_client_they_come_with() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let oversized = "x".repeat(4096);
    let too_large = "x".repeat(32 * 1024);

    for redirect_uri in
        [CALLBACK, "http://localhost:1/callback", "https://client.example/cb", "com.example.app:/cb"]
    {
        let client_id = register(&http, &json!({ "redirect_uris": [redirect_uri] })).await;
        let page = request(&client_id).replace(
            &url::form_urlencoded::byte_serialize(CALLBACK.as_bytes()).collect::<String>(),
            &url::form_urlencoded::byte_serialize(redirect_uri.as_bytes()).collect::<String>(),
        );
        let page = http.get(&page).await.assert_status(200);
        let html = String::from_utf8(page.body.to_vec()).expect("UTF-8");
        assert!(html.contains("type=\"password\"") && html.contains("autocomplete=\"current-password\""));
        let request_id = html.split("name=\"request_id\" value=\"").nth(1).expect("an id");
        let request_id = request_id.split('"').next().expect("its end");

        for (code, status) in [
            (None, 422),
            (Some(""), 422),
            (Some("guess"), 403),
            (Some(&*oversized), 403),
            (Some(&*too_large), 400),
        ] {
            let mut form = vec![("request_id", request_id), ("decision", "allow"), ("user", "local")];
            form.extend(code.map(|code| ("code", code)));
            let answer = post(&http, "/oauth/authorize", &form).await.assert_status(status);
            assert_eq!(answer.header("location"), None, "{redirect_uri}");
            assert_eq!(answer.header("set-cookie"), None, "{redirect_uri}");
        }
    }
}

#[tokio::test]
async fn a_browser_of_a_stranger_is_asked_again_and_again() {
    let kitbag = Kitbag::start().await;
    let terminal = Terminal::at(kitbag.base_url().as_str());
    let mut login = terminal.start_login();
    let page: Url = login.page().await.parse().expect("a URL");
    let http = kitbag.anonymous();
    let (client_id, state) = (parameter(&page, "client_id"), parameter(&page, "state"));
    assert!(parameter(&page, "ticket").is_none() && state.is_some());

    for _ in 0..30 {
        let request_id = request_id_at(&kitbag, &page).await;
        let form =
            [("request_id", &*request_id), ("decision", "allow"), ("user", "local"), ("code", "guess")];
        post(&http, "/oauth/authorize", &form).await.assert_status(403);
    }
    // Wrong codes do not lock out other users.
    let other = register(&http, &json!({ "redirect_uris": [CALLBACK] })).await;
    assert_ne!(Some(&other), client_id.as_ref());
    let request_id = request_id(&http, &other).await;
    let code = sign_in_code(kitbag.base_url()).expect("a code");
    let form = [("request_id", &*request_id), ("decision", "allow"), ("user", "local"), ("code", &code)];
    post(&http, "/oauth/authorize", &form).await.assert_status(303);
    // A user who can read the data directory can still sign in.
    let data = kitbag.data().to_str().expect("UTF-8");
    login_with_ticket(&kitbag, data).await;
}

async fn request_id_at(kitbag: &Kitbag, page: &Url) -> String {
    let path = format!("{}?{}", page.path(), page.query().expect("a query"));
    let answer = kitbag.anonymous().get(&path).await.assert_status(200);
    let html = String::from_utf8(answer.body.to_vec()).expect("UTF-8");
    let field = html.split("name=\"request_id\" value=\"").nth(1).expect("a request id");
    field.split('"').next().expect("its end").to_owned()
}

/// Signs in with a ticket, in a browser that does not know the sign-in code.
async fn login_with_ticket(kitbag: &Kitbag, data: &str) -> Terminal {
    let terminal = Terminal::at(kitbag.base_url().as_str());
    let mut login = terminal.start_login_with(&["--data", data]);
    let page = login.page().await;
    let (_, answer) = Browser::without_sign_in_codes().sign_in(&page, "local").await;
    answer.assert_status(200);
    login.finished().await.succeeded();
    terminal
}

#[tokio::test]
async fn whoever_reads_the_data_directory_signs_in_without_typing_a_code() {
    let kitbag = Kitbag::start().await;
    let data = kitbag.data().to_str().expect("UTF-8");

    let terminal = login_with_ticket(&kitbag, data).await;

    terminal.run(&["toolkit", "list"]).await.succeeded();
    // A sign-in at another server does not send a ticket of this server.
    let other = Kitbag::start().await;
    let mut login = Terminal::at(other.base_url().as_str()).start_login_with(&["--data", data]);
    let page: Url = login.page().await.parse().expect("a URL");
    assert_eq!(parameter(&page, "ticket"), None);
}

#[tokio::test]
async fn the_page_of_a_login_is_of_no_use_to_whoever_sees_its_url() {
    let kitbag = Kitbag::start().await;
    let http = kitbag.anonymous();
    let terminal = Terminal::at(kitbag.base_url().as_str());
    let mut login = terminal.start_login_with(&["--data", kitbag.data().to_str().expect("UTF-8")]);
    let page: Url = login.page().await.parse().expect("a URL");
    let ticket = parameter(&page, "ticket").expect("a ticket");

    // A stolen ticket with another client: the page still asks for the sign-in code.
    let own = register(&http, &json!({ "redirect_uris": [CALLBACK] })).await;
    let stolen = format!("{}&ticket={ticket}", request(&own));
    let answer = http.get(&stolen).await.assert_status(200);
    assert!(String::from_utf8_lossy(&answer.body).contains("name=\"code\""));
    // The whole stolen URL yields an authorization code, which is useless without the PKCE verifier.
    let request_id = request_id_at(&kitbag, &page).await;
    let form = [("request_id", &*request_id), ("decision", "allow"), ("user", "mallory")];
    let answer = post(&http, "/oauth/authorize", &form).await.assert_status(303);
    let back: Url = answer.header("location").expect("a way back").parse().expect("a URL");
    let code = parameter(&back, "code").expect("a code");
    let of_page = |name: &str| parameter(&page, name).expect("it is there");
    let (client_id, redirect_uri) = (of_page("client_id"), of_page("redirect_uri"));
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &*client_id),
        ("code", &*code),
        ("redirect_uri", &*redirect_uri),
        ("code_verifier", VERIFIER),
    ];
    let refused = post(&http, "/oauth/token", &form).await.assert_status(400).json();
    assert_eq!(refused["error_description"], "the code_verifier is wrong");
    // The ticket is single-use.
    let request_id = request_id_at(&kitbag, &page).await;
    let form = [("request_id", &*request_id), ("decision", "allow"), ("user", "local")];
    post(&http, "/oauth/authorize", &form).await.assert_status(422);
}

#[tokio::test]
async fn a_code_that_is_deleted_leaves_nothing_to_whoever_knew_it() {
    let kitbag = Kitbag::start().await;
    let thief = Visitor::sign_in(&kitbag, "ana").await;
    let token = kitbag.as_user("ana").token().to_owned();
    thief.get("/ui/").await.assert_status(200);
    let cookie = thief.cookie().expect("a session").split_once('=').expect("a pair").1.to_owned();

    let stopped = kitbag.stop().await;
    std::fs::remove_file(stopped.data().join("sign-in-code")).expect("there is a code");
    let kitbag = stopped.start().await;

    let port = kitbag.base_url().port().expect("a port");
    let thief = Visitor::with_cookies(&kitbag, &format!("kitbag-{port}={cookie}"));
    thief.get("/ui/").await.assert_status(303);
    kitbag.with_token(&token).get("/toolkits").await.assert_status(401);
    Visitor::sign_in(&kitbag, "ana").await.get("/ui/").await.assert_status(200);
}

#[tokio::test]
async fn the_program_prints_the_code_and_tokens_for_whoever_reads_the_data_directory() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let command = |verb: &str| {
        let mut command = kitbag([verb, "--data"]);
        command.arg(data.path());
        command
    };
    run(command("sign-in-code")).await.assert_failed("no server in local mode has run");
    let server = ServerProcess::start(data.path()).await;

    let code = run(command("sign-in-code")).await.succeeded();
    let token = run(command("token")).await.succeeded();

    assert_eq!(Some(code.trim().to_owned()), sign_in_code(server.base_url()));
    let http = crate::harness::Http::new(server.base_url().clone());
    User::new(http, token.trim()).get("/toolkits").await.assert_status(200);
    assert!(!String::from_utf8_lossy(&server.log()).contains(code.trim()));
    std::fs::set_permissions(
        data.path().join("sign-in-code"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .expect("it is ours");
    run(command("sign-in-code")).await.assert_failed("delete it to get a new one");
}
