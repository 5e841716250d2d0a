//! Several processes over one database.

use std::time::Instant;

use kitbag_database::peers::{Heard, Hint, Listening};
use tokio::time::timeout;

use super::*;

const WRITERS: usize = 3;
const RECORDS_PER_WRITER: usize = 400;
/// Maximum time of any wait in these tests. A missed record would never arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns the database of a server, with the toolkits `a` and `b`.
async fn server() -> (Database, TempDir) {
    let (database, folder) = database().await;
    assert!(!database.is_file(), "`TEST_DATABASE` is not set");
    (database, folder)
}

/// Opens a process with its own connections.
async fn process(folder: &TempDir, limits: RetentionLimits) -> Invocations {
    open(&Database::of_test(folder.path()).await, limits).await
}

/// Opens a process that receives hints of others and sends its own.
async fn hearing(folder: &TempDir) -> (Invocations, Listening) {
    let database = Database::of_test(folder.path()).await;
    let hints = Hints::start(&database);
    let mut listening = hints.listen();
    assert_eq!(listening.next().await, Heard::Everything, "it begins to listen");
    let process = testing::process(&database).await;
    let invocations = Invocations::open(database, hints, &process, KEEP_ALL, Auditing::off()).await;
    (invocations.expect("the table is there"), listening)
}

/// Returns the ids and contents of the next `count` records, read without a pause: a record that becomes
/// visible out of the order of ids would be skipped.
async fn follow(invocations: &Invocations, count: usize) -> Vec<(i64, String)> {
    let mut reading = invocations.read(query("a", "ana"), Scope::Own).await.expect("it can be read");
    let mut found = Vec::new();
    let begun = Instant::now();
    while found.len() < count {
        let page = reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read");
        if page.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{} of {count} records came", found.len());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        found.extend(page.iter().map(|record| {
            let record = serde_json::to_value(record).expect("it is JSON");
            let content = contents(std::slice::from_ref(&record))[0].to_owned();
            (record["id"].as_i64().expect("a number"), content)
        }));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a database server"]
async fn a_follower_misses_no_record_of_three_writers() {
    let (_database, folder) = server().await;
    let follower = Arc::new(process(&folder, KEEP_ALL).await);
    let following = {
        let follower = follower.clone();
        tokio::spawn(async move { follow(&follower, WRITERS * RECORDS_PER_WRITER).await })
    };

    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let invocations = process(&folder, KEEP_ALL).await;
        writers.push(tokio::spawn(async move {
            for number in 0..RECORDS_PER_WRITER {
                invocations.record(record("a", "ana", &format!("{writer} {number}")));
                // Each record is a separate batch.
                invocations.flush().await;
            }
        }));
    }
    for writer in writers {
        writer.await.expect("no panic");
    }
    let found = following.await.expect("it has read all");

    assert!(found.is_sorted_by(|(one, _), (next, _)| one < next), "in their order, and none twice");
    for writer in 0..WRITERS {
        let own = found.iter().filter_map(|(_, content)| content.strip_prefix(&format!("{writer} ")));
        let expected = (0..RECORDS_PER_WRITER).map(|number| number.to_string());
        assert!(own.eq(expected), "all of writer {writer}, in the order of its calls");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_another_process_has_written_is_read_at_once_and_heard_of_within_a_second() {
    let (_database, folder) = server().await;
    let one = process(&folder, KEEP_ALL).await;
    let other = process(&folder, KEEP_ALL).await;
    one.record(record("a", "ana", "first"));
    one.flush().await;
    assert_eq!(contents(&read(&other, query("a", "ana"), Scope::Own).await), ["first"]);
    let last = Query { last: Some(1), ..query("a", "ana") };
    assert_eq!(contents(&read(&other, last, Scope::Own).await), ["first"]);

    let mut reading = other.read(query("a", "ana"), Scope::Own).await.expect("it can be read");
    while !reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read").is_empty() {}
    one.record(record("a", "ana", "second"));
    one.flush().await;
    let committed = Instant::now();
    let page = loop {
        timeout(PATIENCE, reading.more()).await.expect("it is told").expect("it lives");
        let page = reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read");
        if !page.is_empty() {
            break page;
        }
    };

    assert_eq!(page.len(), 1);
    assert!(committed.elapsed() < Duration::from_secs(1), "{:?}", committed.elapsed());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_writes_records_tells_the_others() {
    let (_database, folder) = server().await;
    let (one, _) = hearing(&folder).await;
    let (other, mut listening) = hearing(&folder).await;
    let mut reading = other.read(query("a", "ana"), Scope::Own).await.expect("it can be read");
    assert!(reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read").is_empty());

    one.record(record("a", "ana", "first"));
    one.flush().await;
    let heard = timeout(PATIENCE, listening.next()).await.expect("it is heard");
    assert_eq!(heard, Heard::Hint(Hint::Records));
    timeout(PATIENCE, reading.more()).await.expect("whoever follows is told").expect("it lives");

    assert_eq!(reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read").len(), 1);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn one_process_at_a_time_removes_old_records_and_the_others_do_so_later() {
    let (database, folder) = server().await;
    let invocations = process(&folder, KEEP_ALL).await;
    for content in ["1", "2", "3"] {
        invocations.record(record("a", "ana", content));
    }
    invocations.flush().await;
    let store = Store::new(Database::of_test(folder.path()).await);
    let mut retention = Retention::new(RetentionLimits { records: 1, ..KEEP_ALL });

    let elsewhere = Store::new(database);
    let lock = loop {
        // The process may still be sweeping, which it does when it starts.
        if let Some(lock) = elsewhere.lock_for_retention().await.expect("the server answers") {
            break lock;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(!retention.sweep(&store).await.expect("it waits for nobody"));
    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["1", "2", "3"]);

    lock.release().await.expect("the server answers");
    assert!(retention.sweep(&store).await.expect("the database works"));
    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["3"]);
}
