//! The schema, and the migration of a database of an earlier version.

mod scopes;
mod server;
mod tables;

use super::*;

/// The migrations of the earlier version: the last one before tables became strict.
const EARLIER_MIGRATIONS: usize = 11;

/// A row for each table of the earlier version.
const ROWS: &str = "
    INSERT INTO toolkit_versions VALUES ('t', '1.0.0', 'd', 1, '{}', '{}', 'ana', 0);
    INSERT INTO toolkits VALUES ('t', 'ana', '1.0.0');
    INSERT INTO toolkit_activations VALUES (3, 't', '1.0.0', 'ana', 0);
    INSERT INTO toolkit_ownership VALUES (3, 't', 'released', 'ana', 'ana', 0);
    INSERT INTO oauth_clients VALUES ('c', 'C', '[]', 0);
    INSERT INTO oauth_grants VALUES ('g', 'c', 'ana', '', x'00', 0);
    INSERT INTO secrets VALUES ('ana', 't', 'KEY', 'k', x'01', x'02', 0);
    INSERT INTO user_config VALUES ('ana', 't', 'unit', '1');
    INSERT INTO invocations VALUES
        (3, 't', '1.0.0', 'tool', 'ana', 0, 1, 2, 'succeeded', NULL, 0, 0, 0, 0, 0, NULL, NULL, '[]', 1);
    INSERT INTO issuers VALUES (3, 'local', 0);
    INSERT INTO feeds (id, user_id, source, key, name) VALUES (3, 'ana', 'user', 'k', 'Feed');
    INSERT INTO documents (sequence, id, user_id, number, source, feed_id, identity, digest, title, url, author,
            author_folded, capture_only, artifact, artifact_size, artifact_type, state, revision, created_at,
            updated_at, text, captured)
        VALUES (3, 'd3', 'ana', 1, 'user', 3, 'url u', x'00', 'Title', 'u', 'Ana', 'ana', 0, 'f', 9, 'text/plain',
                'pending', 1, 0, 0, 'text', 'captured'),
               (8, 'd8', 'ana', 2, 'user', NULL, 'sha256 s', x'00', 'Gone', NULL, NULL, NULL, 0, NULL, NULL, NULL,
                'pending', 1, 0, 0, 'text', NULL);
    DELETE FROM documents WHERE sequence = 8;
    INSERT INTO knowledge_jobs VALUES (3, 'ana', 'index', 0, 0);
    INSERT INTO chunks VALUES (3, 'ana', 3, 0, 1, x'00', x'01', 'm');
    INSERT INTO chunk_texts VALUES (3, 'text');
    INSERT INTO knowledge_revisions VALUES ('ana', 1, 1);
";

const TABLES_OF_FILE: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
    AND name <> '_sqlx_migrations' ORDER BY name";

impl Database {
    async fn columns(&self, table: &str) -> Vec<String> {
        self.column(&format!("SELECT name FROM pragma_table_xinfo('{table}') ORDER BY name")).await
    }

    /// Each row of a table as a text: all columns with their names.
    async fn contents(&self, table: &str) -> Vec<String> {
        self.values(table, &self.columns(table).await).await
    }

    /// Each row of a table as a text: these columns with their names.
    async fn values(&self, table: &str, columns: &[String]) -> Vec<String> {
        let values: Vec<_> = columns.iter().map(|it| format!("'{it} ' || quote({it})")).collect();
        self.column(&format!("SELECT {} FROM {table} ORDER BY 1", values.join(" || ', ' || "))).await
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        self.column(sql).await
    }
}

/// A database of the earlier version, with a row in each table.
async fn earlier(data: &Path) -> Database {
    let database = Database::open_before_migration(data, EARLIER_MIGRATIONS).await;
    database.execute(ROWS).await;
    database
}

#[tokio::test]
async fn a_database_of_an_earlier_version_opens_with_all_that_was_in_it() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let before = earlier(data.path()).await;
    let triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";
    let indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name";
    let (names, triggers_before) = (before.texts(TABLES_OF_FILE).await, before.texts(triggers).await);
    let indexes_before = before.texts(indexes).await;
    let mut contents = Vec::new();
    for table in &names {
        let columns = before.columns(table).await;
        let rows = before.values(table, &columns).await;
        assert!(!rows.is_empty(), "{table}: a row is missing here");
        contents.push((columns, rows));
    }
    before.close().await;

    let after = Database::open(data.path()).await.expect("it opens");

    let tables = after.texts(TABLES_OF_FILE).await;
    assert!(names.iter().all(|name| tables.contains(name)), "{tables:?}");
    for (table, (columns, rows)) in names.iter().zip(contents) {
        assert_eq!(after.values(table, &columns).await, rows, "{table}");
    }
    assert_eq!(after.texts(triggers).await, triggers_before);
    let indexes = after.texts(indexes).await;
    assert!(indexes_before.iter().all(|name| indexes.contains(name)), "{indexes:?}");
    assert_eq!(after.texts("SELECT \"table\" FROM pragma_foreign_key_check").await, [""; 0]);
}

#[tokio::test]
async fn after_it_ids_go_on_usage_is_counted_and_what_belongs_together_goes_together() {
    let data = tempfile::tempdir().expect("a scratch directory");
    earlier(data.path()).await.close().await;
    let database = Database::open(data.path()).await.expect("it opens");

    let document = "INSERT INTO documents (id, user_id, number, source, identity, digest, title, capture_only, \
        state, revision, created_at, updated_at, text) \
        VALUES ('new', 'ana', 3, 'user', 'i', x'00', 'T', 0, 'ready', 1, 0, 0, 'x')";
    let usage = "SELECT documents, bytes FROM knowledge_usage WHERE user_id = 'ana'";
    let before: Vec<(i64, i64)> = database.rows(usage).await;
    database.execute(document).await;

    let sequence: Vec<i64> = database.column("SELECT sequence FROM documents WHERE id = 'new'").await;
    assert_eq!(sequence, [9], "the id of a deleted document is not used again");
    assert_eq!(database.rows::<(i64, i64)>(usage).await, [(before[0].0 + 1, before[0].1 + 3)]);
    database.execute("DELETE FROM documents WHERE id = 'd3'").await;
    for table in ["knowledge_jobs", "chunks", "chunk_texts"] {
        assert_eq!(database.contents(table).await, [""; 0], "{table}");
    }
}

#[tokio::test]
async fn usage_is_counted_anew_by_what_is_counted_now() {
    let data = tempfile::tempdir().expect("a scratch directory");
    // The version that counted only titles, texts and files.
    let before = Database::open_before_migration(data.path(), 10).await;
    before.execute(ROWS).await;
    let usage = "SELECT documents, bytes FROM knowledge_usage";
    assert_eq!(before.rows::<(i64, i64)>(usage).await, [(1, 5 + 4 + 8 + 9)]);
    before.close().await;

    let after = Database::open(data.path()).await.expect("it opens");

    // Identity, URL, both forms of the author; the feed's key and name.
    let more = 5 + 1 + 3 + 3 + 1 + 4;
    assert_eq!(after.rows::<(i64, i64)>(usage).await, [(1, 5 + 4 + 8 + 9 + more)]);
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
