//! Cache freshness over a shared PostgreSQL database: each request first checks whether cached toolkits still
//! exist. The test itself acts as the other process.

use serde_json::json;

use crate::elicitation::{client, open};
use crate::harness::database::Database;
use crate::harness::{Answer, Kitbag, Revision, Visitor, guests};

/// Starts a server on a shared database, and connects to that database.
async fn start() -> (Kitbag, Database) {
    let kitbag = Kitbag::start().await;
    let database = Database::of(kitbag.data()).await;
    assert!(matches!(database, Database::Server(_)), "`TEST_DATABASE` is not set");
    for guest in [guests::HINTS, guests::PROBE, guests::REPLIES, guests::NEEDS_SECRET] {
        kitbag.deploy(guest).await;
    }
    (kitbag, database)
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_another_process_has_removed_is_refused_by_the_next_request_on_every_kind_of_route() {
    let (kitbag, mut database) = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let link = ana.link().await;
    open(&kitbag, &link, &[]).await.assert_status(200);
    let remove = async |database: &mut Database, id: &str| {
        database.execute("DELETE FROM toolkits WHERE id = $1", &[id]).await;
        database.execute("UPDATE registry SET generation = generation + 1", &[]).await;
    };

    remove(&mut database, "hints").await;
    ana.get("/toolkits/hints").await.assert_problem(404, "no toolkit");

    remove(&mut database, "probe").await;
    ana.call("probe__fetch", json!({})).await.assert_unknown_tool();

    visitor.get("/ui/toolkits/replies").await.assert_status(200);
    remove(&mut database, "replies").await;
    visitor.get("/ui/toolkits/replies").await.assert_status(404);

    remove(&mut database, "needy").await;
    open(&kitbag, &link, &[]).await.assert_status(404);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn while_the_database_does_not_say_what_has_changed_every_request_is_refused() {
    let (kitbag, mut database) = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let link = ana.link().await;

    database.execute("BEGIN", &[]).await;
    database.execute("LOCK TABLE registry IN ACCESS EXCLUSIVE MODE", &[]).await;
    let refused = tokio::join!(
        ana.get("/toolkits/hints"),
        ana.post_mcp("tools/list", None, json!({})),
        visitor.get("/ui/toolkits/hints"),
        open(&kitbag, &link, &[]),
    );
    for answer in <[Answer; 4]>::from(refused) {
        let answer = answer.assert_status(503);
        assert_eq!(answer.header("retry-after"), Some("1"));
        answer.assert_says("The database does not answer at the moment.");
    }
    kitbag.anonymous().get("/healthz").await.assert_status(200);

    database.execute("ROLLBACK", &[]).await;
    ana.get("/toolkits/hints").await.assert_status(200);
}
