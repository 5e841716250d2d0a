//! Private toolkits: only the owner can see and call them.

use serde_json::json;

use crate::harness::{Kitbag, Revision, guests};

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
