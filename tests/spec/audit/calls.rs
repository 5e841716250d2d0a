//! Entries of calls: who reads them, what they say, and that neither a kill nor a change in the database loses one unseen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{CANARY, text};
use crate::harness::{
    CommandOutput, Kitbag, ServerProcess, Stopped, User, Visitor, eventually, guests, kitbag, run,
};

/// Starts a server with the operators `ana` and `ben` that writes calls into its audit log.
async fn server() -> Kitbag {
    Kitbag::start_with(|settings| {
        settings.operators = "ana,ben".parse().expect("a list");
        settings.record_callers = true;
    })
    .await
}

async fn calls(operator: &User, query: &str) -> Vec<Value> {
    operator.get(&format!("/audit/calls?{query}")).await.assert_status(200).json_lines()
}

async fn command(server: &Kitbag, arguments: &[&str]) -> CommandOutput {
    let url = server.base_url().to_string();
    let mut command = kitbag(["audit", "--server", &url].iter().chain(arguments));
    command.env("KITBAG_TOKEN", server.as_user("ana").token());
    run(command).await
}

#[tokio::test]
async fn an_entry_says_who_called_what_and_nothing_of_arguments_and_results() {
    let kitbag = server().await;
    let ana = kitbag.as_user("ana");
    ana.deploy(guests::TEXT.bytes()).await.assert_status(201);
    let una = kitbag.as_user("una");
    una.call("text__count", json!({ "text": CANARY })).await.text();
    let key = una.post("/keys", &json!({ "name": CANARY })).await.assert_status(201).json();
    let program = kitbag.with_token(text(&key, "key"));
    for arguments in [json!({ "text": CANARY }), json!({ "nobody": CANARY })] {
        program.try_post("/toolkits/text/tools/count", &arguments).await.expect("it is answered");
    }

    let entries = calls(&ana, "user=una").await;

    let [first, second, third] = &entries[..] else { panic!("{entries:?}") };
    for entry in &entries {
        assert_eq!(
            (text(entry, "user"), text(entry, "toolkit"), text(entry, "tool")),
            ("una", "text", "count")
        );
        assert!(entry["at"].as_str().is_some_and(|at| at.strip_suffix(".000Z").is_some()), "{entry}");
    }
    assert!(first["client"].is_string() && first.get("key").is_none(), "{first}");
    assert_eq!(text(second, "key"), text(&key, "id"));
    assert_eq!((text(first, "outcome"), text(third, "outcome")), ("succeeded", "invalid-params"));
    assert_eq!(
        (first["argumentBytesAtMost"].as_i64(), first["resultBytesAtMost"].as_i64()),
        (Some(65536), Some(65536))
    );
    assert!(third.get("argumentBytesAtMost").is_none(), "{third}");
    let all = ana.get("/audit/calls?since=1h").await.text().to_owned();
    assert!(!all.contains(CANARY), "{all}");
    assert_eq!(ana.get("/audit?act=call").await.text(), "", "acts are apart");

    assert_eq!(calls(&ana, "outcome=invalid-params").await.len(), 1);
    assert_eq!(calls(&ana, "toolkit=other").await.len(), 0);
    assert_eq!(calls(&ana, "after=1&before=3").await, std::slice::from_ref(second));
    assert_eq!(calls(&ana, "limit=1").await, std::slice::from_ref(third));
    for wrong in ["limit=1001", "since=yesterday", "follow=true&before=1", "follow=true&until=1h", "act=call"]
    {
        ana.get(&format!("/audit/calls?{wrong}")).await.assert_status(400);
    }
}

#[tokio::test]
async fn only_operators_read_who_called_what() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(guests::TEXT.bytes()).await.assert_status(201);
    una.call("text__count", json!({ "text": "una" })).await.text();

    una.get("/audit/calls").await.assert_problem(403, "Only operators");
    una.get("/audit/calls?follow=true").await.assert_problem(403, "Only operators");
    kitbag.anonymous().get("/audit/calls").await.assert_status(401);
    // A key that only calls tools, of an operator.
    let limited = json!({ "name": "limited", "toolkits": ["text"] });
    let limited = ana.post("/keys", &limited).await.assert_status(201).json();
    let limited = kitbag.with_token(text(&limited, "key"));
    limited.get("/audit/calls").await.assert_status(403);
    limited.get("/audit/calls?follow=true").await.assert_status(403);

    let refused = super::entries(&ana, "act=operator.refused&user=una").await;
    assert_eq!(text(&refused[0], "name"), "GET /audit/calls");
}

#[tokio::test]
async fn users_see_whether_their_calls_are_recorded_and_without_the_setting_none_is() {
    const SAYS: &str = "{ me { callsAreRecorded } }";

    let off = Kitbag::start_with(|settings| settings.operators = "ana".parse().expect("a list")).await;
    let [ana, una] = ["ana", "una"].map(|name| off.as_user(name));
    ana.deploy(guests::TEXT.bytes()).await.assert_status(201);
    una.call("text__count", json!({ "text": "una" })).await.text();
    ana.get("/audit/calls").await.assert_problem(409, "record-callers");
    ana.get("/audit/calls?follow=true").await.assert_problem(409, "record-callers");
    assert_eq!(una.ask(SAYS, json!({})).await["me"]["callsAreRecorded"], false);
    let page = Visitor::sign_in(&off, "una").await.get("/ui/account").await;
    page.assert_says("Your calls are not written into the audit log.");

    let on = off.stop().await.changed(|settings| settings.record_callers = true).start().await;
    let [ana, una] = ["ana", "una"].map(|name| on.as_user(name));
    una.call("text__count", json!({ "text": "una" })).await.text();
    assert_eq!(calls(&ana, "").await.len(), 1);
    assert_eq!(una.ask(SAYS, json!({})).await["me"]["callsAreRecorded"], true);
    let page = Visitor::sign_in(&on, "una").await.get("/ui/account").await;
    page.assert_says("Each of your calls is written into the audit log, and kept there for 90 days");

    // What was recorded can still be read, and nothing follows.
    let off = on.stop().await.changed(|settings| settings.record_callers = false).start().await;
    off.as_user("una").call("text__count", json!({ "text": "una" })).await.text();
    assert_eq!(calls(&off.as_user("ana"), "").await.len(), 1);
    off.as_user("ana").get("/audit/calls?follow=true").await.assert_problem(409, "record-callers");
}

#[tokio::test]
async fn the_command_shows_calls_and_a_stream_goes_on_with_new_ones() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(guests::TEXT.bytes()).await.assert_status(201);
    una.call("text__count", json!({ "text": "una" })).await.text();

    let shown = command(&kitbag, &["--calls", "--since", "1h"]).await.succeeded();
    assert!(shown.contains("  text__count  una  client=") && shown.contains("  succeeded  "), "{shown}");
    let document = command(&kitbag, &["--calls", "-o", "json"]).await.succeeded();
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!((&document[0]["sequence"], &document[0]["chain"]), (&json!(1), &json!("calls")));
    assert_eq!(command(&kitbag, &["--calls", "--after", "1"]).await.succeeded(), "");

    let mut stream = kitbag.anonymous().stream("/audit/calls?follow=true", ana.headers()).await;
    assert_eq!(stream.next().await.expect("the first")["sequence"], 1);
    una.call("text__count", json!({ "text": "una" })).await.text();
    assert_eq!(stream.next().await.expect("a new one")["sequence"], 2);
}

/// Calls a tool until the server is gone, and counts the answers.
async fn call_until_killed(user: User, answered: Arc<AtomicUsize>) {
    while let Some(answer) = user.try_post("/toolkits/text/tools/count", &json!({ "text": "una" })).await {
        if answer.status == 429 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        }
        answer.assert_status(200);
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn no_call_that_was_answered_is_lost_by_a_kill() {
    const USERS: usize = 4;

    let data = tempfile::tempdir().expect("a scratch directory");
    let start = async || {
        ServerProcess::start_with(data.path(), |command| {
            command.env("KITBAG_RECORD_CALLERS", "true");
        })
        .await
    };
    let mut server = start().await;
    server.as_operator().await.deploy(guests::TEXT.bytes()).await.assert_status(201);
    let answered: Vec<_> = (0..USERS).map(|_| Arc::new(AtomicUsize::new(0))).collect();

    let sum = || answered.iter().map(|it| it.load(Ordering::Relaxed)).sum::<usize>();

    for round in 0..3_u64 {
        let mut users = Vec::new();
        for number in 0..USERS {
            users.push(server.as_user(&format!("user-{number}")).await);
        }
        let before = sum();
        let callers: Vec<_> = users
            .into_iter()
            .zip(answered.iter().cloned())
            .map(|(user, answered)| tokio::spawn(call_until_killed(user, answered)))
            .collect();
        eventually("calls are answered", async || sum() > before + 20).await;
        // At another moment between two commits each time.
        tokio::time::sleep(Duration::from_millis(37 * round)).await;
        server.kill().await;
        for caller in callers {
            caller.await.expect("it ends with the server");
        }
        server = start().await;
    }

    let operator = server.as_operator().await;
    for (number, answered) in answered.iter().enumerate() {
        let path = format!("/audit/calls?since=1h&outcome=succeeded&user=user-{number}");
        let entries = operator.get(&path).await.assert_status(200).json_lines();
        let answered = answered.load(Ordering::Relaxed);
        // The last call of each round may have ended without its answer.
        assert!(
            (answered..=answered + 3).contains(&entries.len()),
            "{answered} answered, {} entries",
            entries.len()
        );
        let mut calls: Vec<_> = entries.iter().map(|entry| text(entry, "call").to_owned()).collect();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), entries.len(), "each has one entry");
    }
    let verified = operator.get("/audit/verification").await.assert_status(200).json();
    assert_eq!((&verified["faults"], &verified["removedEarly"]), (&json!([]), &json!([])));
}

/// Changes of calls in the database, and the fault that each causes.
const TAMPERINGS: [(&str, &str); 4] = [
    ("UPDATE audit_calls SET actor = 'eve' WHERE sequence = 2", "the entry 2 was changed"),
    ("DELETE FROM audit_calls WHERE sequence = 2", "the entries 2 to 2 were removed"),
    (
        "DELETE FROM audit_calls WHERE sequence = 3;
         UPDATE audit_chains SET newest = 2, newest_hash = (SELECT hash FROM audit_calls WHERE sequence = 2)
         WHERE chain = 'calls'",
        "the record of its ends was changed",
    ),
    (
        "DELETE FROM audit_calls; DELETE FROM audit_chains WHERE chain = 'calls'",
        "the list of chains was changed",
    ),
];

#[tokio::test]
async fn changes_of_calls_are_found_by_doctor_and_over_http() {
    for (tampering, fault) in TAMPERINGS {
        let server = server().await;
        server.as_user("ana").deploy(guests::TEXT.bytes()).await.assert_status(201);
        for _ in 0..3 {
            server.as_user("una").call("text__count", json!({ "text": "una" })).await.text();
        }
        // Reading writes what waits.
        assert_eq!(calls(&server.as_user("ana"), "").await.len(), 3);
        let shown = command(&server, &["--verify"]).await.succeeded();
        assert!(shown.contains("chain calls: entries verified: 3\n"), "{shown}");

        let stopped = server.stop().await;
        stopped.alter(tampering).await;
        let data = stopped.data().to_str().expect("UTF-8").to_owned();
        let found = run(kitbag(["doctor", "--data", &data])).await;
        assert!(found.code == Some(5) && found.stdout.contains(fault), "{tampering}: {found:?}");

        let server = stopped.start().await;
        let found = command(&server, &["--verify"]).await;
        assert!(found.code == Some(5) && found.stdout.contains("problem: "), "{tampering}: {found:?}");
        // What is written next does not hide it.
        server.as_user("una").call("text__count", json!({ "text": "una" })).await.text();
        assert_eq!(calls(&server.as_user("ana"), "limit=1").await.len(), 1);
        let found = command(&server, &["--verify"]).await;
        assert!(found.code == Some(5), "{tampering}: {found:?}");
    }
}

#[tokio::test]
async fn anchors_cover_calls() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let anchors = folder.path().join("anchors.jsonl");
    let path = anchors.to_str().expect("UTF-8").to_owned();
    let server = Stopped::with(|settings| {
        settings.operators = "ana".parse().expect("a list");
        settings.record_callers = true;
        settings.audit_anchor = path.parse().expect("a file");
        settings.bounds.anchor_interval = Duration::from_millis(50);
    });
    let server = server.start().await;
    server.as_user("ana").deploy(guests::TEXT.bytes()).await.assert_status(201);
    server.as_user("una").call("text__count", json!({ "text": "una" })).await.text();
    let compare = async |server: &Kitbag| command(server, &["--verify", "--anchors", &path]).await;
    // At the stop, all that is there is anchored.
    let server = server.stop().await.start().await;
    let found = compare(&server).await.succeeded();
    assert!(found.contains("Entries that are as they were written: "), "{found}");

    let stopped = server.stop().await;
    // As who has the master key could.
    stopped.alter("DELETE FROM audit_calls").await;
    let server = stopped.start().await;
    let found = compare(&server).await;
    let missing = "problem: chain calls: the entry 1 was anchored, and is not in the log";
    assert!(found.code == Some(5) && found.stdout.contains(missing), "{found:?}");
}
