//! Call records: their content, and the access to them.

mod command;
mod filters;
mod following;
mod numbers;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Kitbag, ServerProcess, User, eventually, guests};

async fn hostile() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

/// Asserts that a record has neither content of the call nor exact numbers that the toolkit could choose,
/// only that the call took place and its outcome.
#[track_caller]
fn assert_without_content(record: &Value) {
    for content in ["detail", "data", "entries", "dropped", "endedAt"] {
        assert_eq!(record.get(content), None, "{record}");
    }
    for number in ["durationMs", "requests", "bytesOut", "bytesIn", "resultSize"] {
        assert!(record[number]["atMost"].is_u64(), "{number} of {record}");
    }
    let started: jiff::Timestamp = record["startedAt"].as_str().expect("a time").parse().expect("RFC 3339");
    assert_eq!(started.subsec_nanosecond(), 0, "{record}");
}

#[tokio::test]
async fn a_call_leaves_a_record_of_what_it_was_and_what_it_wrote() {
    let (_kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();

    let record = ana.logged("hostile__log_ok").await;

    for (key, expected) in [
        ("toolkit", json!("hostile")),
        ("version", json!("1.0.0")),
        ("tool", json!("log_ok")),
        ("user", json!("ana")),
        ("outcome", json!("succeeded")),
        ("resultSize", json!("logged".len())),
        ("requests", json!(0)),
        ("bytesOut", json!(0)),
        ("bytesIn", json!(0)),
        ("dropped", json!(0)),
    ] {
        assert_eq!(record[key], expected, "{key} of {record}");
    }
    assert_eq!(record["entries"].as_array().map(Vec::len), Some(4), "{record}");
    assert!(record["durationMs"].as_f64() > Some(0.0), "{record}");
    let started: jiff::Timestamp =
        record["startedAt"].as_str().expect("a time").parse().expect("it is RFC 3339");
    assert!(jiff::Timestamp::now().duration_since(started).abs() < jiff::SignedDuration::from_mins(1));
}

#[tokio::test]
async fn every_way_in_which_a_call_can_end_has_its_name() {
    let (_kitbag, ana) = hostile().await;
    let short_deadline = Kitbag::start_with(|settings| {
        settings.call_time = "500ms".parse().expect("a duration");
    })
    .await;
    short_deadline.deploy(guests::HOSTILE).await;
    let short_deadline_ana = short_deadline.as_user("ana");

    for (user, tool, outcome, limit) in [
        (&ana, "remember", "succeeded", None),
        (&ana, "tool_error", "tool-error", None),
        (&ana, "wrong_output", "tool-error", None),
        (&ana, "invalid_params", "invalid-params", None),
        (&ana, "failure", "failed", None),
        (&ana, "trap", "failed", None),
        (&ana, "recurse", "limit", Some("stack limit")),
        (&ana, "big_result", "limit", Some("result size")),
        (&short_deadline_ana, "spin", "deadline", Some("0.5 s")),
    ] {
        let tool = format!("hostile__{tool}");
        user.call(&tool, json!({})).await;
        let record = user.logged(&tool).await;
        assert_eq!((&record["outcome"], record["limit"].as_str()), (&json!(outcome), limit), "{record}");
    }
}

#[tokio::test]
async fn a_call_whose_client_went_away_leaves_what_it_had_written() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.bounds.concurrent_calls_per_user = 1;
        settings.call_time = "1h".parse().expect("a duration");
    })
    .await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");
    let recorded = async || {
        let records = ana.logs("hostile").await.into_iter();
        let is_it = |record: &Value| record["tool"] == "log_for_ever" && record["outcome"] != "busy";
        records.filter(is_it).collect::<Vec<_>>()
    };

    // On a busy machine, the call may need longer to write its first line.
    for (before, wait_ms) in [100, 1000, 10_000].into_iter().enumerate() {
        let abandoned = ana.occupy("hostile__log_for_ever", json!({}), "hostile__log_ok").await;
        assert_eq!(ana.logged("hostile__log_ok").await["outcome"], "busy");
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        abandoned.abort();

        eventually("the call is recorded", async || recorded().await.len() > before).await;
        let record = recorded().await.pop().expect("it is there");
        assert_eq!(record["outcome"], "cancelled", "{record}");
        if record["dropped"].as_u64() > Some(0) {
            assert!(record["entries"].as_array().is_some_and(|entries| !entries.is_empty()), "{record}");
            return;
        }
    }
    panic!("what the call had written is lost: {:?}", recorded().await);
}

#[tokio::test]
async fn arguments_that_were_refused_are_in_no_record() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");

    ana.call("hints__plain", json!({ "MY-PRIVATE-KEY": 1 })).await.assert_invalid_params("MY-PRIVATE-KEY");

    let record = ana.logged("hints__plain").await;
    assert_eq!((&record["outcome"], &record["entries"]), (&json!("invalid-params"), &json!([])));
    assert!(!record.to_string().contains("MY-PRIVATE-KEY"), "{record}");
}

#[tokio::test]
async fn the_server_log_has_a_line_for_each_call_and_no_content() {
    let (kitbag, ana) = hostile().await;

    for tool in ["log_ok", "panic", "tool_error", "failure"] {
        ana.call(&format!("hostile__{tool}"), json!({})).await;
    }

    let calls = kitbag.log().calls();
    let lines: Vec<_> = calls.iter().map(|line| (&line["tool"], &line["level"], &line["outcome"])).collect();
    let expected = [
        ("log_ok", "DEBUG", "succeeded"),
        ("panic", "INFO", "failed"),
        ("tool_error", "INFO", "tool-error"),
        ("failure", "INFO", "failed"),
    ];
    let expected = expected.map(|(tool, level, outcome)| (json!(tool), json!(level), json!(outcome)));
    assert_eq!(lines, expected.iter().map(|(tool, level, end)| (tool, level, end)).collect::<Vec<_>>());
    assert_eq!((&calls[0]["toolkit.id"], &calls[0]["user"]), (&json!("hostile"), &json!("ana")));
    let text = kitbag.log().text();
    for content in ["PANIC-DETAIL", "SECRET-DATA", "SECRET-DETAIL", "first entry", "shop is closed"] {
        assert!(!text.contains(content), "{content} is in the log");
    }
}

#[tokio::test]
async fn users_see_their_own_calls_and_no_others() {
    let (kitbag, ana) = hostile().await;
    let ben = kitbag.as_user("ben");
    ana.call("hostile__log_ok", json!({})).await.text();
    ben.call("hostile__panic", json!({})).await.assert_generic_failure();

    for (reader, name) in [(&ana, "ana"), (&ben, "ben")] {
        let records = reader.logs("hostile").await;
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(records[0]["user"], name);
        assert!(records[0]["entries"].is_array());
    }
    assert!(kitbag.as_user("eve").logs("hostile").await.is_empty());
}

#[tokio::test]
async fn an_operator_sees_that_others_called_and_not_what_they_said() {
    let (kitbag, ana) = hostile().await;
    let operator = kitbag.as_operator();
    for tool in ["hostile__log_ok", "hostile__panic", "hostile__tool_error", "hostile__failure"] {
        ana.call(tool, json!({})).await;
    }
    operator.call("hostile__log_ok", json!({})).await.text();

    let records = operator.logs("hostile").await;

    let (own, others): (Vec<_>, Vec<_>) = records.iter().partition(|record| record["user"] == "local");
    assert_eq!((own.len(), others.len()), (1, 4));
    assert!(own[0]["entries"].to_string().contains("first entry"));
    for record in others {
        assert_without_content(record);
    }
}

#[tokio::test]
async fn the_owner_of_a_private_toolkit_sees_that_others_called_and_not_what_they_said() {
    let (kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    kitbag.as_user("ben").call("hostile__log_ok", json!({})).await.text();
    let stopped = kitbag.stop().await;
    stopped.alter("UPDATE toolkits SET owner = 'ben'").await;
    let kitbag = stopped.start().await;
    let ben = kitbag.as_user("ben");
    assert_eq!(ben.logs("hostile").await.len(), 1, "a shared toolkit's owner is a user like any other");

    let stopped = kitbag.stop().await;
    stopped.alter_manifests(|manifest| manifest["visibility"] = json!("private")).await;
    let kitbag = stopped.start().await;

    let records = kitbag.as_user("ben").logs("hostile").await;
    assert_eq!(records.len(), 2);
    assert_without_content(&records[0]);
    assert!(records[1]["entries"].is_array(), "{records:?}");
    // Ana can still read her own records, although the toolkit is no longer visible to her.
    let ana = kitbag.as_user("ana");
    ana.call("hostile__log_ok", json!({})).await.assert_unknown_tool();
    let records = ana.logs("hostile").await;
    assert_eq!((records.len(), &records[0]["user"]), (1, &json!("ana")));
    kitbag.as_user("eve").get("/toolkits/hostile/logs").await.assert_problem(404, "no toolkit");
}

#[tokio::test]
async fn the_log_of_a_toolkit_that_a_user_cannot_see_does_not_exist() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.as_operator().call("greeter__greet", json!({ "name": "Ana" })).await.text();
    let ana = kitbag.as_user("ana");

    for query in ["", "?follow=true", "?since=1h", "?limit=oops"] {
        let private = ana.get(&format!("/toolkits/greeter/logs{query}")).await;
        let absent = ana.get(&format!("/toolkits/absent/logs{query}")).await;
        let private = private.assert_problem(404, "no toolkit").json().to_string();
        assert_eq!(private.replace("greeter", "absent"), absent.assert_status(404).json().to_string());
    }
    kitbag.anonymous().get("/toolkits/greeter/logs").await.assert_status(401);
}

#[tokio::test]
async fn a_reader_chooses_how_much_and_from_when() {
    let (_kitbag, ana) = hostile().await;
    for _ in 0..3 {
        ana.call("hostile__log_ok", json!({})).await.text();
    }
    let ids = async |query: &str| -> Vec<i64> {
        let answer = ana.get(&format!("/toolkits/hostile/logs{query}")).await.assert_status(200);
        answer.json_lines().iter().map(|record| record["id"].as_i64().expect("an id")).collect()
    };

    let all = ids("").await;
    assert_eq!(all.len(), 3);
    assert!(all.is_sorted());
    assert_eq!(ids("?limit=2").await, all[1..]);
    assert_eq!(ids("?limit=0").await, [0; 0]);
    assert_eq!(ids(&format!("?after={}", all[0])).await, all[1..]);
    assert_eq!(ids("?since=1h").await, all);
    assert_eq!(ids("?since=1h&limit=1").await, all[2..]);
    assert_eq!(ids("?since=2020-01-01T00:00:00Z").await, all);
    assert_eq!(ids("?since=2999-01-01T00:00:00Z").await, [0; 0]);
    assert_eq!(ids("?until=2999-01-01T00:00:00Z").await, all);
    assert_eq!(ids("?until=1h").await, [0; 0]);
    assert_eq!(ids("?since=1h&until=2999-01-01T00:00:00Z&limit=2").await, all[1..]);

    for query in [
        "?since=soon",
        "?until=soon",
        "?until=1h&follow=true",
        "?limit=1001",
        "?limit=-1",
        "?follow=perhaps",
        "?sinse=1h",
        "?after=x",
    ] {
        ana.get(&format!("/toolkits/hostile/logs{query}")).await.assert_problem(400, "");
    }
}

#[tokio::test]
async fn a_record_says_through_what_its_user_called() {
    let (kitbag, ana) = hostile().await;
    let made = ana.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    let program = kitbag.with_token(made["key"].as_str().expect("the key, once"));
    program.call("hostile__log_ok", json!({})).await.text();

    let record = ana.logged("hostile__log_ok").await;
    assert_eq!((&record["key"], &record["keyName"]), (&made["id"], &json!("nightly")), "{record}");
    assert_eq!(record.get("client"), None, "{record}");
    let seen = kitbag.as_operator().logs("hostile").await.pop().expect("it is there");
    assert_without_content(&seen);
    assert_eq!((&seen["key"], &seen["keyName"]), (&made["id"], &json!("nightly")), "{seen}");

    ana.call("hostile__log_ok", json!({})).await.text();
    let record = ana.logged("hostile__log_ok").await;
    assert_eq!((record["client"].is_string(), record.get("key")), (true, None), "{record}");
}

#[tokio::test]
async fn a_call_that_a_kill_ends_is_recorded_as_interrupted() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    let call = tokio::spawn(async move { operator.call("hostile__log_for_ever", json!({})).await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.kill().await;
    call.abort();

    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    eventually("the call is recorded", async || !operator.logs("hostile").await.is_empty()).await;
    let record = operator.logs("hostile").await.pop().expect("it is there");
    assert_eq!(
        (&record["tool"], &record["outcome"]),
        (&json!("log_for_ever"), &json!("interrupted")),
        "{record}"
    );
    assert_eq!(record["detail"], "the server ended while the call ran");
}

#[tokio::test]
async fn removing_a_toolkit_removes_its_records() {
    let (kitbag, ana) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    assert_eq!(ana.logs("hostile").await.len(), 1);

    kitbag.as_operator().delete("/toolkits/hostile").await.assert_status(204);

    ana.get("/toolkits/hostile/logs").await.assert_problem(404, "no toolkit");
    kitbag.deploy(guests::HOSTILE).await;
    assert!(ana.logs("hostile").await.is_empty());
}

#[tokio::test]
async fn only_so_many_records_of_each_toolkit_are_kept() {
    let kitbag = Kitbag::start_with(|settings| settings.log_records_per_toolkit = 5).await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    ana.call("hints__plain", json!({})).await.text();
    for _ in 0..8 {
        ana.call("hostile__log_ok", json!({})).await.text();
    }
    let before = ana.logs("hostile").await;

    // The server removes old records when it starts.
    let kitbag = kitbag.stop().await.start().await;

    let ana = kitbag.as_user("ana");
    eventually("old records are gone", async || ana.logs("hostile").await.len() == 5).await;
    assert_eq!(ana.logs("hostile").await, before[before.len() - 5..]);
    assert_eq!(ana.logs("hints").await.len(), 1, "the quiet toolkit has lost its record");
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_writes_its_records_first() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HINTS.bytes()).await.assert_status(201);
    for _ in 0..20 {
        operator.call("hints__plain", json!({})).await.text();
    }

    assert!(server.terminate().await.success());

    let server = ServerProcess::start(data.path()).await;
    assert_eq!(server.as_operator().await.logs("hints").await.len(), 20);
}
