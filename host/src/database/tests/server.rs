//! What holds for PostgreSQL alone. Without `TEST_DATABASE` there is nothing to test.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::timeout;

use super::*;
use crate::database::testing::server_url;

/// Of each table, the names of its columns.
type Columns = BTreeMap<String, Vec<String>>;

fn columns(rows: Vec<(String, String)>) -> Columns {
    let mut columns = Columns::new();
    for (table, column) in rows {
        columns.entry(table).or_default().push(column);
    }
    for names in columns.values_mut() {
        names.sort();
    }
    columns.retain(|table, _| table != "_sqlx_migrations" && !table.starts_with("sqlite_"));
    columns
}

#[tokio::test]
async fn a_second_server_is_refused_until_the_first_has_gone() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let Some(url) = server_url(folder.path()).await else { return };
    let first = Database::connect(&url, 4).await.expect("nobody uses it");

    let second = Database::connect(&url, 4).await.expect_err("there is a first");
    assert!(second.to_string().contains("another server uses this database"), "{second}");
    assert!(timeout(Duration::ZERO, first.lost()).await.is_err(), "the first goes on");

    first.close().await;
    Database::connect(&url, 4).await.expect("the first has gone");
}

#[tokio::test]
async fn a_server_knows_when_its_session_was_ended() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let Some(url) = server_url(folder.path()).await else { return };
    let database = Database::connect(&url, 4).await.expect("nobody uses it");

    let end = "SELECT pg_terminate_backend(pid) FROM pg_locks
               WHERE locktype = 'advisory' AND database = (
                   SELECT oid FROM pg_database WHERE datname = current_database())";
    let ended: Vec<bool> = database.column(end).await;

    assert_eq!(ended, [true]);
    timeout(Duration::from_secs(10), database.lost()).await.expect("it notices");
}

#[tokio::test]
async fn both_engines_have_the_same_tables_with_the_same_columns() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let Some(url) = server_url(folder.path()).await else { return };
    let server = Database::connect(&url, 4).await.expect("nobody uses it");
    let file = Database::open(folder.path()).await.expect("a database");

    let of_server =
        "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns
                     WHERE table_schema = 'public'";
    let of_server = columns(server.rows(of_server).await);
    let of_file = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
                   WHERE t.type = 'table'";
    let mut of_file = columns(file.rows(of_file).await);

    // Those of local sign-in.
    of_file.retain(|table, _| !table.starts_with("oauth_"));
    assert_eq!(of_server, of_file);
}

#[tokio::test]
async fn a_text_with_nul_is_stored_without_it() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(folder.path()).await;
    if database.is_file() {
        return;
    }

    let statement = "INSERT INTO issuers (issuer, since) VALUES ($1, 0)";
    database.write(sql(statement).bind("a\0b")).await;

    assert_eq!(database.texts("SELECT issuer FROM issuers").await, ["a\u{fffd}b"]);
}
