//! GraphQL: toolkits, and a user's own secrets and settings for them.

use serde_json::{Value, json};

use crate::harness::{Kitbag, User, Wat, guests, wat::Visibility};

#[tokio::test]
async fn a_secret_goes_in_and_never_comes_out() {
    const VALUE: &str = "correct-horse-battery-staple";

    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let set = "mutation ($value: String!) {
        setSecret(toolkit: \"needy\", name: \"API_KEY\", value: $value) { name redacted }
    }";
    let seen = "{ toolkits { id secrets { name set declared updatedAt } } toolkit(id: \"needy\") { secrets { name set } } }";

    let stored = ana.ask(set, json!({ "value": VALUE })).await;

    assert_eq!(stored, json!({ "setSecret": { "name": "API_KEY", "redacted": true } }));
    let is_set = |seen: &Value| {
        let secrets = seen["toolkit"]["secrets"].as_array().expect("a list").clone();
        secrets.iter().find(|secret| secret["name"] == "API_KEY").expect("it is declared")["set"].clone()
    };
    let (of_ana, of_ben) = (ana.ask(seen, json!({})).await, ben.ask(seen, json!({})).await);
    assert_eq!((is_set(&of_ana), is_set(&of_ben)), (json!(true), json!(false)));
    assert!(!of_ana.to_string().contains(VALUE) && !kitbag.log().text().contains(VALUE));
    assert!(ana.call("needy__need", json!({})).await.text().starts_with("28 bytes"));

    let unset = "mutation { unsetSecret(toolkit: \"needy\", name: \"API_KEY\") }";
    assert_eq!(ana.ask(unset, json!({})).await, json!({ "unsetSecret": "API_KEY" }));
    assert_eq!(is_set(&ana.ask(seen, json!({})).await), json!(false));
    let undeclared = "mutation { setSecret(toolkit: \"needy\", name: \"OTHER\", value: \"v\") { name } }";
    ana.ask_for_error(undeclared, json!({})).await.assert("NOT_FOUND", "it declares API_KEY");
    ana.ask_for_error(set, json!({ "value": "" })).await.assert("INVALID", "the value is empty");
}

#[tokio::test]
async fn settings_are_set_all_or_none_and_are_no_place_for_secrets() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let set = "mutation ($values: JSON!) {
        setConfig(toolkit: \"hostile\", values: $values) { key type value effective missing options }
    }";
    let field = |fields: &Value, key: &str| {
        fields
            .as_array()
            .expect("a list")
            .iter()
            .find(|field| field["key"] == key)
            .expect("it is declared")
            .clone()
    };

    let changed =
        ana.ask(set, json!({ "values": { "language": "de", "limit": 7 } })).await["setConfig"].clone();

    let language = field(&changed, "language");
    assert_eq!((&language["value"], &language["type"]), (&json!("de"), &json!("STRING")));
    assert_eq!(field(&changed, "limit")["effective"], 7);
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let refused = ana
        .ask_for_error(set, json!({ "values": { "language": token, "limit": "many", "tongue": 1 } }))
        .await;
    refused.assert("INVALID", "nothing is changed");
    refused.assert_problem("language", "looks like a secret");
    refused.assert_problem("limit", "");
    refused.assert_problem("tongue", "is not a setting");
    assert!(!refused.answer.to_string().contains(token), "{}", refused.answer);
    let query = "{ toolkit(id: \"hostile\") { config { key value } } }";
    let shown = async |user: &User| user.ask(query, json!({})).await["toolkit"]["config"].clone();
    assert_eq!(field(&shown(&ana).await, "limit")["value"], 7);
    assert_eq!(field(&shown(&ben).await, "limit")["value"], json!(null));
}

#[tokio::test]
async fn a_private_toolkit_of_another_is_not_there() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::HINTS).await;
    let (owner, other) = (kitbag.as_operator(), kitbag.as_user("ana"));
    let query = "{ toolkits { id } toolkit(id: \"greeter\") { name version icon description tools { name } } me { isOperator } }";

    let (seen, hidden) = (owner.ask(query, json!({})).await, other.ask(query, json!({})).await);

    assert_eq!(seen["toolkits"], json!([{ "id": "greeter" }, { "id": "hints" }]));
    assert_eq!(seen["toolkit"]["tools"][0]["name"], "greeter__greet");
    let me = json!({ "isOperator": false });
    assert_eq!(hidden, json!({ "toolkits": [{ "id": "hints" }], "toolkit": null, "me": me }));
    let set = "mutation { setConfig(toolkit: \"greeter\", values: {}) { key } }";
    other.ask_for_error(set, json!({})).await.assert("NOT_FOUND", "there is no toolkit");
}

#[tokio::test]
async fn a_toolkit_shows_whose_it_is_what_it_reaches_and_its_versions() {
    let kitbag = Kitbag::start().await;
    let (owner, ana) = (kitbag.as_operator(), kitbag.as_user("ana"));
    let first = Wat { version: "1.0.0", scopes: &["svc:search"], ..Wat::default() };
    owner.deploy(first.component()).await.assert_status(201);
    let second = Wat { version: "1.1.0", egress: &["a.example"], ..first };
    owner.deploy(second.component()).await.assert_status(201);
    let query = "query ($first: Int) { toolkit(id: \"wat\") {
        owner egress scopes versions(first: $first) { version live deployedBy digest size added removed }
    } }";

    let seen = ana.ask(query, json!({})).await["toolkit"].clone();

    assert_eq!((&seen["owner"], &seen["egress"]), (&json!("local"), &json!(["a.example"])));
    assert_eq!(seen["scopes"], json!(["svc:search"]));
    let record = owner.get("/toolkits/wat").await.json();
    let newest = json!({
        "version": "1.1.0", "live": true, "deployedBy": "local", "digest": record["versions"][0]["digest"],
        "size": record["versions"][0]["size"].as_f64(), "added": ["egress a.example"], "removed": [],
    });
    assert_eq!(seen["versions"][0], newest);
    assert_eq!(seen["versions"][1]["live"], false);
    let one = ana.ask(query, json!({ "first": 1 })).await["toolkit"]["versions"].clone();
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    for wrong in [0, 101] {
        let refused = ana.ask_for_error(query, json!({ "first": wrong })).await;
        refused.assert_problem("first", "between 1 and 100");
    }

    let private = Wat { version: "2.0.0", visibility: Visibility::Private, ..second };
    owner.deploy(private.component()).await.assert_status(201);
    assert_eq!(ana.ask(query, json!({})).await["toolkit"], Value::Null, "whose it is concerns nobody else");
}

#[tokio::test]
async fn a_tool_shows_its_schemas_and_hints() {
    let kitbag = Kitbag::start().await;
    let input = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
    let output = r#"{"type":"object","properties":{"ok":{"type":"boolean"}}}"#;
    let toolkit = Wat { input: Some(input), output: Some(output), ..Wat::default() };
    kitbag.as_operator().deploy(toolkit.component()).await.assert_status(201);
    let query = "{ toolkits { tools {
        name inputSchema outputSchema annotations { readOnlyHint destructiveHint idempotentHint openWorldHint }
    } } }";

    let tool = kitbag.as_user("ana").ask(query, json!({})).await["toolkits"][0]["tools"][0].clone();

    let listed = kitbag.as_user("ana").tools().await;
    assert_eq!((&tool["name"], &tool["inputSchema"]), (&json!("wat__run"), &listed[0]["inputSchema"]));
    assert_eq!(tool["outputSchema"], listed[0]["outputSchema"]);
    assert_eq!(tool["inputSchema"]["properties"]["city"]["type"], "string");
    let hints = json!({
        "readOnlyHint": true, "destructiveHint": false, "idempotentHint": null, "openWorldHint": false,
    });
    assert_eq!(tool["annotations"], hints);
}
