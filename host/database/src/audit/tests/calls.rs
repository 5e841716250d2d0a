//! Entries of calls: what they say, their chain, who removes them, and what is found of changes.

use super::*;
use crate::audit::calls::CHAIN;

const HOUR: Duration = Duration::from_hours(1);

fn entry(call: &str, user: &str) -> CallEntry {
    CallEntry {
        call: call.to_owned(),
        at: "2026-03-01T12:00:00.987Z".parse().expect("a time"),
        user: user.to_owned(),
        client: Some("client-1".to_owned()),
        key: None,
        toolkit: "books".to_owned(),
        version: "1.0.0".to_owned(),
        tool: "find".to_owned(),
        account: Some("ana@crm".to_owned()),
        outcome: "succeeded",
        argument_bytes: Some(64 << 10),
        result_bytes: Some(0),
        duration_ms: None,
    }
}

fn now(call: &str) -> CallEntry {
    CallEntry { at: jiff::Timestamp::now(), ..entry(call, "ana") }
}

async fn append_entries(database: &Database, entries: &[CallEntry]) {
    let mut transaction = database.begin(Scope::Records).await.expect("nobody keeps the writer");
    append_calls(&mut transaction, entries).await.expect("they fit");
    transaction.commit().await.expect("there is room");
}

async fn append_named(database: &Database, calls: &[&str]) {
    append_entries(database, &calls.iter().map(|call| now(call)).collect::<Vec<_>>()).await;
}

async fn read_calls(audit: &Audit, query: CallQuery) -> Vec<CallRecord> {
    let mut reading = audit.read_calls(query).await.expect("it is read");
    let mut all = Vec::new();
    loop {
        let page = reading.next_page().await.expect("it is read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn calls(records: &[CallRecord]) -> Vec<&str> {
    records.iter().map(|record| record.call.as_str()).collect()
}

#[tokio::test]
async fn an_entry_says_who_called_what_and_its_hash_can_be_computed_from_what_it_says() {
    let (_folder, database, audit) = log().await;
    append_entries(&database, &[entry("p-1", "ana"), entry("p-2", &format!("b\0n{}", "é".repeat(1000)))])
        .await;

    let records = read_calls(&audit, CallQuery::default()).await;

    let [first, second] = &records[..] else { panic!("{records:?}") };
    assert_eq!((first.sequence, first.call.as_str(), first.user.as_str()), (1, "p-1", "ana"));
    assert_eq!(first.at, "2026-03-01T12:00:00.000Z", "to the second");
    assert_eq!((first.account.as_deref(), first.outcome.as_str()), (Some("ana@crm"), "succeeded"));
    assert!(second.user.starts_with("b?né") && second.user.len() <= entry::MAX_TEXT_BYTES, "{}", second.user);
    // Computed as documented in docs/audit.md.
    let at = second.at.parse::<jiff::Timestamp>().expect("a time").as_millisecond();
    let covered = serde_json::json!([
        first.hash,
        "calls",
        2,
        at,
        ["p-2", second.user, "books", "1.0.0", "find", "succeeded"],
        ["client-1", null, "ana@crm"],
        [64 << 10, 0, null],
    ]);
    assert_eq!(second.hash, hex::encode(kitbag_base::sha256::Sha256::digest(covered.to_string())));
    assert_eq!(faults(&database).await, [""; 0]);
}

#[tokio::test]
async fn a_batch_is_written_whole_or_not_at_all_and_the_chain_goes_on() {
    let (_folder, database, audit) = log().await;
    let names: Vec<_> = (0..300).map(|number| format!("p-{number}")).collect();
    append_entries(&database, &names[..299].iter().map(|call| now(call)).collect::<Vec<_>>()).await;
    let mut transaction = database.begin(Scope::Records).await.expect("nobody keeps the writer");
    append_calls(&mut transaction, &[now("lost")]).await.expect("it fits");
    drop(transaction);
    append_named(&database, &["p-299"]).await;
    append_all(&database, &["AN ACT"]).await;

    assert_eq!(calls(&read_calls(&audit, CallQuery::default()).await), names);
    assert_eq!(faults(&database).await, [""; 0]);
    assert_eq!(read(&audit, AuditQuery::default()).await.len(), 1, "acts are apart");
    let verified = audit.verify("ana").await.expect("it is read").expect("nobody else verifies");
    assert_eq!(verified.entries, 301);
    let chain = verified.chains.iter().find(|chain| chain.chain == CHAIN).expect("it has begun");
    assert_eq!((chain.entries, chain.removed, chain.newest), (300, 0, 300));
}

#[tokio::test]
async fn entries_are_filtered_and_read_page_by_page_and_followed() {
    let (_folder, database, audit) = log().await;
    let at = jiff::Timestamp::now() - 2 * HOUR;
    let old = CallEntry { at, ..entry("old", "ana") };
    let older = CallEntry { at, outcome: "failed", ..entry("older", "ben") };
    append_entries(&database, &[old, older]).await;
    append_named(&database, &["a", "b", "c"]).await;

    let filtered = async |filter: CallFilter| {
        let found = read_calls(&audit, CallQuery { filter, ..CallQuery::default() }).await;
        found.into_iter().map(|record| record.call).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(filtered(CallFilter { user: text("ben"), ..CallFilter::default() }).await, ["older"]);
    assert_eq!(filtered(CallFilter { outcome: text("failed"), ..CallFilter::default() }).await, ["older"]);
    assert_eq!(filtered(CallFilter { toolkit: text("films"), ..CallFilter::default() }).await, [""; 0]);
    let an_hour_ago = jiff::Timestamp::now() - HOUR;
    let since = CallFilter { since: Some(an_hour_ago), ..CallFilter::default() };
    assert_eq!(filtered(since).await, ["a", "b", "c"]);
    let until = CallFilter { until: Some(an_hour_ago), ..CallFilter::default() };
    assert_eq!(filtered(until).await, ["old", "older"]);

    let last = CallQuery { last: Some(2), before: Some(5), ..CallQuery::default() };
    assert_eq!(calls(&read_calls(&audit, last).await), ["a", "b"]);
    let after = CallQuery { after: 3, ..CallQuery::default() };
    assert_eq!(calls(&read_calls(&audit, after.clone()).await), ["b", "c"]);
    let mut follower = audit.read_calls(CallQuery { follows: true, ..after }).await.expect("it is read");
    assert_eq!(calls(&follower.next_page().await.expect("it is read")), ["b", "c"]);
    assert!(follower.next_page().await.expect("it is read").is_empty());
    append_named(&database, &["d"]).await;
    assert_eq!(calls(&follower.next_page().await.expect("it is read")), ["d"]);
    // A database that was restored has fewer entries.
    let unknown = CallQuery { after: 1000, ..CallQuery::default() };
    assert_eq!(read_calls(&audit, unknown).await.len(), 6);
}

#[tokio::test]
async fn what_is_not_stored_of_a_list_is_found() {
    let (_folder, database, _audit) = log().await;
    let interrupted = CallEntry { outcome: "interrupted", ..now("killed") };
    append_entries(&database, &[now("stored"), interrupted]).await;

    let mut transaction = database.begin(Scope::Records).await.expect("nobody keeps the writer");
    let missing = missing_calls(&mut transaction, vec![now("new"), now("stored"), now("killed")]).await;

    let missing: Vec<_> = missing.expect("it is read").into_iter().map(|entry| entry.call).collect();
    assert_eq!(missing, ["new", "killed"]);
}

#[tokio::test]
async fn calls_and_acts_are_removed_each_after_its_own_time_and_the_rest_verifies() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["AN ACT"]).await;
    let old = CallEntry { at: jiff::Timestamp::now() - 2 * HOUR, ..now("old") };
    append_entries(&database, &[old, now("new")]).await;
    let retention = Retention { acts: DAY, calls: HOUR };

    sweep(&audit.store, retention).await.expect("they are removed");

    assert_eq!(calls(&read_calls(&audit, CallQuery::default()).await), ["new"]);
    assert_eq!(read(&audit, AuditQuery::default()).await.len(), 1);
    let verified =
        async |retention| verify(&database, Some(&keys(&[1])), retention).await.expect("it is read");
    let Verification { faults, removed_early, .. } = verified(retention).await;
    assert_eq!((faults.len(), removed_early.len()), (0, 0));
    let early = verified(OF_A_DAY).await.removed_early;
    assert_eq!(early[0].chain.as_deref(), Some(CHAIN));

    // The chain is not forgotten: those who follow go on after a sequence number.
    sweep(&audit.store, Retention { acts: DAY, calls: Duration::ZERO }).await.expect("they are removed");
    assert!(!audit.has_calls().await.expect("it is read"));
    append_named(&database, &["later"]).await;
    assert_eq!(read_calls(&audit, CallQuery::default()).await[0].sequence, 3);
}

#[tokio::test]
async fn changes_of_calls_are_found() {
    let sealed_over =
        "UPDATE audit_chains SET newest = 2, newest_hash = (SELECT hash FROM audit_calls WHERE sequence = 2)
                       WHERE chain = 'calls'";
    for (change, fault) in [
        (
            "UPDATE audit_calls SET actor = 'eve' WHERE sequence = 2",
            "the entry 2 was changed, or one before it",
        ),
        (
            "UPDATE audit_calls SET duration = 1 WHERE sequence = 2",
            "the entry 2 was changed, or one before it",
        ),
        (
            "UPDATE audit_calls SET account = NULL WHERE sequence = 3",
            "the entry 3 was changed, or one before it",
        ),
        ("DELETE FROM audit_calls WHERE sequence = 2", "the entries 2 to 2 were removed"),
        ("DELETE FROM audit_calls WHERE sequence = 3", "the entries 3 to 3 were removed"),
        (
            &format!("DELETE FROM audit_calls WHERE sequence = 3; {sealed_over}"),
            "the record of its ends was changed",
        ),
        (
            "DELETE FROM audit_chains WHERE chain = 'calls'",
            "it has entries, but its row in audit_chains was removed",
        ),
        (
            "DELETE FROM audit_calls; DELETE FROM audit_chains WHERE chain = 'calls'",
            "the list of chains was changed",
        ),
    ] {
        let (_folder, database, _audit) = log().await;
        append_named(&database, &["a", "b", "c"]).await;

        database.execute(change).await;

        let found = faults(&database).await;
        assert!(found.iter().any(|it| it == fault), "{change}: {found:?}");
        // What the server writes next does not hide it.
        append_named(&database, &["d"]).await;
        assert_ne!(faults(&database).await, [""; 0], "{change}");
    }
}

#[tokio::test]
async fn an_anchor_names_the_end_of_the_calls_and_how_long_they_are_kept() {
    let (_folder, database, _) = log().await;
    append_named(&database, &["a", "b"]).await;
    let retention = Retention { acts: DAY, calls: HOUR };
    let audit = Audit::new(database.clone(), retention, CallEntries::WithCallers);

    let new = audit.anchoring().next().await.expect("it is read").expect("there are keys");
    let anchor = SignedAnchor::read(&new.signed).expect("it is an anchor").anchor;

    let [end] = &anchor.chains[..] else { panic!("{anchor:?}") };
    let last = read_calls(&audit, CallQuery::default()).await.remove(1);
    assert_eq!((&end.hash, end.sequence, &end.at), (&last.hash, 2, &last.at));
    assert_eq!((anchor.retention_seconds, end.retention_seconds), (DAY.as_secs(), Some(HOUR.as_secs())));
}

#[tokio::test]
async fn a_changed_time_does_not_hide_what_the_server_removes_because_of_it() {
    let (_folder, database, audit) = log().await;
    append_named(&database, &["a", "b"]).await;
    database.execute("UPDATE audit_calls SET at = 0 WHERE sequence = 1").await;

    sweep(&audit.store, OF_A_DAY).await.expect("they are removed");

    let found = faults(&database).await;
    assert!(found.iter().any(|it| it.contains("was changed or removed before it was old")), "{found:?}");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn several_processes_append_to_one_chain() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let mut processes = Vec::new();
    for _ in 0..4 {
        let process = Database::of_test_server(folder.path()).await;
        process.seal_audit_with(keys(&[1])).await.expect("there is room");
        processes.push(process);
    }

    let each = |(number, process)| async move {
        for batch in 0..10 {
            append_named(process, &[&format!("{number}-{batch}-a"), &format!("{number}-{batch}-b")]).await;
        }
    };
    futures::future::join_all(processes.iter().enumerate().map(each)).await;

    let audit = Audit::new(processes[0].clone(), OF_A_DAY, CallEntries::WithCallers);
    let records = read_calls(&audit, CallQuery::default()).await;
    assert_eq!(records.len(), 80);
    assert!(records.iter().zip(1..).all(|(record, sequence)| record.sequence == sequence));
    assert_eq!(faults(&processes[0]).await, [""; 0]);
}
