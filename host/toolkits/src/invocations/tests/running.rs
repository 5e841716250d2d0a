//! Calls that their process does not survive.

use super::*;

/// Time after which the beginning of a call is certainly written, unless the machine is busy.
const MOMENT: Duration = Duration::from_millis(300);

async fn running(database: &Database) -> Vec<String> {
    database.column("SELECT id FROM running_calls ORDER BY id").await
}

/// Begins a call of `user`, and waits until that is written.
async fn begin(invocations: &Invocations, database: &Database, user: &str) -> Arc<BegunCall> {
    let call = Arc::new(BegunCall { id: invocations.new_call_id(), ..begun("a", user) });
    invocations.begin(call.clone());
    for _ in 0..600 {
        if running(database).await.contains(&call.id) {
            return call;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the beginning was not written");
}

#[tokio::test]
async fn of_a_call_that_ends_at_once_its_record_alone_is_written() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;

    let call = Arc::new(BegunCall { id: invocations.new_call_id(), ..begun("a", "ana") });
    invocations.begin(call.clone());
    invocations.record(Record { call, ..record("a", "ana", "") });

    assert_eq!(read(&invocations, query("a", "ana"), Scope::Own).await.len(), 1);
    tokio::time::sleep(MOMENT).await;
    assert_eq!(running(&database).await, [""; 0]);
}

#[tokio::test]
async fn a_call_that_runs_for_a_while_is_written_until_its_record_is() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let first = begin(&invocations, &database, "ana").await;
    let second = begin(&invocations, &database, "ana").await;

    invocations.record(Record { call: first, ..record("a", "ana", "first") });

    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["first"]);
    assert_eq!(running(&database).await, std::slice::from_ref(&second.id));
}

#[tokio::test]
async fn a_call_whose_record_is_dropped_is_not_counted_as_interrupted() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let call = begin(&invocations, &database, "ana").await;
    let room = invocations.room_of_users.take("a ana", MAX_QUEUED_BYTES_PER_USER).expect("it is free");

    invocations.record(Record { call, ..record("a", "ana", "") });
    drop(room);
    invocations.record(record("a", "ana", "next"));

    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["next"]);
    assert_eq!(running(&database).await, [""; 0]);
}

#[tokio::test]
async fn what_a_process_leaves_behind_another_records_and_counts() {
    let (database, _data) = database().await;
    let killed = open(&database, KEEP_ALL).await;
    let call = begin(&killed, &database, "ana").await;
    begin(&killed, &database, "ben").await;
    // As others do once it is silent.
    database.execute("DELETE FROM processes").await;

    let invocations = open(&database, KEEP_ALL).await;
    let mut records = Vec::new();
    for _ in 0..600 {
        records = read(&invocations, query("a", "ana"), Scope::All).await;
        if !records.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!((&records[0]["outcome"], &records[0]["user"]), (&"interrupted".into(), &"ana".into()));
    let started_at = Timestamp::from_millisecond(call.started_at.as_millisecond()).expect("a time");
    assert_eq!(records[0]["startedAt"], started_at.to_string());
    assert_eq!(records[0]["detail"], "the server ended while the call ran");
    assert_eq!((&records[1]["user"], records[1].get("detail")), (&"ben".into(), None));
    assert_eq!(running(&database).await, [""; 0]);
    let counts = invocations.counts(Period::Day).await.expect("they can be read");
    let counts = CallCounts::sum(&counts.toolkits["a"].intervals);
    assert_eq!((counts.calls, counts.failures), (2, 2));
}

#[tokio::test]
async fn what_is_erased_of_a_user_comes_back_from_no_interrupted_call() {
    let (database, _data) = database().await;
    let killed = open(&database, KEEP_ALL).await;
    begin(&killed, &database, "ana").await;
    database.execute("UPDATE running_calls SET process = NULL").await;

    killed.erase("ana").await.expect("it can be erased");

    sweep_interrupted(&database).await;
    assert!(read(&killed, query("a", "ana"), Scope::Own).await.is_empty());
}

async fn sweep_interrupted(database: &Database) {
    Store::new(database.clone()).record_interrupted(CallEntries::Off).await.expect("it can be swept");
}

#[tokio::test]
async fn a_call_that_cannot_be_queued_when_it_begins_is_recorded_when_it_ends() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let room = invocations.room.take("a", MAX_QUEUED_BYTES_PER_TOOLKIT).expect("it is free");
    let call = Arc::new(BegunCall { id: invocations.new_call_id(), ..begun("a", "ana") });

    invocations.begin(call.clone());
    drop(room);
    tokio::time::sleep(MOMENT).await;

    assert_eq!(running(&database).await, [""; 0]);
    invocations.record(Record { call, ..record("a", "ana", "its record") });
    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["its record"]);
    assert_eq!(invocations.room.taken(), 0);
}

#[tokio::test]
async fn a_record_that_can_never_be_stored_goes_and_its_call_is_not_counted_as_interrupted() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let call = begin(&invocations, &database, "ana").await;

    database.execute("ALTER TABLE invocations RENAME TO unusable").await;
    invocations.record(Record { call: call.clone(), ..record("a", "ana", "gone") });
    for _ in 0..600 {
        if call.lost.is_marked() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(call.lost.is_marked());
    database.execute("ALTER TABLE unusable RENAME TO invocations").await;
    // Until the pause after the last failure is over.
    tokio::time::sleep(RETRY_DELAY * 2).await;
    invocations.record(record("a", "ana", "next"));

    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["next"]);
    assert_eq!(running(&database).await, [""; 0]);
}

#[tokio::test]
async fn a_process_that_was_taken_for_ended_records_its_call_once() {
    let (database, _data) = database().await;
    let silent = open(&database, KEEP_ALL).await;
    let call = begin(&silent, &database, "ana").await;
    database.execute("UPDATE running_calls SET process = NULL").await;
    sweep_interrupted(&database).await;
    let outcomes = async || {
        let records = read(&silent, query("a", "ana"), Scope::Own).await;
        records.into_iter().map(|record| record["outcome"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes().await, ["interrupted"]);

    silent.record(Record { call, ..record("a", "ana", "it lives on") });

    assert_eq!(outcomes().await, ["succeeded"]);
    let counts = silent.counts(Period::Day).await.expect("they can be read");
    let counts = CallCounts::sum(&counts.toolkits["a"].intervals);
    assert_eq!((counts.calls, counts.failures), (1, 0));
}

#[tokio::test]
async fn of_an_interrupted_call_nobody_says_how_long_it_ran() {
    let (database, _data) = database().await;
    let killed = open(&database, KEEP_ALL).await;
    begin(&killed, &database, "ana").await;
    database.execute("UPDATE running_calls SET process = NULL").await;
    sweep_interrupted(&database).await;

    for viewer in ["ana", "ben"] {
        let records = read(&killed, query("a", viewer), Scope::All).await;
        assert_eq!((&records[0]["outcome"], records[0].get("durationMs")), (&"interrupted".into(), None));
    }
}

#[tokio::test]
async fn the_owner_of_a_private_toolkit_does_not_see_keys_of_its_users() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let through = Through {
        client: Some("codex".to_owned()),
        key_id: Some("k1".to_owned()),
        key_name: Some("nightly".to_owned()),
    };
    invocations.record(record("a", "ben", "").with(|call| call.through = through));

    let seen = async |viewer: &str, scope| read(&invocations, query("a", viewer), scope).await.remove(0);

    let owner = seen("ana", Scope::Owned).await;
    assert_eq!((&owner["user"], &owner["client"]), (&"ben".into(), &"codex".into()));
    assert_eq!((owner.get("key"), owner.get("keyName")), (None, None));
    for (viewer, scope) in [("operator", Scope::All), ("ben", Scope::Owned)] {
        let record = seen(viewer, scope).await;
        assert_eq!((&record["key"], &record["keyName"]), (&"k1".into(), &"nightly".into()), "{viewer}");
    }
}
