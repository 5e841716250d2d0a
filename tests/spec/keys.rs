//! API keys: programs act for their user where no person can sign in.

use http::Method;
use serde_json::{Value, json};

use crate::ended_access::command;
use crate::harness::{Kitbag, Terminal, User, Visitor, guests};

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

impl User {
    async fn new_key(&self, body: Value) -> String {
        let made = self.post("/keys", &body).await.assert_status(201).json();
        made["key"].as_str().expect("the key, once").to_owned()
    }
}

#[tokio::test]
async fn a_key_does_what_its_user_may_until_it_is_revoked() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");
    let program = kitbag.with_token(&ana.new_key(json!({ "name": "report", "lifetime": 3600 })).await);

    assert!(program.tool_names().await.contains(&"text__count".to_owned()));
    program.call("text__count", json!({ "text": "a" })).await.structured();
    program.ingest(json!([{ "title": "By a program", "text": "wombat" }])).await;
    assert_eq!(ana.ask("{ documents { totalCount } }", json!({})).await["documents"]["totalCount"], 1);
    program.post("/toolkits/text/release", &json!(null)).await.assert_status(403);

    let listed = ana.get("/keys").await.json();
    assert_eq!((&listed[0]["name"], &listed[0]["toolkits"]), (&json!("report"), &Value::Null));
    assert!(listed[0]["usedAt"].is_string() && listed[0]["expiresAt"].is_string(), "{listed}");
    assert!(listed[0].get("key").is_none(), "{listed}");
    assert_eq!(kitbag.as_user("ben").get("/keys").await.json(), json!([]));

    let path = format!("/keys/{}", listed[0]["id"].as_str().expect("an id"));
    kitbag.as_user("ben").delete(&path).await.assert_status(404);
    ana.delete(&path).await.assert_status(204);
    program.post_mcp("tools/list", None, json!({})).await.assert_status(401);
    program.get("/toolkits").await.assert_status(401);
}

#[tokio::test]
async fn a_key_for_some_toolkits_calls_their_tools_and_can_do_nothing_else() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;
    let operator = kitbag.as_operator();
    operator.ingest(json!([{ "title": "Diary", "text": "wombat" }])).await;
    operator.settled().await;
    let key = operator.new_key(json!({ "name": "hints", "toolkits": ["hints"] })).await;
    let program = kitbag.with_token(&key);

    let names: Vec<_> = program.all_tools().await.iter().map(|tool| tool["name"].clone()).collect();
    assert!(
        !names.is_empty()
            && names.iter().all(|name| name.as_str().is_some_and(|it| it.starts_with("hints__")))
    );
    assert_eq!(program.call("hints__plain", json!({})).await.text(), "plain");
    let over_http = async |path: &str| program.send(Method::POST, path, "application/json", "{}").await;
    over_http("/toolkits/hints/tools/plain").await.assert_status(200);

    program.call("text__count", json!({ "text": "a" })).await.assert_unknown_tool();
    program.call("search", json!({ "query": "wombat" })).await.assert_unknown_tool();
    over_http("/toolkits/text/tools/count").await.assert_status(404);
    let resources = program.request("resources/list", None, json!({})).await;
    assert_eq!(resources["result"]["resources"], json!([]));
    for path in [
        "/toolkits",
        "/toolkits/hints",
        "/toolkits/hints/logs",
        "/keys",
        "/uploads",
        "/hidden-tools",
        "/failures",
        "/overview",
    ] {
        program.get(path).await.assert_status(403);
    }
    program.post("/graphql", &json!({ "query": "{ me { id } }" })).await.assert_status(403);
    program.delete("/toolkits/hints").await.assert_status(403);
    program.put("/toolkits/hints/secrets/KEY", "x").await.assert_status(403);

    let reader =
        kitbag.with_token(&operator.new_key(json!({ "name": "reader", "toolkits": ["knowledge"] })).await);
    let found = reader.call("search", json!({ "query": "wombat" })).await;
    assert_eq!(found.structured()["results"][0]["title"], "Diary");
    reader.call("hints__plain", json!({})).await.assert_unknown_tool();
}

#[tokio::test]
async fn a_key_for_some_toolkits_gets_no_link_on_which_a_secret_is_set() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let ana = kitbag.as_user("ana");
    let links = json!({ "elicitation": { "url": {} } });
    let whole = ana.new_key(json!({ "name": "all" })).await;
    let limited = ana.new_key(json!({ "name": "some", "toolkits": ["needy"] })).await;

    let asked = kitbag.with_token(&whole).capable_of(links.clone()).call("needy__need", json!({})).await;
    let refused = kitbag.with_token(&limited).capable_of(links).call("needy__need", json!({})).await;

    assert!(asked.raw().contains("/page?"), "the other one does: {}", asked.raw());
    assert!(!refused.raw().contains("/page?"), "{}", refused.raw());
}

#[tokio::test]
async fn a_key_for_a_toolkit_goes_with_it() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let key = ana.new_key(json!({ "name": "hints", "toolkits": ["hints", "text"] })).await;
    let other = ana.new_key(json!({ "name": "other", "toolkits": ["hint", "text"] })).await;

    kitbag.as_operator().delete("/toolkits/hints").await.assert_status(204);
    // A new deploy under the same id is a different toolkit.
    kitbag.deploy(guests::HINTS).await;

    kitbag.with_token(&key).post_mcp("tools/list", None, json!({})).await.assert_status(401);
    kitbag.with_token(&other).post_mcp("tools/list", None, json!({})).await.assert_status(200);
}

#[tokio::test]
async fn a_new_key_says_what_it_does_not_reach() {
    let local = |settings: &mut kitbag::settings::Settings| {
        settings.local_groups = "sal=sales".parse().expect("groups");
    };
    let kitbag = Kitbag::start_with(local).await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;
    let shared = json!({ "grants": [{ "group": "sales" }] });
    kitbag.as_operator().post("/toolkits/text/audience", &shared).await.assert_status(200);
    let sal = kitbag.as_user("sal");
    let unreachable = async |user: &User, name: &str, toolkits: Value| {
        let wanted = json!({ "name": name, "toolkits": toolkits });
        user.post("/keys", &wanted).await.assert_status(201).json()["unreachable"].clone()
    };
    let named = json!(["hints", "knowledge", "nowhere", "text"]);
    let by_group = json!({ "toolkit": "text", "reason": "group" });
    let unknown = |toolkit: &str| json!({ "toolkit": toolkit, "reason": "unknown" });

    assert_eq!(unreachable(&sal, "a", named.clone()).await, json!([unknown("nowhere"), by_group]));
    assert_eq!(unreachable(&sal, "b", Value::Null).await, json!([by_group]));
    let ben = kitbag.as_user("ben");
    assert_eq!(unreachable(&ben, "a", named).await, json!([unknown("nowhere"), unknown("text")]));
    assert_eq!(unreachable(&ben, "b", json!(["hints"])).await, json!([]));
    assert_eq!(unreachable(&ben, "c", Value::Null).await, json!([]));
    assert_eq!(sal.get("/keys").await.json()[0]["unreachable"], json!([by_group]));

    let terminal = Terminal::at(kitbag.base_url().as_str());
    terminal.login("sal").await;
    let made = terminal.run(&["key", "new", "job", "--toolkits", "text,nowhere"]).await;
    for words in ["reaches nothing", "`nowhere`", "`text`", "no groups"] {
        assert!(made.stderr.contains(words), "{words}: {}", made.stderr);
    }
    assert!(made.succeeded().starts_with("kbk_"));
    let made = terminal.run(&["key", "new", "other", "--toolkits", "hints"]).await;
    assert!(!made.stderr.contains("warning"), "{}", made.stderr);
    let page = Visitor::sign_in(&kitbag, "sal").await.get("/ui/account").await.assert_status(200);
    assert!(page.text().contains("calls nowhere, text, and does not reach nowhere, text"), "{}", page.text());
    let listed = terminal.run(&["key", "list"]).await.succeeded();
    assert!(listed.contains("does not reach: nowhere, text"));
}

/// Makes a key, and returns for how many days it is good; `None`: until it is revoked.
async fn days(ana: &User, name: &str, lifetime: Option<Value>) -> Option<i64> {
    let mut wanted = json!({ "name": name });
    if let Some(lifetime) = lifetime {
        wanted["lifetime"] = lifetime;
    }
    let made = ana.post("/keys", &wanted).await.assert_status(201).json();
    let end: Option<jiff::Timestamp> = made["expiresAt"].as_str().map(|end| end.parse().expect("RFC 3339"));
    end.map(|end| (end.as_second() - jiff::Timestamp::now().as_second() + 60) / DAY)
}

#[tokio::test]
async fn a_key_is_good_for_ninety_days_unless_it_says_otherwise() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.key_lifetime = "unlimited".parse().expect("a limit");
    })
    .await;
    let ana = kitbag.as_user("ana");

    assert_eq!(days(&ana, "a", None).await, Some(90));
    assert_eq!(days(&ana, "b", Some(json!(7 * DAY))).await, Some(7));
    assert_eq!(days(&ana, "c", Some(json!("never"))).await, None);
    assert_eq!(days(&ana, "d", Some(json!(400 * DAY))).await, Some(400));
    ana.post("/keys", &json!({ "name": "e", "lifetime": -1 })).await.assert_status(422);
    ana.post("/keys", &json!({ "name": "e", "lifetime": "soon" }))
        .await
        .assert_problem(400, "a number of seconds, or \"never\"");
    ana.post("/keys", &json!({ "name": "e", "lifetime": i64::MAX })).await.assert_status(422);
}

#[tokio::test]
async fn a_key_lasts_no_longer_than_the_maximum_that_the_operator_sets_now() {
    let limited = |limit: &'static str| {
        move |settings: &mut kitbag::settings::Settings| {
            settings.key_lifetime = limit.parse().expect("a limit");
        }
    };
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    for lifetime in [json!("never"), json!(91 * DAY)] {
        let refused = ana.post("/keys", &json!({ "name": "a", "lifetime": lifetime })).await;
        let refused = refused.assert_problem(422, "lasts 90 days at most here (setting key-lifetime)");
        assert!(refused.text().contains("choose a shorter time"), "{}", refused.text());
    }
    assert_eq!(days(&ana, "a", Some(json!(90 * DAY))).await, Some(90));
    let never = command(&kitbag, &ana, &["key", "new", "b", "--expires", "never"]).await;
    never.assert_failed("lasts 90 days at most here (setting key-lifetime)");
    command(&kitbag, &ana, &["key", "new", "b", "--expires", "7d"]).await.succeeded();
    command(&kitbag, &ana, &["key", "new", "c"]).await.succeeded();

    // Keys of before are held to a maximum, too.
    let kitbag = kitbag.stop().await.changed(limited("unlimited")).start().await;
    let endless = json!({ "name": "endless", "lifetime": "never" });
    let endless = kitbag.with_token(&kitbag.as_user("ben").new_key(endless).await);
    let stopped = kitbag.stop().await;
    stopped.alter("UPDATE program_keys SET created_at = created_at - 2592000000").await;
    let kitbag = stopped.changed(limited("31d")).start().await;
    let ben = kitbag.as_user("ben");
    kitbag.with_token(endless.token()).get("/toolkits").await.assert_status(200);
    let listed = ben.get("/keys").await.json();
    let end: jiff::Timestamp = listed[0]["expiresAt"].as_str().expect("it ends").parse().expect("RFC 3339");
    assert_eq!((end.as_second() - jiff::Timestamp::now().as_second() + 60) / DAY, 1);
    assert_eq!(days(&ben, "short", None).await, Some(31), "the maximum, if it is less than 90 days");

    let kitbag = kitbag.stop().await.changed(limited("29d")).start().await;
    kitbag.with_token(endless.token()).get("/toolkits").await.assert_problem(401, "valid access token");
    let names = kitbag.as_user("ben").get("/keys").await.json();
    assert_eq!((names.as_array().map(Vec::len), &names[0]["name"]), (Some(1), &json!("short")));
}

#[tokio::test]
async fn a_key_makes_and_revokes_none_and_opens_no_page() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let key = ana.new_key(json!({ "name": "report" })).await;
    let program = kitbag.with_token(&key);

    program.post("/keys", &json!({ "name": "another" })).await.assert_status(403);
    let id = program.get("/keys").await.json()[0]["id"].as_str().expect("an id").to_owned();
    program.delete(&format!("/keys/{id}")).await.assert_status(403);
    program.get("/ui/account").await.assert_status(303);
    Visitor::with_cookies(&kitbag, &format!("__session={key}")).get("/ui/account").await.assert_status(303);
    let by_cookie = Visitor::with_cookies(&kitbag, &format!("__session={key}")).get("/toolkits").await;
    by_cookie.assert_status(401);
}

#[tokio::test]
async fn the_account_lists_keys_and_revokes_them() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let key = ana.new_key(json!({ "name": "<report>", "toolkits": ["weather"] })).await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;

    let page = visitor.get("/ui/account").await;
    assert!(
        page.text().contains("&#60;report&#62;") || page.text().contains("&lt;report&gt;"),
        "{}",
        page.text()
    );
    assert!(page.text().contains("calls weather") && !page.text().contains(&key));
    let id = ana.get("/keys").await.json()[0]["id"].as_str().expect("an id").to_owned();
    visitor.post(&format!("/ui/account/keys/{id}/revoke"), &[]).await.assert_status(303);

    kitbag.with_token(&key).post_mcp("tools/list", None, json!({})).await.assert_status(401);
    assert!(visitor.get("/ui/account").await.text().contains("You have made no key."));
}

#[tokio::test]
async fn an_operator_may_forbid_keys() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let key = ana.new_key(json!({ "name": "report" })).await;
    let kitbag = kitbag.stop().await.changed(|settings| settings.keys = false).start().await;

    kitbag.with_token(&key).get("/toolkits").await.assert_status(401);
    let refused = kitbag.as_user("ana").post("/keys", &json!({ "name": "another" })).await.assert_status(403);
    assert!(refused.text().contains("setting `keys`"), "{}", refused.text());
    assert!(!Visitor::sign_in(&kitbag, "ana").await.get("/ui/account").await.text().contains("keys-title"));
}
