//! Records as they are written, kept and read, against a database of their own.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::capabilities::log::{Entry, Source, Transcript, json_string};

const KEEP_ALL: RetentionLimits =
    RetentionLimits { age: Duration::from_hours(24), records: u32::MAX, bytes: usize::MAX };

/// A database with the toolkits `a` and `b`.
async fn database() -> (Database, TempDir) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(&data.path().join("kitbag.sqlite")).await.expect("a database");
    for id in ["a", "b"] {
        let mut transaction = database.writer.begin().await.expect("a transaction");
        for sql in [
            "INSERT INTO toolkits (id, owner, live_version) VALUES (?, 'ana', '1.0.0')",
            "INSERT INTO toolkit_versions
                 (toolkit_id, version, digest, size, manifest, changes, deployed_by, deployed_at)
             VALUES (?, '1.0.0', '', 0, '', '', '', 0)",
        ] {
            sqlx::query(sql).bind(id).execute(&mut *transaction).await.expect("the row fits");
        }
        transaction.commit().await.expect("the rows fit together");
    }
    (database, data)
}

async fn open(database: &Database, limits: RetentionLimits) -> Invocations {
    Invocations::open(database.clone(), limits).await.expect("the table is there")
}

/// A call by `user` that logged `content`.
fn record(toolkit: &str, user: &str, content: &str) -> Record {
    let entries = vec![Entry { source: Source::Log, arguments: vec![json_string(content)] }];
    Record {
        toolkit: toolkit.to_owned(),
        version: "1.0.0".to_owned(),
        tool: "t".to_owned(),
        user: user.to_owned(),
        started_at: Timestamp::now(),
        duration: Duration::ZERO,
        conclusion: Conclusion {
            transcript: Transcript { entries, dropped: 0 },
            ..Outcome::Succeeded.into()
        },
    }
}

fn query(toolkit: &str, viewer: &str) -> Query {
    Query {
        toolkit: toolkit.to_owned(),
        viewer: viewer.to_owned(),
        since: Timestamp::MIN,
        after: 0,
        last: None,
    }
}

/// All that `query` finds now.
async fn read(invocations: &Invocations, query: Query, scope: Scope) -> Vec<Value> {
    let mut reading = invocations.read(query, scope).await.expect("it can be read");
    let until = reading.newest();
    let mut found = Vec::new();
    loop {
        let page = reading.next_page(scope, until).await.expect("it can be read");
        if page.is_empty() {
            return found;
        }
        found.extend(page.iter().map(|record| serde_json::to_value(record).expect("it is JSON")));
    }
}

/// What the calls logged, oldest first.
fn contents(records: &[Value]) -> Vec<&str> {
    records.iter().filter_map(|record| record["entries"][0]["arguments"][0].as_str()).collect()
}

#[tokio::test]
async fn what_was_recorded_is_read_at_once_and_in_order() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;

    for content in 0..100 {
        invocations.record(record("a", "ana", &content.to_string()));
    }

    let found = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!(contents(&found), (0..100).map(|content| content.to_string()).collect::<Vec<_>>());
    let last = Query { last: Some(2), ..query("a", "ana") };
    assert_eq!(contents(&read(&invocations, last, Scope::Own).await), ["98", "99"]);
    let after = Query { after: found[97]["id"].as_i64().expect("a number"), ..query("a", "ana") };
    assert_eq!(contents(&read(&invocations, after, Scope::Own).await), ["98", "99"]);
    let future = Query { since: Timestamp::MAX, ..query("a", "ana") };
    assert!(read(&invocations, future, Scope::Own).await.is_empty());
}

#[tokio::test]
async fn the_content_of_others_is_in_no_scope() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(record("a", "ana", "of ana"));
    invocations.record(record("a", "ben", "of ben"));
    invocations.record(record("b", "ana", "elsewhere"));

    let own = read(&invocations, query("a", "ana"), Scope::Own).await;
    let all = read(&invocations, query("a", "ana"), Scope::All).await;

    assert_eq!((own.len(), contents(&own)), (1, vec!["of ana"]));
    assert_eq!((all.len(), contents(&all)), (2, vec!["of ana"]));
    assert_eq!((&all[1]["user"], all[1].get("entries"), all[1].get("detail")), (&"ben".into(), None, None));
}

#[tokio::test]
async fn a_record_of_a_toolkit_that_is_gone_takes_no_other_with_it() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(record("b", "ana", "before"));
    assert_eq!(read(&invocations, query("b", "ana"), Scope::Own).await.len(), 1);
    sqlx::query("DELETE FROM toolkits WHERE id = 'b'").execute(&database.writer).await.expect("it is there");

    invocations.record(record("b", "ana", "late"));
    invocations.record(record("a", "ana", "kept"));

    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["kept"]);
    assert!(read(&invocations, query("b", "ana"), Scope::Own).await.is_empty(), "its records went with it");
}

#[tokio::test]
async fn a_noisy_toolkit_loses_its_own_past_and_no_others() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(record("b", "ana", "quiet"));
    for content in 0..600 {
        invocations.record(record("a", "ana", &content.to_string()));
    }
    invocations.close().await;

    let mut retention = Retention::new(RetentionLimits { records: 5, ..KEEP_ALL });
    retention.sweep(&Store::new(database.clone())).await.expect("it can be swept");

    let invocations = open(&database, KEEP_ALL).await;
    let kept = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!(contents(&kept), ["595", "596", "597", "598", "599"]);
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["quiet"]);
}

#[tokio::test]
async fn records_go_when_they_take_too_much_or_are_too_old() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let old = Record {
        started_at: Timestamp::now() - jiff::SignedDuration::from_hours(25),
        ..record("b", "ana", "old")
    };
    invocations.record(old);
    invocations.record(record("b", "ana", "young"));
    for _ in 0..10 {
        invocations.record(record("a", "ana", &"x".repeat(10_000)));
    }
    invocations.close().await;

    let mut retention = Retention::new(RetentionLimits { bytes: 35_000, ..KEEP_ALL });
    retention.sweep(&Store::new(database.clone())).await.expect("it can be swept");

    let invocations = open(&database, KEEP_ALL).await;
    assert_eq!(read(&invocations, query("a", "ana"), Scope::Own).await.len(), 3);
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["young"]);
}

#[tokio::test]
async fn the_writer_sweeps_by_itself() {
    let (database, _data) = database().await;
    let invocations = open(&database, RetentionLimits { records: 3, ..KEEP_ALL }).await;

    for content in 0..3000 {
        invocations.record(record("a", "ana", &content.to_string()));
    }
    invocations.close().await;

    let invocations = open(&database, KEEP_ALL).await;
    let kept = read(&invocations, query("a", "ana"), Scope::Own).await.len();
    assert!(kept < 2100, "{kept} are left");
}

#[tokio::test]
async fn without_room_the_content_goes_first_and_one_toolkit_cannot_take_the_room_of_others() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let busy = database.writer.begin().await.expect("nobody else writes yet");
    let large = "x".repeat(QUEUED_PER_TOOLKIT / 4);

    for _ in 0..10 {
        invocations.record(record("a", "ana", &large));
    }
    invocations.record(record("b", "ana", "still whole"));
    drop(busy);

    let found = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!((found.len(), contents(&found).len()), (10, 3), "all are there, three of them whole");
    assert_eq!(found[9]["dropped"], 1);
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["still whole"]);
}

#[tokio::test]
async fn what_cannot_be_kept_is_counted() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let busy = database.writer.begin().await.expect("nobody else writes yet");

    let most = QUEUED_PER_TOOLKIT / record("a", "ana", "").without_content().size();
    for _ in 0..most + 10 {
        invocations.record(record("a", "ana", ""));
    }

    assert!(invocations.lost.load(Ordering::Relaxed) >= 5);
    drop(busy);
    assert!(read(&invocations, query("a", "ana"), Scope::Own).await.len() <= most);
    invocations.flush().await;
    assert_eq!(invocations.lost.load(Ordering::Relaxed), 0, "the log has said so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_reader_that_waits_misses_nothing_and_reads_nothing_twice() {
    const CALLS: usize = 500;
    let (database, _data) = database().await;
    let invocations = Arc::new(open(&database, KEEP_ALL).await);
    let mut reading = invocations.read(query("a", "ana"), Scope::Own).await.expect("it can be read");
    let writing = tokio::spawn({
        let invocations = invocations.clone();
        async move {
            for content in 0..CALLS {
                invocations.record(record("a", "ana", &content.to_string()));
                invocations.record(record("a", "ben", "of ben"));
                // Commits fall between a reader's steps as often as can be.
                invocations.flush().await;
            }
        }
    });

    // Asks again and again while records come in, and waits only for the last of them.
    let mut found = Vec::new();
    while found.len() < CALLS {
        let page = reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read");
        if page.is_empty() && writing.is_finished() {
            let more = tokio::time::timeout(Duration::from_secs(5), reading.more()).await;
            more.expect("nothing was missed").expect("the writer runs");
        }
        found.extend(page.iter().map(|record| serde_json::to_value(record).expect("it is JSON")));
    }

    writing.await.expect("no panic");
    assert_eq!(contents(&found), (0..CALLS).map(|content| content.to_string()).collect::<Vec<_>>());
}
