//! A capability that is granted and cannot be had yet says so.

use serde_json::json;

use crate::harness::{Kitbag, User, guests};

async fn probe() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
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
