//! A server that is killed during a deploy restarts with either the old or the new version, complete.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::harness::{ServerProcess, User, eventually, guests};

/// Number of kills, each later in the deploy; the last one immediately after the response.
const ROUNDS: u32 = 8;

#[tokio::test]
async fn a_server_killed_during_a_deploy_comes_back_with_one_version_or_the_other() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let duration = duration_of_a_deploy(data.path()).await;
    let mut survivors = Vec::new();

    for round in 1..=ROUNDS {
        let server = ServerProcess::start(data.path()).await;
        let operator = server.as_operator().await;
        operator.deploy(guests::GREETER_V1.bytes()).await.assert_status(201);
        let deploying = tokio::spawn({
            let operator = operator.clone();
            async move { operator.deploy(guests::GREETER_V2.bytes()).await }
        });
        let acknowledged = if round < ROUNDS {
            sleep(duration * round * 11 / (ROUNDS * 10)).await;
            server.kill().await;
            deploying.await.is_ok_and(|answer| answer.status == 201)
        } else {
            deploying.await.expect("no panic").assert_status(201);
            server.kill().await;
            true
        };

        let server = ServerProcess::start(data.path()).await;
        let operator = server.as_operator().await;
        let live = assert_whole(&operator).await;
        assert!(live == "2.0.0" || !acknowledged, "round {round}: an acknowledged deploy was lost");
        assert_no_leftovers(data.path(), &operator).await;
        operator.delete("/toolkits/greeter").await.assert_status(204);
        survivors.push(live);
        server.kill().await;
    }
    assert!(survivors.contains(&"1.0.0".to_owned()), "every deploy was over before the kill: {survivors:?}");
}

/// Measures the duration of a deploy, so that the kills happen during one.
async fn duration_of_a_deploy(data: &std::path::Path) -> Duration {
    let server = ServerProcess::start(data).await;
    let operator = server.as_operator().await;
    let started = Instant::now();
    operator.deploy(guests::GREETER_V2.bytes()).await.assert_status(201);
    let duration = started.elapsed();
    operator.delete("/toolkits/greeter").await.assert_status(204);
    server.kill().await;
    duration
}

/// Asserts that the API shows, lists and calls the same version, and returns it.
async fn assert_whole(operator: &User) -> String {
    let shown = operator.get("/toolkits/greeter").await.assert_status(200).json();
    let live = shown["liveVersion"].as_str().expect("a version").to_owned();
    let greeting = operator.call("greeter__greet", json!({ "name": "Ana" })).await;
    let expected = if live == "1.0.0" { "Hello, Ana!" } else { "Good day, Ana!" };
    assert_eq!(greeting.text(), expected, "{shown}");
    assert_eq!(shown["manifest"]["version"], live.as_str());
    assert_eq!(operator.tool_names().await, ["greeter__greet"]);
    live
}

/// Waits until there is one component file for each version and no upload file.
async fn assert_no_leftovers(data: &std::path::Path, operator: &User) {
    let shown = operator.get("/toolkits/greeter").await.json();
    let versions = shown["versions"].as_array().expect("versions").len();
    let count = |folder: &str| std::fs::read_dir(data.join(folder)).expect("a folder").count();
    eventually("what the killed server left behind is deleted", async || {
        (count("uploads"), count("components")) == (0, versions)
    })
    .await;
}
