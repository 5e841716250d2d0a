use aws_lc_rs::hmac::{HMAC_SHA256, Key};
use tempfile::TempDir;

use super::retention::sweep;
use super::*;
use crate::Scope;

mod anchors;
mod calls;
mod tampering;

const DAY: Duration = Duration::from_hours(24);
const OF_A_DAY: Retention = Retention::of_all(DAY);

async fn log() -> (TempDir, Database, Audit) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(folder.path()).await;
    database.seal_audit_with(keys(&[1])).await.expect("there is room");
    let audit = Audit::new(database.clone(), OF_A_DAY, CallEntries::Off);
    (folder, database, audit)
}

/// Removes the whole log.
async fn empty(database: &Database) {
    let nothing = if database.is_file() { "x''" } else { "''" };
    let unbegun = format!("UPDATE audit_log SET begun_at = 0, seal_key = '', seal = {nothing}");
    database.execute(&format!("DELETE FROM audit; DELETE FROM audit_chains; {unbegun}")).await;
}

/// Keys of master keys with these numbers as names.
fn keys(numbers: &[u8]) -> SealingKeys {
    SealingKeys::new(numbers.iter().map(|it| SealingKey {
        master: it.to_string(),
        seal: Key::new(HMAC_SHA256, &[*it; 32]),
        anchor: AnchorKey::of_seed(&[*it; 32]),
    }))
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
    faults_with(database, &[1]).await
}

/// Returns the faults of all chains, verified with these keys.
async fn faults_with(database: &Database, numbers: &[u8]) -> Vec<String> {
    let verified = verify(database, Some(&keys(numbers)), OF_A_DAY).await.expect("it is read");
    verified.faults.into_iter().map(|fault| fault.what).collect()
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
async fn old_entries_are_removed_from_the_beginning_and_the_rest_still_verifies() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B", "C", "D"]).await;
    // Not the third one: later entries stay, even old ones.
    age(&database, &[1, 2, 4]).await;

    sweep(&audit.store, OF_A_DAY).await.expect("they are removed");

    assert_eq!(names(&read(&audit, AuditQuery::default()).await), ["C", "D"]);
    assert_eq!(faults(&database).await, [""; 0]);
    append_all(&database, &["E"]).await;
    assert_eq!(faults(&database).await, [""; 0]);

    age(&database, &[3, 4, 5]).await;
    sweep(&audit.store, OF_A_DAY).await.expect("they are removed");
    append_all(&database, &["F"]).await;
    assert_eq!(read(&audit, AuditQuery::default()).await[0].sequence, 6, "the chain goes on");
    assert_eq!(faults(&database).await, [""; 0]);
    database.execute("DELETE FROM audit").await;
    assert_eq!(faults(&database).await.len(), 1);
}

/// Makes entries two days old, with valid hashes and a valid seal, as if the server had written them then.
async fn age(database: &Database, sequences: &[i64]) {
    let old = jiff::Timestamp::now().as_millisecond() - 2 * i64::try_from(DAY.as_millis()).expect("small");
    let list = sequences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut transaction = database.begin(Scope::Audit).await.expect("nobody keeps the writer");
    let mut ends = ends::lock_own(&mut transaction, &mut Vec::new()).await.expect("it is read");
    let set = format!("UPDATE audit SET at = {old} WHERE chain = $1 AND sequence IN ({list})");
    let set = crate::sql(crate::AssertSqlSafe(set)).bind(&ends.chain).execute(&mut transaction).await;
    set.expect("there is room");
    let rows = store::links(&mut transaction, &ends.chain, ends.removed, 100).await.expect("it is read");
    let mut hash = ends.removed_hash.clone();
    for row in rows {
        hash = row.expected_hash(&hash);
        let set = crate::sql("UPDATE audit SET hash = $1 WHERE id = $2").bind(hash.clone()).bind(row.id);
        set.execute(&mut transaction).await.expect("there is room");
    }
    ends.newest_hash = hash;
    ends.save(&mut transaction).await.expect("there is room");
    transaction.commit().await.expect("there is room");
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
                 INSERT INTO audit_chains VALUES ('other', 0, X, 0, 1, X, '', X)";
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

    // Simulates the restore of the state before the first entry, with one later entry.
    empty(&database).await;
    database.seal_audit_with(keys(&[1])).await.expect("there is room");
    append_all(&database, &["D"]).await;
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["D"]);
    append_all(&database, &["E"]).await;
    assert_eq!(names(&reading.next_page().await.expect("it is read")), ["E"]);
    assert!(reading.next_page().await.expect("it is read").is_empty());
}

#[tokio::test]
async fn one_verification_runs_at_a_time() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["FIRST"]).await;

    let running = audit.verifiers.take("ana", 1).expect("none runs");
    assert!(audit.verify("ben").await.expect("it is read").is_none());

    drop(running);
    assert_eq!(audit.verify("ben").await.expect("it is read").expect("none runs").entries, 1);
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
