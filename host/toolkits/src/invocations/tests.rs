//! Writing, retaining and reading records in a real database.

mod counts;
mod entries;
mod filters;
mod processes;
mod running;

use std::time::Duration;

use jiff::Timestamp;
use kitbag_sandbox::observations::{LogEntry, Source, Transcript, json_string};
use serde_json::Value;
use tempfile::TempDir;

use super::writer::RETRY_DELAY;
use super::*;
use crate::testing;

const KEEP_ALL: RetentionLimits =
    RetentionLimits { age: Duration::from_hours(24), records: u32::MAX, bytes: usize::MAX };

/// Returns a database with the toolkits `a` and `b`.
async fn database() -> (Database, TempDir) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    for id in ["a", "b"] {
        database
            .execute(&format!(
                "INSERT INTO toolkits (id, owner, live_version) VALUES ('{id}', 'ana', '1.0.0');
                 INSERT INTO toolkit_versions
                     (toolkit_id, version, digest, size, manifest, changes, imports, deployed_by, deployed_at)
                 VALUES ('{id}', '1.0.0', '', 0, '', '', '', '', 0)"
            ))
            .await;
    }
    (database, data)
}

async fn open(database: &Database, limits: RetentionLimits) -> Invocations {
    let process = testing::process(database).await;
    let invocations = Invocations::open(database.clone(), Hints::off(), &process, limits, Auditing::off());
    invocations.await.expect("the table is there")
}

/// Returns the record of a call by `user` that logged `content`.
pub(super) fn record(toolkit: &str, user: &str, content: &str) -> Record {
    let entries = vec![LogEntry { source: Source::Log, arguments: vec![json_string(content)] }];
    Record {
        call: Arc::new(begun(toolkit, user)),
        duration: Duration::ZERO,
        argument_size: None,
        conclusion: Conclusion {
            transcript: Transcript { entries, dropped: 0 },
            ..Outcome::Succeeded.into()
        },
    }
}

impl Record {
    /// Changes what is known of the call from its beginning.
    pub(super) fn with(self, change: impl FnOnce(&mut BegunCall)) -> Self {
        let mut call = (*self.call).clone();
        change(&mut call);
        Self { call: Arc::new(call), ..self }
    }

    pub(super) fn began_ago(self, age: jiff::SignedDuration) -> Self {
        self.with(|call| call.started_at = Timestamp::now() - age)
    }
}

/// Returns a call of `user` that begins now.
fn begun(toolkit: &str, user: &str) -> BegunCall {
    BegunCall {
        id: "1".to_owned(),
        toolkit: toolkit.to_owned(),
        version: "1.0.0".to_owned(),
        tool: "t".to_owned(),
        user: user.to_owned(),
        through: Through::default(),
        account: None,
        run: None,
        started_at: Timestamp::now(),
        lost: Lost::default(),
    }
}

/// Sweeps. Retries while the writer is sweeping, which it does when it starts.
async fn sweep(retention: &mut Retention, database: &Database) {
    while !retention.sweep(&Store::new(database.clone())).await.expect("it can be swept") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn query(toolkit: &str, viewer: &str) -> Query {
    Query {
        toolkit: toolkit.to_owned(),
        viewer: viewer.to_owned(),
        since: Timestamp::MIN,
        until: Timestamp::MAX,
        after: 0,
        before: None,
        last: None,
        filter: Filter::default(),
    }
}

/// Returns all records that `query` finds now.
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

/// Returns the logged contents of the calls, oldest first.
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
    database.execute("DELETE FROM toolkits WHERE id = 'b'").await;

    invocations.record(record("b", "ana", "late"));
    invocations.record(record("a", "ana", "kept"));

    assert_eq!(contents(&read(&invocations, query("a", "ana"), Scope::Own).await), ["kept"]);
    assert!(read(&invocations, query("b", "ana"), Scope::Own).await.is_empty());
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
    sweep(&mut retention, &database).await;

    let invocations = open(&database, KEEP_ALL).await;
    let kept = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!(contents(&kept), ["595", "596", "597", "598", "599"]);
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["quiet"]);
}

#[tokio::test]
async fn a_noisy_user_loses_records_first_and_pushes_out_nobody_elses() {
    for limits in [
        RetentionLimits { records: 10, ..KEEP_ALL },
        // Space for about ten such records.
        RetentionLimits { bytes: 10 * record("a", "ana", "000").size(), ..KEEP_ALL },
    ] {
        let (database, _data) = database().await;
        let invocations = open(&database, KEEP_ALL).await;
        for content in 0..3 {
            invocations.record(record("a", "ana", &format!("00{content}")));
        }
        for content in 100..700 {
            invocations.record(record("a", "ben", &content.to_string()));
        }
        invocations.close().await;

        sweep(&mut Retention::new(limits), &database).await;

        let invocations = open(&database, KEEP_ALL).await;
        let of_ana = read(&invocations, query("a", "ana"), Scope::Own).await;
        assert_eq!(contents(&of_ana), ["000", "001", "002"], "{limits:?}");
        let of_ben = read(&invocations, query("a", "ben"), Scope::Own).await;
        assert_eq!(contents(&of_ben), ["693", "694", "695", "696", "697", "698", "699"], "{limits:?}");
    }
}

#[tokio::test]
async fn where_users_outnumber_the_records_to_keep_the_latest_calls_stay() {
    for limits in [
        RetentionLimits { records: 3, ..KEEP_ALL },
        RetentionLimits { bytes: 3 * record("a", "user-0", "").size(), ..KEEP_ALL },
    ] {
        let (database, _data) = database().await;
        let invocations = open(&database, KEEP_ALL).await;
        let users: Vec<_> = (0..8).map(|number| format!("user-{number}")).collect();
        for user in &users {
            invocations.record(record("a", user, ""));
        }
        invocations.close().await;

        sweep(&mut Retention::new(limits), &database).await;

        let invocations = open(&database, KEEP_ALL).await;
        for (number, user) in users.iter().enumerate() {
            let kept = read(&invocations, query("a", user), Scope::Own).await;
            assert_eq!(kept.len(), usize::from(number >= 5), "{user}, {limits:?}");
        }
    }
}

#[tokio::test]
async fn records_that_are_too_many_take_no_room_from_those_that_stay() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(record("a", "ben", "seldom"));
    for _ in 0..100 {
        invocations.record(record("a", "ana", "often!"));
    }
    invocations.close().await;

    let limits = RetentionLimits { records: 2, bytes: 2 * record("a", "ana", "often!").size(), ..KEEP_ALL };
    sweep(&mut Retention::new(limits), &database).await;

    let invocations = open(&database, KEEP_ALL).await;
    for user in ["ana", "ben"] {
        assert_eq!(read(&invocations, query("a", user), Scope::Own).await.len(), 1, "{user}");
    }
}

#[tokio::test]
async fn refused_calls_do_not_push_out_the_calls_of_the_same_user() {
    let (database, _data) = database().await;
    let mut retention = Retention::new(RetentionLimits { records: 150, ..KEEP_ALL });
    for outcome in [Outcome::Busy, Outcome::InvalidParams] {
        let invocations = open(&database, KEEP_ALL).await;
        let useful = record("a", "ana", outcome.as_str());
        let refused = Record { conclusion: outcome.into(), ..record("a", "ana", "") };
        let records = [vec![useful], vec![refused; 100]].concat();
        for record in &records {
            invocations.record(record.clone());
        }
        invocations.close().await;
        retention.count(&records);
        sweep(&mut retention, &database).await;
    }

    let invocations = open(&database, KEEP_ALL).await;
    let kept = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!((kept.len(), contents(&kept)), (102, vec!["busy", "invalid-params"]));
}

#[tokio::test]
async fn what_cannot_be_stored_now_is_stored_later() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let rename = async |from: &'static str, to: &'static str| {
        database.execute(&format!("ALTER TABLE {from} RENAME TO {to}")).await;
    };

    rename("invocations", "elsewhere").await;
    invocations.record(record("a", "ana", "in bad times"));
    invocations.flush().await;
    rename("elsewhere", "invocations").await;
    invocations.record(record("a", "ana", "in good times"));

    let started = std::time::Instant::now();
    let mut found = Vec::new();
    while found.len() < 2 && started.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        found = read(&invocations, query("a", "ana"), Scope::Own).await;
    }
    assert_eq!(contents(&found), ["in bad times", "in good times"]);
}

#[tokio::test]
async fn a_page_is_bounded_by_its_bytes_and_every_record_is_on_one() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let large = "x".repeat(200 << 10);
    for _ in 0..5 {
        invocations.record(record("a", "ana", &large));
    }
    invocations.record(record("a", "ana", &"x".repeat(2 << 20)));
    invocations.record(record("a", "ana", "small"));

    let mut reading = invocations.read(query("a", "ana"), Scope::Own).await.expect("it can be read");
    let mut pages = Vec::new();
    while pages.last() != Some(&0) {
        let page = reading.next_page(Scope::Own, reading.newest()).await.expect("it can be read");
        pages.push(page.len());
    }

    // A page ends with the record that exceeds the limit.
    assert_eq!(pages, [3, 3, 1, 0]);
}

#[tokio::test]
async fn records_go_when_they_take_too_much_or_are_too_old() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(record("b", "ana", "old").began_ago(jiff::SignedDuration::from_hours(25)));
    invocations.record(record("b", "ana", "young"));
    for _ in 0..10 {
        invocations.record(record("a", "ana", &"x".repeat(10_000)));
    }
    invocations.close().await;

    let mut retention = Retention::new(RetentionLimits { bytes: 35_000, ..KEEP_ALL });
    sweep(&mut retention, &database).await;

    let invocations = open(&database, KEEP_ALL).await;
    assert_eq!(read(&invocations, query("a", "ana"), Scope::Own).await.len(), 3);
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["young"]);
}

#[tokio::test]
async fn the_writer_sweeps_by_itself() {
    let (database, _data) = database().await;
    let invocations = open(&database, RetentionLimits { records: 3, ..KEEP_ALL }).await;

    for content in 0..6000 {
        invocations.record(record("a", "ana", &content.to_string()));
    }
    invocations.close().await;

    let invocations = open(&database, KEEP_ALL).await;
    let kept = read(&invocations, query("a", "ana"), Scope::Own).await.len();
    assert!(kept < 1100, "{kept} are left");
}

#[tokio::test]
async fn without_room_the_content_goes_first_and_one_toolkit_cannot_take_the_room_of_others() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let busy = database.begin(kitbag_database::Scope::Records).await.expect("nobody else writes yet");
    let large = "x".repeat(MAX_QUEUED_BYTES_PER_USER / 4);

    for _ in 0..10 {
        invocations.record(record("a", "ana", &large));
    }
    invocations.record(record("a", "ben", "of another user"));
    for user in 0..10 {
        for _ in 0..3 {
            invocations.record(record("a", &user.to_string(), &large));
        }
    }
    invocations.record(record("b", "ana", "of another toolkit"));
    drop(busy);

    let found = read(&invocations, query("a", "ana"), Scope::Own).await;
    assert_eq!((found.len(), contents(&found).len()), (10, 3), "all are there, three of them whole");
    assert_eq!(found[9]["dropped"], 1);
    assert_eq!(contents(&read(&invocations, query("a", "ben"), Scope::Own).await), ["of another user"]);
    let last = read(&invocations, query("a", "9"), Scope::Own).await;
    assert_eq!((last.len(), contents(&last).len()), (3, 0), "the toolkit has its share");
    assert_eq!(contents(&read(&invocations, query("b", "ana"), Scope::Own).await), ["of another toolkit"]);
}

#[tokio::test]
async fn what_cannot_be_kept_is_counted() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let busy = database.begin(kitbag_database::Scope::Records).await.expect("nobody else writes yet");

    let most = MAX_QUEUED_BYTES_PER_USER / record("a", "ana", "").without_content().size();
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
                // Makes commits fall between a reader's steps as often as possible.
                invocations.flush().await;
            }
        }
    });

    // Polls while records are written, and waits only for the last of them.
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
