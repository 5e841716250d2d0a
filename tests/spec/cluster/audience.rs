//! Audiences and call limits, on two processes that share a database.

use serde_json::json;
use tokio::process::Command;

use super::{Cluster, Member};
use crate::harness::{User, guests};
use crate::organisation::{Service, a_day};

struct Pair(Cluster, [Member; 2]);

impl Service for Pair {
    fn user(&self, process: usize, name: &str, groups: &[&str]) -> User {
        let Self(cluster, members) = self;
        cluster.member_of(groups, &members[process], name)
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn two_groups_two_operators_and_a_provider() {
    let cluster = Cluster::new().await;
    let configure = |command: &mut Command| {
        command.env("KITBAG_GROUPS_CLAIM", "groups").env("KITBAG_OPERATORS", "olga,group:platform");
    };
    let pair = [cluster.join_with("0", configure).await, cluster.join_with("1", configure).await];
    a_day(&Pair(cluster, pair)).await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_group_that_is_named_on_one_process_decides_and_is_counted_on_both() {
    let cluster = Cluster::new().await;
    let with_groups = |command: &mut Command| {
        command.env("KITBAG_GROUPS_CLAIM", "groups");
    };
    let pair = [cluster.join_with("0", with_groups).await, cluster.join_with("1", with_groups).await];
    cluster.operator(&pair[0]).deploy(guests::HINTS.bytes()).await.assert_status(201);

    for round in 0..10 {
        let (one, other) = if round % 2 == 0 { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
        let operator = cluster.operator(one);
        let limit = 4 + 4 * round;
        let grants = json!({ "grants": [{ "group": "sales", "perDay": limit }] });
        operator.post("/toolkits/hints/audience", &grants).await.assert_status(200);

        cluster.user(other, "una").call("hints__plain", json!({})).await.assert_unknown_tool();
        for member in [one, other, other, one] {
            let called = cluster.member_of(&["sales"], member, "sal").call("hints__plain", json!({})).await;
            assert_eq!(called.text(), "plain", "round {round}");
        }
        let refused = cluster.member_of(&["sales"], other, "sal").call("hints__plain", json!({})).await;
        refused.assert_retryable(&format!("The limit of {limit} calls a day"));

        let everyone = json!({ "grants": [{ "everyone": true }] });
        let operator = cluster.operator(other);
        operator.post("/toolkits/hints/audience", &everyone).await.assert_status(200);
        for whom in ["group=sales", "everyone=true"] {
            operator.delete(&format!("/toolkits/hints/audience?{whom}")).await.assert_status(204);
        }
        cluster.user(one, "una").call("hints__plain", json!({})).await.text();
    }
}
