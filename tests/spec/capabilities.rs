//! Capabilities that are granted and cannot be had yet say so; what was not granted is refused
//! whether it can be had or not.

use serde_json::json;

use crate::harness::{Kitbag, User, guests};

async fn probe() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

#[tokio::test]
async fn a_secret_that_was_not_declared_is_refused_and_a_declared_one_has_no_vault_yet() {
    let (_kitbag, ana) = probe().await;

    let undeclared = ana.call("probe__secret", json!({ "name": "ELSEWHERE_KEY" })).await;
    let declared = ana.call("probe__secret", json!({ "name": "API_KEY" })).await;

    undeclared.assert_tool_error("Undeclared");
    declared.assert_tool_error("no vault for secrets yet");
}

#[tokio::test]
async fn the_knowledge_base_says_that_it_is_not_there_yet() {
    let (_kitbag, ana) = probe().await;

    for (tool, arguments) in [
        ("probe__search", json!({ "query": "anything" })),
        ("probe__get_document", json!({ "id": "1" })),
        ("probe__ingest", json!({ "documents": [{ "title": "A title", "text": "A text." }] })),
    ] {
        ana.call(tool, arguments).await.assert_tool_error("no knowledge base yet");
    }
}
