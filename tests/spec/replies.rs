//! Table of replies that the server and both SDKs must produce byte for byte, checked here for the server.
//! The Rust SDK is checked in `tests/guests/replies`, the TypeScript SDK in `guest-sdk/typescript/test`. The
//! table has no reply that depends on server load (long-running checks).

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::harness::{Kitbag, Revision, guests};

#[derive(Deserialize)]
struct Case<'a> {
    tool: String,
    arguments: Value,
    /// A list to add to the arguments: its name, an item, and the number of copies of the item.
    repeat: Option<(String, Value, usize)>,
    #[serde(default)]
    secrets: Map<String, Value>,
    #[serde(default)]
    config: Map<String, Value>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Case<'_> {
    fn params(&self) -> Value {
        let mut arguments = self.arguments.clone();
        if let Some((name, item, count)) = &self.repeat {
            arguments[name] = vec![item.clone(); *count].into();
        }
        json!({ "name": format!("replies__{}", self.tool), "arguments": arguments })
    }

    fn expected(&self) -> String {
        let (member, value) = match (self.result, self.error) {
            (Some(result), None) => ("result", result),
            (None, Some(error)) => ("error", error),
            _ => panic!("{} has a result or an error", self.tool),
        };
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"{member}\":{}}}", value.get())
    }
}

#[tokio::test]
async fn every_reply_of_the_table_is_the_servers() {
    let cases: Vec<Case<'_>> =
        serde_json::from_str(include_str!("../replies.json")).expect("the table is a list of cases");
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::REPLIES).await;
    let mut differences = Vec::new();

    for (index, case) in cases.iter().enumerate() {
        // A new user for each case, so that secrets and settings do not affect other cases.
        let user = kitbag.as_user(&format!("user-{index}")).speaking(Revision::Older).await;
        for (name, value) in &case.secrets {
            user.set_secret("replies", name, value.as_str().expect("a text")).await;
        }
        if !case.config.is_empty() {
            user.patch("/toolkits/replies/config", &Value::Object(case.config.clone()))
                .await
                .assert_status(200);
        }

        let answer = user.post_mcp("tools/call", None, case.params()).await;
        // Only a server has a page on which a missing credential can be set.
        let page =
            format!("\\\\nOr on this page: {}", kitbag.anonymous().url("/ui/toolkits/replies#secrets"));
        // Only a server has sharing of toolkits.
        let shares = "; the owner of a toolkit, or an operator, shares it (`kitbag toolkit share`)";
        let (found, expected) = (answer.text().replace(&page, "").replace(shares, ""), case.expected());
        if found != expected {
            differences
                .push(format!("{} {}\n  found:  {found}\n  listed: {expected}", case.tool, case.arguments));
        }
    }

    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
