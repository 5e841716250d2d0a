//! The list of tables, compared with the schema of both engines.

use super::server::both_schemas;
use super::*;
use crate::tables::NOT_COPIED;

/// Columns whose names look like those of user ids, but that contain none.
const NO_USERS: [&str; 1] = ["knowledge_jobs.taken_by"];

#[tokio::test]
async fn each_table_is_copied_or_left_out_for_a_reason() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");

    let mut named: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    named.extend(NOT_COPIED.iter().map(|(name, reason)| {
        assert!(!reason.is_empty(), "{name}");
        *name
    }));
    named.sort_unstable();

    assert_eq!(named, database.texts(TABLES_OF_FILE).await);
}

#[tokio::test]
async fn each_column_with_users_is_known_as_such_and_so_is_each_that_counts_up() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");

    for table in TABLES {
        let columns = database.columns(table.name).await;
        let names_users = |column: &&String| {
            ["user_id", "owner", "owner_before", "by_user"].contains(&column.as_str())
                || column.ends_with("_by")
        };
        let has_users = |column: &&String| !NO_USERS.contains(&format!("{}.{column}", table.name).as_str());
        let mut users: Vec<_> = table.users.to_vec();
        users.sort_unstable();
        let found: Vec<_> = columns.iter().filter(names_users).filter(has_users).collect();
        assert_eq!(users, found, "{}", table.name);
        let has_holders = columns.iter().any(|column| column == "holder");
        assert_eq!(table.has_holders, has_holders, "{}", table.name);

        let counter = format!(
            "SELECT name FROM pragma_table_xinfo('{}') WHERE pk = 1 AND type = 'INTEGER'",
            table.name
        );
        let counter = database.texts(&counter).await;
        // Skips columns that contain the id of a row of another table, a time, or a number that is chosen: by who appends
        // the entry of a call.
        let counter: Vec<_> = counter
            .iter()
            .filter(|column| !["document", "chunk", "hour"].contains(&column.as_str()))
            .filter(|_| table.name != "audit_calls")
            .collect();
        assert_eq!(table.ids.into_iter().collect::<Vec<_>>(), counter, "{}", table.name);
        let replaced = table.replaced.iter().all(|(name, _)| columns.iter().any(|column| column == name));
        assert!(replaced, "{}: {:?}", table.name, table.replaced);
    }
}

#[tokio::test]
async fn a_table_refers_to_those_before_it() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");
    let place = |name: &str| TABLES.iter().position(|table| table.name == name);

    for table in TABLES {
        let references = format!("SELECT \"table\" FROM pragma_foreign_key_list('{}')", table.name);
        for other in database.texts(&references).await {
            // References to processes are set to NULL in the copy.
            if other == "processes" {
                continue;
            }
            // Mutual references, checked at the end of the transaction.
            let is_deferred = table.name == "toolkits" && other == "toolkit_versions";
            assert!(place(&other) < place(table.name) || is_deferred, "{} refers to {other}", table.name);
        }
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn both_engines_compute_the_same_columns_and_count_the_same_ones_up() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let (server, file) = both_schemas(folder.path()).await;

    let computed =
        "SELECT CAST(table_name AS TEXT) || '.' || CAST(column_name AS TEXT) FROM information_schema.columns
        WHERE table_schema = 'public' AND is_generated = 'ALWAYS' ORDER BY 1";
    let computed_by_file =
        "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
        WHERE t.type = 'table' AND c.hidden IN (2, 3) ORDER BY 1";
    assert_eq!(server.texts(computed).await, file.texts(computed_by_file).await);
    let counted =
        "SELECT CAST(table_name AS TEXT) || '.' || CAST(column_name AS TEXT) FROM information_schema.columns
        WHERE table_schema = 'public' AND is_identity = 'YES'";
    let mut counted = server.texts(counted).await;
    counted.sort();
    let ids = |table: &Table| table.ids.map(|column| format!("{}.{column}", table.name));
    let mut expected: Vec<_> = TABLES.iter().filter_map(ids).collect();
    expected.sort();
    assert_eq!(counted, expected);
}
