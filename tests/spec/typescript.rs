//! Real TypeScript toolkits, several on one server.

use serde_json::json;

use crate::harness::{Kitbag, guests};

#[tokio::test]
async fn toolkits_in_typescript_are_deployed_and_answer() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();

    kitbag.deploy(guests::CURRENCY).await;
    kitbag.deploy(guests::TRANSLATE).await;

    let arguments = json!({ "amount": 1, "from": "EUR", "to": ["EUR"] });
    let outcome = operator.call("currency__convert", arguments).await;
    outcome.assert_tool_error("The amount is in EUR already.");
    let outcome = operator.call("translate__translate", json!({ "text": "Good day", "to": "DE" })).await;
    outcome.assert_tool_error("DEEPL_API_KEY");
}

#[tokio::test]
async fn toolkits_with_packages_and_several_modules_are_deployed_and_answer() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();

    for toolkit in [guests::FEEDS, guests::GITHUB, guests::PAPERS] {
        kitbag.deploy(toolkit).await;
    }

    let outcome = operator.call("feeds__list_subscriptions", json!({})).await;
    assert_eq!(outcome.text(), "There are no subscriptions.");
    let outcome = operator.call("feeds__preview", json!({ "url": "https://blog.example/feed.xml" })).await;
    outcome.assert_tool_error("does not list the host blog.example");
    for (tool, arguments) in [
        ("github__read_file", json!({ "repository": "octocat/Hello-World", "path": "../.." })),
        ("papers__read_paper", json!({ "id": "no id" })),
    ] {
        assert_eq!(operator.call(tool, arguments).await.envelope()["code"], "INVALID_PARAMS");
    }
}
