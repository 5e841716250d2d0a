//! Real toolkits in TypeScript, side by side on one server.

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
