//! Tests of hints between processes.

use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::sql;

/// Time limit for the arrival of a hint.
const PATIENCE: Duration = Duration::from_secs(20);

/// Creates a PostgreSQL database.
async fn server() -> (Database, TempDir) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    (Database::of_test_server(folder.path()).await, folder)
}

/// Starts a process that receives hints of others.
async fn process(database: &Database) -> (Hints, Listening) {
    let hints = Hints::start(database);
    let mut listening = hints.listen();
    assert_eq!(heard(&mut listening).await, Heard::Everything, "it begins to listen");
    (hints, listening)
}

async fn heard(listening: &mut Listening) -> Heard {
    timeout(PATIENCE, listening.next()).await.expect("it is heard")
}

fn all() -> Vec<Hint> {
    let of = |name| Subject::of(&[name]);
    vec![
        Hint::Registry,
        Hint::Records,
        Hint::Jobs("index".to_owned()),
        Hint::Secret(of("a")),
        Hint::Cancel(of("b")),
    ]
}

#[test]
fn a_hint_is_read_as_it_was_written_and_nothing_else_is_one() {
    for hint in all() {
        assert_eq!(Hint::parse(&hint.to_string()), Some(hint));
    }
    let short = "0".repeat(62);
    for text in ["", "other", "registry:", "secret", "secret:", "secret:xyz", &format!("cancel:{short}")] {
        assert_eq!(Hint::parse(text), None, "{text}");
    }
}

#[test]
fn a_subject_is_of_all_its_names_in_their_order() {
    let subject = Subject::of(&["ana", "books", "KEY"]);

    for other in
        [&["ana", "books"][..], &["books", "ana", "KEY"], &["anabooks", "KEY", ""], &["ana", "book", "sKEY"]]
    {
        assert_ne!(Subject::of(other), subject, "{other:?}");
    }
    assert_eq!(Subject::of(&["ana", "books", "KEY"]), subject);
}

#[test]
fn what_waits_is_joined_and_bounded_and_no_flood_of_one_kind_keeps_the_others_back() {
    let outbox = Outbox::default();
    for number in 0..10_000 {
        outbox.put(Hint::Cancel(Subject::of(&[&number.to_string()])));
    }
    for _ in 0..1000 {
        outbox.put(Hint::Records);
        outbox.put(Hint::Jobs("index".to_owned()));
    }

    let payloads: Vec<_> = std::iter::from_fn(|| outbox.take("me")).collect();

    assert!(payloads.iter().all(|payload| payload.len() <= MAX_PAYLOAD_BYTES && payload.starts_with("me ")));
    assert!(payloads[0].starts_with("me records jobs:index cancel:"), "{}", payloads[0]);
    let hints: usize = payloads.iter().map(|payload| payload.split(' ').count() - 1).sum();
    assert_eq!(hints, MAX_WAITING + 2);
    assert!(payloads.len() < 20, "{} in a second", payloads.len());
}

#[tokio::test]
async fn hints_that_are_off_stay_inside_the_process() {
    let hints = Hints::off();
    let mut listening = hints.listen();

    hints.tell_others(Hint::Records);
    hints.tell_all(Hint::Registry);

    assert_eq!(heard(&mut listening).await, Heard::Hint(Hint::Registry));
}

#[tokio::test]
async fn who_listens_too_slowly_is_told_that_everything_may_have_changed() {
    let hints = Hints::off();
    let mut listening = hints.listen();

    for _ in 0..=MAX_UNREAD {
        hints.tell_all(Hint::Records);
    }

    assert_eq!(heard(&mut listening).await, Heard::Everything);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn the_others_hear_what_one_tells_them_and_it_does_not() {
    let (database, _folder) = server().await;
    let (one, mut own) = process(&database).await;
    let (other, mut listening) = process(&database).await;

    for hint in all() {
        one.tell_others(hint.clone());
        assert_eq!(heard(&mut listening).await, Heard::Hint(hint));
    }
    other.tell_all(Hint::Registry);

    assert_eq!(heard(&mut listening).await, Heard::Hint(Hint::Registry));
    assert_eq!(heard(&mut own).await, Heard::Hint(Hint::Registry), "and nothing that it has said itself");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_payload_names_no_user_and_no_secret() {
    let (database, _folder) = server().await;
    let (hints, _listening) = process(&database).await;
    let mut listener = database.server().expect("a server").listen(store::CHANNEL).await.expect("it listens");

    hints.tell_all(Hint::Secret(Subject::of(&["secret", "ana@example.com", "books", "API_KEY"])));
    let payload = timeout(PATIENCE, listener.next()).await.expect("it is heard").expect("a payload");

    assert!(payload.contains(" secret:"), "{payload}");
    for name in ["ana", "books", "API_KEY"] {
        assert!(!payload.contains(name), "{payload}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_flood_becomes_a_few_statements() {
    let (database, _folder) = server().await;
    let (hints, _listening) = process(&database).await;
    let mut listener = database.server().expect("a server").listen(store::CHANNEL).await.expect("it listens");

    let begun = Instant::now();
    let flood = async {
        for number in 0..20_000_u32 {
            hints.tell_others(Hint::Cancel(Subject::of(&[&number.to_string()])));
            hints.tell_others(Hint::Records);
            if number % 20 == 0 {
                sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let mut payloads = 0;
    let counting = async {
        while timeout(Duration::from_millis(500), listener.next()).await.is_ok() {
            payloads += 1;
        }
    };
    tokio::join!(flood, counting);

    let allowed = begun.elapsed().as_millis() / SEND_INTERVAL.as_millis() + 1;
    assert!(payloads > 0 && payloads <= allowed, "{payloads} of {allowed}");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn who_listens_again_after_a_loss_is_told_that_everything_may_have_changed() {
    let (database, _folder) = server().await;
    let (_one, mut listening) = process(&database).await;

    let end = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let ended: i64 = sql(end).fetch_value(database.readers()).await.expect("it may");
    assert_eq!(ended, 1);

    assert_eq!(heard(&mut listening).await, Heard::Everything);
    let (other, _) = process(&database).await;
    other.tell_others(Hint::Records);
    assert_eq!(heard(&mut listening).await, Heard::Hint(Hint::Records));
}
