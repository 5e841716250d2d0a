//! Live log streams (`follow=true`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{assert_without_content, hostile};
use crate::harness::{Stream, eventually, within};

const FOLLOW: &str = "/toolkits/hostile/logs?follow=true";

/// Reads the next `count` records and returns their ids.
async fn ids(stream: &mut Stream, count: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    while ids.len() < count {
        let record = stream.next().await.expect("there is more to come");
        ids.push(record["id"].as_i64().expect("an id"));
    }
    ids
}

#[tokio::test]
async fn who_follows_gets_what_was_and_what_comes_and_nothing_twice() {
    const BEFORE: usize = 40;
    const DURING: usize = 120;
    let (_kitbag, ana) = hostile().await;
    for _ in 0..BEFORE {
        ana.call("hostile__remember", json!({})).await.structured();
    }

    let calling: Vec<_> = (0..4)
        .map(|_| {
            let ana = ana.clone();
            tokio::spawn(async move {
                for _ in 0..DURING / 4 {
                    ana.call("hostile__remember", json!({})).await.structured();
                }
            })
        })
        .collect();
    let mut stream = ana.follow(&format!("{FOLLOW}&since=1h")).await;
    let followed = ids(&mut stream, BEFORE + DURING).await;

    for calls in calling {
        within("the calls", calls).await.expect("they succeed");
    }
    let records = ana.logs("hostile").await;
    let stored: Vec<_> = records.iter().map(|record| record["id"].as_i64().expect("an id")).collect();
    assert_eq!(followed, stored);
    assert_eq!(followed.iter().collect::<BTreeSet<_>>().len(), BEFORE + DURING);
}

#[tokio::test]
async fn who_follows_sees_only_what_they_may_see() {
    let (kitbag, ana) = hostile().await;
    let (ben, operator) = (kitbag.as_user("ben"), kitbag.as_operator());
    let mut of_ana = ana.follow(FOLLOW).await;
    let mut of_operator = operator.follow(FOLLOW).await;

    ben.call("hostile__panic", json!({})).await.assert_generic_failure();
    ana.call("hostile__log_ok", json!({})).await.text();

    let first = of_ana.next().await.expect("a record");
    assert_eq!((&first["user"], &first["tool"]), (&json!("ana"), &json!("log_ok")));
    for user in ["ben", "ana"] {
        let record = of_operator.next().await.expect("a record");
        assert_eq!(record["user"], user);
        assert_without_content(&record);
    }
}

#[tokio::test]
async fn a_stream_breaks_off_when_its_toolkit_goes() {
    let (kitbag, ana) = hostile().await;
    let mut stream = ana.follow(FOLLOW).await;

    kitbag.as_operator().delete("/toolkits/hostile").await.assert_status(204);
    // A waiting stream checks access to its toolkit again when a record is committed.
    kitbag.deploy(crate::harness::guests::HINTS).await;
    ana.call("hints__plain", json!({})).await.text();

    assert!(stream.breaks_off().await, "it looks as if it were whole");
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_those_who_follow() {
    let (kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = ana.follow(FOLLOW).await;
        assert!(stream.next().await.is_some());
        streams.push(stream);
    }

    let asked = Instant::now();
    kitbag.stop().await;

    assert!(asked.elapsed() < Duration::from_secs(10), "it took {:?}", asked.elapsed());
    for mut stream in streams {
        assert_eq!(stream.next().await, None, "the answer ends as it should");
    }
}

#[tokio::test]
async fn one_user_follows_so_many_logs_and_no_more_until_one_is_left() {
    let (kitbag, ana) = hostile().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        let stream = ana.follow(FOLLOW).await;
        assert_eq!(stream.status, 200);
        streams.push(stream);
    }

    ana.get(FOLLOW).await.assert_problem(429, "Too many logs");
    assert_eq!(kitbag.as_user("ben").follow(FOLLOW).await.status, 200, "others have room");
    assert_eq!(ana.logs("hostile").await.len(), 0, "there is room for reading what there is");

    streams.pop();
    eventually("the place is free", async || ana.follow(FOLLOW).await.status == 200).await;
}

#[tokio::test]
async fn one_user_reads_so_many_logs_at_once_and_no_more_until_one_is_left() {
    // Enough records for a response that exceeds the buffers of a connection.
    const CALLS: usize = 60;
    const READ: &str = "/toolkits/hostile/logs?limit=60";
    let (kitbag, ana) = hostile().await;
    for _ in 0..CALLS {
        ana.call("hostile__log_flood", json!({})).await.text();
        // A read commits queued records: otherwise a busy machine would drop some.
        assert_eq!(ana.get("/toolkits/hostile/logs?limit=1").await.status, 200);
    }
    let mut unread = Vec::new();
    for _ in 0..16 {
        let stream = ana.follow(READ).await;
        assert_eq!(stream.status, 200);
        unread.push(stream);
    }

    ana.get(READ).await.assert_problem(429, "Too many logs");
    assert_eq!(kitbag.as_user("ben").get("/toolkits/hostile/logs").await.status, 200, "others have room");

    assert_eq!(ids(&mut unread[0], CALLS).await.len(), CALLS, "who reads gets all");
    unread.clear();
    eventually("the place is free", async || ana.follow(READ).await.status == 200).await;
}
