//! Users as operators see them, and the end of one: what it does with each table, who may do it, and what comes too late.

mod end;
mod export;
mod late;

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
scim-tokens yes     yes     yes     no      no      no      no
scim-token  yes     yes     no      no      no      no      no
scim-revoke yes     yes     no      no      no      no      no
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
    ("running_calls.user_id", RECORDS),
    ("scim_tokens.created_by", ATTRIBUTION),
    ("scim_users.user_id", Stays("the provider's, until it or an erasure removes it")),
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
    ("audit_calls.actor", "who called what, for the time of the setting `audit-calls-retention`"),
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
    INSERT INTO scim_tokens VALUES (x'0a0b0c0d0e0f1011', 'entra', 'una', 1, NULL);
    INSERT INTO scim_users VALUES ('s1', 'una', 'una', 'una', 'una', TRUE, '{\"displayName\":\"una\"}', 1, 1);
    INSERT INTO invocations VALUES
        (3, 'books', '1.0.0', 'find', 'una', NULL, NULL, NULL, NULL, 0, 1, 2, 'succeeded', NULL, 0, 0, 0, 0, 0, NULL, NULL, '[]', 1,
         NULL);
    INSERT INTO running_calls
        SELECT 'c', id, 'books', '1.0.0', 'find', 'una', NULL, NULL, NULL, NULL, NULL, 0 FROM processes;
    INSERT INTO audit_calls VALUES
        (1, 'c', 0, 'una', NULL, NULL, 'books', '1.0.0', 'find', NULL, 'succeeded', NULL, NULL, NULL, x'00');
";

/// A key of `una` that is older than the maximum lifetime.
const EXPIRED_KEY: &str = "INSERT INTO program_keys VALUES
    (x'0908070605040302', 'local', 'una', NULL, 'old', NULL, -9999999999999, NULL, NULL)";

/// A key of `una`.
const KEY: &str = "INSERT INTO program_keys VALUES
    (x'0304050607080910', 'local', 'una', NULL, 'nightly', NULL, 1, NULL, NULL)";

/// A token of an identity provider.
const SCIM_TOKEN: &str = "INSERT INTO scim_tokens VALUES (x'0a0b0c0d0e0f1011', 'entra', 'ana', 1, NULL)";

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
        name: None,
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
            execute(&fixture.database, SCIM_TOKEN).await;
            let caller = match *name {
                "prog" => fixture.program("ana"),
                "unas" => fixture.program("una"),
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
                    | AccessError::ProgramsCannotProvision
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
        "scim-tokens" => operator.scim_tokens().all().await.map(drop),
        "scim-token" => operator.scim_tokens().create("okta").await.map(drop),
        "scim-revoke" => operator.scim_tokens().revoke("0a0b0c0d0e0f1011").await,
        "end-self" => operator.users().end(caller.id(), DocumentsFate::Bin).await.map(drop),
        other => panic!("no act {other}"),
    }
}
