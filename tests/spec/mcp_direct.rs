//! Calls whose message has members that the server does not know: they change nothing.

use http::header::CONTENT_TYPE;
use http::{HeaderName, Method};
use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, guests};

#[tokio::test]
async fn unknown_metadata_of_a_call_changes_neither_its_headers_nor_its_body() {
    let kitbag = Kitbag::start().await;
    for guest in [guests::HOSTILE, guests::NEEDS_SECRET, guests::PROBE] {
        kitbag.deploy(guest).await;
    }

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (tool, arguments) in [
            ("hostile__whoami", json!({})),
            ("hostile__whoami", Value::Null),
            ("hostile__tool_error", json!({})),
            ("hostile__failure", json!({})),
            ("hostile__trap", json!({})),
            ("needy__need", json!({})),
            ("needy__need", json!({ "no such argument": 1 })),
            ("probe__no_such_tool", json!({})),
            ("nobody__nothing", json!({})),
        ] {
            let (headers, plain) =
                ana.message("tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }));
            let mut unusual = plain.clone();
            unusual["params"]["_meta"]["example.test/note"] = "not known here".into();
            let send = async |body: &Value| {
                let answer =
                    kitbag.anonymous().send(Method::POST, "/mcp", headers.clone(), body.to_string()).await;
                let names: Vec<_> =
                    answer.headers.keys().map(HeaderName::as_str).map(str::to_owned).collect();
                (answer.status, names, answer.headers[CONTENT_TYPE].clone(), answer.body)
            };

            assert_eq!(send(&plain).await, send(&unusual).await, "{revision:?} {tool} {arguments}");
        }
    }
}
