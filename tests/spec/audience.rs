//! Audiences of toolkits and tools: groups from the users' tokens, on each interface, and call limits.

mod view;

use http::Method;
use serde_json::{Value, json};

use crate::harness::sign_in::access_tokens_expire;
use crate::harness::{
    Answer, Events, Kitbag, Provider, Refresh, Revision, ScriptedProvider, SignIn, Terminal, User, guests,
};

/// Provider, server and operator: `olga` is an operator through her group. The groups claim is a path.
struct Organisation {
    provider: Provider,
    kitbag: Kitbag,
    olga: User,
}

impl Organisation {
    async fn start() -> Self {
        let provider = Provider::start().await;
        let kitbag = provider
            .kitbag_with(|settings| {
                settings.operators = "group:admins".parse().expect("a list");
                settings.groups_claim = "realm_access.roles".parse().expect("a claim");
            })
            .await;
        let olga = member(&provider, &kitbag, "olga", &json!({ "roles": ["admins"] }));
        for guest in [guests::TEXT, guests::HINTS] {
            olga.deploy(guest.bytes()).await.assert_status(201);
        }
        Self { provider, kitbag, olga }
    }

    /// Creates a user whose token has the claim `realm_access`.
    fn user(&self, name: &str, claim: &Value) -> User {
        member(&self.provider, &self.kitbag, name, claim)
    }

    fn in_group(&self, name: &str, group: &str) -> User {
        self.user(name, &json!({ "roles": [group] }))
    }

    async fn share(&self, toolkit: &str, grants: Value) {
        let body = json!({ "grants": grants });
        self.olga.post(&format!("/toolkits/{toolkit}/audience"), &body).await.assert_status(200);
    }
}

fn member(provider: &Provider, kitbag: &Kitbag, name: &str, claim: &Value) -> User {
    let mut claims = provider.access_claims(kitbag, name);
    claims["realm_access"] = claim.clone();
    kitbag.with_token(&provider.sign("at+jwt", &claims))
}

fn text() -> Value {
    json!({ "text": "one two" })
}

impl User {
    async fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, "application/json", body.to_string()).await
    }

    /// Returns the listed names of the user's tools of the toolkit `text`. Asserts that all interfaces agree.
    async fn tools_of_text(&self) -> Vec<String> {
        let mut tools: Vec<_> = self.tool_names().await;
        tools.retain(|name| name.starts_with("text__"));
        let short: Vec<_> = tools.iter().map(|name| name.trim_start_matches("text__")).collect();

        let listed = self.get("/toolkits").await.json();
        let listed = listed.as_array().expect("a list").iter().find(|it| it["id"] == "text").cloned();
        assert_eq!(sorted(listed.map(|it| it["tools"].clone()).unwrap_or(json!([]))), sorted(json!(short)));

        let shown = self.get("/toolkits/text").await;
        assert_eq!(shown.status == 200, !tools.is_empty());
        let declared = if tools.is_empty() { json!([]) } else { shown.json()["manifest"]["tools"].clone() };
        let names: Vec<_> =
            declared.as_array().expect("a list").iter().map(|it| it["name"].clone()).collect();
        assert_eq!(sorted(json!(names)), sorted(json!(short)));

        for path in ["/toolkits/text/logs", "/toolkits/text/secrets", "/toolkits/text/usage"] {
            let status = self.get(path).await.status;
            assert_eq!(status, if tools.is_empty() { 404 } else { 200 }, "{path}");
        }
        for tool in ["count", "diff"] {
            let may_call = short.contains(&tool);
            let called = self.post_json(&format!("/toolkits/text/tools/{tool}"), &text()).await;
            assert_eq!(called.status != 404, may_call, "{tool}: {}", called.text());
            if !may_call {
                self.call(&format!("text__{tool}"), text()).await.assert_unknown_tool();
            }
        }
        tools
    }
}

fn sorted(names: Value) -> Vec<String> {
    let mut names: Vec<String> = serde_json::from_value(names).expect("names");
    names.sort();
    names
}

#[tokio::test]
async fn groups_of_a_token_decide_on_every_interface() {
    let at = Organisation::start().await;
    at.share(
        "text",
        json!([
            { "group": "sales" },
            { "group": "support", "tool": "count" },
            { "user": "eve", "tool": "diff" },
        ]),
    )
    .await;

    for revision in Revision::BOTH {
        let sal = at.in_group("sal", "sales").speaking(revision).await;
        assert!(sal.tools_of_text().await.len() > 2);
        let sam = at.in_group("sam", "support").speaking(revision).await;
        assert_eq!(sam.tools_of_text().await, ["text__count"]);
        let eve = at.user("eve", &json!({})).speaking(revision).await;
        assert_eq!(eve.tools_of_text().await, ["text__diff"]);
        // A group with a user's name, a user with a group's name, and claims that are not lists of groups.
        for nobody in [
            at.in_group("una", "eve"),
            at.user("sales", &json!({ "roles": [] })),
            at.user("una", &json!({ "roles": "admin sale" })),
            at.user("una", &json!({ "roles": 7 })),
            at.user("una", &json!({ "roles": { "sales": true } })),
            at.user("una", &json!(["sales"])),
            at.user("una", &json!({ "roles": vec!["sales"; 257] })),
        ] {
            let nobody = nobody.speaking(revision).await;
            assert_eq!(nobody.tools_of_text().await, [""; 0]);
            assert!(nobody.tool_names().await.contains(&"hints__plain".to_owned()));
            nobody.get("/audit").await.assert_status(403);
        }
    }
    assert!(at.kitbag.log().text().contains("the groups of a user are ignored"));
}

#[tokio::test]
async fn nothing_tells_whether_a_toolkit_exists_that_is_for_others() {
    let at = Organisation::start().await;
    at.share("text", json!([{ "group": "sales" }])).await;
    let una = at.in_group("una", "other");

    for (method, path) in [
        (Method::GET, ""),
        (Method::GET, "/logs"),
        (Method::GET, "/usage"),
        (Method::GET, "/config"),
        (Method::GET, "/secrets"),
        (Method::GET, "/account"),
        (Method::POST, "/tools/count"),
        (Method::POST, "/hide"),
    ] {
        let ask = async |id: &str| {
            let answer =
                una.send(method.clone(), &format!("/toolkits/{id}{path}"), "application/json", "{}").await;
            (answer.status, answer.text().replace(id, "…"))
        };
        assert_eq!(ask("text").await, ask("absent").await, "{method} {path}");
    }
    // Users who are not operators can neither read nor change audiences.
    for answer in [
        una.get("/toolkits/text/audience").await,
        una.post("/toolkits/text/audience", &json!({ "grants": [{ "user": "una" }] })).await,
        una.delete("/toolkits/text/audience?group=sales").await,
    ] {
        answer.assert_status(403);
    }
}

#[tokio::test]
async fn only_those_hear_of_a_change_whose_list_has_changed() {
    async fn next(events: &mut Events) -> Value {
        events.next().await.expect("the stream is open")
    }

    let at = Organisation::start().await;
    for revision in Revision::BOTH {
        let [sal, una] = [("sal", "sales"), ("una", "others")].map(|(name, group)| at.in_group(name, group));
        let (sal, una) = (sal.speaking(revision).await, una.speaking(revision).await);
        let (mut of_sal, mut of_una) = (sal.listen().await, una.listen().await);
        if revision == Revision::Current {
            next(&mut of_sal).await;
            next(&mut of_una).await;
        }

        // Both users see the toolkit at first, so `una` loses it.
        at.share("text", json!([{ "group": "sales" }])).await;
        assert_eq!(next(&mut of_una).await["method"], "notifications/tools/list_changed");
        at.share("text", json!([{ "group": "others", "tool": "count" }])).await;
        assert_eq!(next(&mut of_una).await["method"], "notifications/tools/list_changed");
        assert_eq!(una.tools_of_text().await, ["text__count"]);

        at.olga.delete("/toolkits/text/audience?group=sales").await.assert_status(204);
        assert_eq!(next(&mut of_sal).await["method"], "notifications/tools/list_changed", "its first");
        assert_eq!(sal.tools_of_text().await, [""; 0]);
        // Restores the audience for the next round: everyone.
        at.share("text", json!([{ "everyone": true }])).await;
        for whom in ["group=others", "everyone=true"] {
            at.olga.delete(&format!("/toolkits/text/audience?{whom}")).await.assert_status(204);
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_lost_between_two_pages_of_a_list_is_not_in_the_second() {
    let at = Organisation::start().await;
    // More tools than fit on one page of the list.
    let crowd = guests::CROWD;
    at.olga.deploy(crowd.bytes()).await.assert_status(201);
    at.share("crowd", json!([{ "group": "sales" }])).await;
    let sal = at.in_group("sal", "sales");
    let list = async |cursor: Option<Value>| {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        sal.request("tools/list", None, params).await["result"].clone()
    };
    let first = list(None).await;
    let cursor = first["nextCursor"].clone();
    assert!(cursor.is_string(), "{first}");

    at.share("crowd", json!([{ "group": "others" }])).await;
    at.olga.delete("/toolkits/crowd/audience?group=sales").await.assert_status(204);
    let second = list(Some(cursor)).await;
    let names =
        second["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].as_str().expect("a name"));
    assert!(names.clone().all(|name| !name.starts_with("crowd__")), "{second}");
    assert!(names.clone().any(|name| name.starts_with("text__")), "{second}");
}

#[tokio::test]
async fn a_limit_refuses_with_the_time_at_which_it_is_possible_again() {
    let at = Organisation::start().await;
    at.share(
        "text",
        json!([
            { "group": "sales", "perDay": 3 },
            { "group": "sales", "tool": "diff", "perMinute": 1000 },
            { "everyone": true },
        ]),
    )
    .await;
    let [sal, sam, una] = [("sal", "sales"), ("sam", "sales"), ("una", "others")];
    let [sal, sam, una] = [sal, sam, una].map(|(name, group)| at.in_group(name, group));

    sal.call("text__count", text()).await.structured();
    sam.post_json("/toolkits/text/tools/count", &text()).await.assert_status(200);
    // Calls with invalid arguments or of unknown tools do not count.
    sal.call("text__count", json!({ "text": 7 })).await.assert_invalid_params("text");
    sal.call("text__absent", json!({})).await.assert_unknown_tool();
    sam.call("text__count", text()).await.structured();

    let words = "The limit of 3 calls a day that the group sales may make together to text is reached.";
    for revision in Revision::BOTH {
        let sal = at.in_group("sal", "sales").speaking(revision).await;
        sal.call("text__count", text()).await.assert_retryable(words);
    }
    let refused = sam.post_json("/toolkits/text/tools/count", &text()).await.assert_status(429);
    let seconds: u64 = refused.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=86_400).contains(&seconds), "{seconds}");
    assert!(refused.json()["error"].as_str().expect("words").contains(words), "{}", refused.text());
    sal.call("text__diff", json!({ "before": "a", "after": "b" })).await.assert_retryable(words);
    assert_eq!(sal.logged("text__diff").await["outcome"], "over-limit");
    una.call("text__count", text()).await.structured();

    let shown = sal.get("/toolkits/text").await.json();
    let of_group = json!({ "group": "sales", "perDay": 3, "callsInMinute": 0, "callsInDay": 3 });
    let found = shown["limits"].as_array().expect("limits").iter().any(|limit| {
        let mut limit = limit.clone();
        limit["callsInMinute"] = json!(0);
        limit == of_group
    });
    assert!(found && shown.get("audience").is_none(), "{shown}");
    // A larger limit applies at once, and earlier calls still count.
    at.share("text", json!([{ "group": "sales", "perDay": 4 }])).await;
    sal.call("text__count", text()).await.structured();
    sal.call("text__count", text()).await.assert_retryable("4 calls a day");
}

#[tokio::test]
async fn what_cannot_be_granted_is_refused_with_the_reason() {
    let at = Organisation::start().await;
    for (grants, status, words) in [
        (json!([{ "group": "sales", "tool": "absent" }]), 404, "has no tool"),
        (json!([{ "group": "sales", "user": "ana" }]), 400, "for one user, for one group, or for everyone"),
        (json!([{ "group": "" }]), 400, "1 to 256 bytes"),
        (json!([{ "group": "sales", "perMinute": 0 }]), 400, "nonzero"),
        (json!([{ "group": "sales", "rate": 1 }]), 400, "unknown field"),
        (json!(["sales"]), 400, ""),
    ] {
        let body = json!({ "grants": grants });
        at.olga.post("/toolkits/text/audience", &body).await.assert_problem(status, words);
    }
    at.olga
        .post("/toolkits/absent/audience", &json!({ "grants": [] }))
        .await
        .assert_problem(404, "no toolkit");
    let absent = at.olga.delete("/toolkits/text/audience?group=sales").await;
    absent.assert_problem(404, "is not shared with group:sales");
    at.olga.delete("/toolkits/text/audience").await.assert_problem(400, "for one user");
    assert_eq!(at.olga.get("/toolkits/text/audience").await.json(), json!({ "grants": [] }));
}

#[tokio::test]
async fn a_browser_has_the_groups_of_its_last_renewal() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider
        .kitbag_with(|settings| {
            settings.operators = "olga".parse().expect("a list");
            settings.groups_claim = "groups".parse().expect("a claim");
        })
        .await;
    let olga = provider.as_user(&kitbag, "olga");
    olga.deploy(guests::TEXT.bytes()).await.assert_status(201);
    let grants = json!({ "grants": [{ "group": "sales", "tool": "count", "perMinute": 600 }] });
    olga.post("/toolkits/text/audience", &grants).await.assert_status(200);
    provider.set_refresh(Refresh::For("sal"));
    provider.set_groups(&["sales"]);
    provider.set_lifetime(2);

    let sal = provider.sign_in(&kitbag, "sal").await;
    let page = sal.get("/ui/toolkits/text").await.assert_status(200);
    assert!(page.text().contains("text__count") && !page.text().contains("text__diff"));
    assert!(page.text().contains("Used of count: 0 of 600 calls a minute in this one"), "{}", page.text());
    assert!(sal.get("/ui/").await.text().contains("1 tool"));
    sal.get("/ui/toolkits/text/tools/count").await.assert_status(200);
    sal.get("/ui/toolkits/text/tools/diff").await.assert_status(404);
    sal.get("/ui/toolkits/text/audience").await.assert_status(403);
    sal.post("/ui/toolkits/text/audience", &[("kind", "everyone")]).await.assert_status(403);

    provider.set_groups(&["others"]);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    sal.get("/ui/toolkits/text").await.assert_status(404);
    assert!(!sal.get("/ui/").await.text().contains("text"), "the directory does not list it");

    provider.set_groups(&["sales", "admins"]);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    sal.get("/ui/toolkits/text").await.assert_status(200);
}

#[tokio::test]
async fn an_operator_shares_on_the_page() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|settings| settings.operators = "olga".parse().expect("a list")).await;
    let api = provider.as_user(&kitbag, "olga");
    api.deploy(guests::TEXT.bytes()).await.assert_status(201);
    let olga = provider.sign_in(&kitbag, "olga").await;
    let path = "/ui/toolkits/text/audience";
    let page = olga.get(path).await.assert_status(200);
    assert!(page.text().contains("Everyone who signs in, without limits"), "{}", page.text());

    let fields = [("kind", "group"), ("name", " sales "), ("tool", "count"), ("rate", "60"), ("each", "1")];
    let shared = olga.post(path, &fields).await.assert_status(303);
    assert_eq!(shared.header("location"), Some("/ui/toolkits/text/audience?done=true"));
    let grants = json!([{ "group": "sales", "tool": "count", "perMinute": 60, "each": true }]);
    assert_eq!(api.get("/toolkits/text/audience").await.json()["grants"], grants);
    let page = olga.get("/ui/toolkits/text/audience?done=true").await.assert_status(200);
    for words in
        ["the group sales", "count</code> alone", "at most 60 calls a minute, each", "It is changed, from"]
    {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    // As the owner, `olga` still sees all tools.
    olga.get("/ui/toolkits/text/tools/diff").await.assert_status(200);

    for (field, words) in [
        (("rate", "many"), "a limit is a number of calls"),
        (("name", ""), "1 to 256 bytes"),
        (("tool", "absent"), "has no tool"),
    ] {
        let typed = [field, ("kind", "group"), ("name", "support"), ("quota", "7")];
        let refused = olga.post(path, &typed).await.assert_status(422);
        assert!(
            refused.text().contains(words) && refused.text().contains("value=\"7\""),
            "{}",
            refused.text()
        );
    }
    let fields = [("kind", "group"), ("name", "sales"), ("tool", "count")];
    let refused = olga.post("/ui/toolkits/text/audience/unshare", &fields).await.assert_status(422);
    assert!(refused.text().contains("without any it is for everyone"), "{}", refused.text());
    olga.post(path, &[("kind", "user"), ("name", "olga")]).await.assert_status(303);
    for _twice in 0..2 {
        olga.post("/ui/toolkits/text/audience/unshare", &fields).await.assert_status(303);
    }
    assert_eq!(api.get("/toolkits/text/audience").await.json()["grants"], json!([{ "user": "olga" }]));
}

#[tokio::test]
async fn a_real_provider_names_groups_and_a_command_shares_with_them() {
    let mut at = SignIn::external_with(|settings| {
        settings.groups_claim = "groups".parse().expect("a claim");
    })
    .await;
    at.provider().set_groups(&json!({ "sal": ["sales", "all"], "sam": ["all"] })).await;
    at.deploy(guests::TEXT).await;
    let [olga, sal, sam] = ["olga", "sal", "sam"].map(|name| (name, Terminal::at(at.url())));
    for (name, terminal) in [&olga, &sal, &sam] {
        terminal.login(name).await;
    }
    let [(_, olga), (_, sal), (_, sam)] = [olga, sal, sam];

    let share = [
        "toolkit", "share", "text", "--group", "sales", "--tool", "count", "--rate", "600/m", "--quota",
        "2/d",
    ];
    let said = olga.run(&share).await.succeeded();
    assert!(said.contains("group:sales") && said.contains("600/m, 2/d"), "{said}");
    let said = olga.run(&["toolkit", "show", "text"]).await.succeeded();
    assert!(said.contains("for group:sales"), "{said}");
    assert!(sal.run(&["toolkit", "list"]).await.succeeded().contains("1 tool"));
    assert!(sam.run(&["toolkit", "list"]).await.succeeded().contains("No toolkit"));
    let call = ["tool", "call", "text", "count", r#"{ "text": "one two" }"#];
    for _ in 0..2 {
        sal.run(&call).await.succeeded();
    }
    sal.run(&call).await.assert_failed("The limit of 2 calls a day");
    assert!(
        sal.run(&["toolkit", "show", "text"]).await.succeeded().contains("2 of 2 calls a day (UTC) today")
    );
    sam.run(&["toolkit", "share", "text", "--group", "all"]).await.assert_failed("operators");

    // The provider removes `sal` from the group, and the next token lacks it.
    at.provider().set_groups(&json!({ "sam": ["sales"] })).await;
    access_tokens_expire().await;
    assert!(sal.run(&["toolkit", "list"]).await.succeeded().contains("No toolkit"));
    assert!(sam.run(&["toolkit", "list"]).await.succeeded().contains("1 tool"));

    // The last grant cannot be removed: without any, the toolkit would be shared with everyone.
    let refused = olga.run(&["toolkit", "unshare", "text", "--group", "sales"]).await;
    refused.assert_failed("Share it first with whom it is for");
    assert!(sal.run(&["toolkit", "list"]).await.succeeded().contains("No toolkit"));
    olga.run(&["toolkit", "share", "text", "--everyone"]).await.succeeded();
    let said = olga.run(&["toolkit", "unshare", "text", "--group", "sales"]).await.succeeded();
    assert!(said.contains("everyone") && !said.contains("sales"), "{said}");
    olga.run(&["toolkit", "unshare", "text", "--group", "sales"])
        .await
        .assert_failed("is not shared with group:sales");
    olga.run(&["toolkit", "unshare", "text"]).await.assert_failed("--group, --user or --everyone");
    assert!(sal.run(&["toolkit", "list"]).await.succeeded().contains("text"));
}
