//! Concurrent transactions that read before they write.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep;

use super::*;

const WRITERS: usize = 8;
const ROUNDS: i64 = 10;

/// Reads a user's revision, and replaces it by the next one.
async fn count(database: &Database, scope: Scope<'_>, user: &str) {
    let mut transaction = database.begin(scope).await.expect("it begins");
    let revision: i64 = sql("SELECT revision FROM knowledge_revisions WHERE holder = $1")
        .bind(user)
        .fetch_value(&mut transaction)
        .await
        .expect("there is one");
    // Lets other transactions read the same value, if the scope allows it.
    sleep(Duration::from_millis(1)).await;
    sql("UPDATE knowledge_revisions SET revision = $1 WHERE holder = $2")
        .bind(revision + 1)
        .bind(user)
        .execute(&mut transaction)
        .await
        .expect("it is there");
    transaction.commit().await.expect("nothing contradicts it");
}

async fn database(folder: &Path) -> Database {
    let database = Database::of_test(folder).await;
    let users = "INSERT INTO knowledge_revisions VALUES ('ana', 0, 0), ('ben', 0, 0), ('una', 0, 0)";
    database.execute(users).await;
    database
}

async fn revisions(database: &Database) -> Vec<i64> {
    database.column("SELECT revision FROM knowledge_revisions ORDER BY holder").await
}

#[tokio::test]
async fn no_transaction_writes_between_reading_and_writing_of_another_one_of_its_scope() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = database(folder.path()).await;
    let ana = Holder::user("ana");
    let ben = Holder::user("ben");

    join_all((0..WRITERS).map(async |writer| {
        for _ in 0..ROUNDS {
            // Overlapping holders in both orders, and all holders.
            let (scope, user): (Scope<'_>, _) = match writer % 3 {
                0 => (Scope::Holders(&[&ana, &ben]), "ben"),
                1 => (Scope::Holders(&[&ben, &ana]), "ben"),
                _ => (Scope::AllHolders, "ben"),
            };
            count(&database, scope, user).await;
        }
    }))
    .await;

    let all = i64::try_from(WRITERS).expect("it is small") * ROUNDS;
    assert_eq!(revisions(&database).await, [0, all, 0]);
}

#[tokio::test]
async fn what_removes_toolkits_waits_for_their_records_and_secrets() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = database(folder.path()).await;

    join_all((0..WRITERS).map(async |writer| {
        for _ in 0..ROUNDS {
            let scope = [Scope::Toolkits, Scope::Records, Scope::Toolkits, Scope::Vault][writer % 4];
            // Records and secrets are independent scopes.
            let user = if writer % 4 < 2 { "ana" } else { "una" };
            count(&database, scope, user).await;
        }
    }))
    .await;

    let each = i64::try_from(WRITERS / 2).expect("it is small") * ROUNDS;
    assert_eq!(revisions(&database).await, [each, 0, each]);
}
