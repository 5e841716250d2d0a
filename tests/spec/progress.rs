//! Progress notifications of long calls, for requests with a progress token.

use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, User, eventually, guests};

impl User {
    /// Calls a tool with a progress token, and returns all messages; the last one is the reply.
    async fn watch(&self, tool: &str, arguments: Value) -> Vec<Value> {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "t-1" } });
        self.stream_mcp("tools/call", Some(tool), params).await.rest().await
    }
}

#[tokio::test]
async fn a_client_that_asks_hears_how_far_a_call_has_come() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;

        let said = ana.watch("conformance__test_tool_with_progress", json!({})).await;

        let reports: Vec<_> = said[..3].iter().map(|message| &message["params"]).collect();
        for (report, done) in reports.iter().zip([0, 50, 100]) {
            assert_eq!(report["progressToken"], "t-1", "{revision:?}");
            assert_eq!(report["progress"].as_f64(), Some(f64::from(done)), "{revision:?}");
            assert_eq!(report["total"].as_f64(), Some(100.0), "{revision:?}");
            assert_eq!(report["message"], format!("{done} of 100"), "{revision:?}");
        }
        assert_eq!(said.len(), 4, "{said:?}");
        assert_eq!(said[3]["result"]["content"][0]["text"], "done", "{said:?}");
    }
}

#[tokio::test]
async fn without_a_token_or_without_a_stream_the_answer_is_one_piece_of_json() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let tool = "conformance__test_tool_with_progress";
    let params = json!({ "name": tool, "_meta": { "progressToken": 7 } });

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let (mut headers, body) = ana.message("tools/call", Some(tool), params.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));

        let without_token = ana.post_mcp("tools/call", Some(tool), json!({ "name": tool })).await;
        let without_stream = kitbag.anonymous().send(Method::POST, "/mcp", headers, body.to_string()).await;

        for answer in [without_token, without_stream] {
            assert_eq!(answer.headers[CONTENT_TYPE], "application/json", "{revision:?}");
            assert_eq!(answer.json()["result"]["content"][0]["text"], "done", "{revision:?}");
        }
    }
}

#[tokio::test]
async fn a_secret_does_not_leave_by_way_of_a_report() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    ana.set_secret("probe", "API_KEY", "canary-a1b2c3").await;

    let said = ana.watch("probe__leak", json!({ "name": "API_KEY", "into": "progress" })).await;

    assert_eq!(said[0]["params"]["message"], "the key is [redacted], keep it", "{said:?}");
    assert!(!json!(said).to_string().contains("canary"), "{said:?}");
}

#[tokio::test]
async fn a_client_that_leaves_the_stream_takes_its_call_with_it() {
    let kitbag = Kitbag::start_with(|settings| settings.bounds.concurrent_calls_per_user = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let tool = "hostile__report_for_ever";
        let params = json!({ "name": tool, "_meta": { "progressToken": 1 } });
        let mut events = ana.stream_mcp("tools/call", Some(tool), params).await;
        events.next().await.expect("a report");
        ana.call("hints__plain", json!({})).await.assert_retryable("Too many calls");
        let began = Instant::now();

        drop(events);

        eventually("the guest has stopped", async || !ana.call("hints__plain", json!({})).await.is_busy())
            .await;
        assert!(began.elapsed() < Duration::from_secs(10), "it was not the deadline: {revision:?}");
    }
}

#[tokio::test]
async fn a_guest_that_reports_without_end_is_stopped_and_tells_little() {
    let kitbag = Kitbag::start_with(|settings| settings.call_time = "1s".parse().expect("a span")).await;
    kitbag.deploy(guests::HOSTILE).await;

    let said = kitbag.as_user("ana").watch("hostile__report_for_ever", json!({})).await;

    let (reply, reports) = said.split_last().expect("a reply");
    assert!(reply["result"]["content"][0]["text"].as_str().expect("text").contains("longer than 1 s"));
    assert!(!reports.is_empty() && reports.len() <= 41, "{} reports in a second", reports.len());
    assert!(reports.iter().all(|it| it["params"]["message"].as_str().expect("text").len() == 1024));
}
