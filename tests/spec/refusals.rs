//! Texts of refusals: each names the reason, who can change it, and where, as listed in docs/organisation.md.

use http::Method;
use kitbag::settings::Settings;
use serde_json::json;

use crate::fetch::loopback_allowed;
use crate::harness::inspector::FORBIDDEN;
use crate::harness::{AccountProvider, Answer, Inspector, Kitbag, User, Wat, eventually, guests, root};

/// Starts a server in local mode: `ana` and `ben` are operators, `una` is in no group. Returns the server and the
/// client of `ana`.
async fn start() -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(|settings| {
        loopback_allowed(settings);
        settings.operators = "ana,ben".parse().expect("a list");
        settings.local_groups = "sal=sales".parse().expect("groups");
        settings.consent = "users".parse().expect("a choice");
        settings.mcp_requests_per_minute = 60.try_into().expect("not zero");
    })
    .await;
    let ana = kitbag.as_user("ana");
    for guest in [guests::TEXT, guests::HINTS, guests::NEEDS_SECRET, guests::ACCOUNT, guests::GREETER_V1] {
        ana.deploy(guest.bytes()).await.assert_status(201);
    }
    share(&ana, "text", json!({ "group": "sales" })).await;
    share(&ana, "hints", json!({ "user": "una", "tool": "plain", "perDay": 1 })).await;
    (kitbag, ana)
}

async fn share(by: &User, toolkit: &str, grant: serde_json::Value) {
    let path = format!("/toolkits/{toolkit}/audience");
    by.post(&path, &json!({ "grants": [grant] })).await.assert_status(200);
}

/// Makes a call, and returns the raw response.
async fn called(user: &User, tool: &str, arguments: serde_json::Value) -> String {
    user.call(tool, arguments).await.raw()
}

/// Repeats a request until it is rate-limited (429), and returns the text of that response.
async fn too_often(request: impl AsyncFn() -> Answer) -> String {
    for _ in 0..700 {
        let answer = request().await;
        if answer.status == 429 {
            assert!(answer.header("retry-after").is_some());
            return answer.text().to_owned();
        }
    }
    panic!("it is never refused")
}

/// Provokes each refusal; returns pairs of the first column of the table and the text.
async fn refusals() -> Vec<(&'static str, String)> {
    let (kitbag, ana) = start().await;
    let [ben, una, eve] = ["ben", "una", "eve"].map(|name| kitbag.as_user(name));
    let mut refusals = Vec::new();
    let mut refused = |what, words: String| refusals.push((what, words));

    refused(
        "a toolkit that is not for you",
        una.get("/toolkits/text").await.assert_status(404).text().to_owned(),
    );
    refused(
        "a tool that is not for you, of a client",
        called(&una, "text__count", json!({ "text": "a" })).await,
    );
    let over_http =
        async |user: &User, path: &str| user.send(Method::POST, path, "application/json", "{}").await;
    let of_hints = over_http(&una, "/toolkits/hints/tools/always_on").await.assert_status(404);
    refused("a tool that is not for you, of a toolkit that is", of_hints.text().to_owned());
    una.post("/toolkits/needy/hide", &json!(null)).await.assert_status(204);
    refused("a tool that you hide", called(&una, "needy__need", json!({})).await);
    una.post("/toolkits/needy/show-again", &json!(null)).await.assert_status(204);
    una.call("hints__plain", json!({})).await.text();
    refused("a call beyond a limit", called(&una, "hints__plain", json!({})).await);

    let wat = |version: &'static str, hosts: &'static [&'static str]| {
        Wat { version, egress: hosts, secrets: &["KEY"], ..Wat::default() }.component()
    };
    ana.deploy(wat("1.0.0", &["a.example"])).await.assert_status(201);
    una.set_secret("wat", "KEY", "a-secret-value").await;
    ana.deploy(wat("2.0.0", &["a.example", "b.example"])).await.assert_status(201);
    let further = "a call of a toolkit that reaches further than you have agreed to";
    refused(further, called(&una, "wat__run", json!({})).await);
    refused("a call that needs a secret", called(&una, "needy__need", json!({})).await);
    for name in ["CLIENT_ID", "CLIENT_SECRET"] {
        let path = format!("/toolkits/account/secrets/{name}?for-everyone=true");
        ana.put(&path, "of-the-organisation").await.assert_status(200);
    }
    let act = called(&una, "account__fetch", json!({ "url": AccountProvider::API })).await;
    refused("a call that acts with your account", act);

    let deployed = una.deploy(guests::PROBE.bytes()).await.assert_status(403);
    refused("what only operators do", deployed.text().to_owned());
    let removed = ben.delete("/toolkits/greeter").await.assert_status(403);
    refused("a change of another's private toolkit", removed.text().to_owned());
    let last = ana.delete("/toolkits/text/audience?group=sales").await.assert_status(409);
    refused("the end of a toolkit's last grant", last.text().to_owned());
    for (what, words) in of_collections(&ana, &una).await {
        refused(what, words);
    }
    for (what, words) in of_users(&kitbag, &ana).await {
        refused(what, words);
    }
    for (what, words) in Box::pin(of_the_company()).await {
        refused(what, words);
    }
    let key =
        eve.post("/keys", &json!({ "name": "hints", "toolkits": ["needy"] })).await.assert_status(201).json();
    let program = kitbag.with_token(key["key"].as_str().expect("a key"));
    let listed = program.get("/toolkits").await.assert_status(403);
    refused("other things with a key for some toolkits", listed.text().to_owned());
    let endless = eve.post("/keys", &json!({ "name": "endless", "lifetime": "never" })).await;
    refused("a key that lasts too long", endless.assert_status(422).text().to_owned());
    refused("a key while you have not signed in for long", paused_key().await);
    let stranger = kitbag.anonymous().get("/toolkits").await.assert_status(401);
    refused("a request without sign-in", stranger.text().to_owned());
    let hide = async || over_http(&eve, "/toolkits/needy/hide").await;
    refused("requests beyond the server's rate", too_often(hide).await);
    let set = async || ben.put("/toolkits/needy/secrets/API_KEY", "a-secret-value").await;
    refused("more secrets, keys and sign-ins than a person sets", too_often(set).await);
    refusals
}

/// Provokes the refusal of a key that is paused, at a server where keys pause after a second.
async fn paused_key() -> String {
    let pauses = |settings: &mut Settings| settings.keys_without_sign_in = "1s".parse().expect("a limit");
    let kitbag = Kitbag::start_with(pauses).await;
    let key =
        kitbag.as_user("eve").post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    let program = kitbag.with_token(key["key"].as_str().expect("a key"));
    eventually("it pauses", async || program.get("/toolkits").await.status == 401).await;
    program.get("/toolkits").await.text().to_owned()
}

/// Provokes the refusals of the egress policy, and of the service that inspects calls.
async fn of_the_company() -> [(&'static str, String); 4] {
    let service = Inspector::start().await;
    let at = async |path: &str| {
        let url = service.url(path);
        let kitbag = Kitbag::start_with(|settings| {
            loopback_allowed(settings);
            settings.egress_policy = "api.example".parse().expect("a policy");
            settings.dlp_url = url.parse().expect("a URL");
        })
        .await;
        kitbag.deploy(guests::PROBE).await;
        kitbag.deploy(guests::REPLIES).await;
        kitbag
    };
    let echo = async |kitbag: &Kitbag| {
        called(&kitbag.as_user("una"), "replies__echo", json!({ "text": FORBIDDEN })).await
    };
    let inspected = at("/check").await;
    let beyond =
        called(&inspected.as_user("una"), "probe__fetch", json!({ "url": "http://127.0.0.1:18999/" })).await;
    [
        ("a call of a toolkit that asks a host beyond the egress policy", beyond),
        ("a call whose arguments the inspection refuses", echo(&inspected).await),
        ("a call whose result the inspection refuses", echo(&at("/results").await).await),
        ("a call while the inspection does not answer", echo(&at("/error").await).await),
    ]
}

/// Provokes refusals about a collection of `ana`.
async fn of_collections(ana: &User, una: &User) -> [(&'static str, String); 3] {
    let new = json!({ "id": "handbook", "name": "Handbook" });
    ana.post("/collections", &new).await.assert_status(201);
    let hidden = una.get("/collections/handbook").await.assert_status(404);
    let readers = json!({ "members": [{ "user": "una", "role": "reader" }] });
    ana.post("/collections/handbook/members", &readers).await.assert_status(200);
    let changed = una.delete("/collections/handbook").await.assert_status(403);
    let last = ana.delete("/collections/handbook/members?user=ana").await.assert_status(409);
    [
        ("a collection that is not for you", hidden.text().to_owned()),
        ("a change of a collection that you may only read", changed.text().to_owned()),
        ("the end of a collection's last curator", last.text().to_owned()),
    ]
}

/// Provokes refusals about the end of users and their exports.
async fn of_users(kitbag: &Kitbag, ana: &User) -> [(&'static str, String); 5] {
    let end = json!({});
    let own = ana.post("/users/ana/end", &end).await.assert_status(409);
    let key = ana.post("/keys", &json!({ "name": "ends" })).await.assert_status(201).json();
    let program = kitbag.with_token(key["key"].as_str().expect("a key"));
    let by_key = program.post("/users/una/end", &end).await.assert_status(403);
    let revoked = program.delete("/users/una/keys/any").await.assert_status(403);
    assert_eq!(revoked.text(), by_key.text());
    let export = ana.get("/users/una/export").await.assert_status(409);
    let entra = json!({ "name": "entra" });
    let token_by_key = program.post("/scim-tokens", &entra).await.assert_status(403);
    let token = ana.post("/scim-tokens", &entra).await.assert_status(409);
    [
        ("the end of yourself", own.text().to_owned()),
        ("the end of a user by a key, or of another user's key", by_key.text().to_owned()),
        ("an export of somebody who is here", export.text().to_owned()),
        ("a token of an identity provider, by a key", token_by_key.text().to_owned()),
        ("a token of an identity provider, where none maintains users", token.text().to_owned()),
    ]
}

#[tokio::test]
async fn each_refusal_is_in_the_words_of_the_documentation() {
    let page = std::fs::read_to_string(root().join("docs/organisation.md")).expect("a page");
    let (_, table) = page.split_once("| refused | in these words |").expect("a table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let refusals = Box::pin(refusals()).await;

    for row in &rows {
        let said = refusals.iter().find(|(what, _)| *what == row[0]);
        let (_, said) = said.unwrap_or_else(|| panic!("{} is not tested", row[0]));
        let mut rest = said.as_str();
        for part in row[1].trim_matches('`').split('…') {
            let at =
                rest.find(part).unwrap_or_else(|| panic!("{}: no {part:?} in {rest:?} of {said}", row[0]));
            rest = &rest[at + part.len()..];
        }
        assert!(!row[2].is_empty(), "{}: who can change it", row[0]);
    }
    assert_eq!(rows.len(), refusals.len(), "a refusal is not in the table");
}
