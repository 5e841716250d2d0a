//! The end of a user on one of two processes that share a database counts on the other.

use serde_json::json;
use tokio::process::Command;

use super::Cluster;
use crate::harness::eventually;

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_user_who_is_ended_on_one_process_can_do_nothing_on_the_other() {
    let cluster = Cluster::new().await;
    let with_operator = |command: &mut Command| {
        command.env("KITBAG_OPERATORS", "operator,olga").env("KITBAG_COLLECTIONS", "everyone");
    };
    let pair = [cluster.join_with("0", with_operator).await, cluster.join_with("1", with_operator).await];
    let ana = cluster.user(&pair[1], "ana");
    let ids = ana.ingest(json!([{ "title": "Mine", "text": "The wombat train." }])).await;
    ana.post("/collections", &json!({ "id": "plans", "name": "Plans" })).await.assert_status(201);
    let key = ana.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    let program = pair[1].with_token(key["key"].as_str().expect("the key, once"));
    program.get("/toolkits").await.assert_status(200);
    let olga = cluster.user(&pair[0], "olga");
    let listed = olga.get("/users").await.assert_status(200).json();
    assert!(listed["users"].as_array().expect("a list").iter().any(|user| user["id"] == "ana"), "{listed}");

    let access = olga.post("/users/ana/end", &json!({ "accessOnly": true })).await.assert_status(200).json();

    assert_eq!((&access["keys"], &access["documents"]), (&json!(1), &json!(0)));
    program.get("/toolkits").await.assert_status(401);
    eventually("she is refused on the other process, too", async || ana.get("/toolkits").await.status == 401)
        .await;
    let export = olga.get("/users/ana/export").await.assert_status(200);
    let name = format!("documents/{}/text.txt", ids[0]);
    assert!(export.body.windows(name.len()).any(|some| some == name.as_bytes()), "her document is in it");
    let end = olga.post("/users/ana/end", &json!({ "erase": true })).await.assert_status(200).json();
    assert_eq!((&end["isFinished"], &end["documents"]), (&json!(true), &json!(1)));
    assert_eq!(end["passedCollections"], json!(["plans"]));
    let elsewhere = cluster.user(&pair[1], "olga");
    let shown = elsewhere.get("/users/ana").await.assert_status(200).json();
    assert_eq!(
        (&shown["isEnded"], &shown["counts"]["bin"]["documents"], shown.get("signedInAt")),
        (&json!(true), &json!(0), None)
    );
    elsewhere.get("/collections/plans").await.assert_status(200);
}
