//! Reading backwards, with filters, and counting calls.

use super::*;

/// Returns the record of a call of `tool` by `user` with this outcome.
fn ended(user: &str, tool: &str, outcome: Outcome) -> Record {
    let record = Record { conclusion: outcome.into(), ..record("a", user, "") };
    record.with(|call| tool.clone_into(&mut call.tool))
}

fn tools(records: &[Value]) -> Vec<&str> {
    records.iter().filter_map(|record| record["tool"].as_str()).collect()
}

fn id(record: &Value) -> i64 {
    record["id"].as_i64().expect("a number")
}

fn with_outcome(outcome: &str) -> Filter {
    Filter { outcome: Some(outcome.parse().expect("it is one")), ..Filter::default() }
}

#[tokio::test]
async fn pages_backwards_are_the_whole_log_and_the_last_page_says_so() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    for content in 0..23 {
        invocations.record(record("a", "ana", &content.to_string()));
        invocations.record(record("a", "ben", "of ben"));
    }

    let mut before = None;
    let mut pages = Vec::new();
    let mut found = Vec::new();
    loop {
        let query = Query { before, last: Some(10), ..query("a", "ana") };
        let reading = invocations.read(query.clone(), Scope::Own).await.expect("it can be read");
        let page = read(&invocations, query, Scope::Own).await;
        pages.push((page.len(), reading.has_left_out()));
        before = page.first().map(id);
        found.splice(0..0, page);
        if !reading.has_left_out() {
            break;
        }
    }

    assert_eq!(pages, [(10, true), (10, true), (3, false)]);
    assert_eq!(contents(&found), (0..23).map(|content| content.to_string()).collect::<Vec<_>>());
    let none = Query { before: Some(id(&found[0])), ..query("a", "ana") };
    assert!(read(&invocations, none, Scope::Own).await.is_empty());
    for before in [i64::MIN, 0, -1] {
        let none = Query { before: Some(before), last: Some(10), ..query("a", "ana") };
        assert!(read(&invocations, none, Scope::Own).await.is_empty(), "{before}");
    }
}

#[tokio::test]
async fn a_filter_finds_its_calls_on_every_page_and_those_that_come() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    for _ in 0..20 {
        invocations.record(ended("ana", "find", Outcome::Succeeded));
        invocations.record(ended("ana", "find", Outcome::Failed));
        invocations.record(ended("ana", "list", Outcome::Cancelled));
        invocations.record(ended("ana", "list", Outcome::Busy));
    }
    let count = async |filter: Filter| {
        read(&invocations, Query { filter, ..query("a", "ana") }, Scope::Own).await.len()
    };
    let of_list = Filter { tool: Some("list".to_owned()), ..Filter::default() };

    assert_eq!(count(Filter::default()).await, 80);
    assert_eq!(count(of_list.clone()).await, 40);
    assert_eq!(count(with_outcome("failed")).await, 20);
    assert_eq!(count(with_outcome("any-failure")).await, 40);
    assert_eq!(count(Filter { tool: of_list.tool.clone(), ..with_outcome("any-failure") }).await, 20);
    assert_eq!(count(with_outcome("deadline")).await, 0);
    assert_eq!(count(Filter { tool: Some("' OR 1 = 1 --".to_owned()), ..Filter::default() }).await, 0);

    let last = Query { last: Some(3), filter: with_outcome("any-failure"), ..query("a", "ana") };
    let mut reading = invocations.read(last, Scope::Own).await.expect("it can be read");
    assert!(reading.has_left_out());
    assert_eq!(reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read").len(), 3);
    invocations.record(ended("ana", "find", Outcome::Succeeded));
    invocations.record(ended("ana", "find", Outcome::Limit));
    invocations.flush().await;
    let more = reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read");
    let outcomes: Vec<_> = more.iter().map(|record| record.facts().outcome.to_owned()).collect();
    assert_eq!(outcomes, ["limit"]);
    assert!(reading.next_page(Scope::Own, i64::MAX).await.expect("it can be read").is_empty());
}

#[tokio::test]
async fn what_is_shown_of_a_record_is_what_its_json_says() {
    let (database, _data) = database().await;
    let invocations = open(&database, KEEP_ALL).await;
    let microseconds = Duration::from_micros(38_400);
    invocations.record(Record { duration: microseconds, ..record("a", "ana", "of ana") });
    invocations.record(Record { duration: microseconds, ..record("a", "ben", "of ben") });

    let mut reading = invocations.read(query("a", "ana"), Scope::All).await.expect("it can be read");
    let page = reading.next_page(Scope::All, i64::MAX).await.expect("it can be read");

    let [own, other] = &page[..] else { panic!("{} records", page.len()) };
    assert_eq!(
        (own.facts().duration, other.facts().duration),
        (Some(Amount::Exact(38_400)), Some(Amount::UpTo(100_000)))
    );
    for record in &page {
        let facts = record.facts();
        let json = serde_json::to_value(record).expect("it is JSON");
        assert_eq!((facts.id, facts.toolkit, facts.tool), (id(&json), "a", "t"));
        assert_eq!(facts.started_at.to_string(), json["startedAt"].as_str().expect("a time"));
    }
    assert_eq!(other.facts().started_at.subsec_nanosecond(), 0);
    let content = own.content().expect("it is ana's own");
    assert_eq!(content.entries[0].arguments[0].get(), r#""of ana""#);
    assert!(other.content().is_none());
}

#[tokio::test]
async fn calls_are_counted_for_whom_their_records_are_visible_and_for_a_day() {
    let (database, _data) = database().await;
    let two_days = RetentionLimits { age: Duration::from_hours(48), ..KEEP_ALL };
    let invocations = open(&database, two_days).await;
    let now = Timestamp::now();
    let at = |hours: i64, call: Record| {
        call.with(|call| call.started_at = now - jiff::SignedDuration::from_hours(hours))
    };
    invocations.record(at(0, ended("ana", "find", Outcome::Succeeded)));
    invocations.record(at(0, ended("ana", "find", Outcome::Cancelled)));
    invocations.record(at(23, ended("ana", "find", Outcome::ToolError)));
    invocations.record(at(24, ended("ana", "find", Outcome::Failed)));
    invocations.record(at(2, ended("ben", "find", Outcome::Failed)));
    let elsewhere = ended("ana", "find", Outcome::Failed);
    invocations.record(elsewhere.with(|call| "b".clone_into(&mut call.toolkit)));

    let own = invocations.usage("a", "ana", Scope::Own).await.expect("it can be read");
    let all = invocations.usage("a", "ana", Scope::All).await.expect("it can be read");
    let none = invocations.usage("a", "eve", Scope::Own).await.expect("it can be read");

    assert_eq!((own.calls, own.failures), (3, 1));
    assert_eq!((all.calls, all.failures), (4, 2));
    assert_eq!((none.calls, none.failures, none.hours.len()), (0, 0, 24));
    // The hour may have ended since the calls were made.
    let counts: Vec<_> = own.hours.iter().map(|hour| hour.calls).filter(|calls| *calls > 0).collect();
    assert!(counts == [1, 2] || counts == [2], "{counts:?}");
    let counted = read(&invocations, query("a", "ana"), Scope::All).await;
    assert_eq!(tools(&counted).len(), 5, "records are kept for longer than they are counted");
}
