//! Limits of concurrent calls: a call beyond a limit is rejected, never queued.

use serde_json::json;

use crate::harness::{Kitbag, eventually, guests};

#[tokio::test]
async fn one_call_too_many_is_turned_away_and_may_be_tried_again() {
    let kitbag = Kitbag::start_with(|settings| settings.bounds.concurrent_calls_per_user = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let running = ana.occupy("hostile__sleep_poll", json!({}), "hints__plain").await;

    ana.call("hints__plain", json!({})).await.assert_retryable("Too many calls");

    let ben = kitbag.as_user("ben");
    assert_eq!(
        ben.call("hints__plain", json!({})).await.text(),
        "plain",
        "another user has room of their own"
    );
    running.abort();
    eventually("there is room again", async || !ana.call("hints__plain", json!({})).await.is_busy()).await;
}

#[tokio::test]
async fn one_toolkit_cannot_take_the_room_of_the_others() {
    let kitbag = Kitbag::start_with(|settings| settings.bounds.concurrent_calls_per_toolkit = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let running = ana.occupy("hostile__sleep_poll", json!({}), "hostile__remember").await;

    ben.call("hostile__remember", json!({})).await.assert_retryable("Too many calls");

    assert_eq!(ben.call("hints__plain", json!({})).await.text(), "plain");
    running.abort();
}

#[tokio::test]
async fn many_calls_at_once_are_all_served() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;

    let calls: Vec<_> = (0..20)
        .map(|number| (kitbag.as_user(&format!("user-{number}")), format!("user-{number}")))
        .map(|(user, name)| (user.start_call("hostile__whoami", json!({})), name))
        .collect();

    for (call, name) in calls {
        assert_eq!(call.await.expect("no panic").structured()["user"], name.as_str());
    }
}

#[tokio::test]
async fn a_deploy_finds_room_while_calls_take_all_that_they_may() {
    let kitbag = Kitbag::start_with(|settings| settings.concurrent_calls = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let running = ana.occupy("hostile__sleep_poll", json!({}), "hostile__remember").await;

    kitbag.deploy(guests::HINTS).await;

    assert!(ben.call("hints__plain", json!({})).await.is_busy(), "the call that took the room has ended");
    running.abort();
}

#[tokio::test]
async fn calls_one_after_another_find_the_slot_that_the_one_before_is_leaving() {
    let kitbag = Kitbag::start_with(|settings| settings.concurrent_calls = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");

    // An instance is dropped after the reply of its call, and this one has memory to reset, which takes time.
    for _ in 0..50 {
        let found = ana.call("hostile__leave_marks", json!({ "mib": 2 })).await;
        assert!(!found.is_busy() && !found.text().is_empty(), "{found:?}");
    }
}
