//! `kitbag doctor` over a PostgreSQL database, with files in a folder or in a bucket.

use http::Method;

use super::{Cluster, Files, Member};
use crate::harness::{CommandOutput, guests};

#[tokio::test]
#[ignore = "needs a database server"]
async fn doctor_finds_what_is_wrong_beside_the_processes_and_without_them_with_files_in_a_folder() {
    what_is_wrong_is_found(Files::Folder).await;
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn doctor_finds_what_is_wrong_beside_the_processes_and_without_them_with_files_in_a_bucket() {
    what_is_wrong_is_found(Files::Bucket).await;
}

async fn what_is_wrong_is_found(files: Files) {
    let (cluster, [one, other]) = Cluster::start_with(files).await;
    store_something(&cluster, &one, &other).await;

    let found = doctor(&cluster, &[]).await;
    assert_eq!(found.code, Some(0), "{found:?}");
    for words in [
        "the database has schema",
        "the files of all rows have the bytes that their names say (2)",
        "secrets that open with the master key: 1",
        "Nothing is wrong",
    ] {
        assert!(found.stdout.contains(words), "{words}: {found:?}");
    }
    // No page of it was read.
    assert!(!found.stdout.contains("the database is whole"), "{found:?}");
    drop((one, other));
    assert_eq!(doctor(&cluster, &["--quick"]).await.code, Some(0));

    let mut database = cluster.database().await;
    // Changes the last digit of the object's name, and then back.
    let change = "UPDATE files SET object = left(object, -1)
         || translate(right(object, 1), '0123456789abcdef', 'fedcba9876543210') WHERE name LIKE 'artifacts/%'";
    database.execute(change, &[]).await;
    assert_found(&doctor(&cluster, &["--quick"]).await, "files to which rows refer are missing: 1");
    database.execute(change, &[]).await;
    database.execute("UPDATE documents SET artifact = repeat('0', 64)", &[]).await;
    let renamed = "UPDATE files SET name = 'artifacts/' || repeat('0', 64) WHERE name LIKE 'artifacts/%'";
    database.execute(renamed, &[]).await;
    assert_found(&doctor(&cluster, &[]).await, "files have other bytes than those that were stored: 1");
    assert_eq!(doctor(&cluster, &["--quick"]).await.code, Some(0), "bytes were not read");
    database.execute("UPDATE audit SET actor = 'eve' WHERE act = 'secret.set'", &[]).await;
    assert_found(&doctor(&cluster, &["--quick"]).await, "chains of the audit log are broken");
    cluster.give_keys(&[9]);
    assert_found(&doctor(&cluster, &["--quick"]).await, "secrets are sealed with the master key");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn doctor_says_that_the_database_does_not_answer_and_not_its_password() {
    let (cluster, [one]) = Cluster::start().await;
    drop(one);
    let mut unreachable = cluster.database_url();
    unreachable.set_port(Some(1)).expect("it has a host");
    unreachable.set_password(Some("canary-5ecret")).expect("it has a host");

    let found = cluster
        .run_with(["doctor", "--quick"], "0", |command| {
            command.env("KITBAG_DATABASE", unreachable.as_str());
        })
        .await;

    assert_found(&found, "the database cannot be read");
    assert!(found.stdout.contains("look whether its server runs"), "{found:?}");
    assert!(!format!("{found:?}").contains("canary-5ecret"), "{found:?}");
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn doctor_says_once_that_the_bucket_does_not_answer() {
    let (cluster, [one, other]) = Cluster::start_with(Files::Bucket).await;
    store_something(&cluster, &one, &other).await;

    let found = cluster
        .run_with(["doctor"], "0", |command| {
            command.env("KITBAG_OBJECTS_ENDPOINT", "http://127.0.0.1:1");
        })
        .await;

    assert_found(&found, "their bucket does not answer");
    assert!(found.stderr.contains("found 1 problem"), "{found:?}");
}

/// Deploys a toolkit, sets a secret for it, and uploads a document.
async fn store_something(cluster: &Cluster, one: &Member, other: &Member) {
    let (operator, ana) = (cluster.operator(one), cluster.user(other, "ana"));
    operator.deploy(guests::PROBE.bytes()).await.assert_status(201);
    ana.put("/toolkits/probe/secrets/API_KEY", "canary-5ecret").await.assert_status(200);
    let path = "/documents/file?title=Whales";
    let stored =
        ana.send(Method::POST, path, "application/octet-stream", "Narwhals have a tusk.\n".to_owned());
    stored.await.assert_status(201);
    ana.settled().await;
}

async fn doctor(cluster: &Cluster, flags: &[&str]) -> CommandOutput {
    cluster.run(["doctor"].iter().chain(flags).copied(), "0").await
}

#[track_caller]
fn assert_found(output: &CommandOutput, words: &str) {
    assert_eq!(output.code, Some(5), "{output:?}");
    assert!(output.stdout.contains(words), "{words}: {output:?}");
    assert!(!format!("{output:?}").contains("canary-5ecret"), "{output:?}");
}
