//! States of questions (revision 2026-07-28): for one client or key and one version of the toolkit, and spent once
//! the call has run to its end.

use futures::future::join_all;
use serde_json::{Value, json};

use super::{Next, accept, client, questions, start};
use crate::harness::{Kitbag, Revision, User, guests};

/// Asks `keys`, and returns the state of the first question.
async fn ask(user: &User, keys: &[&str]) -> Value {
    let params = json!({ "name": "probe__ask", "arguments": questions(keys) });
    state_of(user.request("tools/call", Some("probe__ask"), params).await)
}

#[track_caller]
fn state_of(reply: Value) -> Value {
    match super::Conversation::read(reply) {
        Next::Asked(_, _, state) => state,
        Next::Reply(reply) => panic!("nothing was asked: {reply}"),
    }
}

/// Continues the call of [`ask`] with a state and the answer to the question `key`.
async fn answer(user: &User, keys: &[&str], state: &Value, (key, city): (&str, &str)) -> Value {
    let params = json!({
        "name": "probe__ask", "arguments": questions(keys), "requestState": state, "inputResponses": { key: accept(city) },
    });
    user.request("tools/call", Some("probe__ask"), params).await
}

/// Number of runs to the end.
async fn done(user: &User) -> usize {
    user.logs("probe").await.iter().filter(|record| record["outcome"] == "succeeded").count()
}

#[track_caller]
fn assert_refused(reply: &Value, expected: &str) {
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(message.contains(expected) && message.contains("without"), "{message}");
}

#[tokio::test]
async fn a_state_is_for_one_client_or_key_and_one_version() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let able = |user: User| super::able(user, Revision::Current);
    let other = able(kitbag.as_client("ana", "another")).await;
    let mut keys = Vec::new();
    for name in ["one", "two"] {
        let made = ana.post("/keys", &json!({ "name": name })).await.assert_status(201).json();
        keys.push(able(kitbag.with_token(made["key"].as_str().expect("the key"))).await);
    }
    let asked_for = [(&ana, &other), (&ana, &keys[0]), (&keys[0], &keys[1]), (&keys[0], &ana)];

    for (asked, by) in asked_for {
        let state = ask(asked, &["a"]).await;
        assert_refused(&answer(by, &["a"], &state, ("a", "Rome")).await, "this client");
        let own = answer(asked, &["a"], &state, ("a", "Oslo")).await;
        assert!(own.to_string().contains("Oslo"), "{own}");
    }

    let state = ask(&ana, &["a"]).await;
    kitbag.as_operator().delete("/toolkits/probe").await.assert_status(204);
    // Another component: with one more, empty section.
    let changed = [guests::PROBE.bytes(), vec![0, 2, 1, b'x']].concat();
    kitbag.as_operator().deploy(changed).await.assert_status(201);
    assert_refused(&answer(&ana, &["a"], &state, ("a", "Oslo")).await, "this version");
}

#[tokio::test]
async fn what_was_confirmed_once_is_done_once() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let first = ask(&ana, &["a", "b"]).await;
    let second = state_of(answer(&ana, &["a", "b"], &first, ("a", "Oslo")).await);
    // Until the end an answer may be given again: the tool asks the next question again.
    let again = state_of(answer(&ana, &["a", "b"], &first, ("a", "Rome")).await);
    let end = answer(&ana, &["a", "b"], &second, ("b", "Bergen")).await;
    assert!(end.to_string().contains("Oslo") && end.to_string().contains("Bergen"), "{end}");

    // A request whose answer was lost gets it, also after a restart; no other one gets or does anything.
    let kitbag = kitbag.stop().await.start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    for _ in 0..3 {
        assert_eq!(answer(&ana, &["a", "b"], &second, ("b", "Bergen")).await["result"], end["result"]);
    }
    assert_refused(&answer(&ana, &["a", "b"], &second, ("b", "Turku")).await, "done already");
    assert_refused(&answer(&ana, &["a", "b"], &again, ("b", "Bergen")).await, "done already");
    assert_refused(&answer(&ana, &["a", "b"], &first, ("a", "Oslo")).await, "done already");
    assert_eq!(done(&ana).await, 1);

    // Asked again, it is done again.
    let state = ask(&ana, &["a"]).await;
    assert!(answer(&ana, &["a"], &state, ("a", "Oslo")).await.to_string().contains("Oslo"));
    assert_eq!(done(&ana).await, 2);
}

#[tokio::test]
async fn requests_at_the_same_time_run_the_tool_once() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let state = ask(&ana, &["a"]).await;

    let replies = join_all((0..8).map(|_| answer(&ana, &["a"], &state, ("a", "Oslo")))).await;

    let (answered, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply["error"].is_null());
    assert!(
        !answered.is_empty() && answered.iter().all(|it| it["result"] == answered[0]["result"]),
        "{replies:?}"
    );
    for reply in refused {
        assert_refused(reply, "is running");
    }
    assert_eq!(done(&ana).await, 1);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_spends_nothing() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let state = ask(&ana, &["a"]).await;

    let refused = answer(&ana, &["a"], &state, ("a", "Trondheim")).await;
    assert!(refused.to_string().contains("INVALID_PARAMS"), "{refused}");

    let reply = answer(&ana, &["a"], &state, ("a", "Oslo")).await;
    assert!(reply.to_string().contains("Oslo"), "{reply}");
}

#[tokio::test]
async fn a_busy_call_spends_nothing() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.bounds.concurrent_calls_per_user = 1;
    })
    .await;
    kitbag.deploy(guests::PROBE).await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let state = ask(&ana, &["a"]).await;

    let running = ana.occupy("hostile__sleep_poll", json!({}), "probe__nothing").await;
    let refused = answer(&ana, &["a"], &state, ("a", "Oslo")).await;
    running.abort();

    assert!(refused.to_string().contains("retryable\\\":true"), "{refused}");
    crate::harness::eventually("the call runs", async || {
        answer(&ana, &["a"], &state, ("a", "Oslo")).await.to_string().contains("Oslo")
    })
    .await;
}
