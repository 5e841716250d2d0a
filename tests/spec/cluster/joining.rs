//! Start, readiness and shutdown of processes.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Cluster, Files, Link, Member};
use crate::harness::{eventually, guests};

async fn becomes(member: &Member, status: u16, part: &str, state: &str) {
    eventually(&format!("{status}, {part} {state}"), async || {
        let (answered, body) = member.readiness().await;
        answered == status && body[part] == state
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_lacks_the_master_key_of_the_others_or_has_one_that_they_lack_does_not_start() {
    let (cluster, [_first]) = Cluster::start().await;

    cluster.give_keys(&[2]);
    cluster.try_to_join("other").await.assert_failed("another process was not given the master key");
    cluster.give_keys(&[2, 1]);
    cluster
        .try_to_join("other")
        .await
        .assert_failed("give that key to all processes as the second one first");

    cluster.give_keys(&[1, 2]);
    cluster.join("other").await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_whose_folder_of_files_is_not_that_of_the_others_does_not_start() {
    let (cluster, [member]) = Cluster::start_with(Files::Folder).await;
    cluster.operator(&member).deploy(guests::HINTS.bytes()).await.assert_status(201);

    cluster.move_objects_away();

    cluster.try_to_join("other").await.assert_failed("the folder is not mounted");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_master_key_is_never_made() {
    let cluster = Cluster::new().await;
    std::fs::remove_file(cluster.key_file()).expect("it was given");

    cluster.try_to_join("first").await.assert_failed("openssl rand -base64 32");
    assert!(!cluster.key_file().exists());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn the_master_key_is_rotated_while_the_service_goes_on() {
    let (cluster, [mut one, mut other]) = Cluster::start().await;
    cluster.operator(&one).deploy(guests::PROBE.bytes()).await.assert_status(201);
    cluster.user(&one, "ana").set_secret("probe", "API_KEY", "a-secret-value").await;
    let rotate = async |member: &Member| cluster.operator(member).post("/vault/rotate", &json!({})).await;
    let replace = async |member: &mut Member, name: &str| {
        let before = std::mem::replace(member, cluster.join(name).await);
        assert!(before.server.terminate().await.success());
    };

    // First, all processes are able to decrypt with the new key.
    cluster.give_keys(&[1, 2]);
    replace(&mut one, "one-opens").await;
    replace(&mut other, "other-opens").await;
    // Then all encrypt with it.
    cluster.give_keys(&[2, 1]);
    replace(&mut one, "one-seals").await;
    rotate(&one).await.assert_problem(409, "seals secrets with the master key");
    replace(&mut other, "other-seals").await;
    assert_eq!(rotate(&one).await.assert_status(200).json()["rewrapped"], 1);
    // Finally, the old key is removed.
    cluster.give_keys(&[2]);
    replace(&mut one, "one-forgets").await;
    replace(&mut other, "other-forgets").await;

    for member in [&one, &other] {
        let read = cluster.user(member, "ana").call("probe__secret", json!({ "name": "API_KEY" })).await;
        read.text();
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn processes_of_releases_that_are_too_far_apart_do_not_work_side_by_side() {
    let (cluster, [member]) = Cluster::start().await;
    let mut database = cluster.database().await;
    let insert = "INSERT INTO processes (id, job_settings, release, seen_at)
                  VALUES ('another', '', $1, clock_millis() + 3600000)";

    database.execute(insert, &["999.0"]).await;
    cluster.try_to_join("new").await.assert_failed("upgrade one release at a time");

    database.execute("DELETE FROM processes WHERE id = 'another'", &[]).await;
    let beside = cluster.join("new").await;
    database.execute(insert, &["0.2"]).await;
    for operator in [cluster.operator(&member), cluster.operator(&beside)] {
        let refused = operator.deploy(guests::PROBE.bytes()).await;
        refused.assert_problem(409, "once all its processes are of one release");
    }
    database.execute("DELETE FROM processes WHERE id = 'another'", &[]).await;
    cluster.operator(&member).deploy(guests::PROBE.bytes()).await.assert_status(201);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_is_ready_once_it_has_loaded_what_is_in_use_and_while_the_database_hears_of_it() {
    let (cluster, [first]) = Cluster::start().await;
    cluster.operator(&first).deploy(guests::HINTS.bytes()).await.assert_status(201);
    cluster.user(&first, "ana").call("hints__plain", json!({})).await.text();
    // The record of the call is now in the database, so the toolkit counts as in use.
    assert_eq!(cluster.user(&first, "ana").logs("hints").await.len(), 1);

    let url = cluster.database_url();
    let link = Link::to(&url).await;
    let second = cluster
        .join_with("second", |command| {
            command.env("KITBAG_DATABASE", link.through(&url).as_str());
            command.env("KITBAG_OPERATORS", "another");
        })
        .await;
    becomes(&second, 200, "toolkits", "ok").await;
    let (_, body) = second.readiness().await;
    assert_eq!(body["differingSettings"], json!(["operators"]), "{body}");
    assert!(second.log().contains("other processes have other settings"), "{}", second.log());
    let code = second.data().join("code");
    let compiled = std::fs::read_dir(code).expect("a folder").flatten().map(|engine| engine.path());
    let compiled: usize = compiled.map(|engine| std::fs::read_dir(engine).expect("a folder").count()).sum();
    assert_eq!(compiled, 1, "nobody has called it here");

    link.fall_silent();
    becomes(&second, 503, "processes", "failing").await;
    let started = std::time::Instant::now();
    let refused = cluster.user(&second, "ana").get("/toolkits/hints").await;
    assert_eq!(refused.assert_status(503).header("retry-after"), Some("1"));
    assert!(started.elapsed() < Duration::from_secs(20), "it says so soon: {:?}", started.elapsed());
    cluster.user(&first, "ana").call("hints__plain", json!({})).await.text();

    link.speak_again();
    becomes(&second, 200, "processes", "ok").await;
    cluster.user(&second, "ana").call("hints__plain", json!({})).await.text();
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_is_asked_to_stop_says_so_before_it_turns_anybody_away() {
    let (cluster, [member]) = Cluster::start().await;
    let ana = cluster.user(&member, "ana");

    member.signal("TERM").await;

    becomes(&member, 503, "status", "draining").await;
    ana.get("/toolkits").await.assert_status(200);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(member.server.terminate().await.code(), Some(1), "a second signal ends it at once");
}
