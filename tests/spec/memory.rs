//! Memory budget of all calls: one user's calls leave memory for others, and a call that fails for lack of
//! memory is retryable.

use kitbag::settings::Settings;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::fetch::loopback_allowed;
use crate::harness::{Kitbag, Outcome, Upstream, User, eventually, guests};

const OF_THE_USER: &str = "Your calls under way take all the memory";

/// Limits a call to 8 MiB, and the calls of one user to 9 MiB.
fn little_memory(settings: &mut Settings) {
    loopback_allowed(settings);
    settings.call_memory = "8MiB".parse().expect("a size");
    settings.memory_for_calls = "36MiB".parse().expect("a size");
}

async fn kitbag() -> Kitbag {
    let kitbag = Kitbag::start_with(little_memory).await;
    kitbag.deploy(guests::PROBE).await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag
}

impl User {
    /// Starts `count` calls that occupy their initial memory and wait for a response that never arrives.
    /// Returns once all of them wait.
    async fn start_waiting(&self, upstream: &Upstream, count: usize) -> Vec<JoinHandle<Outcome>> {
        let before = upstream.requests().len();
        let url = upstream.url("/silent");
        let calls = (0..count).map(|_| self.start_call("probe__fetch", json!({ "url": url }))).collect();
        eventually("the calls wait", async || upstream.requests().len() >= before + count).await;
        calls
    }
}

#[tokio::test]
async fn greedy_calls_of_one_user_leave_room_for_a_call_of_another() {
    let upstream = Upstream::start().await;
    let kitbag = kitbag().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let url = upstream.url("/silent");

    let greedy: Vec<_> = (0..20).map(|_| ana.start_call("probe__fetch", json!({ "url": url }))).collect();
    eventually("two of them wait", async || upstream.requests().len() >= 2).await;

    ana.call("hostile__hoard", json!({ "mib": 6 })).await.assert_retryable(OF_THE_USER);
    assert_eq!(ben.call("hostile__hoard", json!({ "mib": 4 })).await.text(), "4");
    assert!(upstream.requests().len() < greedy.len(), "not all of them fit");
    greedy.iter().for_each(JoinHandle::abort);
    eventually("what was held is free again", async || {
        !ana.call("hostile__hoard", json!({ "mib": 4 })).await.is_busy()
    })
    .await;
}

#[tokio::test]
async fn a_call_that_grows_beyond_what_is_left_may_be_tried_again() {
    let upstream = Upstream::start().await;
    let kitbag = kitbag().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let waiting = ana.start_waiting(&upstream, 2).await;

    // 7 MiB is within the limit of one call.
    let grows = ana.call("hostile__hoard", json!({ "mib": 7 })).await;

    grows.assert_retryable(OF_THE_USER);
    let record = ana.logged("hostile__hoard").await;
    assert_eq!(
        (&record["outcome"], &record["limit"]),
        (&json!("limit"), &json!("memory for calls")),
        "{record}"
    );
    assert_eq!(ben.call("hostile__hoard", json!({ "mib": 7 })).await.text(), "7");
    waiting.iter().for_each(JoinHandle::abort);
    eventually("what was held is free again", async || {
        !ana.call("hostile__hoard", json!({ "mib": 7 })).await.is_busy()
    })
    .await;
}

#[tokio::test]
async fn nothing_is_held_for_calls_that_have_ended_however_they_did() {
    let kitbag = kitbag().await;
    let ana = kitbag.as_user("ana");

    for _ in 0..3 {
        for tool in ["trap", "panic", "eat_memory", "recurse", "big_result", "failure"] {
            drop(ana.call(&format!("hostile__{tool}"), json!({})).await);
        }
        let cancelled = ana.start_call("hostile__sleep_poll", json!({}));
        tokio::task::yield_now().await;
        cancelled.abort();
    }

    // If an ended call still occupied memory, the user's share would not suffice.
    eventually("all is free", async || !ana.call("hostile__hoard", json!({ "mib": 5 })).await.is_busy())
        .await;
    // The limit of one call is not retryable.
    ana.call("hostile__eat_memory", json!({})).await.assert_tool_error("memory limit");
}

#[tokio::test]
async fn the_server_says_at_its_start_what_it_may_take() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.extraction_memory = "1TiB".parse().expect("a size");
    })
    .await;

    let log = kitbag.log().text();

    assert!(log.contains("memory, at most"), "{log}");
    assert!(log.contains("the settings allow more memory than there is"), "{log}");
}
