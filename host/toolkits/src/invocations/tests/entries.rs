//! Entries of calls in the audit log: what they say, and that none is lost.

use std::path::Path;

use kitbag_database::audit::{Audit, CallQuery, CallRecord, Retention};

use super::*;

async fn audited(database: &Database, data: &Path) -> Invocations {
    let process = testing::process(database).await;
    let auditing = Auditing { entries: CallEntries::WithCallers, data };
    let opened = Invocations::open(database.clone(), Hints::off(), &process, KEEP_ALL, auditing);
    opened.await.expect("the tables are there")
}

/// Returns all entries, oldest first.
async fn entries(database: &Database) -> Vec<CallRecord> {
    let audit = Audit::new(database.clone(), Retention::of_all(Duration::MAX), CallEntries::WithCallers);
    let mut reading = audit.read_calls(CallQuery::default()).await.expect("it can be read");
    let mut all = Vec::new();
    loop {
        let page = reading.next_page().await.expect("it can be read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn users(database: &Database) -> Vec<String> {
    entries(database).await.into_iter().map(|entry| entry.user).collect()
}

/// Returns a record of another call than all others.
fn call(invocations: &Invocations, user: &str) -> Record {
    record("a", user, "canary").with(|call| call.id = invocations.new_call_id())
}

/// Copies what a kill of the process would leave behind.
fn copy_of(data: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a scratch directory");
    for entry in std::fs::read_dir(data).expect("a directory").flatten() {
        if entry.file_name().to_string_lossy().starts_with("unwritten-calls") {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("there is room");
        }
    }
    copy
}

#[tokio::test]
async fn an_entry_has_ranges_and_names_and_nothing_of_the_content() {
    let (database, data) = database().await;
    let invocations = audited(&database, data.path()).await;
    let mut ended = call(&invocations, "ana").with(|call| {
        call.through.key_id = Some("k1".to_owned());
        call.through.key_name = Some("canary".to_owned());
        call.account = Some("ana@crm".to_owned());
    });
    ended.duration = Duration::from_micros(123_456);
    ended.argument_size = Some(7);
    ended.conclusion.result_size = 70_000;
    ended.conclusion.detail = Some("canary".to_owned());

    invocations.record(ended);
    invocations.flush().await;

    let entry = entries(&database).await.remove(0);
    assert_eq!((entry.user.as_str(), entry.key.as_deref()), ("ana", Some("k1")));
    assert_eq!((entry.account.as_deref(), entry.outcome.as_str()), (Some("ana@crm"), "succeeded"));
    assert_eq!(entry.argument_bytes_at_most, Some(64 << 10));
    assert_eq!(entry.result_bytes_at_most, Some(64 << 20));
    assert_eq!(entry.duration_ms_at_most, Some(1000));
    assert!(entry.at.strip_suffix(".000Z").is_some(), "{}", entry.at);
    let text = serde_json::to_string(&entry).expect("it is JSON");
    assert!(!text.contains("canary") && !text.contains("123"), "{text}");
}

#[tokio::test]
async fn without_the_setting_calls_have_no_entries_and_leave_no_files() {
    let (database, data) = database().await;
    let process = testing::process(&database).await;
    let auditing = Auditing { entries: CallEntries::Off, data: data.path() };
    let opened = Invocations::open(database.clone(), Hints::off(), &process, KEEP_ALL, auditing);
    let invocations = opened.await.expect("the tables are there");

    invocations.record(call(&invocations, "ana"));
    invocations.flush().await;

    assert!(entries(&database).await.is_empty());
    assert!(std::fs::read_dir(copy_of(data.path()).path()).expect("a directory").next().is_none());
}

#[tokio::test]
async fn what_a_kill_leaves_is_written_once_at_the_next_start() {
    let (first, data) = database().await;
    let killed = audited(&first, data.path()).await;
    // The writer waits, as it does for up to a tenth of a second anyway.
    let transaction = first.begin(kitbag_database::Scope::Records).await.expect("nobody keeps the writer");
    for user in ["ana", "ben", "cleo"] {
        killed.record(call(&killed, user));
    }
    let left = copy_of(data.path());
    transaction.roll_back().await.expect("it can be");
    killed.flush().await;
    assert_eq!(users(&first).await, ["ana", "ben", "cleo"]);

    // Killed after the commit, and before the file was emptied.
    drop(audited(&first, left.path()).await);
    assert_eq!(users(&first).await, ["ana", "ben", "cleo"]);
    assert_eq!(read(&killed, query("a", "ana"), Scope::All).await.len(), 3);

    // Killed before the commit.
    let left = {
        let transaction =
            first.begin(kitbag_database::Scope::Records).await.expect("nobody keeps the writer");
        killed.record(call(&killed, "dan"));
        let left = copy_of(data.path());
        transaction.roll_back().await.expect("it can be");
        left
    };
    let (second, _data) = database().await;
    let next = audited(&second, left.path()).await;
    assert_eq!(users(&second).await, ["dan"]);
    let records = read(&next, query("a", "dan"), Scope::Own).await;
    assert_eq!((records.len(), &records[0]["outcome"]), (1, &"succeeded".into()));
    drop(audited(&second, left.path()).await);
    assert_eq!(users(&second).await, ["dan"], "the files are empty");
}

#[tokio::test]
async fn what_was_left_is_written_although_the_setting_is_off_now() {
    let (database, data) = database().await;
    let killed = audited(&database, data.path()).await;
    let transaction = database.begin(kitbag_database::Scope::Records).await.expect("nobody keeps the writer");
    killed.record(call(&killed, "ana"));
    let left = copy_of(data.path());
    transaction.roll_back().await.expect("it can be");
    killed.close().await;
    database.execute("DELETE FROM invocations; DELETE FROM audit_calls; DELETE FROM audit_chains").await;

    let process = testing::process(&database).await;
    let auditing = Auditing { entries: CallEntries::Off, data: left.path() };
    let opened = Invocations::open(database.clone(), Hints::off(), &process, KEEP_ALL, auditing);
    opened.await.expect("the tables are there");

    assert_eq!(users(&database).await, ["ana"]);
    assert!(std::fs::read_dir(copy_of(left.path()).path()).expect("a directory").next().is_none());
}

#[tokio::test]
async fn an_answered_call_whose_beginning_was_written_is_not_interrupted() {
    let (database, data) = database().await;
    let killed = audited(&database, data.path()).await;
    let call = Arc::new(BegunCall { id: killed.new_call_id(), ..begun("a", "ana") });
    let id = call.id.clone();
    killed.begin(call.clone());
    while database.column::<String>("SELECT id FROM running_calls").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let transaction = database.begin(kitbag_database::Scope::Records).await.expect("nobody keeps the writer");
    killed.record(Record { call, ..record("a", "ana", "") });
    let left = copy_of(data.path());
    transaction.roll_back().await.expect("it can be");
    killed.close().await;
    // As they were when the process was killed, and as others leave the row of its call.
    let now = Timestamp::now().as_millisecond();
    let running = format!(
        "DELETE FROM invocations; DELETE FROM call_counts; DELETE FROM audit_calls; DELETE FROM audit_chains;
         INSERT INTO running_calls (id, toolkit_id, version, tool, user_id, started_at)
         VALUES ('{id}', 'a', '1.0.0', 't', 'ana', {now}), ('other', 'a', '1.0.0', 't', 'ben', {now})"
    );
    database.execute(&running).await;

    let next = audited(&database, left.path()).await;
    Store::new(database.clone()).record_interrupted(CallEntries::WithCallers).await.expect("it can be swept");

    let outcomes: Vec<_> = entries(&database).await.into_iter().map(|it| (it.user, it.outcome)).collect();
    let of = |user: &str, outcome: &str| (user.to_owned(), outcome.to_owned());
    assert_eq!(outcomes, [of("ana", "succeeded"), of("ben", "interrupted")]);
    assert_eq!(read(&next, query("a", "ana"), Scope::All).await.len(), 2);
}

#[tokio::test]
async fn a_record_that_is_dropped_leaves_its_entry() {
    let (database, data) = database().await;
    let invocations = audited(&database, data.path()).await;
    let room = invocations.room_of_users.take("a ana", MAX_QUEUED_BYTES_PER_USER).expect("it is free");

    invocations.record(call(&invocations, "ana"));
    drop(room);
    assert!(read(&invocations, query("a", "ana"), Scope::Own).await.is_empty());
    assert_eq!(users(&database).await, ["ana"]);

    // As does one that can never be stored.
    database.execute("ALTER TABLE invocations RENAME TO unusable").await;
    let lost = call(&invocations, "ben");
    let mark = lost.call.lost.clone();
    invocations.record(lost);
    while !mark.is_marked() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    database.execute("ALTER TABLE unusable RENAME TO invocations").await;
    // Until the pause after the last failure is over.
    tokio::time::sleep(RETRY_DELAY * 2).await;
    invocations.flush().await;
    assert_eq!(users(&database).await, ["ana", "ben"]);
    assert!(invocations.can_record());
}

#[tokio::test]
async fn no_call_runs_while_too_many_entries_wait() {
    let (database, data) = database().await;
    let invocations = audited(&database, data.path()).await;
    let waiting = invocations.entries.as_ref().expect("calls have entries").waiting.clone();

    waiting.store(MAX_WAITING_ENTRIES, Ordering::Relaxed);
    assert!(!invocations.can_record());
    waiting.store(MAX_WAITING_ENTRIES - 1, Ordering::Relaxed);
    assert!(invocations.can_record());
}

#[tokio::test]
async fn of_calls_that_never_ran_a_bounded_number_has_entries() {
    let (database, data) = database().await;
    let invocations = audited(&database, data.path()).await;

    for _ in 0..200 {
        let refused = call(&invocations, "eve");
        invocations.record(Record { conclusion: Outcome::Busy.into(), ..refused });
    }
    invocations.record(call(&invocations, "eve"));
    invocations.record(Record { conclusion: Outcome::Busy.into(), ..call(&invocations, "ana") });
    invocations.flush().await;

    let users = users(&database).await;
    let count = |user: &str| users.iter().filter(|it| *it == user).count();
    assert!((61..=63).contains(&count("eve")), "{}", count("eve"));
    assert_eq!(count("ana"), 1);
}
