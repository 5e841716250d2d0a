//! Tool search instead of tool lists: `/mcp?mode=search`.

mod quality;

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Kitbag, Outcome, Revision, User, Wat, guests};

const SEARCH_MODE: &str = "/mcp?mode=search";

impl User {
    /// Calls `find_tools` and returns the tools found.
    pub(crate) async fn find_tools(&self, arguments: Value) -> Vec<Value> {
        let found: Value =
            serde_json::from_str(self.call("find_tools", arguments).await.text()).expect("it is JSON");
        found["tools"].as_array().expect("a list").clone()
    }

    async fn finds(&self, query: &str) -> Vec<String> {
        let found = self.find_tools(json!({ "query": query, "limit": 20 })).await;
        found.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Calls a tool through `call_tool`.
    async fn call_by_name(&self, tool: &str, arguments: Value) -> Outcome {
        self.call("call_tool", json!({ "name": tool, "arguments": arguments })).await
    }

    async fn all_names(&self) -> Vec<String> {
        let tools = self.all_tools().await;
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// Builds a toolkit from pairs of tool name and description. The first tool is always on.
fn toolkit(id: &str, version: &str, tools: &[(&str, &str)]) -> Vec<u8> {
    let tools: Vec<_> = tools
        .iter()
        .enumerate()
        .map(|(index, (name, description))| {
            json!({
                "name": name, "description": description, "alwaysOn": index == 0,
                "inputSchema": { "type": "object", "properties": { "place": { "type": "string" } } },
            })
        })
        .collect();
    let manifest = json!({
        "id": id, "name": id, "description": "A guest.", "icon": "🧪", "version": version, "tools": tools,
        "visibility": "shared",
    });
    Wat { manifest: &manifest.to_string(), ..Wat::default() }.component()
}

#[tokio::test]
async fn a_listing_has_what_is_always_on_and_two_tools_for_the_rest() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::CROWD).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;

        let names = ana.all_names().await;
        assert_eq!(names, ["find_tools", "call_tool", "hints__always_on", "search", "fetch"], "{revision:?}");
        let find = ana.all_tools().await.remove(0);
        let description = find["description"].as_str().expect("a description");
        assert!(description.ends_with("There are tools of: crowd, hints, text."), "{description}");
        assert_eq!(find["annotations"]["readOnlyHint"], true);
        let bytes = ana.post_mcp("tools/list", None, json!({})).await.body.len();
        assert!(bytes < 6_000, "{revision:?}: {bytes}");

        let chosen = kitbag.as_user("ana").at("/mcp?mode=search&toolkits=text").speaking(revision).await;
        assert_eq!(chosen.all_names().await, ["find_tools", "call_tool"], "{revision:?}");
    }
}

#[tokio::test]
async fn what_is_found_is_called_by_call_tool_or_by_its_own_name() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;

        let found = ana.find_tools(json!({ "query": "how many words does a text have?" })).await;
        let listed = kitbag.as_user("ana").tools().await;
        let listed = listed.iter().find(|tool| tool["name"] == "text__count").expect("it is listed");
        for member in ["name", "title", "description", "inputSchema", "annotations"] {
            assert_eq!(found[0][member], listed[member], "{revision:?}: {member}");
        }
        assert_eq!(found[0].get("outputSchema"), None);
        assert_eq!(ana.find_tools(json!({ "query": "text", "limit": 1 })).await.len(), 1);
        assert_eq!(ana.finds(" text__diff ").await[0], "text__diff", "a name is found by itself");

        let arguments = json!({ "text": "one two" });
        let by_name = ana.call_by_name("text__count", arguments.clone()).await;
        let directly = ana.call("text__count", arguments.clone()).await;
        let without_mode =
            kitbag.as_user("ana").speaking(revision).await.call("text__count", arguments).await;
        assert_eq!(by_name.structured()["words"], 2);
        assert_eq!([by_name.raw(), directly.raw()], [without_mode.raw(), without_mode.raw()], "{revision:?}");
    }
}

#[tokio::test]
async fn finding_shows_and_calls_nothing_that_a_listing_would_not_show() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;
    kitbag.deploy(guests::GREETER_V1).await;
    let hide = async |path: &str| {
        kitbag.as_user("ana").post(path, &json!(null)).await.assert_status(204);
    };
    hide("/toolkits/text/hide?tool=count").await;
    let everything = "count words of a text, greets a person by name, plain mutating explicit";

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;
        let owner = kitbag.as_operator().at(SEARCH_MODE).speaking(revision).await;

        let found = ana.finds(everything).await;
        assert!(found.contains(&"text__diff".to_owned()) && found.contains(&"hints__plain".to_owned()));
        assert!(
            !found.iter().any(|name| name == "text__count" || name.starts_with("greeter__")),
            "{found:?}"
        );
        assert!(!ana.finds("text__count").await.contains(&"text__count".to_owned()));
        let of_owner = owner.finds(everything).await;
        assert!(
            of_owner.contains(&"greeter__greet".to_owned()) && of_owner.contains(&"text__count".to_owned())
        );
        assert!(!ana.all_tools().await[0]["description"].to_string().contains("greeter"));

        // A refusal through `call_tool` is identical to the refusal of a direct call.
        for (tool, arguments) in [
            ("text__count", json!({ "text": "a" })),
            ("greeter__greet", json!({ "name": "Ana" })),
            ("absent__tool", json!({})),
            ("call_tool", json!({ "name": "hints__plain" })),
            ("find_tools", json!({ "query": "text" })),
        ] {
            let refused = ana.call_by_name(tool, arguments.clone()).await.raw();
            assert!(refused.contains("-32602"), "{revision:?}: {tool}: {refused}");
            if tool.contains("__") {
                assert_eq!(refused, ana.call(tool, arguments).await.raw(), "{revision:?}");
            }
        }
        owner.call_by_name("greeter__greet", json!({ "name": "Ana" })).await.text();

        // Tools that the URL does not select are neither found nor callable.
        let chosen = kitbag.as_user("ana").at("/mcp?mode=search&tools=text__diff").speaking(revision).await;
        assert_eq!(chosen.finds(everything).await, ["text__diff"]);
        chosen.call_by_name("hints__plain", json!({})).await.assert_unknown_tool();

        // Without the search mode, `find_tools` and `call_tool` do not exist.
        let plain = kitbag.as_user("ana").speaking(revision).await;
        plain.call_by_name("hints__plain", json!({})).await.assert_unknown_tool();
        plain.call("find_tools", json!({ "query": "text" })).await.assert_unknown_tool();
    }

    hide("/toolkits/hints/hide").await;
    let ana = kitbag.as_user("ana").at(SEARCH_MODE);
    assert!(!ana.finds(everything).await.iter().any(|name| name.starts_with("hints__")));
    assert_eq!(ana.all_names().await, ["find_tools", "call_tool", "search", "fetch"]);
}

#[tokio::test]
async fn a_key_for_some_toolkits_finds_and_calls_their_tools_alone() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;
    let body = json!({ "name": "hints", "toolkits": ["hints"] });
    let made = kitbag.as_user("ana").post("/keys", &body).await.assert_status(201).json();

    let program = kitbag.with_token(made["key"].as_str().expect("the key")).at(SEARCH_MODE);

    assert_eq!(program.all_names().await, ["find_tools", "call_tool", "hints__always_on"]);
    let found = program.finds("count the words of a text, plain, belongs first, search documents").await;
    assert!(!found.is_empty() && found.iter().all(|name| name.starts_with("hints__")), "{found:?}");
    program.call_by_name("text__count", json!({ "text": "a" })).await.assert_unknown_tool();
    program.call_by_name("search", json!({ "query": "a" })).await.assert_unknown_tool();
    assert_eq!(program.call_by_name("hints__plain", json!({})).await.text(), "plain");
}

#[tokio::test]
async fn arguments_are_checked_those_of_the_mode_and_those_of_the_tool() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;

        ana.call_by_name("text__count", json!({ "text": 7 })).await.assert_invalid_params("/text");
        ana.call_by_name("text__count", json!([])).await.assert_invalid_params("/arguments");
        ana.call("call_tool", json!({})).await.assert_invalid_params("name");
        ana.call("find_tools", json!({})).await.assert_invalid_params("query");
        ana.call("find_tools", json!({ "query": "x".repeat(501) })).await.assert_invalid_params("/query");
        ana.call("find_tools", json!({ "query": "x", "limit": 1000 })).await.assert_invalid_params("/limit");
    }
}

#[tokio::test]
async fn a_call_by_call_tool_is_recorded_redacted_and_reported_as_any_other() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    kitbag.deploy(guests::CONFORMANCE).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;
        let records = ana.logs("text").await.len();
        ana.call_by_name("text__count", json!({ "text": "a" })).await.structured();
        let record = ana.logged("text__count").await;
        assert_eq!((&record["tool"], &record["outcome"]), (&json!("count"), &json!("succeeded")), "{record}");
        assert_eq!(ana.logs("text").await.len(), records + 1, "a search has no record");

        ana.put("/toolkits/needy/secrets/API_KEY", "canary-in-the-mode").await.assert_status(200);
        let reply = ana.call_by_name("needy__need", json!({})).await.raw();
        assert!(reply.contains("18 bytes") && !reply.contains("canary-in-the-mode"), "{reply}");

        let params = json!({
            "name": "call_tool", "arguments": { "name": "conformance__test_tool_with_progress" },
            "_meta": { "progressToken": "t-1" },
        });
        let said = ana.stream_mcp("tools/call", Some("call_tool"), params).await.rest().await;
        assert_eq!(said.len(), 4, "{revision:?}: {said:?}");
        assert_eq!(said[1]["params"]["message"], "50 of 100");
        assert_eq!(said[3]["result"]["content"][0]["text"], "done");
    }
}

#[tokio::test]
async fn a_call_by_call_tool_asks_for_a_missing_secret_as_any_other() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").capable_of(json!({ "elicitation": { "url": {} } })).at(SEARCH_MODE);
        let ana = ana.speaking(revision).await;
        let call = |more: Value| {
            let mut params = json!({ "name": "call_tool", "arguments": { "name": "needy__need" } });
            params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            ana.request("tools/call", Some("call_tool"), params)
        };

        let asked = call(json!({})).await;
        let question = match revision {
            Revision::Current => &asked["result"]["inputRequests"]["API_KEY"]["params"],
            Revision::Older => &asked["error"]["data"]["elicitations"][0],
        };
        let link = question["url"].as_str().unwrap_or_else(|| panic!("no link in {asked}"));
        assert!(link.contains("needy") && link.contains("API_KEY"), "{link}");

        if revision == Revision::Current {
            let declined = call(json!({ "inputResponses": { "API_KEY": { "action": "decline" } } })).await;
            let text = declined["result"]["content"][0]["text"].as_str().expect("an envelope");
            assert!(text.contains("kitbag secret set needy API_KEY"), "{text}");
        }
    }
}

#[tokio::test]
async fn an_unknown_mode_is_refused_with_what_there_is() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        for (endpoint, named) in [("/mcp?mode=serach", "serach"), ("/mcp?toolkits=text&mode=", "")] {
            let ana = kitbag.as_user("ana").at(endpoint);
            let refused = ana.post_mcp("tools/list", None, json!({})).await.assert_status(400).json();
            let message = refused["error"]["message"].as_str().expect("a message");
            assert!(message.contains(&format!("{named:?}")) && message.contains("mode=search"), "{message}");
        }
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let (mut headers, _): (HeaderMap, _) = ana.message("tools/list", None, json!({}));
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        let stream = kitbag.anonymous().send(Method::GET, "/mcp?mode=x", headers, "").await;
        assert!(stream.assert_status(400).text().contains("there is no mode"));
    }
}

#[tokio::test]
async fn clients_hear_of_changes_of_what_they_list_and_find_what_is_new_at_once() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    let deploy = async |component: Vec<u8>| operator.deploy(component).await.assert_status(201);

    for (revision, minor) in [(Revision::Current, 0), (Revision::Older, 1)] {
        let tides = |patch: usize, now: &str, other: (&str, &str)| {
            toolkit("tides", &format!("1.{minor}.{patch}"), &[("now", now), other])
        };
        deploy(tides(0, "Now.", ("high", "High water at a coast."))).await;
        let ana = kitbag.as_user("ana").at(SEARCH_MODE).speaking(revision).await;
        let mut events = ana.listen().await;
        if revision == Revision::Current {
            events.next().await.expect("an acknowledgement");
        }

        // A new tool outside the list causes no notification, and is found at once.
        deploy(tides(1, "Now.", ("ebb", "Low water, and the moon."))).await;
        let told = timeout(Duration::from_millis(300), events.message()).await;
        assert!(told.is_err(), "{revision:?}: what is listed is the same");
        assert_eq!(ana.finds("the moon").await[0], "tides__ebb", "{revision:?}");

        // A listed tool changes: the client is notified.
        deploy(tides(2, "As it is now.", ("ebb", "Low water, and the moon."))).await;
        let told = events.next().await.expect("it is open");
        assert_eq!(told["method"], "notifications/tools/list_changed", "{revision:?}");

        // A toolkit is deployed and removed: the client is notified of both, as `find_tools` names the
        // toolkits.
        deploy(toolkit("tables", "1.0.0", &[("first", "One."), ("second", "Two.")])).await;
        assert_eq!(events.next().await.expect("it is open")["method"], "notifications/tools/list_changed");
        assert!(ana.all_tools().await[0]["description"].to_string().contains("tables, tides"));
        operator.delete("/toolkits/tables").await.assert_status(204);
        assert_eq!(events.next().await.expect("it is open")["method"], "notifications/tools/list_changed");
    }
}
