use tempfile::TempDir;

use super::retention::sweep;
use super::*;
use crate::Scope;

const DAY: Duration = Duration::from_hours(24);

async fn log() -> (TempDir, Database, Audit) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(folder.path()).await;
    let audit = Audit::new(database.clone());
    (folder, database, audit)
}

/// Appends an entry for each name.
async fn append_all(database: &Database, names: &[&str]) {
    for name in names {
        let mut transaction = database.begin(Scope::Vault).await.expect("nobody keeps the writer");
        let by = Actor::with("ana", Some("client-1"), None);
        let entry = Entry::new(Act::SecretSet, &by).toolkit("books").name(name);
        append(&mut transaction, &entry).await.expect("it fits");
        transaction.commit().await.expect("there is room");
    }
}

/// Returns the faults of all chains.
async fn faults(database: &Database) -> Vec<String> {
    verify(database).await.expect("it is read").faults.into_iter().map(|fault| fault.what).collect()
}

async fn read(audit: &Audit, query: AuditQuery) -> Vec<AuditRecord> {
    let mut reading = audit.read(query).await.expect("it is read");
    let mut all = Vec::new();
    loop {
        let page = reading.next_page().await.expect("it is read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn names(records: &[AuditRecord]) -> Vec<&str> {
    records.iter().filter_map(|record| record.name.as_deref()).collect()
}

#[tokio::test]
async fn an_entry_says_who_did_what_and_its_hash_can_be_computed_from_what_it_says() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["FIRST", "SECOND"]).await;

    let records = read(&audit, AuditQuery::default()).await;

    let [first, second] = &records[..] else { panic!("{records:?}") };
    assert_eq!((first.act.as_str(), first.outcome.as_str()), ("secret.set", "done"));
    assert_eq!((first.user.as_deref(), first.client.as_deref()), (Some("ana"), Some("client-1")));
    assert_eq!((first.toolkit.as_deref(), first.name.as_deref()), (Some("books"), Some("FIRST")));
    assert_eq!((first.sequence, second.sequence), (1, 2));
    // Computed as documented in docs/audit.md.
    let at = second.at.parse::<jiff::Timestamp>().expect("a time").as_millisecond();
    let covered = serde_json::json!([
        first.hash,
        second.chain,
        2,
        at,
        ["secret.set", "done", "ana"],
        ["client-1", null, "books", null, null, "SECOND", null],
    ]);
    assert_eq!(second.hash, hex::encode(kitbag_base::sha256::Sha256::digest(covered.to_string())));
}

#[tokio::test]
async fn an_entry_exists_exactly_if_its_act_does() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["FIRST"]).await;

    let mut transaction = database.begin(Scope::Vault).await.expect("nobody keeps the writer");
    append(&mut transaction, &Entry::new(Act::ToolkitRemoved, &Actor::server())).await.expect("it fits");
    drop(transaction);
    append_all(&database, &["SECOND"]).await;

    assert_eq!(names(&read(&audit, AuditQuery::default()).await), ["FIRST", "SECOND"]);
    assert_eq!(faults(&database).await, [""; 0]);
}

#[tokio::test]
async fn an_entry_that_was_changed_or_removed_is_found() {
    let cases = [
        ("UPDATE audit SET actor = 'eve' WHERE sequence = 2", "the entry 2 was changed"),
        ("UPDATE audit SET toolkit = NULL WHERE sequence = 1", "the entry 1 was changed"),
        (
            "UPDATE audit SET client = NULL, program_key = client WHERE sequence = 3",
            "the entry 3 was changed",
        ),
        ("UPDATE audit SET at = at - 1 WHERE sequence = 4", "the entry 4 was changed"),
        ("DELETE FROM audit WHERE sequence = 2", "the entries 2 to 2 were removed"),
        ("DELETE FROM audit WHERE sequence IN (1, 2)", "the entries 1 to 2 were removed"),
        ("DELETE FROM audit WHERE sequence = 4", "the entries 4 to 4 were removed"),
        ("DELETE FROM audit", "the entries 1 to 4 were removed"),
        ("DELETE FROM audit_chains", "its row in audit_chains was removed"),
        ("UPDATE audit_chains SET newest = 3; DELETE FROM audit WHERE sequence = 4", "added or changed"),
        (
            "UPDATE audit_chains SET removed = 1; DELETE FROM audit WHERE sequence = 1",
            "the entry 2 was changed",
        ),
    ];
    for (change, expected) in cases {
        let (_folder, database, _audit) = log().await;
        append_all(&database, &["A", "B", "C", "D"]).await;
        assert_eq!(faults(&database).await, [""; 0]);

        database.execute(change).await;

        let found = faults(&database).await;
        assert!(found.len() == 1 && found[0].contains(expected), "{change}: {found:?}");
    }
}

#[tokio::test]
async fn who_writes_all_hashes_anew_is_found_by_comparison_alone() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B"]).await;
    let exported = read(&audit, AuditQuery::default()).await;

    database.execute("DELETE FROM audit; DELETE FROM audit_chains").await;
    append_all(&database, &["A", "X"]).await;

    assert_eq!(faults(&database).await, [""; 0], "the chain is a chain");
    let forged = read(&audit, AuditQuery::default()).await;
    assert_ne!(exported[1].hash, forged[1].hash);
}

#[tokio::test]
async fn old_entries_are_removed_from_the_beginning_and_the_rest_still_verifies() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B", "C", "D"]).await;
    // Not the third one: later entries stay, even old ones.
    age(&database, &[1, 2, 4]).await;

    sweep(&audit.store, DAY).await.expect("they are removed");

    assert_eq!(names(&read(&audit, AuditQuery::default()).await), ["C", "D"]);
    assert_eq!(faults(&database).await, [""; 0]);
    append_all(&database, &["E"]).await;
    assert_eq!(faults(&database).await, [""; 0]);

    age(&database, &[3, 4, 5]).await;
    sweep(&audit.store, DAY).await.expect("they are removed");
    append_all(&database, &["F"]).await;
    assert_eq!(read(&audit, AuditQuery::default()).await[0].sequence, 6, "the chain goes on");
    assert_eq!(faults(&database).await, [""; 0]);
    database.execute("DELETE FROM audit").await;
    assert_eq!(faults(&database).await.len(), 1);
}

/// Makes entries two days old, with valid hashes.
async fn age(database: &Database, sequences: &[i64]) {
    let old = jiff::Timestamp::now().as_millisecond() - 2 * i64::try_from(DAY.as_millis()).expect("small");
    let list = sequences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    database.execute(&format!("UPDATE audit SET at = {old} WHERE sequence IN ({list})")).await;
    let mut snapshot = database.snapshot().await.expect("it is read");
    let ends = store::chains(&mut snapshot).await.expect("it is read").remove(0);
    let rows = store::links(&mut snapshot, &ends.chain, ends.removed, 100).await.expect("it is read");
    drop(snapshot);
    let mut hash = ends.removed_hash;
    for row in rows {
        hash = row.expected_hash(&hash);
        let set = crate::sql("UPDATE audit SET hash = $1 WHERE id = $2").bind(hash.clone()).bind(row.id);
        database.write(set).await;
    }
    database.write(crate::sql("UPDATE audit_chains SET newest_hash = $1").bind(hash)).await;
}

#[tokio::test]
async fn entries_are_filtered_and_read_page_by_page() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B"]).await;
    audit.refused(&Actor::user_only("una"), "POST /toolkits", None).await;
    audit.refused(&Actor::user_only("una"), "POST /toolkits", None).await;
    let mut transaction = database.begin(Scope::Vault).await.expect("nobody keeps the writer");
    let by = Actor::server();
    let ended = Entry::new(Act::AccountEndedByProvider, &by).toolkit("films").affects("una");
    append(&mut transaction, &ended).await.expect("it fits");
    transaction.commit().await.expect("there is room");

    let acts = async |filter: AuditFilter| {
        let records = read(&audit, AuditQuery { filter, ..AuditQuery::default() }).await;
        records.into_iter().map(|record| record.act).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());

    let of = |act: &str| AuditFilter { act: text(act), ..AuditFilter::default() };
    assert_eq!(acts(of("secret")).await, ["secret.set", "secret.set"]);
    assert_eq!(acts(of("secret.set")).await.len(), 2);
    assert_eq!(acts(of("secret.s")).await, [""; 0]);
    let una = AuditFilter { user: text("una"), ..AuditFilter::default() };
    assert_eq!(acts(una).await, ["operator.refused", "account.ended_by_provider"]);
    let films = AuditFilter { toolkit: text("films"), ..AuditFilter::default() };
    assert_eq!(acts(films).await, ["account.ended_by_provider"]);
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    assert_eq!(acts(AuditFilter { since: Some(later), ..AuditFilter::default() }).await, [""; 0]);
    assert_eq!(acts(AuditFilter { until: Some(later), ..AuditFilter::default() }).await.len(), 4);

    let last = read(&audit, AuditQuery { last: Some(2), ..AuditQuery::default() }).await;
    assert_eq!(last.len(), 2);
    let before = AuditQuery { last: Some(2), before: Some(last[0].id), ..AuditQuery::default() };
    let mut older = audit.read(before).await.expect("it is read");
    assert_eq!(names(&older.next_page().await.expect("it is read")), ["A", "B"]);
    assert!(!older.has_left_out());
}

#[tokio::test]
async fn a_follower_misses_nothing_of_several_writers_and_reads_nothing_twice() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A"]).await;
    let mut reading =
        audit.read(AuditQuery { follows: true, ..AuditQuery::default() }).await.expect("it is read");
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["A"]);

    // Another process with its own chain commits an entry with a smaller id.
    append_all(&database, &["B"]).await;
    let other = "INSERT INTO audit (id, chain, sequence, at, act, outcome, actor, name, hash)
                     VALUES (0, 'other', 1, 0, 'secret.set', 'done', 'ben', 'C', X);
                 INSERT INTO audit_chains VALUES ('other', 0, X, 1, X)";
    let hash = if database.is_file() { "x'00'" } else { "'\\x00'" };
    database.execute(&other.replace('X', hash)).await;

    let mut seen = Vec::new();
    while seen.len() < 2 {
        let page = reading.next_page().await.expect("it is read");
        assert!(!page.is_empty(), "{seen:?}");
        seen.extend(page.into_iter().filter_map(|record| record.name));
    }
    seen.sort();
    assert_eq!(seen, ["B", "C"]);
    assert!(reading.next_page().await.expect("it is read").is_empty());
}

#[tokio::test]
async fn a_follower_reads_on_in_a_database_that_was_restored() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B", "C"]).await;
    let following = AuditQuery { follows: true, ..AuditQuery::default() };
    let mut reading = audit.read(following).await.expect("it is read");
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["A", "B", "C"]);

    // Simulates the restore of an older state, with one later entry.
    database.execute("DELETE FROM audit; DELETE FROM audit_chains").await;
    append_all(&database, &["D"]).await;
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["D"]);
    append_all(&database, &["E"]).await;
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["E"]);
    assert!(reading.next_page().await.expect("it is read").is_empty());
}

#[tokio::test]
async fn texts_are_bounded() {
    let (_folder, database, audit) = log().await;

    append_all(&database, &[&"é".repeat(10_000), "a\0b"]).await;

    let records = read(&audit, AuditQuery::default()).await;
    let names = names(&records);
    assert!(names[0].len() <= entry::MAX_TEXT_BYTES && names[0].ends_with('…'), "{}", names[0].len());
    assert_eq!(names[1], "a?b");
    assert_eq!(faults(&database).await, [""; 0]);
}

#[test]
fn names_of_acts_are_unique_and_documented() {
    let page = include_str!("../../../../docs/audit.md");

    for act in Act::ALL {
        let same = Act::ALL.iter().filter(|other| other.name() == act.name()).count();
        assert_eq!(same, 1, "{}", act.name());
        assert!(page.contains(&format!("| `{}` |", act.name())), "{} is not in docs/audit.md", act.name());
    }
}
