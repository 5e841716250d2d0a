//! Tests of PostgreSQL only.

use std::collections::BTreeMap;

use super::*;
use crate::testing::server_url;

/// Column names by table.
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
#[ignore = "needs a database server"]
async fn the_schema_is_not_changed_under_a_process_of_a_release_that_is_too_far_away() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let url = server_url(folder.path()).await.expect("`TEST_DATABASE` is set");
    let database = Database::connect(&url, 4).await.expect("nobody uses it");
    let insert = "INSERT INTO processes (id, job_settings, release, seen_at)
                  VALUES ('other', '', $1, clock_millis() - $2)";

    for (release, silence, is_admitted) in [
        ("999.0", 0_i64, false),
        ("", 0, false),
        ("999.0", 31_000, true),
        (env!("CARGO_PKG_VERSION"), 0, true),
    ] {
        database.write(sql(insert).bind(release).bind(silence)).await;
        let outcome = Database::connect(&url, 4).await;
        assert_eq!(outcome.is_ok(), is_admitted, "{release} after {silence} ms: {:?}", outcome.err());
        database.write(sql("DELETE FROM processes")).await;
    }
    for (newest, is_admitted) in [("999.0", false), ("0.0", true), ("0.2", true)] {
        database.write(sql("UPDATE service SET release = $1").bind(newest)).await;
        let outcome = Database::connect(&url, 4).await;
        assert_eq!(outcome.is_ok(), is_admitted, "converted by {newest}: {:?}", outcome.err());
    }
}

/// Creates a database of each engine.
pub(super) async fn both_schemas(folder: &Path) -> (Database, Database) {
    (Database::of_test_server(folder).await, Database::open(folder).await.expect("a database"))
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn both_engines_have_the_same_tables_with_the_same_columns() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let (server, file) = both_schemas(folder.path()).await;

    let of_server =
        "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns
                     WHERE table_schema = 'public'";
    let of_server = columns(server.rows(of_server).await);
    let of_file = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
                   WHERE t.type IN ('table', 'view')";
    let mut of_file = columns(file.rows(of_file).await);

    // Tables of local sign-in exist only in `SQLite`.
    of_file.retain(|table, _| !table.starts_with("oauth_"));
    assert_eq!(of_server, of_file);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_text_with_nul_is_stored_without_it() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test_server(folder.path()).await;

    let statement = "INSERT INTO issuers (issuer, since) VALUES ($1, 0)";
    database.write(sql(statement).bind("a\0b")).await;

    assert_eq!(database.texts("SELECT issuer FROM issuers").await, ["a\u{fffd}b"]);
}
