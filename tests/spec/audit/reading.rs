//! Who reads the log and what it says: refusals, failures, keys of programs, filters, and the page.

use serde_json::{Value, json};

use super::{CANARY, entries, newest, server, text};
use crate::harness::{Visitor, Wat, eventually};
use crate::ui_review::wat;

#[tokio::test]
async fn only_operators_read_the_log_and_what_others_try_is_recorded_once_a_minute() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);

    for _ in 0..3 {
        una.get("/audit").await.assert_problem(403, "Only operators");
        una.post("/toolkits/wat/take-over", &json!({})).await.assert_problem(403, "Only operators");
        una.put("/toolkits/wat/secrets/KEY?for-everyone=true", CANARY).await.assert_problem(403, "operators");
    }
    kitbag.anonymous().get("/audit").await.assert_status(401);

    let refused = entries(&ana, "act=operator.refused").await;
    let what: Vec<_> = refused.iter().map(|entry| text(entry, "name")).collect();
    assert_eq!(what, ["GET /audit", "POST /toolkits/{id}/take-over", "secret.set_for_everyone"]);
    assert!(refused.iter().all(|entry| entry["user"] == "una" && entry["outcome"] == "refused"));
}

#[tokio::test]
async fn an_act_that_fails_has_no_entry_and_one_that_only_the_owner_may_do_is_a_refusal() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    let before = newest(&ana).await;

    // The same version with other bytes, an unknown version, an undeclared name, a value that is too long,
    // and unsetting a secret that is not set.
    ana.deploy(Wat { description: "Other.", ..wat("1.0.0") }.component()).await.assert_status(409);
    ana.post("/toolkits/wat/rollback", &json!({ "version": "9.0.0" })).await.assert_status(409);
    una.put("/toolkits/wat/secrets/OTHER", CANARY).await.assert_status(404);
    una.put("/toolkits/wat/secrets/KEY", "x".repeat(100_000).as_str()).await.assert_status(413);
    una.delete("/toolkits/wat/secrets/KEY").await.assert_status(204);
    assert_eq!(newest(&ana).await, before);

    ben.post("/toolkits/wat/release", &json!({})).await.assert_status(403);

    let [refused] = &entries(&ana, "act=operator").await[..] else { panic!("one entry") };
    assert_eq!((text(refused, "user"), text(refused, "name")), ("ben", "toolkit.released"));
    assert_eq!((text(refused, "toolkit"), text(refused, "outcome")), ("wat", "refused"));
}

#[tokio::test]
async fn the_acts_of_a_program_name_its_key() {
    let kitbag = server().await;
    let ana = kitbag.as_user("ana");
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    let made = ana.post("/keys", &json!({ "name": "rotation" })).await.assert_status(201).json();
    let program = kitbag.with_token(text(&made, "key"));

    program.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);

    let entry = &entries(&ana, "act=secret.set").await[0];
    assert_eq!((text(entry, "user"), text(entry, "key")), ("ana", text(&made, "id")));
    assert!(entry.get("client").is_none(), "{entry}");
}

#[tokio::test]
async fn the_log_is_filtered_read_in_pages_and_followed() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    for _ in 0..3 {
        una.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
    }

    assert_eq!(entries(&ana, "act=toolkit").await.len(), 1);
    assert_eq!(entries(&ana, "user=una&toolkit=wat&since=1h").await.len(), 3);
    assert_eq!(entries(&ana, "until=1h").await.len(), 0);
    let page = entries(&ana, "limit=2").await;
    let older = entries(&ana, &format!("limit=2&before={}", page[0]["id"])).await;
    let sequences = |page: &[Value]| page.iter().map(|it| it["sequence"].as_i64()).collect::<Vec<_>>();
    assert_eq!((sequences(&older), sequences(&page)), (vec![Some(1), Some(2)], vec![Some(3), Some(4)]));
    for wrong in ["limit=1001", "since=yesterday", "follow=true&before=1", "follow=true&until=1h", "x=y"] {
        ana.get(&format!("/audit?{wrong}")).await.assert_status(400);
    }

    let mut stream = kitbag.anonymous().stream("/audit?follow=true&limit=1", ana.headers()).await;
    assert_eq!(stream.next().await.expect("the last one")["sequence"], 4);
    una.delete("/toolkits/wat/secrets/KEY").await.assert_status(204);
    assert_eq!(stream.next().await.expect("a new one")["act"], "secret.unset");

    let http = kitbag.anonymous();
    let streams = (0..8).map(|_| http.stream("/audit?follow=true", ana.headers()));
    let streams = futures::future::join_all(streams).await;
    assert!(streams.iter().any(|stream| stream.status == 429), "a user follows a bounded number at once");
    drop((stream, streams));
    eventually("a place is free again", async || {
        kitbag.anonymous().stream("/audit?follow=true", ana.headers()).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn the_page_shows_the_log_to_operators_page_by_page() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    for _ in 0..41 {
        una.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
    }
    let operator = Visitor::sign_in(&kitbag, "ana").await;
    operator.get("/ui/operate").await.assert_says("href=\"/ui/operate/audit\"");

    let first = operator.get("/ui/operate/audit?act=secret.set&user=una").await.assert_status(200);
    first.assert_says("<option selected>secret.set</option>");
    first.assert_says("toolkit <bdi>wat</bdi> · name <bdi>KEY</bdi>");
    assert_eq!(first.text().matches("<code>secret.set</code>").count(), 40);
    let older = first.text().split("href=\"").filter_map(|it| it.split('"').next());
    let older = older.filter(|path| path.contains("before=")).last().expect("an older page");
    let older = operator.get(&older.replace("&#38;", "&")).await.assert_status(200);
    assert_eq!(older.text().matches("<code>secret.set</code>").count(), 1);
    older.assert_says("Newest");

    let hostile = operator.get("/ui/operate/audit?user=%22%3E%3Cscript%3E").await.assert_status(200);
    assert!(!hostile.text().contains("\"><script>"), "{}", hostile.text());
    hostile.assert_says("No entry fits.");
    Visitor::sign_in(&kitbag, "una").await.get("/ui/operate/audit").await.assert_status(403);
}
