//! Tests of the schema and of transactions.

mod scopes;
mod server;
mod tables;

use super::*;

const TABLES_OF_FILE: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
    AND name <> '_sqlx_migrations' ORDER BY name";

impl Database {
    async fn columns(&self, table: &str) -> Vec<String> {
        self.column(&format!("SELECT name FROM pragma_table_xinfo('{table}') ORDER BY name")).await
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        self.column(sql).await
    }
}

#[tokio::test]
async fn ids_are_not_used_again_usage_is_counted_and_what_belongs_together_goes_together() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(data.path()).await.expect("a database");
    let document = |sequence: i64, id: &str| {
        format!(
            "INSERT INTO documents (sequence, id, holder, added_by, changed_by, number, source, identity, digest, title, capture_only, \
             state, revision, created_at, updated_at, text) \
             VALUES ({sequence}, '{id}', 'user:ana', 'ana', 'ana', {sequence}, 'user', '{id}', x'00', 'T', 0, 'ready', 1, 0, 0, 'x');"
        )
    };
    database.execute(&[document(3, "d3"), document(8, "d8")].concat()).await;
    database
        .execute(
            "DELETE FROM documents WHERE sequence = 8;
             INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at) VALUES (3, 'user:ana', 'index', 0, 0);
             INSERT INTO chunks VALUES (3, 'user:ana', 3, 0, 1, x'00', x'01', 'm');
             INSERT INTO chunk_texts VALUES (3, 'text');",
        )
        .await;
    let usage = "SELECT documents, bytes FROM knowledge_usage WHERE holder = 'user:ana'";
    // Bytes of identity, title and text.
    assert_eq!(database.rows::<(i64, i64)>(usage).await, [(1, 2 + 1 + 1)]);

    database.execute(&document(0, "new").replace("(0, 'new'", "(NULL, 'new'")).await;
    database.execute("DELETE FROM documents WHERE id = 'd3'").await;

    let sequence: Vec<i64> = database.column("SELECT sequence FROM documents").await;
    assert_eq!(sequence, [9], "the id of a deleted document is not used again");
    assert_eq!(database.rows::<(i64, i64)>(usage).await, [(1, 3 + 1 + 1)]);
    for table in ["knowledge_jobs", "chunks", "chunk_texts"] {
        let rows: Vec<i64> = database.column(&format!("SELECT COUNT(*) FROM {table}")).await;
        assert_eq!(rows, [0], "{table}");
    }
}

#[tokio::test]
async fn every_table_is_strict() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(data.path()).await.expect("a database");

    let lax = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 \
        AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'";

    assert_eq!(database.texts(lax).await, [""; 0]);
    assert!(database.texts(TABLES_OF_FILE).await.len() > 15);
}

#[tokio::test]
async fn a_transaction_that_is_dropped_changes_nothing_and_keeps_nobody_waiting() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(data.path()).await.expect("a database");
    let issuer = "INSERT INTO issuers (issuer, since) VALUES ('a', 0)";

    let mut dropped = database.begin(Scope::Processes).await.expect("nobody else writes");
    sql(issuer).execute(&mut dropped).await.expect("it fits");
    drop(dropped);
    assert_eq!(database.texts("SELECT issuer FROM issuers").await, [""; 0]);

    let mut kept = database.begin(Scope::Processes).await.expect("nobody else writes");
    sql(issuer).execute(&mut kept).await.expect("it fits");
    assert_eq!(
        database.texts("SELECT issuer FROM issuers").await,
        [""; 0],
        "others do not see it before its end"
    );
    kept.commit().await.expect("there is room");
    assert_eq!(database.texts("SELECT issuer FROM issuers").await.len(), 1);
}
