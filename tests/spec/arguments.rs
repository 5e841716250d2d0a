//! Arguments are checked against `input` before the handler runs.

use serde_json::json;

use crate::harness::{Kitbag, Revision, guests};

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_handler() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let owner = kitbag.as_operator();

    for (arguments, words) in [
        (json!({ "name": 7 }), "/name"),
        (json!({ "name": "Ana", "wait_ms": -1 }), "/wait_ms"),
        (json!({ "name": "Ana", "wait_ms": "long" }), "/wait_ms"),
        (json!({}), "name"),
    ] {
        let outcome = owner.call("greeter__greet", arguments).await;
        outcome.assert_invalid_params(words);
    }

    let outcomes: Vec<_> =
        owner.logs("greeter").await.iter().map(|record| record["outcome"].clone()).collect();
    assert_eq!(outcomes, ["invalid-params"; 4], "a handler ran");
    assert_eq!(owner.call("greeter__greet", json!({ "name": "Ana" })).await.text(), "Hello, Ana!");
}

#[tokio::test]
async fn all_that_is_wrong_with_arguments_is_said_at_once() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;

    let outcome = kitbag.as_operator().call("greeter__greet", json!({ "name": 7, "wait_ms": -1 })).await;

    outcome.assert_invalid_params("/name");
    outcome.assert_invalid_params("/wait_ms");
}

#[tokio::test]
async fn an_argument_that_the_schema_forbids_is_refused_by_name() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");

    ana.call("hints__plain", json!({ "surplus": true })).await.assert_invalid_params("surplus");
    assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    assert_eq!(ana.call("hints__mutating", json!({ "surplus": true })).await.text(), "mutating");
}

#[tokio::test]
async fn more_values_than_are_checked_are_refused_before_they_are_built() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let call = async |zeros: usize| {
        let params = json!({ "name": "hints__mutating", "arguments": { "list": vec![0; zeros] } });
        ana.post_mcp("tools/call", Some("hints__mutating"), params).await
    };

    let refused = call(3_000_000).await;
    assert_eq!(refused.status, 413);
    assert!(refused.json()["error"]["message"].as_str().expect("text").contains("51000 values"));
    assert!(call(50_500).await.json()["result"].to_string().contains("50000 values"));
    assert!(call(40_000).await.json()["result"].to_string().contains("mutating"));
}

#[tokio::test]
async fn arguments_may_be_left_out() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    let reply = kitbag
        .as_user("ana")
        .request("tools/call", Some("hints__plain"), json!({ "name": "hints__plain" }))
        .await;

    assert_eq!(reply["result"]["content"][0]["text"], "plain", "{reply}");
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_invalid_parameter_of_the_protocol() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for name in ["hints__absent", "absent__plain", "hints", "plain", "hints__", "__plain", "hints_plain"]
        {
            ana.call(name, json!({})).await.assert_unknown_tool();
        }
        assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    }
}
