//! Counts of calls and of users.

use jiff::SignedDuration;

use super::*;

fn call(toolkit: &str, user: &str, outcome: Outcome) -> Record {
    let duration = Duration::from_millis(40);
    Record { duration, conclusion: outcome.into(), ..record(toolkit, user, "") }
}

fn ago(record: Record, hours: i64) -> Record {
    record.began_ago(SignedDuration::from_hours(hours))
}

async fn of(invocations: &Invocations, period: Period) -> Counts {
    let counts = invocations.counts(period).await.expect("it can be counted");
    for toolkit in counts.toolkits.values().filter(|it| !it.intervals.is_empty()) {
        assert_eq!(toolkit.intervals.len(), period.intervals());
    }
    counts
}

/// Returns the numbers of calls, failures and refused calls of a toolkit.
fn figures(counts: &Counts, toolkit: &str) -> (u64, u64, u64) {
    let intervals = counts.toolkits.get(toolkit).map(|it| it.intervals.as_slice()).unwrap_or_default();
    let sum = CallCounts::sum(intervals);
    (sum.calls, sum.failures, sum.refused)
}

fn users(counts: &Counts, toolkit: &str) -> u64 {
    counts.toolkits.get(toolkit).map_or(0, |it| it.users)
}

#[tokio::test]
async fn calls_are_counted_by_toolkit_and_hour_and_users_once() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    for outcome in [Outcome::Succeeded, Outcome::Failed, Outcome::Busy, Outcome::Cancelled] {
        invocations.record(call("a", "ana", outcome));
    }
    // The next records are a separate batch, which is added to the existing counts.
    invocations.flush().await;
    invocations.record(call("a", "ben", Outcome::Succeeded));
    invocations.record(call("b", "ana", Outcome::InvalidParams));
    invocations.record(ago(call("a", "cy", Outcome::Succeeded), 3));

    let day = of(&invocations, Period::Day).await;

    assert_eq!((figures(&day, "a"), figures(&day, "b")), ((6, 2, 1), (1, 1, 1)));
    let of_hours: Vec<_> = day.toolkits["a"].intervals.iter().map(|hour| hour.calls).collect();
    assert_eq!((of_hours[20], of_hours[23], of_hours.iter().sum()), (1, 5, 6));
    assert_eq!((users(&day, "a"), users(&day, "b"), day.users), (3, 1, 3));
    let sum = CallCounts::sum(&day.toolkits["a"].intervals);
    assert_eq!(sum.percentile(95), Some(Latency::AtMostMs(100)), "five calls: the range of a record");
    assert_eq!(CallCounts::sum(&day.toolkits["b"].intervals).percentile(50), None, "it did not run");
}

#[tokio::test]
async fn a_period_leaves_out_what_was_before() {
    let (database, _data) = database().await;
    let invocations =
        open(&database, RetentionLimits { age: Duration::from_hours(24 * 60), ..KEEP_ALL }).await;
    invocations.record(ago(call("a", "ana", Outcome::Succeeded), 24));
    invocations.record(ago(call("a", "ben", Outcome::Failed), 24 * 28));
    invocations.record(ago(call("b", "cy", Outcome::Succeeded), 24 * 30));

    let day = of(&invocations, Period::Day).await;
    let month = of(&invocations, Period::ThirtyDays).await;

    assert_eq!((day.toolkits.len(), day.users), (0, 0));
    assert_eq!((figures(&month, "a"), figures(&month, "b")), ((2, 1, 0), (0, 0, 0)));
    assert_eq!((month.users, month.users_from), (2, month.from));
    let days: Vec<_> = month.toolkits["a"].intervals.iter().map(|day| day.calls).collect();
    assert_eq!((days[1], days[28], days.iter().sum()), (1, 1, 2));
}

#[tokio::test]
async fn counts_outlive_records_and_users_do_not() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    invocations.record(ago(call("a", "ana", Outcome::Succeeded), 24 * 3));
    invocations.record(ago(call("a", "ben", Outcome::Succeeded), 24 * 40));
    invocations.record(call("a", "cy", Outcome::Succeeded));
    invocations.close().await;

    sweep(&mut Retention::new(RetentionLimits { records: 0, ..KEEP_ALL }), &database).await;

    let invocations = open(&database, KEEP_ALL).await;
    assert!(read(&invocations, query("a", "cy"), Scope::Own).await.is_empty());
    let month = of(&invocations, Period::ThirtyDays).await;
    assert_eq!((figures(&month, "a"), month.users), ((2, 0, 0), 1));
    assert!(month.users_from > month.from, "that some are missing can be seen");
    let left = |table: &'static str| kitbag_database::sql(table).fetch_value::<i64>(database.readers());
    assert_eq!(left("SELECT COUNT(*) FROM call_counts").await.expect("a number"), 2);
    assert_eq!(left("SELECT COUNT(*) FROM toolkit_users").await.expect("a number"), 1);
}

#[tokio::test]
async fn a_batch_of_many_users_hours_and_toolkits_is_counted_whole() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    for number in 0..700 {
        let user = format!("user-{}", number % 300);
        let toolkit = if number % 2 == 0 { "a" } else { "b" };
        invocations.record(ago(call(toolkit, &user, Outcome::Succeeded), number % 24));
    }

    let month = of(&invocations, Period::ThirtyDays).await;

    assert_eq!((figures(&month, "a").0, figures(&month, "b").0, month.users), (350, 350, 300));
    assert_eq!((users(&month, "a"), users(&month, "b")), (150, 150));
    let sum = CallCounts::sum(&month.toolkits["a"].intervals);
    assert_eq!(sum.percentile(50), Some(Latency::AtMostMs(50)));
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn counts_of_several_processes_are_summed() {
    let (database, folder) = database().await;
    assert!(!database.is_file(), "`TEST_DATABASE` is not set");
    let mut writers = Vec::new();
    for writer in 0..3 {
        let invocations = open(&Database::of_test(folder.path()).await, KEEP_ALL).await;
        writers.push(tokio::spawn(async move {
            for _ in 0..100 {
                invocations.record(call("a", "ana", Outcome::Succeeded));
                invocations.record(call("a", &format!("user-{writer}"), Outcome::Failed));
                // Each record is a separate batch.
                invocations.flush().await;
            }
        }));
    }
    for writer in writers {
        writer.await.expect("no panic");
    }

    let day = of(&open(&database, KEEP_ALL).await, Period::Day).await;

    assert_eq!((figures(&day, "a"), day.users), ((600, 300, 0), 4));
}
