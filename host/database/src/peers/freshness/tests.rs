//! Freshness checks on a PostgreSQL server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use tempfile::TempDir;

use super::*;
use crate::{Holder, Scope, Transaction, sql};

/// Revisions last received.
#[derive(Default)]
struct Seen {
    generation: AtomicI64,
    user_ends: AtomicI64,
    /// Whether the registry cannot be read.
    is_broken: AtomicBool,
    secrets: Mutex<HashMap<String, i64>>,
    times_all_secrets: AtomicUsize,
    times_everything: AtomicUsize,
}

impl Copies for Arc<Seen> {
    fn registry(&self, generation: i64) -> BoxFuture<'_, Result<(), String>> {
        self.generation.store(generation, Ordering::SeqCst);
        let is_broken = self.is_broken.load(Ordering::SeqCst);
        async move { if is_broken { Err("the registry cannot be read".to_owned()) } else { Ok(()) } }.boxed()
    }

    fn collections(&self, _: i64) -> BoxFuture<'_, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    fn user_ends(&self, number: i64) -> BoxFuture<'_, Result<(), String>> {
        self.user_ends.store(number, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }

    fn secrets<'a>(&'a self, user: &'a str, revision: i64) -> BoxFuture<'a, ()> {
        self.secrets.lock().expect("nobody panics").insert(user.to_owned(), revision);
        async {}.boxed()
    }

    fn all_secrets(&self) {
        self.times_all_secrets.fetch_add(1, Ordering::SeqCst);
    }

    fn everything(&self) -> BoxFuture<'_, Result<(), String>> {
        self.times_everything.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }.boxed()
    }
}

impl Seen {
    fn times(&self) -> [usize; 2] {
        [&self.times_all_secrets, &self.times_everything].map(|times| times.load(Ordering::SeqCst))
    }
}

/// Creates a process with a shared database.
async fn process() -> (Database, Arc<Freshness>, Arc<Seen>, TempDir) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test_server(folder.path()).await;
    let seen = Arc::new(Seen::default());
    let freshness = Arc::new(Freshness::start(&database, seen.clone()));
    (database, freshness, seen, folder)
}

/// Blocks all queries until the transaction ends.
async fn silence(database: &Database) -> Transaction {
    let mut transaction = database.begin(Scope::Processes).await.expect("it begins");
    let lock = "LOCK TABLE registry IN ACCESS EXCLUSIVE MODE";
    sql(lock).execute(&mut transaction).await.expect("nobody has it");
    transaction
}

#[tokio::test]
async fn a_process_that_is_alone_asks_nobody() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");
    let seen = Arc::new(Seen::default());
    let freshness = Freshness::start(&database, seen.clone());
    database.close().await;

    assert_eq!(freshness.catch_up("ana").now_or_never(), Some(Ok(())));
    assert_eq!(seen.times(), [0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a database server"]
async fn each_request_sees_what_was_committed_before_it_began_however_many_there_are() {
    let (database, freshness, seen, _folder) = process().await;

    join_all((0..32).map(|number| {
        let database = database.clone();
        let freshness = freshness.clone();
        let seen = seen.clone();
        tokio::spawn(async move {
            let user = format!("user{number}");
            for round in 1..=20 {
                let statement = "INSERT INTO secret_revisions VALUES ($1, 1)
                    ON CONFLICT (user_id) DO UPDATE SET revision = secret_revisions.revision + 1";
                let mut transaction =
                    database.begin(Scope::Holders(&[&Holder::user(&user)])).await.expect("it begins");
                sql(statement).bind(&user).execute(&mut transaction).await.expect("it can be written");
                transaction.commit().await.expect("nothing contradicts it");

                freshness.catch_up(&user).await.expect("the database answers");

                assert_eq!(seen.secrets.lock().expect("nobody panics").get(&user), Some(&round), "{user}");
            }
        })
    }))
    .await
    .into_iter()
    .for_each(|task| task.expect("no round failed"));
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_smaller_revision_is_another_one() {
    let (database, freshness, seen, _folder) = process().await;

    for generation in [7, 3, 4] {
        database.execute(&format!("UPDATE registry SET generation = {generation}")).await;
        freshness.catch_up("ana").await.expect("the database answers");
        assert_eq!(seen.generation.load(Ordering::SeqCst), generation);
    }
    assert_eq!(seen.times(), [0, 1], "the first answer says which timeline it is");
    for removals in [5, 2] {
        database.execute(&format!("UPDATE registry SET removals = {removals}")).await;
        freshness.catch_up("ana").await.expect("the database answers");
        freshness.catch_up("ben").await.expect("the database answers");
    }
    assert_eq!(seen.times(), [2, 1]);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn an_end_takes_effect_although_other_copies_cannot_be_made() {
    let (database, freshness, seen, _folder) = process().await;
    freshness.catch_up("ana").await.expect("the database answers");
    seen.is_broken.store(true, Ordering::SeqCst);
    database.execute("UPDATE registry SET user_ends = 5").await;

    assert_eq!(freshness.catch_up("ana").await, Err(NoAnswer));

    assert_eq!(seen.user_ends.load(Ordering::SeqCst), 5);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn another_timeline_drops_everything_although_no_revision_differs() {
    let (database, freshness, seen, _folder) = process().await;
    freshness.catch_up("ana").await.expect("the database answers");

    // Simulates the promotion of a standby.
    let promoted = "CREATE OR REPLACE FUNCTION timeline() RETURNS TEXT LANGUAGE sql VOLATILE
        AS $$ SELECT '0000002A' $$";
    database.execute(promoted).await;
    for user in ["ana", "ben", "ana"] {
        freshness.catch_up(user).await.expect("the database answers");
    }

    assert_eq!(seen.times(), [0, 2]);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn however_many_wait_few_questions_are_in_flight_and_all_are_answered() {
    let (database, freshness, _seen, _folder) = process().await;
    let silence = silence(&database).await;

    let waiting = tokio::spawn({
        let freshness = freshness.clone();
        async move { join_all((0..100).map(|user| freshness.catch_up_as(user))).await }
    });
    let asking = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%secret_revisions%'";
    let mut most = 0;
    for _ in 0..20 {
        most = most.max(database.column::<i64>(asking).await[0]);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    silence.roll_back().await.expect("it ends");

    assert_eq!(most, 2);
    assert_eq!(waiting.await.expect("no panic"), vec![Ok(()); 100]);
}

impl Freshness {
    /// Sends a request of the given user, delayed by as many milliseconds as its number.
    async fn catch_up_as(&self, user: u64) -> Result<(), NoAnswer> {
        tokio::time::sleep(Duration::from_millis(user)).await;
        self.catch_up(&format!("user{user}")).await
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_request_does_not_wait_for_ever_and_the_next_one_is_answered() {
    let (database, freshness, _seen, _folder) = process().await;
    freshness.catch_up("ana").await.expect("the database answers");
    let silence = silence(&database).await;

    let began = Instant::now();
    assert_eq!(freshness.catch_up("ana").await, Err(NoAnswer));
    assert!(began.elapsed() < TIMEOUT * 3, "{:?}", began.elapsed());
    silence.roll_back().await.expect("it ends");
    // A query may still be waiting for its own timeout.
    freshness.catch_up("ana").await.expect("the database answers");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%secret_revisions%'";
    assert!(!database.column::<bool>(end).await.is_empty());
    freshness.catch_up("ana").await.expect("it connects again");
}
