//! Who sees a toolkit, and what they see of it: only the owner sees and calls a private one.

use serde_json::json;

use crate::harness::{Kitbag, Revision, Wat, guests, wat::Visibility};

#[tokio::test]
async fn a_private_toolkit_does_not_exist_for_anybody_but_its_owner() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let owner = kitbag.as_operator().speaking(revision).await;
        let other = kitbag.as_user("ana").speaking(revision).await;
        let name = "greeter__greet".to_owned();

        assert!(owner.tool_names().await.contains(&name));
        assert_eq!(owner.call(&name, json!({ "name": "Ana" })).await.text(), "Hello, Ana!");

        assert!(!other.tool_names().await.contains(&name));
        other.call(&name, json!({ "name": "Ana" })).await.assert_unknown_tool();
        // The error is identical to the error for a toolkit that does not exist.
        let (private, absent) =
            (other.call(&name, json!({})).await, other.call("absent__greet", json!({})).await);
        assert_eq!(private.raw().replace("greeter", "absent"), absent.raw());
    }
}

#[tokio::test]
async fn a_private_toolkit_is_not_listed_or_shown_to_others() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::HINTS).await;
    let (owner, other) = (kitbag.as_operator(), kitbag.as_user("ana"));

    let ids = |answer: crate::harness::Answer| -> Vec<String> {
        let listed = answer.assert_status(200).json();
        listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(owner.get("/toolkits").await), ["greeter", "hints"]);
    assert_eq!(ids(other.get("/toolkits").await), ["hints"]);

    owner.get("/toolkits/greeter").await.assert_status(200);
    other.get("/toolkits/greeter").await.assert_problem(404, "no toolkit");
    other.get("/toolkits/hints").await.assert_status(200);
}

#[tokio::test]
async fn a_shared_toolkit_is_for_everybody() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    for name in ["local", "ana", "ben"] {
        assert_eq!(kitbag.as_user(name).call("hints__plain", json!({})).await.text(), "plain");
    }
}

#[tokio::test]
async fn a_toolkit_shows_whose_it_is_what_it_reaches_its_versions_and_its_tools() {
    let kitbag = Kitbag::start().await;
    let (owner, ana) = (kitbag.as_operator(), kitbag.as_user("ana"));
    let input = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
    let output = r#"{"type":"object","properties":{"ok":{"type":"boolean"}}}"#;
    let first = Wat {
        version: "1.0.0",
        scopes: &["svc:search"],
        input: Some(input),
        output: Some(output),
        ..Wat::default()
    };
    owner.deploy(first.component()).await.assert_status(201);
    let second = Wat { version: "1.1.0", egress: &["a.example"], ..first };
    let component = second.component();
    let deployed = owner.deploy(component.clone()).await.assert_status(201).json();

    let shown = ana.get("/toolkits/wat").await.assert_status(200).json();

    assert_eq!((&shown["owner"], &shown["liveVersion"]), (&json!("local"), &json!("1.1.0")));
    let manifest = &shown["manifest"];
    assert_eq!((&manifest["egress"], &manifest["scopes"]), (&json!(["a.example"]), &json!(["svc:search"])));
    let versions = shown["versions"].as_array().expect("a list");
    let numbers: Vec<_> = versions.iter().map(|version| version["version"].as_str()).collect();
    assert_eq!(numbers, [Some("1.1.0"), Some("1.0.0")]);
    for (field, value) in [
        ("deployedBy", json!("local")),
        ("digest", deployed["digest"].clone()),
        ("size", json!(component.len())),
        ("changes", json!({ "added": ["egress a.example"], "removed": [] })),
    ] {
        assert_eq!(versions[0][field], value, "{field}");
    }
    let (tool, listed) = (&manifest["tools"][0], &ana.tools().await[0]);
    assert_eq!(tool["inputSchema"]["properties"]["city"]["type"], "string");
    assert_eq!(tool["outputSchema"]["properties"]["ok"]["type"], "boolean");
    for member in ["inputSchema", "outputSchema", "annotations"] {
        assert_eq!(tool[member], listed[member], "{member}");
    }
    assert_eq!(
        tool["annotations"],
        json!({ "readOnlyHint": true, "destructiveHint": false, "openWorldHint": false })
    );

    let private = Wat { version: "2.0.0", visibility: Visibility::Private, ..second };
    owner.deploy(private.component()).await.assert_status(201);
    ana.get("/toolkits/wat").await.assert_problem(404, "no toolkit");
}
