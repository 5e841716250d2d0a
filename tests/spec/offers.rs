//! Prompts, resources and completions of toolkits: same permissions, limits and call records as tools.

use http::Method;
use serde_json::{Value, json};

use crate::consent::with_texts;
use crate::harness::{Events, Kitbag, Revision, User, Visitor, Wat, guests};

const GREET: &str = "offers__greet";

/// Error message for a resource that does not exist or that the user has no access to.
const UNKNOWN: &str = "unknown resource";

impl User {
    async fn prompt(&self, name: &str, arguments: Value) -> Value {
        self.request("prompts/get", Some(name), json!({ "name": name, "arguments": arguments })).await
    }

    async fn resource(&self, uri: &str) -> Value {
        self.request("resources/read", Some(uri), json!({ "uri": uri })).await
    }

    async fn completion(&self, of: Value, argument: &str, value: &str) -> Value {
        let params = json!({ "ref": of, "argument": { "name": argument, "value": value } });
        self.request("completion/complete", None, params).await
    }

    /// Lists prompt names, resource URIs and resource template URIs, in this order.
    async fn offered(&self) -> [Vec<String>; 3] {
        let mut lists = [const { Vec::new() }; 3];
        for (list, (method, field, name)) in lists.iter_mut().zip([
            ("prompts/list", "prompts", "name"),
            ("resources/list", "resources", "uri"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ]) {
            let reply = self.request(method, None, json!({})).await;
            let listed = reply["result"][field].as_array().unwrap_or_else(|| panic!("{reply}"));
            list.extend(listed.iter().map(|it| it[name].as_str().expect("a name").to_owned()));
        }
        lists
    }

    /// Asserts that prompts, resources and completions of the toolkit are as if it were not deployed.
    async fn assert_without_offers(&self) {
        let of_toolkit = |name: &String| name.contains("offers");
        assert!(!self.offered().await.iter().flatten().any(of_toolkit));
        assert_eq!(
            message(&self.prompt(GREET, json!({ "name": "Una" })).await),
            "unknown prompt: offers__greet"
        );
        assert_eq!(message(&self.resource("kitbag://offers/summary").await), UNKNOWN);
        let of = json!({ "type": "ref/prompt", "name": GREET });
        assert_eq!(message(&self.completion(of, "name", "U").await), "unknown prompt: offers__greet");
        let of = json!({ "type": "ref/resource", "uri": "kitbag://offers/notes/{id}" });
        assert_eq!(message(&self.completion(of, "id", "1").await), UNKNOWN);
    }
}

fn message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {reply}"))
}

/// Returns the text of the prompt message at `index`.
fn said(reply: &Value, index: usize) -> &str {
    reply["result"]["messages"][index]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {reply}"))
}

async fn with_offers() -> Kitbag {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::OFFERS).await;
    kitbag
}

#[tokio::test]
async fn clients_of_both_revisions_list_and_get_prompts() {
    let kitbag = with_offers().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let listed = ana.request("prompts/list", None, json!({})).await;
        assert_eq!(
            listed["result"]["prompts"][0],
            json!({
                "name": GREET, "title": "Greet somebody", "description": "Greets a person.",
                "arguments": [
                    { "name": "name", "description": "Whom to greet.", "required": true },
                    { "name": "tone", "required": false },
                ],
            })
        );

        let got = ana.prompt(GREET, json!({ "name": "Una", "tone": "strict" })).await;

        assert_eq!(said(&got, 0), "Hello, Una. I am ana.", "{revision:?}");
        assert_eq!(got["result"]["messages"][0]["role"], "user");
        assert_eq!(
            got["result"]["messages"][1],
            json!({
                "role": "assistant",
                "content": { "type": "resource_link", "uri": "kitbag://offers/notes/7", "name": "note" },
            })
        );
        let wrong = ana.prompt(GREET, json!({ "tone": "kind" })).await;
        assert_eq!(
            (&wrong["error"]["code"], message(&wrong).contains("\"name\" is a required")),
            (&json!(-32602), true)
        );
        let wrong = ana.prompt(GREET, json!({ "name": "a", "other": "b" })).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
        let wrong = ana.prompt(GREET, json!({ "name": 7 })).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn settings_and_records_are_those_of_calls() {
    let kitbag = with_offers().await;
    let ana = kitbag.as_user("ana");
    ana.patch("/toolkits/offers/config", &json!({ "greeting": "Hi" })).await.assert_status(200);

    assert_eq!(said(&ana.prompt(GREET, json!({ "name": "Una" })).await, 0), "Hi, Una! I am ana.");
    ana.resource("kitbag://offers/notes/7").await;
    ana.resource("kitbag://offers/notes/0").await;
    ana.completion(json!({ "type": "ref/prompt", "name": GREET }), "name", "U").await;
    ana.completion(json!({ "type": "ref/prompt", "name": GREET }), "tone", "k").await;

    let records = ana.logs("offers").await;
    let seen: Vec<_> = records
        .iter()
        .map(|it| (it["tool"].as_str().expect("a name"), it["outcome"].as_str().expect("an outcome")))
        .collect();
    assert_eq!(
        seen,
        [
            ("prompt:greet", "succeeded"),
            ("resource:note", "succeeded"),
            ("resource:note", "tool-error"),
            ("completion:greet", "succeeded"),
        ],
        "what the declaration proposes is no call"
    );
    assert_eq!(records[0]["entries"][0]["arguments"], json!(["greeting", "Una"]));
    assert!(records[0]["resultSize"].as_u64().is_some_and(|size| size > 0));
    let filtered = ana.get("/toolkits/offers/logs?tool=resource:note").await.assert_status(200).json_lines();
    assert_eq!(filtered.len(), 2, "{filtered:?}");
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let page = visitor.get("/ui/toolkits/offers/log?tool=prompt:greet").await.assert_status(200);
    page.assert_says("prompt:greet");
    page.assert_says("kitbag toolkit logs offers --tool=prompt:greet");
}

#[tokio::test]
async fn resources_follow_the_users_documents_and_are_read_by_their_uris() {
    let kitbag = with_offers().await;
    let ana = kitbag.as_user("ana");
    let ids = ana.ingest(json!([{ "title": "Diary", "text": "wombat" }])).await;
    ana.settled().await;

    for revision in Revision::BOTH {
        let ana = ana.clone().speaking(revision).await;
        let [_, resources, templates] = ana.offered().await;
        assert_eq!(
            resources,
            [
                format!("kitbag://documents/{}", ids[0]),
                "kitbag://offers/summary".to_owned(),
                "kitbag://offers/picture".to_owned(),
                "kitbag://offers/leak".to_owned(),
                "kitbag://offers/huge".to_owned(),
            ]
        );
        assert_eq!(templates, ["kitbag://documents/{id}{?offset}", "kitbag://offers/notes/{id}"]);

        let summary = ana.resource("kitbag://offers/summary").await;
        assert_eq!(
            summary["result"]["contents"],
            json!([{ "uri": "kitbag://offers/summary", "mimeType": "text/markdown", "text": "# Summary" }])
        );
        let note = ana.resource("kitbag://offers/notes/a%20b").await;
        assert_eq!(note["result"]["contents"][0]["text"], "note \"a b\"");
        let picture = ana.resource("kitbag://offers/picture").await;
        assert_eq!(
            picture["result"]["contents"],
            json!([{ "uri": "kitbag://offers/picture", "mimeType": "image/png", "blob": "AAEC" }])
        );
        let document = ana.resource(&format!("kitbag://documents/{}", ids[0])).await;
        assert_eq!(document["result"]["contents"][0]["text"], "wombat");
        assert_eq!(message(&ana.resource("kitbag://offers/notes/0").await), "There is no note 0.");
    }
}

#[tokio::test]
async fn a_link_in_the_result_of_a_tool_can_be_read_and_confers_nothing() {
    let kitbag = with_offers().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let ana = kitbag.as_user("ana");

    let linked = ana.call("offers__link", json!({})).await;

    let uris: Vec<_> = (1..4).map(|index| linked.result()["content"][index]["uri"].clone()).collect();
    assert_eq!(uris, ["kitbag://offers/notes/7", "kitbag://greeter/notes/7", "notes/../7"]);
    let own = ana.resource("kitbag://offers/notes/7").await;
    assert_eq!(own["result"]["contents"][0]["text"], "note \"7\"");
    for others in &uris[1..] {
        assert_eq!(message(&ana.resource(others.as_str().expect("a URI")).await), UNKNOWN);
    }
}

#[tokio::test]
async fn arguments_and_variables_are_completed_by_a_list_or_by_the_toolkit() {
    let kitbag = with_offers().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let greet = || json!({ "type": "ref/prompt", "name": GREET });
        let note = || json!({ "type": "ref/resource", "uri": "kitbag://offers/notes/{id}" });
        let completed = |reply: Value| reply["result"]["completion"].clone();

        let listed = completed(ana.completion(greet(), "tone", "K").await);
        assert_eq!(listed, json!({ "values": ["kind"], "total": 1, "hasMore": false }));
        let listed = completed(ana.completion(note(), "id", "1").await);
        assert_eq!(listed, json!({ "values": ["10", "11"], "total": 2, "hasMore": false }));
        let made = completed(ana.completion(greet(), "name", "U").await);
        assert_eq!(made["values"].as_array().map(Vec::len), Some(100), "of ten thousand");
        assert_eq!(
            (&made["values"][0], &made["total"], &made["hasMore"]),
            (&json!("U0"), &json!(10_000), &json!(true))
        );
        let nothing = completed(ana.completion(greet(), "none", "U").await);
        assert_eq!(nothing["values"], json!([]));
        let long = ana.completion(greet(), "name", &"x".repeat(20_000)).await;
        assert_eq!(long["error"]["code"], -32602, "{long}");
        let documents = json!({ "type": "ref/resource", "uri": "kitbag://documents/{id}{?offset}" });
        assert_eq!(completed(ana.completion(documents, "id", "").await)["values"], json!([]));
    }
}

#[tokio::test]
async fn no_secret_is_said_and_a_missing_one_leads_to_its_page() {
    let kitbag = with_offers().await;
    let ana = kitbag.as_user("ana");

    for missing in [ana.prompt("offers__reveal", json!({})).await, ana.resource("kitbag://offers/leak").await]
    {
        let message = message(&missing);
        assert!(
            message.contains("API_KEY is not set") && message.contains("/ui/toolkits/offers"),
            "{missing}"
        );
    }
    ana.set_secret("offers", "API_KEY", "canary-of-ana").await;

    assert_eq!(said(&ana.prompt("offers__reveal", json!({})).await, 0), "It is [redacted].");
    let leak = ana.resource("kitbag://offers/leak").await;
    assert_eq!(leak["result"]["contents"][0]["text"], "It is [redacted].");
}

#[tokio::test]
async fn failures_are_told_as_those_of_tools_and_no_detail_leaks() {
    let kitbag = Kitbag::start_with(|settings| settings.call_time = "1s".parse().expect("a time")).await;
    kitbag.deploy(guests::OFFERS).await;
    let ana = kitbag.as_user("ana");
    let failed = async |name: &str| {
        let reply = ana.prompt(name, json!({})).await;
        assert_eq!(reply["error"]["code"], -32603, "{reply}");
        message(&reply).to_owned()
    };

    assert_eq!(failed("offers__fail").await, "There is nobody to greet.");
    assert!(!failed("offers__trap").await.contains("detail"));
    assert!(failed("offers__spin").await.contains("1 s"));
    assert!(failed("offers__huge").await.contains("too large"));
    assert!(failed("offers__odd").await.contains("messages[0].content.annotations.priority"));
    let huge = ana.resource("kitbag://offers/huge").await;
    assert!(message(&huge).contains("too large"), "{huge}");
    let outcomes: Vec<_> = ana.logs("offers").await.iter().map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["tool-error", "failed", "deadline", "limit", "tool-error", "limit"]);
}

#[tokio::test]
async fn no_uri_climbs_out_of_its_toolkit() {
    let kitbag = with_offers().await;
    let long = format!("kitbag://offers/notes/{}", "a".repeat(10_000));

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for uri in [
            "kitbag://offers",
            "kitbag://offers/",
            "kitbag://offers//summary",
            "kitbag://offers/./summary",
            "kitbag://offers/notes/../summary",
            "kitbag://offers/notes/..",
            "kitbag://offers/notes/%2e%2e",
            "kitbag://offers/notes/%2E%2E",
            "kitbag://offers/notes/a%2fb",
            "kitbag://offers/notes/a%5Cb",
            "kitbag://offers/notes/a%00b",
            "kitbag://offers/notes/%1B[31m",
            "kitbag://offers/notes/%ff",
            "kitbag://offers/notes/a/b",
            "kitbag://offers/notes/",
            "kitbag://offers/summary/",
            "kitbag://offers/summary?x=1",
            "kitbag://offers/summary#x",
            "kitbag://offers/Summary",
            "kitbag://OFFERS/summary",
            "KITBAG://offers/summary",
            "kitbag://ana@offers/summary",
            "kitbag://offers:80/summary",
            "kitbag://documents/../offers/summary",
            "kitbag://greeter/../offers/summary",
            "kitbag:///offers/summary",
            "kitbag:offers/summary",
            "offers/summary",
            "https://offers/summary",
            &long,
        ] {
            let (mut headers, body) = ana.message("resources/read", Some(uri), json!({ "uri": uri }));
            // Clients of the older revision send the URI only in the body.
            if revision == Revision::Older {
                headers.remove("mcp-name");
            }
            let reply = kitbag.anonymous().send(Method::POST, "/mcp", headers, body.to_string()).await.json();
            assert_eq!(message(&reply), UNKNOWN, "{uri}");
        }
    }
    let calls = kitbag.as_user("ana").logs("offers").await;
    assert!(calls.is_empty(), "no handler runs: {calls:?}");
}

#[tokio::test]
async fn they_are_for_whoever_may_call_the_whole_toolkit() {
    let kitbag = with_offers().await;
    let operator = kitbag.as_operator();
    let grants = json!({ "grants": [{ "user": "ben" }, { "user": "una", "tool": "link" }] });
    operator.post("/toolkits/offers/audience", &grants).await.assert_status(200);

    for revision in Revision::BOTH {
        let ben = kitbag.as_user("ben").speaking(revision).await;
        assert_eq!(said(&ben.prompt(GREET, json!({ "name": "Una" })).await, 0), "Hello, Una! I am ben.");
        // Una may call one tool of the toolkit, Eve none.
        let una = kitbag.as_user("una").speaking(revision).await;
        una.call("offers__link", json!({})).await.result();
        una.assert_without_offers().await;
        kitbag.as_user("eve").speaking(revision).await.assert_without_offers().await;
    }
    for user in ["una", "eve"] {
        let user = kitbag.as_user(user);
        let shown = user.get("/toolkits/offers").await.text().to_owned();
        assert!(!shown.contains("\"prompts\"") && !shown.contains("\"resources\""), "{shown}");
    }
    let ben = kitbag.as_user("ben");
    let shown = ben.get("/toolkits/offers").await.assert_status(200).json()["manifest"].take();
    let argument = &shown["prompts"][0]["arguments"][0];
    assert_eq!((&argument["name"], &argument["required"]), (&json!("name"), &json!(true)), "{shown}");
    assert_eq!(shown["resources"][1]["uri"], "notes/{id}");
    assert!(ben.offered().await[2].contains(&"kitbag://offers/notes/{id}".to_owned()));
}

#[tokio::test]
async fn a_hidden_toolkit_and_one_that_the_url_leaves_out_offer_nothing() {
    let kitbag = with_offers().await;
    let ana = kitbag.as_user("ana");
    let without = ana.clone().at("/mcp?toolkits=text");
    let of_one_tool = ana.clone().at("/mcp?tools=offers__link");

    without.assert_without_offers().await;
    of_one_tool.assert_without_offers().await;
    for chosen in ["/mcp?toolkits=offers", "/mcp?mode=search", "/mcp?mode=code"] {
        let chosen = ana.clone().at(chosen);
        assert_eq!(chosen.offered().await[0].len(), 7);
        assert_eq!(said(&chosen.prompt(GREET, json!({ "name": "Una" })).await, 0), "Hello, Una! I am ana.");
    }

    ana.post("/toolkits/offers/hide?tool=link", &json!(null)).await.assert_status(204);
    assert_eq!(ana.offered().await[0].len(), 7, "a tool is hidden, and no prompt");
    ana.post("/toolkits/offers/hide", &json!(null)).await.assert_status(204);
    ana.assert_without_offers().await;
    assert_eq!(kitbag.as_user("ben").offered().await[0].len(), 7, "others hide nothing");
}

#[tokio::test]
async fn a_key_for_other_toolkits_gets_none_of_them() {
    let kitbag = with_offers().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");
    let key = async |toolkit: &str| {
        let made = ana
            .post("/keys", &json!({ "name": toolkit, "toolkits": [toolkit] }))
            .await
            .assert_status(201)
            .json();
        kitbag.with_token(made["key"].as_str().expect("the key"))
    };

    key("text").await.assert_without_offers().await;
    let own = key("offers").await;
    assert_eq!(said(&own.prompt(GREET, json!({ "name": "Una" })).await, 0), "Hello, Una! I am ana.");
}

#[tokio::test]
async fn they_count_towards_the_limits_of_calls() {
    let kitbag = with_offers().await;
    let grants = json!({ "grants": [{ "user": "ben", "perDay": 3 }] });
    kitbag.as_operator().post("/toolkits/offers/audience", &grants).await.assert_status(200);
    let ben = kitbag.as_user("ben");

    said(&ben.prompt(GREET, json!({ "name": "Una" })).await, 0);
    ben.resource("kitbag://offers/summary").await["result"].as_object().expect("it is read");
    ben.call("offers__link", json!({})).await.result();

    let over = [
        ben.prompt(GREET, json!({ "name": "Una" })).await,
        ben.resource("kitbag://offers/summary").await,
        ben.completion(json!({ "type": "ref/prompt", "name": GREET }), "name", "U").await,
    ];
    for reply in &over {
        assert!(message(reply).contains("3 calls"), "{reply}");
        assert_eq!(reply["error"]["data"]["retryable"], true);
    }
    ben.call("offers__link", json!({})).await.assert_retryable("3 calls");
}

#[tokio::test]
async fn a_toolkit_that_reaches_further_waits_for_consent() {
    let kitbag = Kitbag::start_with(|settings| settings.consent = "users".parse().expect("a choice")).await;
    let component = guests::OFFERS.bytes();
    let operator = kitbag.as_operator();
    operator.deploy(component.clone()).await.assert_status(201);
    let una = kitbag.as_user("una");
    una.set_secret("offers", "API_KEY", "canary-of-una").await;
    said(&una.prompt("offers__reveal", json!({})).await, 0);

    let further = with_texts(&component, &[("1.0.0", "2.0.0"), ("API_KEY", "API_KEZ")]);
    operator.deploy(further).await.assert_status(201);

    for refused in [
        una.prompt(GREET, json!({ "name": "Una" })).await,
        una.resource("kitbag://offers/summary").await,
        una.completion(json!({ "type": "ref/prompt", "name": GREET }), "name", "U").await,
    ] {
        let message = message(&refused);
        assert!(message.contains("kitbag toolkit agree offers"), "{refused}");
        assert!(message.contains("/ui/toolkits/offers/consent"), "{refused}");
    }
    let last = una.logs("offers").await.pop().expect("a record");
    assert_eq!((&last["tool"], &last["outcome"]), (&json!("completion:greet"), &json!("needs-consent")));
}

#[tokio::test]
async fn clients_hear_of_a_change_of_what_they_see() {
    for revision in Revision::BOTH {
        let kitbag = Kitbag::start().await;
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let mut events = match revision {
            Revision::Older => ana.listen().await,
            Revision::Current => {
                let wanted = json!({
                    "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                });
                let wanted = json!({ "notifications": wanted });
                let mut events = ana.stream_mcp("subscriptions/listen", None, wanted).await;
                events.next().await.expect("an acknowledgement");
                events
            }
        };
        let heard = async |events: &mut Events| {
            let mut methods = Vec::new();
            for _ in 0..3 {
                let message = events.next().await.expect("the stream is open");
                methods.push(message["method"].as_str().expect("a method").to_owned());
            }
            methods
        };
        let all = ["tools", "prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));

        kitbag.deploy(guests::OFFERS).await;
        assert_eq!(heard(&mut events).await, all, "{revision:?}");
        assert_eq!(ana.offered().await[0].len(), 7);

        kitbag.as_operator().delete("/toolkits/offers").await.assert_status(204);
        assert_eq!(heard(&mut events).await, all, "{revision:?}");
        ana.assert_without_offers().await;
    }
}

#[tokio::test]
async fn a_component_without_the_exports_that_its_declaration_needs_is_refused() {
    let kitbag = Kitbag::start().await;
    let further = json!({
        "prompts": [{ "name": "p", "description": "d", "arguments": [{ "name": "a", "completes": true }] }],
        "resources": [{ "name": "r", "description": "d", "uri": "r" }],
    });
    let component = Wat { further: &further.to_string(), ..Wat::default() }.component();

    let problems = kitbag.as_operator().deploy(component).await.assert_status(422).problems();

    let paths: Vec<_> = problems.iter().map(|(path, _)| path.as_str()).collect();
    let interfaces = ["prompts", "resources", "completion"];
    assert_eq!(paths, interfaces.map(|name| format!("exports.kitbag:toolkit/{name}")));
    assert_eq!(problems[0].1, "prompts are declared, and the component does not export this interface");
}

#[tokio::test]
async fn ten_thousand_prompts_and_names_that_are_there_twice_are_refused() {
    let kitbag = Kitbag::start().await;
    let prompt = |name: String| json!({ "name": name, "description": "d" });
    let many: Vec<_> = (0..10_000).map(|index| prompt(format!("p{index}"))).collect();
    let refused = async |further: Value| {
        let component = Wat { further: &further.to_string(), ..Wat::default() }.component();
        kitbag.as_operator().deploy(component).await.assert_status(422).problems()
    };

    let problems = refused(json!({ "prompts": many })).await;
    assert!(
        problems.contains(&("prompts".to_owned(), "has 10000, and 100 are allowed".to_owned())),
        "{problems:?}"
    );
    let twice = json!({ "prompts": [prompt("a".to_owned()), prompt("a".to_owned())] });
    let problems = refused(twice).await;
    assert!(problems.iter().any(|(path, _)| path == "prompts[1].name"), "{problems:?}");
    let reserved = Wat { manifest: &manifest_of("documents"), ..Wat::default() }.component();
    let problems = kitbag.as_operator().deploy(reserved).await.assert_status(422).problems();
    assert_eq!(problems[0].0, "id", "{problems:?}");
}

fn manifest_of(id: &str) -> String {
    json!({
        "id": id, "name": "n", "description": "d", "icon": "📚", "version": "1.0.0",
        "tools": [{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }],
    })
    .to_string()
}

#[tokio::test]
async fn the_page_of_the_toolkit_lists_them_in_words() {
    let kitbag = with_offers().await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;

    let page = visitor.get("/ui/toolkits/offers").await.assert_status(200);

    page.assert_says("<code>offers__greet</code>");
    page.assert_says("Asks for <code>name</code>, <code>tone</code> (if you like)");
    page.assert_says("<code>kitbag://offers/notes/{id}</code>");
}
