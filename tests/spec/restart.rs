//! Restarts: deployed toolkits survive them, and do not slow the start down.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::database::Database;
use crate::harness::{Kitbag, Stopped, eventually, guests};

#[tokio::test]
async fn everything_is_still_there_after_a_restart() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::GREETER_V2).await;
    kitbag.deploy(guests::HINTS).await;
    let operator = kitbag.as_operator();
    let before = (operator.tools().await, operator.get("/toolkits/greeter").await.json());

    let kitbag = kitbag.stop().await.start().await;

    let operator = kitbag.as_operator();
    assert_eq!((operator.tools().await, operator.get("/toolkits/greeter").await.json()), before);
    let greeting = operator.call("greeter__greet", json!({ "name": "Ana" })).await;
    assert_eq!(greeting.text(), "Good day, Ana!");
    operator.post("/toolkits/greeter/rollback", &json!({})).await.assert_status(200);
    let greeting = operator.call("greeter__greet", json!({ "name": "Ana" })).await;
    assert_eq!(greeting.text(), "Hello, Ana!");
}

#[tokio::test]
async fn machine_code_is_loaded_at_the_first_call_and_made_again_when_it_is_lost() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let before = kitbag.files("code");
    let stopped = kitbag.stop().await;
    fs::remove_dir_all(stopped.data().join("code")).expect("there is code");

    let kitbag = stopped.start().await;
    let ana = kitbag.as_user("ana");
    assert_eq!(ana.tool_names().await.len(), 4);
    assert_eq!(kitbag.files("code"), [""; 0], "code was made before it was needed");

    assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    assert_eq!(kitbag.files("code"), before);
}

#[tokio::test]
async fn machine_code_that_is_damaged_is_made_again() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let mut stopped = kitbag.stop().await;
    let good = fs::read(code_file(&stopped)).expect("there is code");

    for (damage, bytes) in [
        ("empty", Vec::new()),
        ("cut to half", good[..good.len() / 2].to_vec()),
        ("without its last byte", good[..good.len() - 1].to_vec()),
        ("something else", b"#!/bin/sh\n".repeat(100)),
        ("overwritten at its head", [&vec![0xff; 256][..], &good[256..]].concat()),
        ("with one byte changed in its middle", changed_in_the_middle(&good)),
    ] {
        replace(&code_file(&stopped), &bytes);
        let kitbag = stopped.start().await;

        let served = kitbag.as_user("ana").call("hints__plain", json!({})).await;

        assert_eq!(served.text(), "plain", "{damage}");
        stopped = kitbag.stop().await;
        assert_eq!(fs::read(code_file(&stopped)).expect("there is code").len(), good.len(), "{damage}");
    }
}

#[tokio::test]
async fn machine_code_of_another_toolkit_is_not_run() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let stopped = kitbag.stop().await;
    let hints = code_file(&stopped);
    let kitbag = stopped.start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let stopped = kitbag.stop().await;
    let folder = hints.parent().expect("a folder");
    let greeter = stopped.files("code").into_iter().map(|name| folder.join(name)).find(|path| *path != hints);
    replace(&hints, &fs::read(greeter.expect("code of the greeter")).expect("it was deployed"));

    let kitbag = stopped.start().await;

    let served = kitbag.as_user("ana").call("hints__plain", json!({})).await;
    assert_eq!(served.text(), "plain");
    assert!(kitbag.log().text().contains("does not bear the seal"), "{}", kitbag.log().text());
}

#[tokio::test]
async fn a_component_that_is_damaged_is_never_compiled_and_a_deploy_mends_it() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let stopped = kitbag.stop().await;
    let component = stopped.data().join("components").join(&stopped.files("components")[0]);
    for file in [&component, &code_file(&stopped)] {
        replace(file, &changed_in_the_middle(&fs::read(file).expect("it was deployed")));
    }
    let kitbag = stopped.start().await;
    let ana = kitbag.as_user("ana");

    let refused = ana.call("hints__plain", json!({})).await;

    assert!(refused.raw().contains("the toolkit cannot run at the moment"), "{}", refused.raw());
    assert!(!refused.raw().contains("component"), "{}", refused.raw());
    let log = kitbag.log().text();
    assert!(log.contains("its bytes are not those that were uploaded"), "{log}");
    kitbag.deploy(guests::HINTS).await;
    assert_eq!(kitbag.as_user("ana").call("hints__plain", json!({})).await.text(), "plain");
    assert!(fs::read(&component).expect("it is there") == guests::HINTS.bytes(), "it is still damaged");
}

#[tokio::test]
async fn what_an_upload_left_behind_is_gone_after_a_restart() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let files = (kitbag.files("components"), kitbag.files("code"));
    let stopped = kitbag.stop().await;
    fs::write(stopped.data().join("uploads/.tmpAbc"), "left behind").expect("a file");
    let (digest, object) = ("0".repeat(64), format!("components/{}-0123456789abcdef.wasm", "0".repeat(64)));
    fs::write(stopped.data().join(&object), "left behind").expect("a file");
    // State left by a server that is killed before it records the version. Such a file is kept for half an hour,
    // which has passed here.
    let insert = "INSERT INTO files (object, name, kept_until, dropped) VALUES ($1, $2, 1, FALSE)";
    let name = format!("components/{digest}");
    Database::of(stopped.data()).await.execute(insert, &[&object, &name]).await;

    let kitbag = stopped.start().await;

    assert_eq!(kitbag.files("uploads"), [""; 0]);
    eventually("nothing else is left", async || (kitbag.files("components"), kitbag.files("code")) == files)
        .await;
}

#[tokio::test]
async fn a_file_of_which_the_database_knows_nothing_is_not_deleted() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let stopped = kitbag.stop().await;
    let stray = format!("components/{}.wasm", "0".repeat(64));
    fs::write(stopped.data().join(&stray), "of another server").expect("a file");

    let kitbag = stopped.start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.as_operator().delete("/toolkits/greeter").await.assert_status(204);

    assert!(kitbag.data().join(&stray).exists());
}

#[tokio::test]
async fn five_hundred_toolkits_do_not_slow_the_start() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let (stopped, alone) = quickest_start(kitbag.stop().await).await;
    copy_toolkit(&stopped, 499).await;

    let (stopped, among_many) = quickest_start(stopped).await;

    // Reading 500 manifests takes about 6 times as long as reading one; loading their code, about 100 times.
    assert!(among_many < 30 * alone, "{among_many:?} with 500 toolkits, {alone:?} with one");
    let kitbag = stopped.start().await;
    let ana = kitbag.as_user("ana");
    assert_eq!(ana.tool_names().await.len(), 4 * 500);
    assert_eq!(ana.call("copy-499__plain", json!({})).await.text(), "plain");
}

/// Starts and stops the server five times; returns it and the shortest start time.
async fn quickest_start(mut stopped: Stopped) -> (Stopped, Duration) {
    let mut quickest = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let kitbag = stopped.start().await;
        quickest = quickest.min(started.elapsed());
        stopped = kitbag.stop().await;
    }
    (stopped, quickest)
}

/// Inserts copies of the deployed toolkit directly into the database, each with its own id.
async fn copy_toolkit(stopped: &Stopped, copies: i64) {
    let mut database = Database::of(stopped.data()).await;
    database.execute("BEGIN", &[]).await;
    for table in [
        "toolkits (id, owner, live_version) SELECT 'copy-' || n, owner, live_version FROM toolkits, numbers",
        "toolkit_versions (toolkit_id, version, digest, size, manifest, changes, imports, deployed_by, deployed_at)
         SELECT 'copy-' || n, version, digest, size, replace(manifest, '\"id\":\"' || toolkit_id, '\"id\":\"copy-' || n),
                changes, imports, deployed_by, deployed_at
         FROM toolkit_versions, numbers",
    ] {
        let sql = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {copies})
             INSERT INTO {table}"
        );
        database.execute(sqlx::AssertSqlSafe(sql), &[]).await;
    }
    database.execute("COMMIT", &[]).await;
}

/// Replaces a file by a new one, without writing to the old one: a server that has just stopped may still
/// have it mapped.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).and_then(|()| fs::write(path, bytes)).expect("the file can be replaced");
}

/// Returns a copy with one bit flipped in the middle.
fn changed_in_the_middle(good: &[u8]) -> Vec<u8> {
    let mut changed = good.to_vec();
    changed[good.len() / 2] ^= 1;
    changed
}

/// Returns the path of the first file of machine code.
fn code_file(stopped: &Stopped) -> PathBuf {
    let mut folders = fs::read_dir(stopped.data().join("code")).expect("a folder");
    let folder = folders.next().expect("an engine version").expect("a folder").path();
    folder.join(&stopped.files("code")[0])
}
