//! Copies that are refused, fail, or are interrupted.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use kitbag_identity::bind_issuer;

use super::*;

/// Copies until progress was reported `reports` times; `None` if the copy completes before.
async fn interrupted_after(job: &Job, reports: usize) -> Option<()> {
    let left = Cell::new(reports);
    let mut progress = |_: Step, _: u64, _: u64| left.set(left.get().saturating_sub(1));
    let stop = poll_fn(|_| if left.get() == 0 { Poll::Ready(()) } else { Poll::Pending });
    tokio::select! {
        biased;
        () = stop => Some(()),
        copied = copy(job, &mut progress) => match copied {
            // The database has rolled back the interrupted transaction.
            Ok(_) | Err(TransferError::NotEmpty(_)) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_copy_that_is_interrupted_leaves_no_row_and_the_next_one_goes_on() {
    let [first, mut second] = [Service::filled().await, Service::elsewhere().await];
    let before = first.database.all_rows().await;

    let mut interrupted = 0;
    let mut attempts = 0;
    // Interrupted after each file, and after each table.
    loop {
        attempts += 1;
        assert!(attempts < 100, "{interrupted}");
        interrupted_after(&first.job(&second), interrupted + 1).await;
        if second.is_empty().await {
            interrupted += 1;
            // Several files are copied concurrently.
            assert!((interrupted.min(3)..=3).contains(&second.files().len()), "after {interrupted} reports");
        } else if interrupted > 20 {
            // The copy was almost complete, and everything is there now.
            break;
        } else {
            // The databases responded before the copy had to wait for them, so that it completed before it
            // could be interrupted: this happens on a busy machine.
            second = Service::elsewhere().await;
        }
    }

    assert_eq!(first.rows().await, second.rows().await);
    assert_eq!(first.files(), second.files());
    assert_eq!(first.database.all_rows().await, before);
}

#[tokio::test]
async fn files_of_an_earlier_attempt_are_used_if_they_are_whole() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    interrupted_after(&first.job(&second), 3).await.expect("there are three files");
    let (damaged, _) = &second.files()[0];
    fs::write(second.folder.path().join(damaged), "damaged").expect("it is ours");

    let copied = run(&first.job(&second)).await.expect("it can be copied");

    assert_eq!((copied.files.written, copied.files.already_there), (1, 2));
    assert_eq!(first.files(), second.files());
}

#[tokio::test]
async fn only_an_empty_database_is_copied_to() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    // The state that a server leaves that has run there.
    let started = "INSERT INTO issuers (issuer, since) VALUES ('https://one.example', 0);
        UPDATE registry SET generation = 3";
    second.database.execute(started).await;
    let used = "INSERT INTO knowledge_revisions VALUES ('una', 1, 0)";
    second.database.execute(used).await;

    let refused = run(&first.job(&second)).await.expect_err("it is used");

    assert!(matches!(refused, TransferError::NotEmpty("knowledge_revisions")), "{refused}");
    assert!(second.files().is_empty());
    second.database.execute("DELETE FROM knowledge_revisions").await;
    run(&first.job(&second)).await.expect("nobody has used it");
    assert_eq!(first.rows().await, second.rows().await);
    let refused = run(&first.job(&second)).await.expect_err("it is copied");
    assert!(matches!(refused, TransferError::NotEmpty(_)), "{refused}");
    assert_eq!(first.rows().await, second.rows().await);
}

#[tokio::test]
async fn keys_that_do_not_open_the_secrets_are_refused_before_anything_is_written() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let with = |source: KeySource| {
        let mut job = first.job(&second);
        job.target.keys = source;
        job
    };

    let refused = run(&with(keys(&[2]))).await.expect_err("it is another key");
    assert!(matches!(&refused, TransferError::MissingKeys(keys) if keys.len() == 1), "{refused}");
    assert!(refused.details()[0].contains("which seals 2 of them"), "{:?}", refused.details());
    let absent = KeySource::GivenFile(first.folder.path().join("absent"));
    let refused = run(&with(absent)).await.expect_err("there is none");
    assert!(matches!(refused, TransferError::Keys(_)), "{refused}");
    assert!(second.is_empty().await && second.files().is_empty());

    // A secret that does not open in the source either is not an error.
    first.database.execute("UPDATE secrets SET sealed = x'00' WHERE user_id = 'ben'").await;
    let copied = run(&with(keys(&[2, 1]))).await.expect("it can be copied");
    assert_eq!(copied.broken_secrets_count, 1);
    assert_eq!(copied.broken_secrets, ["API_KEY of the user ben for the toolkit t"]);
    assert_eq!(first.rows().await, second.rows().await);
}

#[tokio::test]
async fn a_service_without_secrets_and_audit_log_needs_no_key() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let emptied =
        ["secrets", "audit", "audit_chains", "audit_log"].map(|table| format!("DELETE FROM {table};"));
    first.database.execute(&emptied.concat()).await;
    let mut job = first.job(&second);
    job.target.keys = KeySource::GivenFile(first.folder.path().join("absent"));

    run(&job).await.expect("it can be copied");
}

#[tokio::test]
async fn missing_and_damaged_files_are_named_and_the_rest_is_copied_only_if_that_is_asked_for() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let missing = first.path(FileKind::Artifact, b"one").await;
    let damaged = first.path(FileKind::Component, b"component").await;
    fs::remove_file(&missing).expect("it is ours");
    fs::write(&damaged, "c0mponent").expect("it is ours");

    let refused = run(&first.job(&second)).await.expect_err("files are missing");

    assert!(matches!(refused, TransferError::MissingFiles { count: 2, .. }), "{refused}");
    for (path, reason) in [(missing, "it is not there"), (damaged, "its bytes are not those")] {
        let object = path.strip_prefix(first.folder.path()).expect("it was there").display().to_string();
        let named = |line: &String| line.starts_with(&object) && line.contains(reason);
        assert!(refused.details().iter().any(named), "{object}: {:?}", refused.details());
    }
    assert!(second.is_empty().await);
    let job = Job { missing: Missing::LeftOut, ..first.job(&second) };
    let copied = run(&job).await.expect("everything else can be copied");
    assert_eq!((copied.files.missing_count, copied.files.already_there), (2, 1));
    assert_eq!(first.rows().await, second.rows().await);
    let bytes: Vec<_> = second.files().into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(bytes, [b"two"]);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_database_that_a_process_uses_is_neither_copied_nor_copied_to() {
    let [first, second, third] =
        [Service::filled().await, Service::elsewhere().await, Service::in_file().await];
    let alive = "INSERT INTO processes (id, job_settings) VALUES ('p', '')";
    second.database.execute(alive).await;
    let refused = run(&first.job(&second)).await.expect_err("a process is there");
    assert!(matches!(refused, TransferError::TargetInUse), "{refused}");
    assert!(second.is_empty().await);

    second.database.execute("UPDATE processes SET seen_at = seen_at - 31000").await;
    run(&first.job(&second)).await.expect("nobody has heard of it for long");
    second.database.execute("UPDATE processes SET seen_at = clock_millis()").await;
    let refused = run(&second.job(&third)).await.expect_err("a process is there");
    assert!(matches!(refused, TransferError::SourceInUse), "{refused}");
    assert!(third.is_empty().await);
}

#[tokio::test]
async fn a_server_that_starts_waits_until_its_database_is_copied() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let third = Service::in_file().await;
    run(&first.job(&second)).await.expect("it can be copied");

    let mut starting = None;
    let mut progress = |_: Step, _: u64, _: u64| match &starting {
        None => {
            let database = second.database.clone();
            // The first access of a starting server to the database.
            let start = async move { bind_issuer(&database, "https://new.example", Some(ISSUER)).await };
            starting = Some(tokio::spawn(start));
        }
        Some(starting) => assert!(!starting.is_finished(), "the database changes while it is copied"),
    };
    copy(&second.job(&third), &mut progress).await.expect("it can be copied");

    starting.expect("there are files").await.expect("no panic").expect("it is its turn now");
    let issuers = "SELECT issuer FROM issuers ORDER BY sequence DESC LIMIT 1";
    assert_eq!(third.database.column::<String>(issuers).await, [ISSUER]);
    assert_eq!(second.database.column::<String>(issuers).await, ["https://new.example"]);
}
