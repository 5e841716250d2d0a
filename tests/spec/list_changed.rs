//! `list_changed` notifications: subscribed clients get one only when their list of tools changes.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::harness::{Events, Kitbag, Revision, TalkingClient, User, eventually, guests};

/// Time without a notification that proves that none is sent.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(300);

const CHANGED: &str = "notifications/tools/list_changed";

impl Events {
    async fn expect_change(&mut self) {
        let message = self.next().await.expect("the stream is open");
        assert_eq!(message["method"], CHANGED, "{message}");
    }

    async fn expect_silence(&mut self) {
        if let Ok(message) = timeout(SILENCE_TIMEOUT, self.message()).await {
            panic!("there should be nothing to say: {message:?}");
        }
    }
}

impl User {
    /// Opens a notification stream, and reads the acknowledgement that clients of the current revision get
    /// first.
    async fn listen_acknowledged(&self, revision: Revision) -> Events {
        let mut events = self.listen().await;
        if revision == Revision::Current {
            let first = events.next().await.expect("an acknowledgement");
            assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        }
        events
    }
}

#[tokio::test]
async fn clients_of_both_revisions_hear_of_a_deploy_a_new_version_and_a_removal() {
    for revision in Revision::BOTH {
        let kitbag = Kitbag::start().await;
        let operator = kitbag.as_operator();
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let mut events = ana.listen_acknowledged(revision).await;

        kitbag.deploy(guests::HINTS).await;
        events.expect_change().await;
        assert!(ana.tool_names().await.contains(&"hints__plain".to_owned()), "told after it is true");

        operator.delete("/toolkits/hints").await.assert_status(204);
        events.expect_change().await;
        assert!(ana.tool_names().await.is_empty());
        events.expect_silence().await;
    }
}

#[tokio::test]
async fn what_others_have_for_themselves_is_not_told() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let owner = kitbag.as_operator().speaking(revision).await;
        let mut of_owner = owner.listen_acknowledged(revision).await;
        let other = kitbag.as_user("ana").speaking(revision).await;
        let mut of_other = other.listen_acknowledged(revision).await;

        kitbag.deploy(guests::GREETER_V1).await;
        of_owner.expect_change().await;
        of_other.expect_silence().await;

        kitbag.as_operator().delete("/toolkits/greeter").await.assert_status(204);
        of_owner.expect_change().await;
        of_other.expect_silence().await;
    }
}

#[tokio::test]
async fn a_new_version_that_lists_the_same_is_no_change() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let mut events = kitbag.as_operator().listen_acknowledged(Revision::Current).await;

    kitbag.deploy(guests::GREETER_V2).await;

    events.expect_silence().await;
}

#[tokio::test]
async fn nothing_is_told_to_a_client_that_did_not_ask_for_it() {
    let kitbag = Kitbag::start().await;
    let wanted = json!({ "notifications": { "promptsListChanged": true } });
    let mut events = kitbag.as_user("ana").stream_mcp("subscriptions/listen", None, wanted).await;
    events.next().await.expect("an acknowledgement");

    kitbag.deploy(guests::HINTS).await;

    events.expect_silence().await;
}

#[tokio::test]
async fn real_clients_of_both_revisions_hear_of_progress_and_changes() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;

    for (era, guest) in [("current", guests::HINTS), ("older", guests::TEXT)] {
        let tool = "conformance__test_tool_with_progress";
        let mut client = TalkingClient::start(&kitbag, "ana", "watch.mjs", era, tool);

        assert_eq!(client.said().await, json!({ "progress": [0, 50, 100], "text": "done" }), "{era}");
        kitbag.deploy(guest).await;
        let tools = client.said().await["tools"].take();

        let listed: Vec<_> =
            kitbag.as_user("ana").all_tools().await.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(tools, json!(listed), "{era}");
    }
}

#[tokio::test]
async fn every_notification_names_the_subscription() {
    let kitbag = Kitbag::start().await;
    let mut events = kitbag.as_user("ana").listen_acknowledged(Revision::Current).await;

    kitbag.deploy(guests::HINTS).await;

    let told = events.next().await.expect("a notification");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{told}");
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_those_who_listen() {
    let kitbag = Kitbag::start().await;
    let current = kitbag.as_user("ana").listen_acknowledged(Revision::Current).await;
    let older = kitbag.as_user("ana").speaking(Revision::Older).await.listen().await;
    let began = Instant::now();

    kitbag.stop().await;

    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let last = current.rest().await;
    assert!(last.last().is_some_and(|message| message["result"].is_object()), "an orderly end: {last:?}");
    assert!(older.rest().await.is_empty());
}

#[tokio::test]
async fn one_user_cannot_hold_all_streams_and_closing_one_makes_room() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let mut open = Vec::new();
        for _ in 0..16 {
            open.push(ana.listen().await);
        }

        let refused = ana.try_to_listen().await;
        assert_eq!(refused.head.status, 429, "{revision:?}");
        let ben = kitbag.as_user("ben").speaking(revision).await;
        drop(ben.listen().await);

        open.pop();
        eventually("there is room again", async || ana.try_to_listen().await.head.status == 200).await;
        drop(open);
        eventually("the streams are gone", async || {
            let mut open = Vec::new();
            while open.len() < 16 {
                let events = ana.try_to_listen().await;
                if events.head.status != 200 {
                    return false;
                }
                open.push(events);
            }
            true
        })
        .await;
    }
}
