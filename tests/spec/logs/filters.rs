//! Log queries: reading backwards, filters, and call counts.

use serde_json::{Value, json};

use super::{assert_without_content, hostile};
use crate::harness::{Kitbag, User, guests};

async fn ids(user: &User, query: &str) -> Vec<i64> {
    let answer = user.get(&format!("/toolkits/hostile/logs{query}")).await.assert_status(200);
    answer.json_lines().iter().map(|record| record["id"].as_i64().expect("an id")).collect()
}

#[tokio::test]
async fn a_reader_goes_back_page_by_page() {
    let (_kitbag, ana) = hostile().await;
    for _ in 0..5 {
        ana.call("hostile__log_ok", json!({})).await.text();
    }
    let all = ids(&ana, "").await;

    assert_eq!(ids(&ana, &format!("?before={}&limit=2", all[4])).await, all[2..4]);
    assert_eq!(ids(&ana, &format!("?before={}&limit=2", all[2])).await, all[..2]);
    assert_eq!(ids(&ana, &format!("?before={}", all[0])).await, [0; 0]);
    assert_eq!(ids(&ana, &format!("?after={}&before={}", all[1], all[4])).await, all[2..4]);
    for query in ["?before=x", "?before=1&follow=true", "?before=99999999999999999999"] {
        ana.get(&format!("/toolkits/hostile/logs{query}")).await.assert_problem(400, "");
    }
}

#[tokio::test]
async fn a_reader_chooses_tool_and_outcome() {
    let (_kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__tool_error", json!({})).await;
    ana.call("hostile__panic", json!({})).await.assert_generic_failure();
    let all = ids(&ana, "").await;

    assert_eq!(ids(&ana, "?tool=log_ok").await, all[..1]);
    assert_eq!(ids(&ana, "?outcome=tool-error").await, all[1..2]);
    assert_eq!(ids(&ana, "?outcome=any-failure").await, all[1..]);
    assert_eq!(ids(&ana, "?outcome=any-failure&limit=1").await, all[2..]);
    assert_eq!(ids(&ana, "?tool=log_ok&outcome=failed").await, [0; 0]);
    let refused = ana.get("/toolkits/hostile/logs?outcome=broken").await;
    refused.assert_problem(400, "outcome must be one of any-failure, succeeded, tool-error");

    let mut stream = ana.follow("/toolkits/hostile/logs?follow=true&outcome=failed").await;
    assert_eq!(stream.next().await.expect("a record")["id"], all[2]);
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__panic", json!({})).await.assert_generic_failure();
    assert_eq!(stream.next().await.expect("a record")["tool"], "panic");
}

#[tokio::test]
async fn a_filter_shows_no_more_of_others_calls() {
    let (kitbag, ana) = hostile().await;
    kitbag.as_user("ben").call("hostile__panic", json!({})).await.assert_generic_failure();
    let operator = kitbag.as_operator();

    for query in ["?tool=panic", "?outcome=failed", "?before=9999", "?tool=panic&outcome=any-failure"] {
        assert_eq!(ids(&ana, query).await, [0; 0], "{query}");
        let records = operator.get(&format!("/toolkits/hostile/logs{query}")).await.json_lines();
        assert_eq!(records.len(), 1, "{query}");
        assert_without_content(&records[0]);
    }
}

async fn usage(user: &User) -> Value {
    user.get("/toolkits/hostile/usage").await.assert_status(200).json()
}

#[tokio::test]
async fn calls_are_counted_for_those_who_see_their_records() {
    let (kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__panic", json!({})).await.assert_generic_failure();
    let ben = kitbag.as_user("ben");
    ben.call("hostile__tool_error", json!({})).await;

    for (user, scope, calls, failures) in
        [(&ana, "own", 2, 1), (&ben, "own", 1, 1), (&kitbag.as_operator(), "all", 3, 2)]
    {
        let usage = usage(user).await;
        let total = (&usage["scope"], &usage["calls"], &usage["failures"]);
        assert_eq!(total, (&json!(scope), &json!(calls), &json!(failures)));
        let hours = usage["hours"].as_array().expect("a list");
        assert_eq!(hours.len(), 24);
        assert_eq!(hours.iter().filter_map(|hour| hour["calls"].as_u64()).sum::<u64>(), calls);
        let from = hours[23]["from"].as_str().expect("a time");
        assert!(from.ends_with(":00:00Z"), "{from}");
    }
}

#[tokio::test]
async fn the_number_of_calls_of_a_toolkit_that_a_user_cannot_see_does_not_exist() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.as_operator().call("greeter__greet", json!({ "name": "Ana" })).await.text();
    let ana = kitbag.as_user("ana");

    let private = ana.get("/toolkits/greeter/usage").await.assert_problem(404, "no toolkit").json();
    let absent = ana.get("/toolkits/absent/usage").await.assert_status(404).json();

    assert_eq!(private.to_string().replace("greeter", "absent"), absent.to_string());
    kitbag.anonymous().get("/toolkits/greeter/usage").await.assert_status(401);
}
