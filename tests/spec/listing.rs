//! Tool lists: deployed components become tools that clients can list and call.

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::harness::wat::Visibility;
use crate::harness::{Kitbag, Revision, Wat, guests};

#[tokio::test]
async fn a_deployed_toolkit_is_listed_and_called_by_clients_of_both_revisions() {
    let kitbag = Kitbag::start().await;
    let deployed = kitbag.deploy(guests::TEXT).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let names = ana.tool_names().await;
        let counted = ana.call("text__count", json!({ "text": "one two" })).await;

        assert_eq!(json!(names), deployed["tools"], "{revision:?}");
        assert_eq!(counted.structured()["words"], 2, "{revision:?}");
        assert!(counted.text().contains("words: 2"), "{revision:?}: {}", counted.text());
    }
}

#[tokio::test]
async fn a_deploy_answers_with_what_became_live() {
    let kitbag = Kitbag::start().await;

    let deployed = kitbag.deploy(guests::PROBE).await;

    assert_eq!((&deployed["id"], &deployed["version"]), (&json!("probe"), &json!("1.0.0")));
    assert_eq!(deployed["digest"].as_str().map(str::len), Some(64));
    assert_eq!(deployed["tools"][1], "probe__fetch");
    for capability in [
        "egress 169.254.169.254",
        "secret API_KEY",
        "scope svc:search",
        "scope svc:collections",
        "scope svc:ingest",
    ] {
        let listed = deployed["capabilities"].as_array().expect("a list");
        assert!(listed.contains(&json!(capability)), "no {capability} in {listed:?}");
    }
}

#[tokio::test]
async fn a_tool_is_listed_with_all_that_its_author_declared() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;

    let tools = kitbag.as_user("ana").tools().await;

    let count = named(&tools, "text__count");
    assert_eq!(count["title"], "Count words");
    assert!(count["description"].as_str().expect("a description").starts_with("Counts the words"));
    assert_eq!(count["inputSchema"]["type"], "object");
    assert_eq!(count["inputSchema"]["required"], json!(["text"]));
    assert_eq!(count["inputSchema"]["properties"]["text"]["type"], "string");
    assert_eq!(count["outputSchema"]["properties"]["words"]["type"], "integer");
}

#[tokio::test]
async fn alternatives_are_listed_as_one_object_and_checked_as_they_are_declared() {
    const EITHER: &str = r#"{"type":"object","anyOf":[
        {"properties":{"id":{"type":"string"}},"required":["id"]},
        {"properties":{"name":{"type":"string"},"kind":{"type":"string"}},"required":["name","kind"]}]}"#;

    let kitbag = Kitbag::start().await;
    let component = Wat { input: Some(EITHER), ..Wat::default() }.component();
    kitbag.as_operator().deploy(component).await.assert_status(201);
    let ana = kitbag.as_user("ana");

    let current = ana.clone().speaking(Revision::Current).await.tools().await;
    let older = ana.clone().speaking(Revision::Older).await.tools().await;

    assert!(named(&current, "wat__run")["inputSchema"]["anyOf"].is_array(), "{current:?}");
    let listed = &named(&older, "wat__run")["inputSchema"];
    assert_eq!(listed["description"], "Needs id, or name and kind.");
    assert!(listed.get("anyOf").is_none(), "{listed}");
    assert_eq!(listed["properties"].as_object().map(serde_json::Map::len), Some(3), "{listed}");
    for fits in [json!({ "id": "7" }), json!({ "name": "x", "kind": "y" })] {
        assert_eq!(ana.call("wat__run", fits).await.text(), "done");
    }
    for unfit in [json!({}), json!({ "name": "x" })] {
        ana.call("wat__run", unfit).await.assert_invalid_params("");
    }
}

#[tokio::test]
async fn an_output_schema_is_listed_only_where_output_is_declared() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;

    let tools = kitbag.as_user("ana").tools().await;

    assert_eq!(named(&tools, "hostile__wrong_output")["outputSchema"]["required"], json!(["count"]));
    assert_eq!(named(&tools, "hostile__undeclared_output").get("outputSchema"), None);
    assert_eq!(named(&tools, "hostile__undeclared_output").get("title"), None);
}

#[tokio::test]
async fn no_schema_is_listed_that_takes_the_other_tools_away() {
    let kitbag = Kitbag::start().await;
    let input =
        r#"{"type":"object","properties":{"any":true,"none":{"items":false}},"additionalProperties":false}"#;
    let output = r#"{"type":"object","properties":{"list":{"items":true}}}"#;
    let wat = Wat { input: Some(input), output: Some(output), structured: Some("{}"), ..Wat::default() };
    kitbag.as_operator().deploy(wat.component()).await.assert_status(201);

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let tool = ana.tools().await.remove(0);

        let properties = json!({ "any": {}, "none": { "items": { "not": {} } } });
        assert_eq!(tool["inputSchema"]["properties"], properties, "{revision:?}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{revision:?}");
        assert_eq!(tool["outputSchema"]["properties"]["list"], json!({ "items": {} }), "{revision:?}");
        // Arguments are validated against the declared schema.
        assert_eq!(ana.call("wat__run", json!({ "any": [1] })).await.text(), "done");
        ana.call("wat__run", json!({ "none": [1] })).await.assert_invalid_params("/none");
    }
}

#[tokio::test]
async fn a_url_may_choose_toolkits_and_tools() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let at = async |query: &str, method: &str, name: Option<&str>, params: Value| {
            let (headers, body) = ana.message(method, name, params);
            let path = format!("/mcp?{query}");
            kitbag.anonymous().send(Method::POST, &path, headers, body.to_string()).await.json()
        };
        let names = async |query: &str| {
            let list = at(query, "tools/list", None, json!({})).await;
            let tools = list["result"]["tools"].as_array().expect("a list").clone();
            tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };

        assert_eq!(names("tools=text__count,hints__plain").await, ["hints__plain", "text__count"]);
        assert!(names("toolkits=text").await.iter().all(|name| name.starts_with("text__")), "{revision:?}");
        assert!(names("toolkits=nothing").await.is_empty(), "{revision:?}");
        assert!(names("other=1").await.len() > 8, "{revision:?}");

        let call = json!({ "name": "hints__plain", "arguments": {} });
        let called = at("toolkits=hints", "tools/call", Some("hints__plain"), call.clone()).await;
        assert_eq!(called["result"]["content"][0]["text"], "plain", "{called}");
        // A call with a progress token takes the path through the protocol library.
        let mut unusual = call.clone();
        unusual["_meta"] = json!({ "progressToken": 1 });
        for params in [call, unusual] {
            let refused = at("toolkits=text", "tools/call", Some("hints__plain"), params).await;
            assert_eq!(refused["error"]["code"], -32602, "{revision:?}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_deploy_tells_what_some_clients_refuse() {
    let kitbag = Kitbag::start().await;
    let input = r#"{"type":"object","properties":{"a b":{}}}"#;

    let deployed =
        kitbag.as_operator().deploy(Wat { input: Some(input), ..Wat::default() }.component()).await;

    let warning = &deployed.assert_status(201).json()["warnings"][0];
    assert_eq!(warning["path"], "tools[0].input");
    assert!(warning["message"].as_str().is_some_and(|it| it.starts_with("Claude refuses")), "{warning}");
}

#[tokio::test]
async fn a_structured_value_is_surfaced_only_where_output_is_declared() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");

    let declared = ana.call("hostile__remember", json!({})).await;
    let undeclared = ana.call("hostile__undeclared_output", json!({})).await;

    assert_eq!(declared.structured(), &json!({ "calls": 1 }));
    assert_eq!(undeclared.result().get("structuredContent"), None);
    assert_eq!(undeclared.text(), r#"{"count":1}"#);
}

#[tokio::test]
async fn hints_are_derived_unless_the_author_sets_them() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    let tools = kitbag.as_user("ana").tools().await;
    let hints = |name: &str| named(&tools, name)["annotations"].clone();

    let harmless = json!({ "readOnlyHint": true, "destructiveHint": false, "openWorldHint": false });
    let set_by_author = json!({
        "readOnlyHint": true, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
    });
    assert_eq!(hints("hints__plain"), harmless);
    assert_eq!(hints("hints__mutating"), json!({ "readOnlyHint": false }));
    assert_eq!(hints("hints__explicit"), set_by_author);
}

#[tokio::test]
async fn a_toolkit_that_may_ingest_has_no_read_only_tool_by_default() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;

    let tools = kitbag.as_user("ana").tools().await;

    assert!(tools.iter().all(|tool| tool["annotations"] == json!({ "readOnlyHint": false })), "{tools:?}");
}

#[tokio::test]
async fn tools_that_are_always_on_come_first_and_the_others_keep_their_order() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;

    let names = kitbag.as_user("ana").tool_names().await;

    let hints = ["hints__always_on", "hints__plain", "hints__mutating", "hints__explicit"];
    assert_eq!(names[..4], hints, "toolkits by id, and in each the order of its declaration");
    assert_eq!(names[4], "text__count");

    // Always-on tools come first, also those of a toolkit that is earlier in the list.
    kitbag.deploy(guests::CONFORMANCE).await;
    let names = kitbag.as_user("ana").tool_names().await;
    assert_eq!(names[0], "hints__always_on");
    assert!(names[1].starts_with("conformance__"), "{names:?}");
}

#[tokio::test]
async fn every_change_is_in_the_next_list() {
    let kitbag = Kitbag::start_with(|settings| settings.operators = "ana".parse().expect("a list")).await;
    let ana = kitbag.as_user("ana");
    let version = |version, visibility| Wat { version, visibility, ..Wat::default() }.component();
    let lists = async |of_ana: &[&str], of_una: &[&str]| {
        for revision in Revision::BOTH {
            for (name, expected) in [("ana", of_ana), ("una", of_una)] {
                let user = kitbag.as_user(name).speaking(revision).await;
                assert_eq!(user.tool_names().await, expected, "{revision:?} {name}");
            }
        }
    };
    lists(&[], &[]).await;

    ana.deploy(version("1.0.0", Visibility::Shared)).await.assert_status(201);
    lists(&["wat__run"], &["wat__run"]).await;
    ana.deploy(version("2.0.0", Visibility::Private)).await.assert_status(201);
    lists(&["wat__run"], &[]).await;
    let described = Wat { version: "3.0.0", description: "Something else.", ..Wat::default() };
    ana.deploy(described.component()).await.assert_status(201);
    lists(&["wat__run"], &["wat__run"]).await;
    assert_eq!(kitbag.as_user("una").tools().await[0]["description"], "Something else.");
    ana.post("/toolkits/wat/rollback", &json!({ "version": "2.0.0" })).await.assert_status(200);
    lists(&["wat__run"], &[]).await;
    ana.delete("/toolkits/wat").await.assert_status(204);
    lists(&[], &[]).await;
}

#[tokio::test]
async fn a_list_is_the_same_whatever_else_its_request_says() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    // A list makes no progress.
    let unusual = json!({ "_meta": { "progressToken": 1 } });

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let with_token = ana.post_mcp("tools/list", None, unusual.clone()).await.assert_status(200);

        for _ in 0..2 {
            let usual = ana.post_mcp("tools/list", None, json!({})).await.assert_status(200);
            assert_eq!(usual.text(), with_token.text(), "{revision:?}");
            assert_eq!(usual.headers[CONTENT_TYPE], with_token.headers[CONTENT_TYPE], "{revision:?}");
        }
        let wrong = ana.request("tools/list", None, json!({ "cursor": "?" })).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn a_client_of_the_current_revision_learns_what_the_server_can_do() {
    let kitbag = Kitbag::start().await;

    let reply = kitbag.as_user("ana").request("server/discover", None, json!({})).await;

    let discovered = &reply["result"];
    assert!(discovered["capabilities"]["tools"].is_object(), "{reply}");
    let versions = discovered["supportedVersions"].as_array().expect("a list");
    assert!(Revision::BOTH.iter().all(|revision| versions.contains(&json!(revision.version()))), "{reply}");
}

#[tokio::test]
async fn prompts_and_resources_are_empty_lists_and_no_errors() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (method, list) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
            let reply = ana.request(method, None, json!({})).await;
            assert_eq!(reply["result"][list], json!([]), "{revision:?} {method}: {reply}");
        }
    }
}

#[track_caller]
fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name} in {tools:?}"))
}
