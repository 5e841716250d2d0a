//! Users as operators see them, and the end of one: what it does with each table, who may do it, and what comes too late.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use kitbag_database::{Scope, refuse_ended, sql};
use kitbag_identity::EndUserError;
use kitbag_knowledge::KnowledgeError;
use kitbag_knowledge::collections::{CollectionError, Description, Membership, Role};
use kitbag_knowledge::{Chosen, Holder, Listing, NewDocument, NewFeed};
use kitbag_vault::user_cache::CacheSlot;
use kitbag_vault::{Account, AccountState, SecretSlot};

use super::*;
use crate::users::values::{DocumentsFate, UserEnd};

/// Outcomes of acts of operators on the user `una`.
///
/// `ana` and `ben` are operators; `prog` is a key of a program of `ana`; `unas` one of `una`; `eve` is an outsider, and
/// `oper` is a user in a group that is named like an operator.
const TABLE: &str = "
            ana     ben     prog    una     unas    eve     oper
list        yes     yes     yes     no      no      no      no
show        yes     yes     yes     no      no      no      no
end         yes     yes     no      no      no      no      no
end-access  yes     yes     no      no      no      no      no
end-self    no      no      no      no      no      no      no
export      no      no      no      no      no      no      no
export-end  yes     yes     no      no      no      no      no
export-self yes     yes     yes     yes     yes     yes     yes
revoke-key  yes     yes     no      no      no      no      no
";

/// What the end of a user does with a column that names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No row names them any more.
    Removed,
    /// The operator takes their place.
    Passed,
    /// Documents are in the bin; nothing is left outside it.
    Binned,
    /// It stays, for this reason.
    Stays(&'static str),
}
use Fate::{Binned, Passed, Removed, Stays};

const ATTRIBUTION: Fate = Stays("says who did what that is not theirs alone");
const HISTORY: Fate = Stays("history of a toolkit, for all who use it");
const RECORDS: Fate = Stays("records of calls, until their retention ends or they are erased");
const NUMBER: Fate = Stays("a number that processes compare");

/// All columns with ids of users, or with holders. A new column needs a line here: what does the end of a user do with it?
const AFTER_END: &[(&str, Fate)] = &[
    ("account_refreshes.user_id", Removed),
    ("asked_calls.user_id", Removed),
    ("browser_sessions.user_id", Removed),
    ("cached_values.user_id", Removed),
    ("chunks.holder", Binned),
    ("code_tools.user_id", Removed),
    ("collection_grants.shared_by", ATTRIBUTION),
    ("collection_grants.user_id", Removed),
    ("collections.created_by", ATTRIBUTION),
    ("collections.deleted_by", ATTRIBUTION),
    ("consents.owner", Passed),
    ("consents.user_id", Removed),
    ("document_versions.changed_by", ATTRIBUTION),
    ("documents.added_by", ATTRIBUTION),
    ("documents.changed_by", ATTRIBUTION),
    ("documents.deleted_by", ATTRIBUTION),
    ("documents.holder", Binned),
    ("feeds.holder", Binned),
    ("hidden_tools.user_id", Removed),
    ("invocations.user_id", RECORDS),
    ("knowledge_jobs.holder", Binned),
    ("knowledge_jobs.taken_by", Stays("a process")),
    ("knowledge_revisions.holder", NUMBER),
    ("knowledge_usage.holder", Stays("counts, zero outside the bin")),
    ("limited_calls.user_id", Removed),
    ("oauth_grants.user_id", Removed),
    ("program_keys.user_id", Removed),
    ("publishers.added_by", ATTRIBUTION),
    ("secret_revisions.user_id", NUMBER),
    ("secrets.user_id", Removed),
    ("toolkit_activations.activated_by", HISTORY),
    ("toolkit_audience.shared_by", ATTRIBUTION),
    ("toolkit_audience.user_id", Removed),
    ("toolkit_ownership.by_user", HISTORY),
    ("toolkit_ownership.owner_before", HISTORY),
    ("toolkit_uploads.uploaded_by", ATTRIBUTION),
    ("toolkit_users.user_id", RECORDS),
    ("toolkit_versions.deployed_by", HISTORY),
    ("toolkits.owner", Passed),
    ("user_config.user_id", Removed),
    ("users.ended_by", ATTRIBUTION),
    ("users.user_id", Stays("that their access was ended, and when")),
];

/// All columns that name a user who was erased, or what was theirs, each with the reason.
const AFTER_ERASURE: &[(&str, &str)] = &[
    ("audit.actor", "who did what, for the time of the setting `audit-retention`"),
    ("audit.affected", "the same"),
    ("audit.name", "the same: with whom something was shared"),
    ("knowledge_revisions.holder", "a number that processes compare"),
    ("knowledge_usage.holder", "counts, all zero"),
    ("secret_revisions.user_id", "a number that processes compare"),
    ("users.user_id", "that their access was ended: tokens of before stay refused"),
];

/// All columns of all tables.
const COLUMNS: &str = "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'";

/// The same of a database server.
const COLUMNS_OF_SERVER: &str = "SELECT CAST(table_name AS TEXT) || '.' || CAST(column_name AS TEXT)
    FROM information_schema.columns WHERE table_schema = 'public'";

/// Rows of `una` that have no other way into the database here.
const ROWS: &str = "
    INSERT INTO account_refreshes VALUES ('una', 'books', 'attempt');
    INSERT INTO asked_calls VALUES ('call', 'una', 5, 'sealed', 4102444800);
    INSERT INTO browser_sessions VALUES (x'01', 'local', 'una', 'Browser', 1, 2);
    INSERT INTO limited_calls VALUES ('books', 'una', '', '', 'day', 1, 2), ('books', '', 'sales', '', 'day', 1, 2);
    INSERT INTO program_keys VALUES (x'0304050607080910', 'local', 'una', NULL, 'nightly', 'books', 1, NULL, NULL);
    INSERT INTO toolkit_audience VALUES ('hers', 'fay', '', '', NULL, NULL, 0, 'una', 1);
    INSERT INTO toolkit_users VALUES ('books', 'una', 5);
    INSERT INTO publishers VALUES ('acme', x'3059', 'k', 'una', 1);
    INSERT INTO invocations VALUES
        (3, 'books', '1.0.0', 'find', 'una', 0, 1, 2, 'succeeded', NULL, 0, 0, 0, 0, 0, NULL, NULL, '[]', 1, NULL);
";

/// A key of `una` that is older than the maximum lifetime.
const EXPIRED_KEY: &str = "INSERT INTO program_keys VALUES
    (x'0908070605040302', 'local', 'una', NULL, 'old', NULL, -9999999999999, NULL, NULL)";

/// A key of `una`.
const KEY: &str = "INSERT INTO program_keys VALUES
    (x'0304050607080910', 'local', 'una', NULL, 'nightly', NULL, 1, NULL, NULL)";

/// What a toolkit has cached for `una`: one without a secret of hers, which would take it along.
const CACHED: &str =
    "INSERT INTO cached_values VALUES ('una', 'hers', x'02', 3, 1, 9223372036854775807, 'k', x'01', x'02')";

/// A grant of `una` to a client. A database server has none.
const GRANT: &str = "
    INSERT INTO oauth_clients (id, name, redirect_uris, used_at) VALUES ('client', NULL, '[]', 1);
    INSERT INTO oauth_grants (id, client_id, user_id, scopes, refresh_digest, seed, expires_at)
        VALUES ('g', 'client', 'una', '', x'01', x'02', 9223372036854775807);
";

/// Columns whose names look like those of user ids or holders.
const NAMING: &str = "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
    WHERE t.type = 'table' AND (c.name IN ('user_id', 'owner', 'owner_before', 'by_user')
        OR (c.name = 'holder' AND t.name <> 'account_refreshes') OR substr(c.name, -3) = '_by') ORDER BY 1";

fn note(title: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(format!("wing of {title}")), ..NewDocument::default() }
}

fn key_of(fixture: &Fixture, name: &str) -> User {
    fixture.access.of(&Arc::new(Caller {
        user_id: name.to_owned(),
        profile: TokenProfile::Key,
        client_id: None,
        key_id: Some("key".to_owned()),
        issued_at: i64::MAX,
        scopes: Vec::new(),
        toolkits: None,
        groups: Groups::default(),
    }))
}

/// A service where `una` has something in each table: a toolkit of hers that `fay` uses, an account, secrets, documents
/// and two collections, of which she alone keeps `plans`.
async fn service() -> Fixture {
    let toolkits = [("books".to_owned(), "shared", "ana"), ("hers".to_owned(), "private", "una")];
    let fixture = Fixture::with(&toolkits).await;
    let una = fixture.user("una");
    execute(&fixture.database, ROWS).await;
    if fixture.database.is_file() {
        execute(&fixture.database, GRANT).await;
    }
    fixture.access.stores().toolkits.registry.start_over().await.expect("the database is there");
    give(&una, "books").await;
    give(&fixture.user("fay"), "hers").await;
    let allow = fixture.access.stores().toolkits.code_tools.allow(&una.actor(), "books", "find").await;
    allow.expect("it is there");
    una.hide("books", Some("find")).await.expect("she sees it");
    let account = Account {
        grants: Vec::new(),
        connected_at: 1,
        state: AccountState::Ended { reason: "it is over".to_owned() },
    };
    let vault = &fixture.access.stores().vault;
    let slot = SecretSlot::account("una", "books", "ana");
    vault.put_account(&una.actor(), slot, &account).await.expect("there is room");
    execute(&fixture.database, CACHED).await;
    let grant = [audience::grant(json!({ "user": "una" })), audience::grant(json!({ "user": "fay" }))];
    let ana = fixture.user("ana").operator().expect("she is one");
    ana.audiences().share("books", grant.to_vec()).await.expect("it is hers");

    let about = Description { name: "Plans".to_owned(), description: String::new() };
    una.collections().create("plans", &about).await.expect("it is new");
    let reader = Membership { subject: Subject::User("fay".to_owned()), role: Role::Reader };
    una.collections().share("plans", &[reader]).await.expect("it is hers");
    fixture.user("fay").collections().create("handbook", &about).await.expect("it is new");
    let member = Membership { subject: Subject::User("una".to_owned()), role: Role::Curator };
    fixture.user("fay").collections().share("handbook", &[member]).await.expect("it is hers");
    una.documents()
        .of(Some("handbook"))
        .expect("she keeps it")
        .ingest(vec![note("Ours")])
        .await
        .expect("stored");
    let own = una.documents().of(None).expect("her own");
    let ids = own.ingest(vec![note("One"), note("Two"), note("Gone")]).await.expect("they are right");
    own.delete(Chosen::Ids(vec![ids[2].id.clone()])).await.expect("it is there");
    fixture
}

/// Runs statements with bytes as `SQLite` writes them.
async fn execute(database: &Database, statements: &str) {
    let of_engine = if database.is_file() { statements.to_owned() } else { statements.replace("x'", "'\\x") };
    database.execute(&of_engine).await;
}

/// Gives a toolkit a secret and a setting of the user.
async fn give(user: &User, toolkit: &str) {
    set_secret(user, toolkit).await.expect("it declares it");
    change_settings(user, toolkit).await.expect("it declares it");
}

async fn end(by: &User, user: &str, documents: DocumentsFate) -> Result<UserEnd, AccessError> {
    by.operator().expect("an operator").users().end(user, documents).await
}

/// Number of rows in which each column names `una`, or what is hers outside the bin.
async fn rows(database: &Database) -> BTreeMap<&'static str, i64> {
    let mut found = BTreeMap::new();
    let is_there = |column: &str| database.is_file() || !column.starts_with("oauth_grants.");
    for (column, _) in AFTER_END.iter().filter(|(column, _)| is_there(column)) {
        let (table, name) = column.split_once('.').expect("a column of a table");
        let value = if name == "holder" { "user:una" } else { "una" };
        let count = format!("SELECT COUNT(*) FROM {table} WHERE {name} = '{value}'");
        found.insert(*column, database.column::<i64>(&count).await.remove(0));
    }
    found
}

/// Columns of all tables in which the id `una` occurs, in whatever text.
async fn mentions(database: &Database) -> Vec<String> {
    let mut found = Vec::new();
    let columns = if database.is_file() { COLUMNS } else { COLUMNS_OF_SERVER };
    let mut columns = database.column::<String>(columns).await;
    columns.sort();
    for column in columns {
        let (table, name) = column.split_once('.').expect("a column of a table");
        let count = format!("SELECT COUNT(*) FROM \"{table}\" WHERE CAST(\"{name}\" AS TEXT) LIKE '%una%'");
        if database.column::<i64>(&count).await != [0] {
            found.push(column);
        }
    }
    found
}

/// Entries of a tar archive, which is complete.
async fn entries(export: crate::Export) -> BTreeMap<String, String> {
    let pieces: Vec<_> = export.archive.try_collect().await.expect("it does not break off");
    let archive: Vec<u8> = pieces.concat();
    assert!(archive.ends_with(&[0; 1024]), "it has an end");
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8(bytes[..end].to_vec()).expect("text")
    };
    let mut found = BTreeMap::new();
    let mut at = 0;
    while archive[at] != 0 {
        let size = usize::from_str_radix(&text(&archive[at + 124..at + 136]), 8).expect("digits");
        let content = String::from_utf8(archive[at + 512..at + 512 + size].to_vec()).expect("text");
        assert_eq!(found.insert(text(&archive[at..at + 100]), content), None, "each name once");
        at += 512 + size.next_multiple_of(512);
    }
    assert_eq!(archive.len(), at + 1024);
    found
}

#[tokio::test]
async fn each_column_that_names_a_user_has_its_fate() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");

    for table in kitbag_database::TABLES {
        let holder: &[&str] = if table.has_holders { &["holder"] } else { &[] };
        for column in table.users.iter().chain(holder) {
            let column = format!("{}.{column}", table.name);
            assert!(AFTER_END.iter().any(|(name, _)| *name == column), "{column}");
        }
    }
    let listed: Vec<_> = AFTER_END.iter().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(listed, database.column::<String>(NAMING).await, "what does the end of a user do with it?");
    for (column, fate) in AFTER_END {
        assert!(!matches!(fate, Stays("")), "{column}");
    }
}

#[tokio::test]
async fn the_end_of_a_user_does_with_each_table_what_the_list_says() {
    let fixture = service().await;
    let before = rows(&fixture.database).await;
    let ana = fixture.user("ana");

    let done = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");

    assert!(done.is_finished, "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, fate) in AFTER_END {
        let (Some(&before), Some(&after)) = (before.get(column), after.get(column)) else { continue };
        match fate {
            Removed | Passed => assert!(before > 0 && after == 0, "{column}: {before}, then {after}"),
            // Jobs may have ended, and feeds and passages are none here.
            Binned => assert_eq!(after, 0, "{column}"),
            // Her own membership has gone, and those that she gave stay.
            Stays(_)
                if ["users.user_id", "toolkit_ownership.owner_before", "collection_grants.shared_by"]
                    .contains(column) =>
            {
                assert!(after > 0, "{column}");
            }
            // Counts of changes, which the end itself makes, too.
            Stays(_) if *fate == NUMBER => assert!(after >= before, "{column}"),
            Stays(_) => assert_eq!(after, before, "{column}"),
        }
    }
    let clients = u64::from(fixture.database.is_file());
    assert_eq!((done.keys, done.sessions, done.clients, done.accounts), (1, 1, clients, 1));
    assert_eq!((done.secrets, done.cached, done.documents), (1, 1, 2));
    assert_eq!(done.toolkits, ["hers"]);
    assert_eq!(
        (done.collections, done.passed_collections),
        (vec!["handbook".into(), "plans".into()], vec!["plans".into()])
    );
    assert_eq!(done.not_revoked, [""; 0], "an account that had ended needs no revocation");
    assert_eq!(done.forgotten.settings + done.forgotten.hidden_tools + done.forgotten.code_tools, 3);
    let usage = fixture.access.stores().knowledge.usage(&Holder::user("una")).await.expect("it is counted").0;
    assert_eq!(usage.documents, 3, "they are in the bin");

    let again = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");
    assert_eq!(again, UserEnd { is_finished: true, ..UserEnd::default() }, "nothing is left");
    let acts: Vec<String> = fixture
        .database
        .column("SELECT act FROM audit WHERE affected = 'una' AND act LIKE 'user.%' ORDER BY id")
        .await;
    assert_eq!(acts, ["user.ended", "user.cleared"], "the second time records nothing");
}

#[tokio::test]
async fn a_toolkit_passes_on_with_everything_that_its_users_have_given_it() {
    let fixture = service().await;
    let fay = fixture.user("fay");
    let before = fay.toolkit("hers").expect("she sees it").consent().await.expect("it can be read");
    assert!(before.agreed_version.is_some(), "she has agreed by giving something");

    end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");

    let toolkit = fay.toolkit("hers").expect("she still sees it");
    assert_eq!(toolkit.owner(), "ana");
    assert_eq!(toolkit.live().taken_over.as_ref().map(|it| it.from.as_str()), Some("una"), "users see it");
    assert!(fay.stored_for("hers").secrets().await.expect("they can be read")[0].set);
    let settings = toolkit.settings().await.expect("they can be read");
    assert!(format!("{settings:?}").contains("metric"), "{settings:?}");
    let after = toolkit.consent().await.expect("it can be read");
    assert_eq!((after.waiting, after.agreed_version), (false, before.agreed_version));
    let event: Vec<String> =
        fixture.database.column("SELECT event FROM toolkit_ownership WHERE toolkit_id = 'hers'").await;
    assert_eq!(event, ["passed"]);
    // A take-over from then on clears, as ever.
    let taken = fixture.user("ben").operator().expect("he is one").take_over("hers").await.expect("he may");
    assert_eq!((taken.from.as_str(), taken.removed_secrets), ("ana", 1));
}

#[tokio::test]
async fn the_last_grant_of_a_shared_toolkit_does_not_open_it_to_everyone() {
    let fixture =
        Fixture::with(&[("books".to_owned(), "shared", "ana"), ("mine".to_owned(), "shared", "una")]).await;
    let ana = fixture.user("ana");
    for id in ["books", "mine"] {
        let operator = ana.operator().expect("she is one");
        operator
            .audiences()
            .share(id, vec![audience::grant(json!({ "user": "una", "tool": "find" }))])
            .await
            .expect("shared");
    }
    assert!(fixture.user("eve").toolkit("books").is_err());

    let done = end(&fixture.user("ben"), "una", DocumentsFate::Bin).await.expect("he may");

    assert_eq!(done.forgotten.grants, 2);
    assert!(fixture.user("eve").toolkit("books").is_err() && fixture.user("eve").toolkit("mine").is_err());
    assert!(ana.toolkit("books").is_ok(), "its owner");
    assert!(fixture.user("ben").toolkit("mine").is_ok(), "it passed to him");
}

#[tokio::test]
async fn documents_move_to_a_collection_with_ids_and_attribution_and_leave_out_what_is_there() {
    let fixture = service().await;
    let fay = fixture.user("fay");
    let handbook = fay.documents().of(Some("handbook")).expect("she keeps it");
    let there = handbook.ingest(vec![note("Two")]).await.expect("stored").remove(0).id;
    let una = fixture.user("una").documents().of(None).expect("her own");
    let own = una.list(&Listing { limit: 10, ..Listing::default() }).await.expect("they can be listed");
    let id_of = |title: &str| {
        let found = own.documents.iter().find(|(_, it)| it.title == title);
        found.expect("it is there").1.id.clone()
    };
    let ana = fixture.user("ana");
    let nowhere = end(&ana, "una", DocumentsFate::Collection("nowhere".to_owned())).await;
    assert!(matches!(nowhere, Err(AccessError::Collection(_))), "{nowhere:?}");
    assert!(
        fixture.database.column::<String>("SELECT user_id FROM users WHERE ended_at > 0").await.is_empty()
    );

    let done = end(&ana, "una", DocumentsFate::Collection("handbook".to_owned())).await.expect("she may");

    assert_eq!((done.moved, done.documents), (1, 1), "one moved, and one is in the bin");
    assert_eq!(done.conflicts.len(), 1);
    assert_eq!((&done.conflicts[0].id, &done.conflicts[0].existing), (&id_of("Two"), &Some(there)));
    let moved = fay.documents().summary(&id_of("One")).await.expect("fay reads it now");
    assert_eq!((moved.holder, moved.added_by.as_str()), (Holder::collection("handbook"), "una"));
}

#[tokio::test]
async fn an_erasure_leaves_neither_documents_nor_records() {
    let fixture = service().await;
    let before = mentions(&fixture.database).await;
    for (column, fate) in AFTER_END {
        // There are no feeds here, and jobs may have ended.
        let is_without = [
            "chunks.holder",
            "feeds.holder",
            "knowledge_jobs.holder",
            "knowledge_jobs.taken_by",
            "users.ended_by",
        ];
        let is_missing = !fixture.database.is_file() && column.starts_with("oauth_grants.");
        let named = before.iter().any(|it| it == column) || is_without.contains(column) || is_missing;
        assert!(named || matches!(fate, Stays(_)), "{column} in {before:?}");
    }

    let done = end(&fixture.user("ana"), "una", DocumentsFate::Erased).await.expect("she may");

    assert!(done.is_finished && done.mentions > 0, "{done:?}");
    assert_eq!((done.documents, done.records), (3, 1), "the bin, too");
    for (table, column) in [("documents", "holder"), ("chunks", "holder"), ("knowledge_jobs", "holder")] {
        let left = format!("SELECT COUNT(*) FROM {table} WHERE {column} LIKE '%user:una'");
        assert_eq!(fixture.database.column::<i64>(&left).await, [0], "{table}");
    }
    let records = "SELECT (SELECT COUNT(*) FROM invocations) + (SELECT COUNT(*) FROM toolkit_users)";
    assert_eq!(fixture.database.column::<i64>(records).await, [0]);
    let ours = fixture.database.column::<String>("SELECT added_by FROM documents").await;
    assert_eq!(ours, ["(erased)"], "what she has added to a collection stays, without her name");
    let left = mentions(&fixture.database).await;
    let listed: Vec<_> = AFTER_ERASURE.iter().map(|(column, _)| *column).collect();
    assert_eq!(left, listed, "what else names a user who was erased?");
    let again = end(&fixture.user("ben"), "una", DocumentsFate::Erased).await.expect("he may");
    assert_eq!(again, UserEnd { is_finished: true, ..UserEnd::default() }, "nothing is left");
    let shown = fixture.user("fay").toolkit("hers").expect("she sees it");
    assert_eq!(shown.live().taken_over.as_ref().map(|it| it.from.as_str()), Some("(erased)"));
    let collections = fixture.access.stores().collections.directory();
    assert_eq!(collections.get("plans").expect("it is there").created_by, "(erased)");
}

#[tokio::test]
async fn an_end_and_an_erasure_can_follow_each_other_and_a_crash_after_each_step() {
    for fate in [DocumentsFate::Bin, DocumentsFate::Collection("handbook".to_owned()), DocumentsFate::Erased]
    {
        for steps in 0..=crate::users::STEPS {
            let fixture = service().await;
            let ben = fixture.user("ben").operator().expect("he is one");
            let crashed = ben.users().end_until_crash("una", fate.clone(), steps).await.expect("he may");
            assert!(crashed.is_finished, "of these steps");

            let done = end(&fixture.user("ana"), "una", fate.clone()).await.expect("she may");

            assert!(done.is_finished, "{fate:?} after {steps}: {done:?}");
            let after = rows(&fixture.database).await;
            for (column, _) in AFTER_END.iter().filter(|(_, it)| matches!(it, Removed | Passed | Binned)) {
                assert_eq!(after.get(column).unwrap_or(&0), &0, "{fate:?} after {steps}: {column}");
            }
            end(&fixture.user("ana"), "una", DocumentsFate::Erased).await.expect("she may");
            let left = mentions(&fixture.database).await;
            let allowed = |column: &String| AFTER_ERASURE.iter().any(|(name, _)| name == column);
            assert!(left.iter().all(allowed), "{fate:?} after {steps}: {left:?}");
        }
    }
}

#[tokio::test]
async fn an_export_has_everything_but_values_of_secrets() {
    let fixture = service().await;
    let una = fixture.user("una");
    let own = una.documents().of(None).expect("her own");
    let page = |text: &str| NewDocument {
        url: Some("https://example.com/tides".to_owned()),
        title: "Tides".to_owned(),
        text: Some(text.to_owned()),
        feed: Some(NewFeed { key: "sea".to_owned(), name: "The sea".to_owned(), label: None }),
        ..NewDocument::default()
    };
    let id = own.ingest(vec![page("ebb")]).await.expect("stored").remove(0).id;
    own.ingest(vec![page("flood")]).await.expect("stored");
    let file = stream::iter([Ok(bytes::Bytes::from_static(b"a file of wings"))]).boxed();
    let titled = NewDocument { title: "Wings".to_owned(), ..NewDocument::default() };
    let with_file = own.ingest_file(titled, Some("wings.txt"), file, None).await.expect("stored").id;

    let found = entries(una.export().await.expect("she may")).await;

    let contents: Value = serde_json::from_str(&found["contents.json"]).expect("JSON");
    for (name, count) in [
        ("documents", 4),
        ("deletedDocuments", 1),
        ("earlierTexts", 1),
        ("files", 1),
        ("feeds", 1),
        ("settings", 1),
        ("calls", 1),
    ] {
        assert_eq!(contents[name], count, "{name}: {contents}");
    }
    let document: Value =
        serde_json::from_str(&found[&format!("documents/{id}/document.json")]).expect("JSON");
    assert_eq!((&document["url"], &document["feed"]), (&json!("https://example.com/tides"), &json!("sea")));
    assert_eq!(found[&format!("documents/{id}/text.txt")], "flood");
    assert!(found[&format!("documents/{id}/versions/1.json")].contains("\"ebb\""));
    assert_eq!(found[&format!("documents/{with_file}/file.txt")], "a file of wings");
    assert!(found.keys().any(|name| name.starts_with("bin/") && found[name].contains("wing of Gone")));
    let user: Value = serde_json::from_str(&found["user.json"]).expect("JSON");
    assert_eq!((&user["keys"][0]["name"], &user["secrets"][0]["name"]), (&json!("nightly"), &json!("KEY")));
    assert_eq!(
        (&user["accounts"][0]["toolkit"], &user["collections"][1]["id"]),
        (&json!("books"), &json!("plans"))
    );
    assert!(found["settings.jsonl"].contains("metric"));
    assert!(found["calls/books/000001.jsonl"].contains("\"find\""));
    let whole = found.values().cloned().collect::<String>();
    for hidden in ["a-secret-value", "sealed", "wing of Ours"] {
        assert!(!whole.contains(hidden), "{hidden}");
    }
    let other = fixture.user("eve").export().await.expect("she may");
    let other = entries(other).await;
    assert_eq!(other.keys().map(String::as_str).collect::<Vec<_>>(), ["contents.json", "user.json"]);
}

#[tokio::test]
async fn an_operator_exports_whom_they_have_ended_loudly_and_nobody_reads_two_at_a_time() {
    let fixture = service().await;
    let (ana, ben) = (fixture.user("ana"), fixture.user("ben"));
    let operator = ana.operator().expect("she is one");
    let present = operator.users().export("una").await;
    assert!(matches!(present, Err(AccessError::ExportOfOther(_))), "she can do it herself");

    let done = operator.users().end_access("una").await.expect("she may");
    assert!(done.is_finished && done.keys == 1 && done.documents == 0, "{done:?}");
    let first = operator.users().export("una").await.expect("she may now");
    let second = operator.users().export("una").await;
    let by_ben = ben.operator().expect("he is one").users().export("una").await.expect("he may, too");

    assert!(matches!(second, Err(AccessError::TooManyExports)), "one at a time");
    let found = entries(first).await;
    assert!(found["user.json"].contains("\"KEY\""), "what she had is still there");
    drop(by_ben);
    let mut patience = 0;
    while let Err(error) = operator.users().export("una").await {
        assert!(matches!(error, AccessError::TooManyExports) && patience < 100, "{error}");
        patience += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let acts = "SELECT actor || ' ' || outcome || ' ' || COALESCE(affected, '') FROM audit
        WHERE act = 'user.exported' OR name = 'user.exported' ORDER BY id";
    let acts = fixture.database.column::<String>(acts).await;
    assert_eq!(acts, ["ana refused ", "ana done una", "ben done una", "ana done una"]);
    end(&ana, "una", DocumentsFate::Erased).await.expect("she may");
    let gone = operator.users().export("una").await.expect("she is known as ended");
    assert!(entries(gone).await.keys().all(|name| !name.contains('/')), "nothing is left");
}

#[tokio::test]
async fn nothing_that_comes_too_late_is_stored_for_a_user_who_was_ended() {
    let fixture = service().await;
    let una = fixture.user("una");
    let secret = una.secret("books", "KEY").expect("she sees it");
    let toolkit = una.toolkit("books").expect("she sees it");
    end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");
    let before = rows(&fixture.database).await;
    let is_refused = |outcome: Result<(), String>| {
        let words = ["an operator has ended this user", "the access of the user was ended"];
        outcome.is_err_and(|error| words.iter().any(|words| error.contains(words)))
    };

    let own = una.documents().of(None).expect("her own");
    let ingested = own.ingest(vec![note("Late")]).await;
    let restored = own.restore(Chosen::All).await;
    let set = una.set_secret(&secret, &"a-secret-value".into()).await;
    let changed = toolkit.change_settings(&Map::from_iter([("unit".to_owned(), Value::from("late"))])).await;
    let hidden = una.hide("books", None).await;
    let about = Description { name: "Late".to_owned(), description: String::new() };
    let created = una.collections().create("late", &about).await;
    let stores = fixture.access.stores();
    let slot = CacheSlot { user: "una".into(), toolkit: "books".into(), owner: "ana".into() };
    let cached = stores.cache.set(&slot, "key", "late".into(), None).await;
    let claimed = stores.toolkits.asked_calls.claim("una", "late", 60).await;
    let allowed = stores.toolkits.code_tools.allow(&una.actor(), "books", "find").await;
    let renewed = stores.vault.begin_refresh("una", "books", "late", None).await;
    let account =
        Account { grants: Vec::new(), connected_at: 1, state: AccountState::Ended { reason: String::new() } };
    let slot = SecretSlot::account("una", "books", "ana");
    let connected = stores.vault.put_account(&una.actor(), slot, &account).await;

    for outcome in [
        ingested.map(drop).map_err(|it| it.to_string()),
        restored.map(drop).map_err(|it| it.to_string()),
        changed.map_err(|it| it.to_string()),
        created.map_err(|it| it.to_string()),
    ] {
        assert!(is_refused(outcome.clone()), "{outcome:?}");
    }
    assert!(set.is_err() && hidden.is_err() && cached.is_err() && claimed.is_err() && allowed.is_err());
    assert!(renewed.is_err() && connected.is_err());
    assert_eq!(rows(&fixture.database).await, before);
    // Whoever has signed in since is there again.
    fixture.database.execute("UPDATE users SET first_seen_at = 1, signed_in_at = ended_at + 1").await;
    own.ingest(vec![note("Back")]).await.expect("she is back");
}

#[tokio::test]
async fn an_ended_user_changes_no_document_of_others() {
    let fixture = service().await;
    let (una, fay) = (fixture.user("una"), fixture.user("fay"));
    let ours = una.documents().of(Some("handbook")).expect("she keeps it");
    let plans = una.documents().of(Some("plans")).expect("she keeps it");
    let page = |text: &str| NewDocument {
        url: Some("https://example.com/tides".to_owned()),
        ..NewDocument { text: Some(text.to_owned()), ..note("Tides") }
    };
    let of_fay = fay.documents().of(Some("handbook")).expect("she keeps it");
    let tides = of_fay.ingest(vec![page("ebb"), note("Binned")]).await.expect("stored");
    of_fay.ingest(vec![page("flood")]).await.expect("stored");
    of_fay.delete(Chosen::Ids(vec![tides[1].id.clone()])).await.expect("it is there");
    fixture.user("ana").operator().expect("she is one").users().end_access("una").await.expect("she may");
    let state =
        "SELECT title || holder || COALESCE(deleted_by, '') || changed_by FROM documents ORDER BY sequence";
    let before: Vec<String> = fixture.database.column(state).await;
    let stores = fixture.access.stores();
    let (collections, by) = (&stores.collections, una.actor());

    let documents = [
        ("delete", ours.delete(Chosen::All).await.map(drop)),
        ("restore", ours.restore(Chosen::All).await.map(drop)),
        ("purge", ours.purge(Chosen::All).await.map(drop)),
        ("move", ours.move_to(&plans, Chosen::All).await.map(drop)),
        ("restore a version", ours.restore_version(&tides[0].id, 1).await),
        ("purge a collection", stores.knowledge.purge_collection(collections, "plans", &by).await.map(drop)),
    ];
    let about = Description { name: "Late".to_owned(), description: String::new() };
    let of_collections = [
        ("describe", collections.describe("handbook", &about, &by).await),
        ("unshare", collections.unshare("handbook", &Subject::User("fay".to_owned()), &by).await),
        ("delete", collections.delete("handbook", &by).await),
    ];

    for (act, outcome) in documents {
        let refused = match &outcome {
            Err(
                KnowledgeError::Storage(cause) | KnowledgeError::Collection(CollectionError::Storage(cause)),
            ) => cause.is_user_ended(),
            _ => false,
        };
        assert!(refused, "{act}: {outcome:?}");
    }
    for (act, outcome) in of_collections {
        let refused = matches!(&outcome, Err(CollectionError::Storage(cause)) if cause.is_user_ended());
        assert!(refused, "{act} of a collection: {outcome:?}");
    }
    assert_eq!(fixture.database.column::<String>(state).await, before);
    // Whoever is not ended goes on.
    assert_eq!(of_fay.purge(Chosen::All).await.expect("she may"), 1);
}

#[tokio::test]
async fn what_is_not_committed_yet_when_a_user_is_ended_does_not_outlast_it() {
    let handbook = Holder::collection("handbook");
    let late = [
        (
            Scope::Collections,
            "INSERT INTO collection_grants (collection, user_id, group_name, role, shared_by, shared_at)
             VALUES ('late', 'una', '', 'reader', 'fay', 1)",
        ),
        (
            Scope::Secrets,
            "INSERT INTO secrets SELECT user_id, 'hers', name, master_key, wrapped_key, sealed, updated_at, overrides,
                 readable FROM secrets WHERE user_id = 'una' AND name = '@account'",
        ),
        (Scope::Holders(&[&handbook]), "UPDATE documents SET changed_by = 'una' WHERE title = 'Late'"),
        (Scope::Toolkits, "UPDATE toolkits SET owner = 'una' WHERE id = 'books'"),
    ];
    for (scope, statement) in late {
        let fixture = service().await;
        let fay = fixture.user("fay");
        let about = Description { name: "Late".to_owned(), description: String::new() };
        fay.collections().create("late", &about).await.expect("it is new");
        let ours = fay.documents().of(Some("handbook")).expect("she keeps it");
        ours.ingest(vec![note("Late")]).await.expect("stored");
        let mut writer = fixture.database.begin(scope).await.expect("it begins");
        refuse_ended(&mut writer, "una").await.expect("she is here");
        assert_eq!(sql(statement).execute(&mut writer).await.expect("it is written"), 1, "{statement}");

        let ana = fixture.user("ana");
        let ending = tokio::spawn(async move { end(&ana, "una", DocumentsFate::Erased).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        writer.commit().await.expect("nothing contradicts it");
        let done = ending.await.expect("no panic").expect("she may");

        assert!(done.is_finished, "{done:?}");
        let left = mentions(&fixture.database).await;
        let listed: Vec<_> = AFTER_ERASURE.iter().map(|(column, _)| *column).collect();
        assert_eq!(left, listed, "{statement}");
    }
}

#[tokio::test]
async fn what_a_user_stores_while_they_are_ended_does_not_outlast_it() {
    let fixture = service().await;
    let una = fixture.user("una");
    let writers: Vec<_> = (0..8)
        .map(|nth| {
            let una = una.clone();
            tokio::spawn(async move {
                for round in 0.. {
                    let own = una.documents().of(None).expect("her own");
                    let stored = own.ingest(vec![note(&format!("{nth} {round}"))]).await;
                    let hidden = una.hide("books", Some(if round % 2 == 0 { "find" } else { "list" })).await;
                    if stored.is_err() && hidden.is_err() {
                        return round;
                    }
                }
                0
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;

    let done = end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");

    let mut rounds = 0;
    for writer in writers {
        rounds += writer.await.expect("it ends");
    }
    assert!(done.is_finished && rounds > 0, "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, fate) in AFTER_END.iter().filter(|(_, fate)| matches!(fate, Removed | Passed | Binned)) {
        assert_eq!(after.get(column).unwrap_or(&0), &0, "{column}: {fate:?}");
    }
}

#[tokio::test]
async fn an_end_that_was_interrupted_is_finished_by_the_next_one() {
    let fixture = service().await;
    let ana = fixture.user("ana");
    let stores = fixture.access.stores();
    // As a crash leaves it: some steps are done, and one of them half.
    stores.users.end("una", &ana.actor()).await.expect("it is ended");
    stores.vault.unset(&ana.actor(), "una", "books", "KEY").await.expect("it is there");
    stores.toolkits.leaving.pass_toolkits("una", &ana.actor()).await.expect("it passes");

    let done = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");

    assert!(done.is_finished && done.keys == 0 && done.secrets == 0 && done.toolkits.is_empty(), "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, _) in AFTER_END.iter().filter(|(_, fate)| matches!(fate, Removed | Passed | Binned)) {
        assert_eq!(after.get(column).unwrap_or(&0), &0, "{column}");
    }
}

#[tokio::test]
async fn of_two_operators_who_end_each_other_one_stays() {
    for _ in 0..5 {
        let fixture =
            Fixture::with(&[("anas".to_owned(), "private", "ana"), ("bens".to_owned(), "private", "ben")])
                .await;
        let (ana, ben) = (fixture.user("ana"), fixture.user("ben"));

        let (by_ana, by_ben) =
            tokio::join!(end(&ana, "ben", DocumentsFate::Bin), end(&ben, "ana", DocumentsFate::Bin));

        let owners: Vec<String> = fixture.database.column("SELECT DISTINCT owner FROM toolkits").await;
        match (by_ana, by_ben) {
            (Ok(_), Err(AccessError::UserEnd(EndUserError::ActorEnded))) => assert_eq!(owners, ["ana"]),
            (Err(AccessError::UserEnd(EndUserError::ActorEnded)), Ok(_)) => assert_eq!(owners, ["ben"]),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test]
async fn operators_see_that_things_exist_and_nobody_is_ended_by_an_empty_id() {
    let fixture = service().await;
    let ana = fixture.user("ana").operator().expect("she is one");

    let una = ana.users().get("una").await.expect("she is there");

    assert_eq!(una.summary.counts.documents.documents, 2);
    assert_eq!(
        (una.summary.counts.bin.documents, una.records, una.toolkits.as_slice()),
        (1, 1, &["hers".to_owned()][..])
    );
    assert_eq!((una.keys[0].name.as_str(), una.keys[0].id.as_str()), ("nightly", "0304050607080910"));
    assert_eq!(una.secrets[0].name.as_deref(), Some("KEY"));
    assert_eq!((una.accounts.len(), una.sessions.len(), una.cached.len()), (1, 1, 1));
    let last: Vec<_> = una.collections.iter().map(|it| (it.id.as_str(), it.is_last_curator)).collect();
    assert_eq!(last, [("handbook", false), ("plans", true)]);
    let shown = serde_json::to_string(&una).expect("JSON");
    for hidden in ["a-secret-value", "wing", "One", "Two", "metric"] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
    let all = ana.users().list("", 100).await.expect("they can be listed");
    let ids: Vec<_> = all.iter().map(|user| user.id.as_str()).collect();
    assert_eq!(ids, ["ana", "fay", "una"], "known by what they have");
    let page = ana.users().list("ana", 1).await.expect("they can be listed");
    assert_eq!(page.iter().map(|user| user.id.as_str()).collect::<Vec<_>>(), ["fay"]);
    for nobody in ["", "nobody", "group:sales", "una\u{0}"] {
        let refused = ana.users().end(nobody, DocumentsFate::Erased).await;
        assert!(matches!(refused, Err(AccessError::UnknownUser(_))), "{nobody:?}: {refused:?}");
    }
}

#[tokio::test]
async fn operators_see_keys_as_they_are_valid_and_revoke_one() {
    let fixture = service().await;
    execute(&fixture.database, EXPIRED_KEY).await;
    let ana = fixture.user("ana").operator().expect("she is one");

    let una = ana.users().get("una").await.expect("she is there");

    assert_eq!((una.summary.counts.keys, una.keys.len()), (1, 1), "another one has expired");
    let end = Some("2069-12-07T00:00:00.001Z");
    assert_eq!((una.keys[0].expires_at.as_deref(), una.keys[0].pauses_at.as_deref()), (end, end));
    let all = ana.users().list("", 100).await.expect("they can be listed");
    let keys: Vec<_> = all.iter().map(|user| (user.id.as_str(), user.counts.keys)).collect();
    assert_eq!(keys, [("ana", 0), ("fay", 0), ("una", 1)]);
    let export = entries(fixture.user("una").export().await.expect("she may")).await;
    assert!(export["user.json"].contains("2069-12-07"), "{}", export["user.json"]);

    ana.users().revoke_key("una", &una.keys[0].id).await.expect("it is there");

    for (user, key) in [("una", una.keys[0].id.as_str()), ("fay", una.keys[0].id.as_str()), ("nobody", "")] {
        let again = ana.users().revoke_key(user, key).await;
        assert!(matches!(again, Err(AccessError::UnknownKey { .. })), "{user} {key}: {again:?}");
    }
    let acts = "SELECT actor || ' ' || affected || ' ' || name FROM audit WHERE act = 'key.revoked'";
    assert_eq!(fixture.database.column::<String>(acts).await, ["ana una 0304050607080910"]);
}

#[tokio::test]
async fn who_is_only_mentioned_can_be_erased() {
    let fixture = service().await;
    fixture.database.execute("UPDATE documents SET added_by = 'zoe' WHERE title = 'Ours'").await;
    let ana = fixture.user("ana");

    let done = end(&ana, "zoe", DocumentsFate::Erased).await.expect("she may");

    assert!(done.is_finished && done.mentions == 1, "{done:?}");
    let left = fixture.database.column::<i64>("SELECT COUNT(*) FROM documents WHERE added_by = 'zoe'").await;
    assert_eq!(left, [0]);
    // Each column whose rows stay, with the user's id, counts as a mention.
    let mut columns: Vec<_> = crate::users::MENTIONS
        .iter()
        .flat_map(|(table, columns)| columns.iter().map(move |column| format!("{table}.{column}")))
        .filter(|column| column != "consents.owner")
        .collect();
    columns.push("toolkit_users.user_id".to_owned());
    columns.sort();
    let stays = AFTER_END.iter().filter(|(_, fate)| [ATTRIBUTION, HISTORY, RECORDS].contains(fate));
    assert_eq!(columns, stays.map(|(column, _)| (*column).to_owned()).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_export_that_nobody_reads_gives_up_its_place_in_the_end() {
    let fixture = Fixture::with(&[]).await;
    let mut held = Vec::new();
    for nth in 0..crate::MAX_EXPORTS {
        held.push(fixture.user(&format!("user {nth}")).export().await.expect("there is room"));
    }
    let una = fixture.user("una");
    assert!(matches!(una.export().await, Err(AccessError::TooManyExportsOfAll)));
    let own = fixture.user("user 0").export().await;
    assert!(matches!(own, Err(AccessError::TooManyExports)), "{:?}", own.err());

    let mut patience = 0;
    while let Err(error) = una.export().await {
        assert!(matches!(error, AccessError::TooManyExportsOfAll) && patience < 1000, "{error}");
        patience += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let broken: Vec<_> = held.remove(0).archive.collect().await;
    assert!(broken.last().is_some_and(Result::is_err), "whoever reads it sees that it broke off");
}

#[tokio::test]
async fn who_may_end_whom() {
    let mut lines = TABLE.trim_matches('\n').lines();
    let callers: Vec<_> = lines.next().expect("a line").split_whitespace().collect();
    let mut wrong = Vec::new();
    for line in lines {
        let mut cells = line.split_whitespace();
        let act = cells.next().expect("an act");
        for (name, expected) in callers.iter().zip(cells) {
            let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
            set_secret(&fixture.user("una"), "books").await.expect("she sees it");
            execute(&fixture.database, KEY).await;
            let caller = match *name {
                "prog" => key_of(&fixture, "ana"),
                "unas" => key_of(&fixture, "una"),
                "oper" => fixture.member("oper", &["ana", "user:ana"]),
                name => fixture.user(name),
            };
            if act == "export-end" {
                let users = &fixture.access.stores().users;
                users.end("una", &fixture.user("ana").actor()).await.expect("it is ended");
            }
            let found = match attempt_on_users(&caller, act).await {
                Ok(()) => "yes",
                Err(
                    AccessError::NotOperator(_)
                    | AccessError::ProgramsCannotEnd
                    | AccessError::OwnEnd
                    | AccessError::ExportOfOther(_),
                ) => "no",
                Err(other) => panic!("{name} {act}: {other}"),
            };
            if found != expected {
                wrong.push(format!("{name} {act}: {found}, not {expected}"));
            }
            let ended = "SELECT user_id FROM users WHERE ended_at > 0";
            let is_ended = !fixture.database.column::<String>(ended).await.is_empty();
            let is_expected = match act {
                "end" | "end-access" => found == "yes",
                act => act == "export-end",
            };
            assert_eq!(is_ended, is_expected, "{name} {act}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

async fn attempt_on_users(caller: &User, act: &str) -> Result<(), AccessError> {
    if act == "export-self" {
        return caller.export().await.map(drop);
    }
    let operator = caller.operator()?;
    match act {
        "export" | "export-end" => operator.users().export("una").await.map(drop),
        "end-access" => operator.users().end_access("una").await.map(drop),
        "list" => operator.users().list("", 10).await.map(drop),
        "show" => operator.users().get("una").await.map(drop),
        "end" => operator.users().end("una", DocumentsFate::Bin).await.map(drop),
        "revoke-key" => operator.users().revoke_key("una", "0304050607080910").await,
        "end-self" => operator.users().end(caller.id(), DocumentsFate::Bin).await.map(drop),
        other => panic!("no act {other}"),
    }
}
