//! Collections on two processes that share a database: what one of them changes counts on the other.

use serde_json::json;
use tokio::process::Command;

use super::{Cluster, Member};
use crate::harness::User;

async fn pair(cluster: &Cluster) -> [Member; 2] {
    let with_groups = |command: &mut Command| {
        command.env("KITBAG_GROUPS_CLAIM", "groups").env("KITBAG_COLLECTIONS", "everyone");
    };
    [cluster.join_with("0", with_groups).await, cluster.join_with("1", with_groups).await]
}

/// Whether a user finds a document, reads it and sees its collection. Asserts that all agree.
async fn reads(user: &User, document: &str) -> bool {
    let query = "query ($id: ID!) { document(id: $id) { id } search(query: \"wombat\") { results { document { id } } }
        collection(id: \"handbook\") { id } }";
    let seen = user.ask(query, json!({ "id": document })).await;
    let is_found = seen["search"]["results"].to_string().contains(document);
    let is_shown = user.get("/collections/handbook").await.status == 200;
    let all = [seen["document"].is_object(), is_found, seen["collection"].is_object(), is_shown];
    assert!(all.iter().all(|reads| *reads == all[0]), "the interfaces differ: {all:?}");
    all[0]
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_grant_that_begins_or_ends_on_one_process_counts_on_both() {
    let cluster = Cluster::new().await;
    let pair = pair(&cluster).await;
    let ana = [cluster.user(&pair[0], "ana"), cluster.user(&pair[1], "ana")];
    let new = json!({ "id": "handbook", "name": "Handbook" });
    ana[0].post("/collections", &new).await.assert_status(201);
    let note = json!([{ "title": "Travel", "text": "The wombat train." }]);
    let id = ana[1].ingest_into("handbook", note).await.remove(0);
    assert!(reads(&ana[0], &id).await && reads(&ana[1], &id).await);

    for round in 0..10 {
        let one = &ana[round % 2];
        let other = &ana[(round + 1) % 2];
        let ben =
            [cluster.member_of(&["sales"], &pair[0], "ben"), cluster.member_of(&["sales"], &pair[1], "ben")];
        let left = cluster.member_of(&["support"], &pair[round % 2], "ben");
        let readers = json!({ "members": [{ "group": "sales", "role": "reader" }] });

        one.post("/collections/handbook/members", &readers).await.assert_status(200);
        assert!(reads(&ben[0], &id).await && reads(&ben[1], &id).await, "round {round}");
        assert!(!reads(&left, &id).await, "round {round}");
        other.delete("/collections/handbook/members?group=sales").await.assert_status(204);
        assert!(!reads(&ben[0], &id).await && !reads(&ben[1], &id).await, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_collection_that_is_deleted_or_restored_on_one_process_is_so_on_both() {
    let cluster = Cluster::new().await;
    let pair = pair(&cluster).await;
    let ana = [cluster.user(&pair[0], "ana"), cluster.user(&pair[1], "ana")];
    let new = json!({ "id": "handbook", "name": "Handbook" });
    ana[0].post("/collections", &new).await.assert_status(201);
    let note = json!([{ "title": "Travel", "text": "The wombat train." }]);
    let id = ana[0].ingest_into("handbook", note).await.remove(0);

    for round in 0..6 {
        let one = &ana[round % 2];
        let other = &ana[(round + 1) % 2];
        one.delete("/collections/handbook").await.assert_status(204);
        assert!(!reads(other, &id).await && !reads(one, &id).await, "round {round}");
        other.post("/collections/handbook/restore", &json!({})).await.assert_status(200);
        assert!(reads(one, &id).await && reads(other, &id).await, "round {round}");

        let chosen = json!({ "id": id, "chosen": { "ids": [id] } });
        let delete =
            "mutation ($chosen: ChosenInput!) { deleteDocuments(chosen: $chosen, collection: \"handbook\") }";
        let restore = "mutation ($chosen: ChosenInput!) {
            restoreDocuments(chosen: $chosen, collection: \"handbook\") { count }
        }";
        let found = async |user: &User| {
            let found =
                user.ask("{ search(query: \"wombat\") { results { document { id } } } }", json!({})).await;
            found.to_string().contains(&id)
        };
        assert_eq!(one.ask(delete, chosen.clone()).await["deleteDocuments"], 1);
        assert!(!found(other).await && !found(one).await, "round {round}");
        assert_eq!(other.ask(restore, chosen).await["restoreDocuments"]["count"], 1);
        assert!(found(one).await && found(other).await, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn of_two_curators_who_end_each_other_at_once_one_stays() {
    let cluster = Cluster::new().await;
    let pair = pair(&cluster).await;
    let ana = cluster.user(&pair[0], "ana");
    let ben = cluster.user(&pair[1], "ben");
    let new = json!({ "id": "handbook", "name": "Handbook" });
    ana.post("/collections", &new).await.assert_status(201);

    for round in 0..10 {
        // Whoever is left makes the other one a curator again.
        let is_anas = ana.get("/collections/handbook").await.status == 200;
        let keeper = if is_anas { &ana } else { &ben };
        let both = json!({ "members": [{ "user": "ana", "role": "curator" }, { "user": "ben", "role": "curator" }] });
        keeper.post("/collections/handbook/members", &both).await.assert_status(200);

        let (by_ana, by_ben) = tokio::join!(
            ana.delete("/collections/handbook/members?user=ben"),
            ben.delete("/collections/handbook/members?user=ana"),
        );

        let mut statuses = [by_ana.status.as_u16(), by_ben.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses[0], 204, "round {round}");
        assert!([404, 409].contains(&statuses[1]), "round {round}: {statuses:?}");
        let left =
            [ana.get("/collections/handbook").await.status, ben.get("/collections/handbook").await.status];
        assert_eq!(left.iter().filter(|status| **status == 200).count(), 1, "round {round}: {left:?}");
    }
}
