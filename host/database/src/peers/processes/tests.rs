//! Tests of processes that join, leave, and expire.

use std::collections::BTreeSet;

use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::sql;

async fn database() -> (Database, TempDir) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    (Database::of_test(folder.path()).await, folder)
}

/// Registers a process with its own data directory.
async fn register(database: &Database, job_settings: &str) -> Process {
    let data = tempfile::tempdir().expect("a scratch directory");
    try_to_register(database, Profile::of_this_program(job_settings), data.path())
        .await
        .expect("it is registered")
}

async fn try_to_register(database: &Database, profile: Profile, data: &Path) -> Result<Process, JoinError> {
    Process::register(database, profile, data).await
}

/// Returns the ids of all processes.
async fn ids(database: &Database) -> BTreeSet<String> {
    database.column("SELECT id FROM processes").await.into_iter().collect()
}

impl Process {
    fn name(&self) -> String {
        self.0.id.borrow().to_string()
    }

    async fn turn(&self, is_start: bool) -> Turn {
        self.begin_to_adapt(is_start).await.expect("the database works")
    }

    /// Simulates a kill: the heartbeat stops, and the row stays.
    fn die(&self) {
        self.0.stopped.cancel();
    }
}

#[tokio::test]
async fn a_process_is_there_until_it_leaves_and_one_that_is_alone_removes_those_before_it() {
    let (database, _folder) = database().await;
    let first = register(&database, "a").await;
    assert_eq!(ids(&database).await, [first.name()].into());

    let second = register(&database, "a").await;
    assert_eq!(ids(&database).await.contains(&first.name()), !database.is_file());
    assert!(ids(&database).await.contains(&second.name()));
    first.leave().await;
    assert_eq!(ids(&database).await, [second.name()].into());
    second.leave().await;

    assert!(ids(&database).await.is_empty());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_others_believed_to_have_ended_gets_another_id_and_keeps_its_age() {
    let (database, _folder) = database().await;
    let process = register(&database, "a").await;
    sleep(Duration::from_millis(5)).await;
    let newer = register(&database, "b").await;
    let before = process.name();
    let mut id = process.id();
    id.mark_unchanged();

    database.write(sql("DELETE FROM processes WHERE id = $1").bind(&before)).await;
    timeout(Duration::from_secs(20), id.changed()).await.expect("it notices").expect("it lives");

    assert_ne!(process.name(), before);
    assert_eq!(ids(&database).await, [process.name(), newer.name()].into());
    assert!(
        newer.does_jobs().await.expect("the database works"),
        "it is still the one that was started last"
    );
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_nobody_hears_of_is_removed_by_the_others_and_no_sooner() {
    let (database, _folder) = database().await;
    let alive = register(&database, "a").await;
    let dead = register(&database, "a").await;
    let dying = register(&database, "a").await;
    dead.die();
    dying.die();
    let set_back = "UPDATE processes SET seen_at = clock_millis() - $2 WHERE id = $1";
    database.write(sql(set_back).bind(dead.name()).bind(31_000_i64)).await;
    database.write(sql(set_back).bind(dying.name()).bind(10_000_i64)).await;

    let deadline = Instant::now() + Duration::from_secs(15);
    while ids(&database).await.contains(&dead.name()) {
        assert!(Instant::now() < deadline, "it is still there");
        sleep(Duration::from_millis(50)).await;
    }

    assert_eq!(ids(&database).await, [alive.name(), dying.name()].into());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn the_process_that_was_started_last_decides_with_what_jobs_are_done() {
    let (database, _folder) = database().await;
    let does_jobs = async |process: &Process| process.does_jobs().await.expect("the database works");
    let old = register(&database, "small model").await;
    assert!(does_jobs(&old).await);
    sleep(Duration::from_millis(5)).await;

    let new = register(&database, "large model").await;

    assert!(does_jobs(&new).await && !does_jobs(&old).await);
    new.leave().await;
    assert!(does_jobs(&old).await);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn jobs_are_adapted_by_one_process_once_all_have_the_same_settings() {
    let (database, _folder) = database().await;
    let old = register(&database, "small model").await;
    assert_eq!(old.turn(true).await, Turn::Mine { alone: true });
    old.has_adapted().await.expect("the database works");

    let one = register(&database, "large model").await;
    let other = register(&database, "large model").await;
    assert_eq!(
        [one.turn(true).await, old.turn(false).await],
        [Turn::Later; 2],
        "they would undo each other's work"
    );
    old.leave().await;
    assert_eq!(one.turn(false).await, Turn::Mine { alone: false });
    assert_eq!(other.turn(false).await, Turn::Later);
    // Left before it had finished: the next process starts again.
    one.leave().await;
    assert_eq!(other.turn(false).await, Turn::Mine { alone: true });
    other.has_adapted().await.expect("the database works");
    assert_eq!(other.turn(false).await, Turn::Over);

    let third = register(&database, "large model").await;
    assert_eq!(third.turn(true).await, Turn::Over);
}

#[tokio::test]
async fn the_only_process_adapts_jobs_at_each_start() {
    let (database, _folder) = database().await;

    for _ in 0..2 {
        let process = register(&database, "a model").await;
        assert_eq!(process.turn(true).await, Turn::Mine { alone: true });
        process.has_adapted().await.expect("the database works");
        assert_eq!(process.turn(false).await, Turn::Over);
        process.leave().await;
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_was_killed_gives_way_to_the_next_one_in_its_data_directory() {
    let (database, folder) = database().await;
    let other = register(&database, "a").await;
    let profile = Profile::of_this_program("a");
    let killed = try_to_register(&database, profile.clone(), folder.path()).await.expect("it is registered");
    killed.die();

    let next = try_to_register(&database, profile, folder.path()).await.expect("it is registered");

    assert_eq!(ids(&database).await, [other.name(), next.name()].into());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_does_not_fit_leaves_nothing_behind() {
    let (database, folder) = database().await;
    let with_key = |key: &str| Profile { master_keys: vec![key.to_owned()], ..Profile::of_this_program("a") };
    let first = try_to_register(&database, with_key("one"), folder.path()).await.expect("it is alone");

    let data = tempfile::tempdir().expect("a scratch directory");
    let refused =
        try_to_register(&database, with_key("other"), data.path()).await.err().expect("it lacks a key");
    assert!(matches!(refused, JoinError::KeyOfOurs(key) if key == "other"));
    assert_eq!(ids(&database).await, [first.name()].into());

    first.leave().await;
    try_to_register(&database, with_key("other"), data.path()).await.expect("it is alone");
}

#[tokio::test]
async fn a_process_knows_how_it_stands_with_the_others() {
    let (database, folder) = database().await;
    let with = |operators: &str| Profile {
        settings: [("operators".to_owned(), operators.to_owned())].into(),
        ..Profile::of_this_program("a")
    };
    let process = try_to_register(&database, with("ana"), folder.path()).await.expect("it is registered");
    let standing = async || process.standing().await.expect("the database works");
    if database.is_file() {
        return assert_eq!(standing().await, None);
    }
    let good = |differing: &[&str]| {
        Some(Standing {
            is_good: true,
            differing_settings: differing.iter().map(ToString::to_string).collect(),
        })
    };
    assert_eq!(standing().await, good(&[]));

    let data = tempfile::tempdir().expect("a scratch directory");
    let other = try_to_register(&database, with("una"), data.path()).await.expect("it is registered");
    assert_eq!(standing().await, good(&["operators"]));
    other.leave().await;
    assert_eq!(standing().await, good(&[]));

    process.die();
    sleep(MAX_SILENCE + Duration::from_millis(10)).await;
    assert!(!standing().await.expect("it is not alone").is_good);
}

#[test]
fn clocks_that_are_too_far_apart_are_no_good() {
    let pulse = Pulse::now();
    let now = || Timestamp::now().as_millisecond();
    for (difference, is_good) in
        [(0, true), (-59_000, true), (59_000, true), (-61_000, false), (61_000, false)]
    {
        pulse.beats(now() + difference);
        assert_eq!(pulse.is_good(), is_good, "{difference} ms");
    }
}
