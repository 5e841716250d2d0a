//! Toolkits that act with an account, a key or a password of their user: the server attaches the credential,
//! and the toolkit never sees it. The OAuth provider is a real one that rotates refresh tokens.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use url::Url;

use crate::fetch::{loopback_allowed, value_of};
use crate::harness::{
    AccountProvider, Answer, Browser, Kitbag, Outcome, Revision, ServerProcess, Upstream, User, Visitor,
    guests, kitbag, run, within,
};

const CALLBACK: &str = "/ui/toolkits/account/auth/callback";
const CONNECT: &str = "/ui/toolkits/account/account/connect";
const KEY: &str = "canary-5ervice-key";

/// Starts the provider and a server with the toolkit. The OAuth client is set for all users.
async fn start(access_token_seconds: u32) -> (Kitbag, AccountProvider) {
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::ACCOUNT).await;
    set_client(&kitbag.as_operator()).await;
    let provider = AccountProvider::start(&redirect_uri(kitbag.base_url()), access_token_seconds).await;
    (kitbag, provider)
}

fn redirect_uri(base_url: &Url) -> String {
    base_url.join(CALLBACK).expect("a URL").into()
}

async fn set_client(operator: &User) {
    for (name, value) in [("CLIENT_ID", "client-of-tests"), ("CLIENT_SECRET", "a-clients-5ecret")] {
        let path = format!("/toolkits/account/secrets/{name}?for-everyone=true");
        operator.put(&path, value).await.assert_status(200);
    }
}

/// Submits the form of the toolkit's page, and returns the authorization URL at the provider.
async fn leave(visitor: &Visitor) -> Url {
    let sent = visitor.post(CONNECT, &[("owner", "local"), ("version", "1.0.0")]).await.assert_status(200);
    let page = sent.text().to_owned();
    let link = page.split("<a class=\"button primary\" href=\"").nth(1).expect(&page);
    link.split('"').next().expect("a link").replace("&#38;", "&").parse().expect("a URL")
}

/// Signs in at the provider as `name`, and returns the callback URL of the redirect.
async fn agree(page: &Url, name: &str) -> Url {
    Browser::default().sign_in_until(page.as_str(), name, CALLBACK).await
}

/// Opens the callback URL as a browser does after a redirect from another site.
async fn come_back(visitor: &Visitor, url: &Url) -> Answer {
    let from_elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
    visitor.sending(&from_elsewhere).get(&url[url::Position::BeforePath..]).await
}

/// Connects the account `name` of the provider to the visitor.
async fn connect(visitor: &Visitor, name: &str) {
    let back = agree(&leave(visitor).await, name).await;
    let arrived = come_back(visitor, &back).await.assert_status(303);
    assert_eq!(arrived.header("location"), Some("/ui/toolkits/account?done=account-connected"));
}

impl User {
    async fn ask_api(&self) -> Outcome {
        self.call("account__fetch", json!({ "url": AccountProvider::API })).await
    }

    async fn account(&self) -> Value {
        self.get("/toolkits/account/account").await.assert_status(200).json()
    }

    async fn fetch_with(&self, arguments: Value) -> Value {
        value_of(&self.call("account__fetch", arguments).await)
    }
}

/// Subject that the API has read from the access token.
fn subject(outcome: &Outcome) -> String {
    let body = value_of(outcome)["body"].as_str().expect("text").to_owned();
    let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
    body["sub"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

#[tokio::test]
async fn an_account_is_connected_used_renewed_and_ended() {
    let (kitbag, mut provider) = start(2).await;
    let (ana, visitor) = (kitbag.as_user("ana"), Visitor::sign_in(&kitbag, "ana").await);
    let page = redirect_uri(kitbag.base_url()).replace("/auth/callback", "#account");

    // Without an account, the call fails with instructions.
    let missing = ana.ask_api().await;
    missing.assert_tool_error("Connect it with: kitbag toolkit sign-in account");
    missing.assert_tool_error(&page);
    assert_eq!(ana.account().await["connected"], false);

    connect(&visitor, "ana-there").await;
    provider.says("token authorization_code 200").await;
    assert_eq!(subject(&ana.ask_api().await), "ana-there");
    let account = ana.account().await;
    assert_eq!((&account["connected"], &account["asked"]), (&json!(true), &json!("openid offline_access")));
    let shown = visitor.get("/ui/toolkits/account").await.assert_status(200);
    assert!(shown.text().contains("Connected ") && shown.text().contains("openid offline_access"));
    assert_eq!(account["name"], "ana-there", "the provider's ID token says so");
    shown.assert_says("Connected as <bdi>ana-there</bdi>");
    // Calls of another user do not use the account.
    let ben = kitbag.as_user("ben");
    ben.ask_api().await.assert_tool_error("none is connected");
    let named =
        async |user: &User| user.logs("account").await.pop().expect("a record").get("account").cloned();
    assert_eq!((named(&ana).await, named(&ben).await), (Some(json!("ana-there")), None));
    let log = visitor.get("/ui/toolkits/account/log").await.assert_status(200);
    log.assert_says("· as ana-there");

    // Twice, the access token expires and concurrent calls renew it.
    for _ in 0..2 {
        sleep(Duration::from_millis(2_100)).await;
        let both = futures::join!(ana.ask_api(), ana.ask_api());
        assert_eq!((subject(&both.0), subject(&both.1)), ("ana-there".to_owned(), "ana-there".to_owned()));
        provider.says("token refresh_token 200").await;
    }

    // After the user ends the account, calls fail again.
    visitor.post("/ui/toolkits/account/account/end", &[]).await.assert_status(303);
    ana.ask_api().await.assert_tool_error("none is connected");
    assert_eq!(ana.account().await["connected"], false);
}

#[tokio::test]
async fn connecting_again_revokes_the_tokens_of_before_and_leaves_the_new_ones_whole() {
    let (kitbag, mut provider) = start(2).await;
    let (ana, visitor) = (kitbag.as_user("ana"), Visitor::sign_in(&kitbag, "ana").await);
    // One browser, whose session at the provider has one grant for the client.
    let mut browser = Browser::default();
    let connect = async |browser: &mut Browser| {
        let back = browser.sign_in_until(leave(&visitor).await.as_str(), "ana-there", CALLBACK).await;
        come_back(&visitor, &back).await.assert_status(303);
    };
    connect(&mut browser).await;

    connect(&mut browser).await;

    provider.says("revoked").await;
    assert_eq!(subject(&ana.ask_api().await), "ana-there");
    sleep(Duration::from_millis(2_100)).await;
    assert_eq!(subject(&ana.ask_api().await), "ana-there", "the new refresh token is good");
    provider.says("token refresh_token 200").await;
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_as_such_and_retryable() {
    let (kitbag, mut provider) = start(1).await;
    let (ana, visitor) = (kitbag.as_user("ana"), Visitor::sign_in(&kitbag, "ana").await);
    connect(&visitor, "ana-there").await;
    let again = agree(&leave(&Visitor::sign_in(&kitbag, "ben").await).await, "ben-there").await;
    provider.says("token authorization_code 200").await;
    sleep(Duration::from_millis(1_100)).await;

    drop(provider);

    ana.ask_api().await.assert_retryable("The token endpoint 127.0.0.1 cannot be reached. Try again later.");
    let ben = Visitor::sign_in(&kitbag, "ben").await;
    let page = come_back(&ben, &again).await.assert_status(503);
    assert!(page.text().contains("Begin again below in a while."), "{}", page.text());
}

#[tokio::test]
async fn a_call_without_an_account_leads_clients_that_open_links_to_the_page() {
    let (kitbag, _provider) = start(600).await;
    for revision in [Revision::Current, Revision::Older] {
        let user = crate::elicitation::client(&kitbag, "ana", revision).await;
        let params = json!({ "name": "account__fetch", "arguments": { "url": AccountProvider::API } });
        let reply = user.request("tools/call", Some("account__fetch"), params).await;
        let question = match revision {
            Revision::Current => reply["result"]["inputRequests"]["account"]["params"].clone(),
            Revision::Older => reply["error"]["data"]["elicitations"][0].clone(),
        };
        assert_eq!(question["mode"], "url", "{reply}");
        assert!(
            question["url"].as_str().expect("a URL").ends_with("/ui/toolkits/account#account"),
            "{reply}"
        );
    }

    // The call waits until the account is connected.
    let user = crate::elicitation::client(&kitbag, "ana", Revision::Current).await;
    let params = json!({
        "name": "account__fetch", "arguments": { "url": AccountProvider::API },
        "inputResponses": { "account": { "action": "accept" } },
    });
    let waiting =
        tokio::spawn(async move { user.request("tools/call", Some("account__fetch"), params).await });
    connect(&Visitor::sign_in(&kitbag, "ana").await, "ana-there").await;
    let reply = within("the call", waiting).await.expect("no panic");
    assert!(reply["result"]["content"][0]["text"].as_str().expect("text").contains("ana-there"), "{reply}");
}

#[tokio::test]
async fn a_state_connects_nothing_for_anybody_else_and_nothing_twice() {
    let (kitbag, _provider) = start(600).await;
    let (ana, eve) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "eve").await);

    // Login CSRF: Ana opens Eve's callback URL, which would connect Eve's account for Ana's calls.
    let eves = agree(&leave(&eve).await, "eve-there").await;
    let refused = come_back(&ana, &eves).await.assert_status(403);
    assert!(refused.text().contains("begun by another user"), "{}", refused.text());
    // A browser without a session is redirected to the sign-in page; no account is connected.
    let stranger = Visitor::new(&kitbag);
    let sent = come_back(&stranger, &eves).await.assert_status(303);
    assert_eq!(sent.header("location"), Some("/ui/signin?to=%2Fui%2Ftoolkits%2Faccount"), "without the code");
    // The callback is refused in a frame and in a `fetch` of another page.
    for headers in [
        [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "iframe")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "empty")],
    ] {
        eve.sending(&headers).get(&eves[url::Position::BeforePath..]).await.assert_status(403);
    }
    for user in ["ana", "eve"] {
        assert_eq!(kitbag.as_user(user).account().await["connected"], false, "{user}");
    }
    // Eve can still use the state, once.
    come_back(&eve, &eves).await.assert_status(303);
    come_back(&eve, &eves).await.assert_status(400);
    assert_eq!(kitbag.as_user("ana").account().await["connected"], false);
    assert_eq!(kitbag.as_user("eve").account().await["connected"], true);

    // Refused: an altered state, another `iss` (RFC 9207), an error instead of a code.
    let (ana_left, mut altered) = (leave(&ana).await, eves.clone());
    let state = ana_left.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    altered.set_query(Some(&format!("code=c&state={}", &state[..state.len() - 2])));
    come_back(&ana, &altered).await.assert_status(400);
    altered.set_query(Some(&format!("code=c&state={state}&iss=https%3A%2F%2Fevil.example")));
    come_back(&ana, &altered).await.assert_status(403);
    let state =
        leave(&ana).await.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    altered.set_query(Some(&format!("error=access_denied&state={state}")));
    let denied = come_back(&ana, &altered).await.assert_status(403);
    assert!(denied.text().contains("access_denied"), "{}", denied.text());
    // A form on another site cannot start a connection.
    let other = ana.sending(&[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")]);
    other.post(CONNECT, &[("owner", "local"), ("version", "1.0.0")]).await.assert_status(403);
    assert_eq!(kitbag.as_user("ana").account().await["connected"], false);
}

#[tokio::test]
async fn a_removal_ends_accounts() {
    let (kitbag, _provider) = start(600).await;
    connect(&Visitor::sign_in(&kitbag, "ana").await, "ana-there").await;
    let ana = kitbag.as_user("ana");
    assert_eq!(ana.account().await["connected"], true);

    kitbag.as_operator().delete("/toolkits/account").await.assert_status(204);
    kitbag.deploy(guests::ACCOUNT).await;
    let account = ana.account().await;
    assert_eq!(
        (&account["connected"], &account["missing"]),
        (&json!(false), &json!(["CLIENT_ID", "CLIENT_SECRET"]))
    );
}

#[tokio::test]
async fn a_server_killed_while_it_renews_leaves_one_family_of_tokens_or_none() {
    let data = tempfile::tempdir().expect("a scratch directory");
    // After the kill, the server listens on the same port, because the redirect URI is registered with it.
    let start = async |listen: &str| {
        let listen = listen.to_owned();
        let server = ServerProcess::start_with(data.path(), |command| {
            command.env("KITBAG_LISTEN", listen).env("KITBAG_ALLOW_PRIVATE_RANGES", "127.0.0.0/8");
        });
        server.await
    };
    let server = start("127.0.0.1:0").await;
    let operator = server.as_operator().await;
    operator.deploy(guests::ACCOUNT.bytes()).await.assert_status(201);
    set_client(&operator).await;
    let mut provider = AccountProvider::start(&redirect_uri(server.base_url()), 2).await;
    let visitor = Visitor::of_process(&server, "local").await;
    let sent = visitor.post(CONNECT, &[("owner", "local"), ("version", "1.0.0")]).await.assert_status(200);
    let page = sent.text().split("<a class=\"button primary\" href=\"").nth(1).expect("a link").to_owned();
    let page: Url = page.split('"').next().expect("a link").replace("&#38;", "&").parse().expect("a URL");
    come_back(&visitor, &agree(&page, "local-there").await).await.assert_status(303);
    assert_eq!(subject(&operator.ask_api().await), "local-there");

    // The provider rotates the refresh token, and the server is killed before it receives the new one.
    provider.hold(true).await;
    sleep(Duration::from_millis(2_100)).await;
    let calling = operator.start_call("account__fetch", json!({ "url": AccountProvider::API }));
    provider.says("token refresh_token 200").await;
    let listen = server.base_url().authority().to_owned();
    server.kill().await;
    drop(calling);
    provider.hold(false).await;

    let server = start(&listen).await;
    let operator = server.as_operator().await;
    // The killed process had claimed the renewal: others wait until the claim expires, after 30 s.
    let mut last = operator.ask_api().await;
    for _ in 0..20 {
        if last.envelope()["error"].as_str().expect("text").contains("no longer connected") {
            break;
        }
        sleep(Duration::from_secs(2)).await;
        last = operator.ask_api().await;
    }
    last.assert_tool_error(
        "Your account at 127.0.0.1:18997 is no longer connected: the provider has ended it",
    );
    assert!(operator.account().await["ended"].as_str().expect("a reason").contains("invalid_grant"));
    server.kill().await;
}

async fn with_services() -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::ACCOUNT).await;
    let ana = kitbag.as_user("ana");
    for (name, value) in [("SERVICE_KEY", KEY), ("USERNAME", "ana-there"), ("PASSWORD", "canary-pa55word")] {
        ana.set_secret("account", name, value).await;
    }
    (kitbag, ana)
}

/// Value of a header in each request to the upstream, in order; empty if the header is missing.
fn received(upstream: &Upstream, header: &str) -> Vec<String> {
    let text = |value: &http::HeaderValue| value.to_str().expect("ASCII").to_owned();
    upstream.requests().iter().map(|head| head.headers.get(header).map_or_else(String::new, text)).collect()
}

#[tokio::test]
async fn a_key_and_a_password_go_to_their_hosts_alone_and_never_into_the_toolkit() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = with_services().await;
    let (by_number, by_name) = ("http://127.0.0.1:18999", "http://localhost:18999");

    ana.fetch_with(json!({ "url": format!("{by_number}/hello") })).await;
    let echoed = ana.fetch_with(json!({ "url": format!("{by_name}/api") })).await;
    assert_eq!(received(&upstream, "x-api-key"), [format!("Key {KEY}"), String::new()]);
    let basic = received(&upstream, "authorization");
    assert_eq!((basic[0].as_str(), &basic[1][..6]), ("", "Basic "));
    // The API echoes the credential, which is redacted in the response.
    assert_eq!(echoed["body"], "Basic [redacted]");

    // No key is attached over the handler's own header, after a redirect to another host, or to TRACE.
    for arguments in [
        json!({ "url": format!("{by_number}/hello"), "headers": { "x-api-key": "mine" } }),
        json!({ "url": format!("{by_name}/redirect/307?{by_number}/hello") }),
        json!({ "url": format!("{by_number}/hello"), "method": "TRACE" }),
    ] {
        let before = upstream.requests().len();
        ana.call("account__fetch", arguments.clone()).await;
        let keys = received(&upstream, "x-api-key");
        assert!(keys[before..].iter().all(|key| !key.contains(KEY)), "{arguments}: {keys:?}");
    }

    // The toolkit cannot read these secrets under any name.
    for name in ["SERVICE_KEY", "USERNAME", "PASSWORD", "CLIENT_ID", "CLIENT_SECRET", "@account", "account"] {
        ana.call("account__read", json!({ "name": name })).await.assert_tool_error("Undeclared");
    }
    let own = ana.call("account__read", json!({ "name": "OWN" })).await;
    assert_eq!(value_of(&own)["value"], Value::Null);
}

#[tokio::test]
async fn a_missing_key_is_named_with_the_command_that_sets_it() {
    let _upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::ACCOUNT).await;

    let failed =
        kitbag.as_user("ana").call("account__fetch", json!({ "url": "http://127.0.0.1:18999/hello" })).await;

    failed.assert_tool_error("kitbag secret set account SERVICE_KEY --from-stdin");
}

#[tokio::test]
async fn the_lists_say_what_the_toolkit_can_read_and_an_account_is_no_secret() {
    let (kitbag, _provider) = start(600).await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    connect(&visitor, "ana-there").await;
    let ana = kitbag.as_user("ana");

    let listed = ana.get("/toolkits/account/secrets").await.assert_status(200).json();
    let names: Vec<_> =
        listed.as_array().expect("a list").iter().map(|it| (&it["name"], &it["readable"])).collect();
    assert_eq!(
        serde_json::to_value(names).expect("names"),
        json!([
            ["OWN", true],
            ["CLIENT_ID", false],
            ["CLIENT_SECRET", false],
            ["SERVICE_KEY", false],
            ["USERNAME", false],
            ["PASSWORD", false]
        ])
    );
    ana.delete("/toolkits/account/secrets/@account").await.assert_status(404);
    ana.put("/toolkits/account/secrets/@account", "x").await.assert_status(404);
    assert_eq!(ana.account().await["connected"], true);
    let page = visitor.get("/ui/toolkits/account").await.assert_status(200);
    assert!(page.text().contains("used by the server, never shown to the toolkit"));
    let operators =
        Visitor::sign_in(&kitbag, "local").await.get("/ui/toolkits/account").await.assert_status(200);
    assert!(operators.text().contains(&redirect_uri(kitbag.base_url())), "operators see what to register");
}

#[tokio::test]
async fn an_organisations_secret_is_set_by_operators_used_by_all_and_shown_to_nobody() {
    let upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::ACCOUNT).await;
    let (op, ana) = (kitbag.as_operator(), kitbag.as_user("ana"));
    let path = "/toolkits/account/secrets/SERVICE_KEY?for-everyone=true";

    ana.put(path, KEY).await.assert_status(403);
    ana.delete(path).await.assert_status(403);
    // The toolkit can read OWN, and could reveal it to any user: an operator must confirm that.
    op.put("/toolkits/account/secrets/OWN?for-everyone=true", KEY).await.assert_problem(409, "can read OWN");
    op.put("/toolkits/account/secrets/OWN?for-everyone=true&readable=true", "canary-0wn-value")
        .await
        .assert_status(200);
    op.put(path, KEY).await.assert_status(200);

    let hello = json!({ "url": "http://127.0.0.1:18999/hello" });
    ana.fetch_with(hello.clone()).await;
    ana.set_secret("account", "SERVICE_KEY", "anas-own-5ecret").await;
    ana.fetch_with(hello.clone()).await;
    op.put(&format!("{path}&only=true"), "everyones-other-key").await.assert_status(200);
    ana.fetch_with(hello.clone()).await;
    let expected = [KEY, "anas-own-5ecret", "everyones-other-key"].map(|key| format!("Key {key}"));
    assert_eq!(received(&upstream, "x-api-key"), expected);
    // A secret that the toolkit can read is redacted from its results.
    let own = ana.call("account__read", json!({ "name": "OWN" })).await;
    assert_eq!(value_of(&own)["value"], "[redacted]");

    let visitor = Visitor::sign_in(&kitbag, "ben").await;
    let page = visitor.get("/ui/toolkits/account").await.assert_status(200);
    assert!(page.text().contains("set by your organisation"));
    let list = ana.get("/toolkits/account/secrets").await.assert_status(200);
    let secrets = list.json();
    let shared = secrets.as_array().expect("a list").iter().filter(|it| it["forEveryone"].is_object());
    let shared: Vec<_> = shared.map(|it| (it["name"].as_str(), &it["forEveryone"]["only"])).collect();
    assert_eq!(shared, [(Some("OWN"), &json!(false)), (Some("SERVICE_KEY"), &json!(true))], "{secrets}");
    let log = ana.get("/toolkits/account/logs").await;
    for answer in [page.text(), list.text(), log.text()] {
        assert!(!answer.contains("everyones-other-key") && !answer.contains("canary-0wn"), "{answer}");
    }
    // On the page, too, only operators can set or unset it.
    let form = [("owner", "local"), ("version", "1.0.0"), ("secret", "evil-value"), ("for", "everyone")];
    visitor.post("/ui/toolkits/account/secrets/SERVICE_KEY", &form).await.assert_status(403);
    visitor
        .post("/ui/toolkits/account/secrets/SERVICE_KEY/unset", &[("for", "everyone")])
        .await
        .assert_status(403);

    op.delete(path).await.assert_status(204);
    kitbag.as_user("ben").call("account__fetch", hello).await.assert_tool_error("SERVICE_KEY is not set");
}

#[tokio::test]
async fn the_command_leads_to_the_page_and_ends_the_account() {
    let (kitbag, _provider) = start(600).await;
    let ana = kitbag.as_user("ana");
    let say = async |arguments: &[&str]| {
        let mut command = self::kitbag(arguments);
        command.args(["--server", kitbag.base_url().as_str()]).env("KITBAG_TOKEN", ana.token());
        self::run(command).await.succeeded()
    };
    let said = say(&["toolkit", "sign-in", "account", "--no-browser"]).await;
    assert!(said.contains("/ui/toolkits/account#account"), "{said}");
    connect(&Visitor::sign_in(&kitbag, "ana").await, "ana-there").await;
    let said = say(&["toolkit", "sign-in", "account", "--no-browser", "-o", "json"]).await;
    assert!(said.contains("\"connected\": true") || said.contains("\"connected\":true"), "{said}");
    say(&["toolkit", "sign-out", "account"]).await;
    assert_eq!(ana.account().await["connected"], false);
}

#[tokio::test]
async fn a_toolkit_without_an_account_has_no_page_for_one() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let ana = kitbag.as_user("ana");
    ana.get("/toolkits/needy/account").await.assert_problem(404, "declares no account");
    ana.get("/toolkits/nothing/account").await.assert_status(404);
    ana.delete("/toolkits/nothing/account").await.assert_status(404);
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let page = visitor.get("/ui/toolkits/needy").await.assert_status(200);
    assert!(!page.text().contains("Your account <small>"));
    kitbag
        .anonymous()
        .send(Method::GET, "/toolkits/needy/account", http::HeaderMap::new(), "")
        .await
        .assert_status(401);
}
