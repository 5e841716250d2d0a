//! Real MCP clients: the SDK's for the current revision, and the one before.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Kitbag, Revision, User, guests, root, run};

impl User {
    /// Lists the tools and calls one, with a client in a process of its own.
    async fn call_with_client(&self, kitbag: &Kitbag, era: &str, tool: &str, arguments: Value) -> Value {
        let clients = root().join("clients");
        assert!(clients.join("node_modules").is_dir(), "run `just install`");
        let token = self.headers()["authorization"].to_str().expect("ASCII").replace("Bearer ", "");
        let mut command = Command::new("node");
        command
            .current_dir(clients)
            .args(["call.mjs", era, kitbag.anonymous().url("/mcp").as_str(), tool, &arguments.to_string()])
            .env("KITBAG_TOKEN", token)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        serde_json::from_str(&run(command).await.succeeded()).expect("the client prints JSON")
    }
}

#[tokio::test]
async fn clients_of_both_revisions_list_and_call() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");

    for (era, revision) in [("current", Revision::Current), ("older", Revision::Older)] {
        let said = ana.call_with_client(&kitbag, era, "text__count", json!({ "text": "one two" })).await;

        assert_eq!(said["protocolVersion"], revision.version(), "{era}");
        assert_eq!(said["tools"][0]["name"], "text__count", "{era}");
        assert_eq!(said["reply"]["structuredContent"]["words"], 2, "{era}: {said}");
    }
}

#[tokio::test]
async fn clients_of_both_revisions_understand_refusals() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");

    for era in ["current", "older"] {
        let unknown = ana.call_with_client(&kitbag, era, "text__absent", json!({})).await;
        let invalid = ana.call_with_client(&kitbag, era, "text__count", json!({ "text": 7 })).await;

        assert_eq!(unknown["error"]["code"], -32602, "{era}: {unknown}");
        assert_eq!(invalid["reply"]["isError"], true, "{era}: {invalid}");
        let envelope = invalid["reply"]["content"][0]["text"].as_str().expect("text");
        assert!(envelope.contains("INVALID_PARAMS"), "{era}: {envelope}");
    }
}
