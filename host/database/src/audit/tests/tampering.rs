//! Changes by somebody who can write to the database, and has no master key.

use super::*;

const NEWEST_REMOVED: &str = "DELETE FROM audit WHERE sequence > 2;
    UPDATE audit_chains SET newest = 2, newest_hash = (SELECT hash FROM audit WHERE sequence = 2)";
const OLDEST_REMOVED: &str =
    "UPDATE audit_chains SET removed = 2, removed_hash = (SELECT hash FROM audit WHERE sequence = 2);
    DELETE FROM audit WHERE sequence <= 2";
const ALL_REMOVED: &str =
    "DELETE FROM audit; UPDATE audit_chains SET removed = newest, removed_hash = newest_hash";
const CHAIN_REMOVED: &str = "DELETE FROM audit; DELETE FROM audit_chains";

/// Returns a log with the entries A to D.
async fn with_four() -> (TempDir, Database, Audit) {
    let (folder, database, audit) = log().await;
    append_all(&database, &["A", "B", "C", "D"]).await;
    assert_eq!(faults(&database).await, [""; 0]);
    (folder, database, audit)
}

fn assert_one_contains(faults: &[String], expected: &str, change: &str) {
    assert!(faults.iter().any(|fault| fault.contains(expected)), "{change}: {faults:?}");
}

#[tokio::test]
async fn entries_that_were_changed_removed_or_added_are_found_at_both_ends_in_the_middle_and_all() {
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
        ("UPDATE audit SET sequence = 0 WHERE sequence = 1", "the entry 0 was added"),
        ("UPDATE audit SET id = -id WHERE sequence = 3", "the id of the entry 3 was changed"),
        (NEWEST_REMOVED, "the record of its ends was changed"),
        (OLDEST_REMOVED, "the record of its ends was changed"),
        (ALL_REMOVED, "the record of its ends was changed"),
        ("UPDATE audit_chains SET removed_at = 1", "the record of its ends was changed"),
        ("UPDATE audit_chains SET seal_key = '2'", "with the master key 2, which is not at hand"),
        ("UPDATE audit_chains SET seal_key = ''", "the record of its ends is not sealed"),
        (CHAIN_REMOVED, "the list of chains was changed"),
        ("UPDATE audit_log SET begun_at = begun_at + 1", "the list of chains was changed"),
        ("DELETE FROM audit_log", "the list of chains was removed"),
    ];
    for (change, expected) in cases {
        let (_folder, database, _audit) = with_four().await;

        database.execute(change).await;

        assert_one_contains(&faults(&database).await, expected, change);
    }
}

#[tokio::test]
async fn what_the_server_writes_afterwards_does_not_hide_the_change() {
    for change in [NEWEST_REMOVED, OLDEST_REMOVED, ALL_REMOVED, CHAIN_REMOVED, "DELETE FROM audit_log"] {
        for number in 0..3 {
            let (_folder, database, audit) = with_four().await;
            database.execute(change).await;

            match number {
                0 => append_all(&database, &["E"]).await,
                1 => database.reseal_audit().await.expect("there is room"),
                _ => sweep(&audit.store, Retention::of_all(Duration::from_hours(1)))
                    .await
                    .expect("there is room"),
            }

            assert_ne!(faults(&database).await, [""; 0], "{change}, {number}");
            append_all(&database, &["F"]).await;
            assert_ne!(faults(&database).await, [""; 0], "{change}, {number}");
        }
    }
}

#[tokio::test]
async fn all_of_the_log_removed_is_found_by_what_else_there_is_and_by_a_running_server() {
    let (_folder, database, audit) = with_four().await;
    empty(&database).await;
    let verified = audit.verify("ana").await.expect("it is read").expect("nobody else verifies");
    assert_eq!(verified.faults[0].what, "the list of chains was removed");
    assert_eq!(faults(&database).await, [""; 0], "of a database without anything, nothing can be said");

    database.execute("INSERT INTO spent_links VALUES (X, 1)".replace('X', hash(&database)).as_str()).await;
    assert_eq!(faults(&database).await, ["the list of chains was removed"]);
    database.seal_audit_with(keys(&[1])).await.expect("there is room");

    assert_one_contains(&faults(&database).await, "the log was removed, or was never begun", "a start");
    assert_eq!(read(&audit, AuditQuery::default()).await[0].act, "audit.broken");
}

/// Literal of some bytes.
pub(super) fn hash(database: &Database) -> &'static str {
    if database.is_file() { "x'00'" } else { "'\\x00'" }
}

#[tokio::test]
async fn entries_that_were_made_old_are_not_removed_unseen() {
    let (_folder, database, audit) = with_four().await;

    database.execute("UPDATE audit SET at = 1 WHERE sequence <= 2").await;
    sweep(&audit.store, OF_A_DAY).await.expect("there is room");

    assert_eq!(names(&read(&audit, AuditQuery::default()).await)[..2], ["C", "D"]);
    assert_one_contains(&faults(&database).await, "the entry 1, or one before it, was changed", "times");
}

#[tokio::test]
async fn hashes_that_were_written_anew_are_found_by_the_seal() {
    let (_folder, database, _audit) = with_four().await;

    // As `age` does, without a key.
    let forger = database.clone();
    database.1.set(SealingKeys::new([]));
    age(&forger, &[2]).await;

    assert_eq!(faults(&database).await, ["the record of its ends is not sealed"]);
    assert_eq!(
        verify(&database, None, OF_A_DAY).await.expect("it is read").faults,
        [],
        "the chain is a chain"
    );
}

#[tokio::test]
async fn an_older_state_of_all_rows_is_found_by_comparison_alone() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B"]).await;
    database
        .execute("CREATE TABLE kept AS SELECT * FROM audit_chains; CREATE TABLE kept_log AS SELECT * FROM audit_log")
        .await;
    append_all(&database, &["C", "D"]).await;
    let exported = read(&audit, AuditQuery::default()).await;

    database
        .execute(
            "DELETE FROM audit WHERE sequence > 2; DELETE FROM audit_chains; DELETE FROM audit_log;
             INSERT INTO audit_chains SELECT * FROM kept; INSERT INTO audit_log SELECT * FROM kept_log",
        )
        .await;
    assert_eq!(faults(&database).await, [""; 0], "it is as the server had written it");
    let ends = audit.verify("ana").await.expect("it is read").expect("nobody else verifies").chains;
    assert_eq!(ends[0].newest, 2, "its end is before what was exported");

    append_all(&database, &["X"]).await;
    let now = read(&audit, AuditQuery::default()).await;
    assert_eq!(now[2].sequence, exported[2].sequence);
    assert_ne!(now[2].hash, exported[2].hash);
}

#[tokio::test]
async fn another_key_seals_the_log_again_and_the_old_one_is_not_needed_any_more() {
    let (_folder, database, _audit) = with_four().await;
    database.seal_audit_with(keys(&[2, 1])).await.expect("there is room");
    append_all(&database, &["E"]).await;
    assert_eq!(faults_with(&database, &[2, 1]).await, [""; 0]);
    assert_eq!(database.audit_key_names().await.expect("it is read"), ["1", "2"], "the list and the chain");

    database.reseal_audit().await.expect("there is room");

    assert_eq!(database.audit_key_names().await.expect("it is read"), ["2"]);
    assert_eq!(faults_with(&database, &[2]).await, [""; 0]);
    assert_eq!(faults_with(&database, &[1]).await.len(), 2);
    // A process that lost the old key and never had the new one.
    database.seal_audit_with(keys(&[3])).await.expect("there is room");
    append_all(&database, &["F"]).await;
    assert_one_contains(
        &faults_with(&database, &[3, 2]).await,
        "with the master key 2, which is not",
        "lost",
    );
}

#[tokio::test]
async fn entries_removed_before_their_time_are_named() {
    let (_folder, database, audit) = with_four().await;
    let early = async |retention| {
        let verified = verify(&database, Some(&keys(&[1])), retention).await.expect("it is read");
        assert_eq!(verified.faults, []);
        verified.removed_early.into_iter().map(|it| it.what).collect::<Vec<_>>()
    };
    age(&database, &[1, 2]).await;
    sweep(&audit.store, OF_A_DAY).await.expect("there is room");

    assert_eq!(early(OF_A_DAY).await, [""; 0]);
    let found = early(Retention::of_all(3 * DAY)).await;
    assert_one_contains(&found, "entries up to 2, the youngest of", "a shorter retention");
}

#[tokio::test]
async fn the_ends_say_what_was_removed_and_what_is_the_newest() {
    let (_folder, database, audit) = with_four().await;
    let all = read(&audit, AuditQuery::default()).await;
    age(&database, &[1]).await;
    let aged = read(&audit, AuditQuery::default()).await;
    sweep(&audit.store, OF_A_DAY).await.expect("there is room");

    let verified = audit.verify("ana").await.expect("it is read").expect("nobody else verifies");

    let [ends] = &verified.chains[..] else { panic!("{verified:?}") };
    assert_eq!((verified.entries, ends.entries, ends.removed, ends.newest), (3, 3, 1, 4));
    assert_eq!((&ends.removed_hash, &ends.newest_hash), (&aged[0].hash, &aged[3].hash));
    assert_eq!(ends.removed_at.as_ref(), Some(&aged[0].at));
    assert!(verified.seals_verified && verified.begun_at.is_some_and(|at| at <= all[0].at));
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn each_of_several_processes_has_a_chain_and_one_that_is_removed_is_missed() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let mut processes = Vec::new();
    for _ in 0..4 {
        let process = Database::of_test_server(folder.path()).await;
        process.seal_audit_with(keys(&[1])).await.expect("there is room");
        processes.push(process);
    }

    // Each begins its chain in two transactions at once.
    let both = |process| futures::future::join(append_all(process, &["A", "B"]), append_all(process, &["C"]));
    futures::future::join_all(processes.iter().map(both)).await;

    assert_eq!(faults(&processes[0]).await, [""; 0]);
    let chains: Vec<String> = processes[0].column("SELECT chain FROM audit_chains ORDER BY chain").await;
    assert_eq!(chains.len(), 4);
    age(&processes[1], &[1, 2, 3]).await;
    sweep(&Store::new(processes[0].clone()), OF_A_DAY).await.expect("there is room");
    assert_eq!(processes[0].column::<String>("SELECT chain FROM audit_chains").await.len(), 3);
    assert_eq!(faults(&processes[0]).await, [""; 0]);

    let removed = "DELETE FROM audit WHERE chain = C; DELETE FROM audit_chains WHERE chain = C";
    let own = processes[2].column::<String>("SELECT min(chain) FROM audit_chains").await.remove(0);
    processes[0].execute(&removed.replace('C', &format!("'{own}'"))).await;
    assert_eq!(faults(&processes[0]).await, ["the list of chains was changed"]);
    // The hourly removal of old entries seals the list again.
    sweep(&Store::new(processes[3].clone()), OF_A_DAY).await.expect("there is room");
    assert_one_contains(&faults(&processes[0]).await, "found before, see the entry", "a chain");
}
