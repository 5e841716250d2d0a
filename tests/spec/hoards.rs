//! Host memory for the resources of a call counts as memory of the call, for every kind of resource.

use serde_json::json;

use crate::harness::{Process, ServerProcess, guests};

/// Limit for the growth of the server process: the memory of one call plus 32 MiB for the server itself.
const MAX_GROWTH_MIB: u64 = 8 + 32;

#[tokio::test]
async fn whatever_a_call_hoards_in_the_host_is_memory_of_the_call() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.args(["--call-memory", "8MiB", "--call-time", "5m"]);
    })
    .await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    operator.call("hostile__remember", json!({})).await.structured();
    let process = Process(server.process());
    let before = process.peak_mib();

    for (kind, count, outcome) in [
        ("fields", 4000, "memory limit"),
        ("values", 4000, "memory limit"),
        ("copies", 4000, "memory limit"),
        ("requests", 4000, "memory limit"),
        ("bodies", 4000, "memory limit"),
        ("trailers", 4000, "memory limit"),
        ("responses", 4000, "memory limit"),
        ("errors", 4000, "memory limit"),
        ("timers", 4000, "limit of streams, requests and timers"),
        // Small resources, or resources that share large data: no limit is reached.
        ("deleted-values", 1200, "held 1200"),
        ("replaced-values", 1200, "held 1200"),
        ("options", 4000, "held 4000"),
        ("lines", 3000, "held 3000"),
    ] {
        let arguments = json!({ "kind": kind, "count": count });
        let ended = operator.call("hostile__hoard_resources", arguments).await;

        let grown = process.peak_mib().saturating_sub(before);
        assert!(ended.raw().contains(outcome), "{kind}: {}", ended.raw());
        assert!(grown < MAX_GROWTH_MIB, "{kind}: the server has grown by {grown} MiB");
    }
}

#[tokio::test]
async fn what_a_call_holds_is_free_again_when_it_drops_it() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.args(["--call-memory", "8MiB", "--memory-for-calls", "36MiB", "--call-time", "5m"]);
    })
    .await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);

    for _ in 0..3 {
        let dropped =
            operator.call("hostile__hoard_resources", json!({ "kind": "dropped", "count": 1000 })).await;
        assert!(dropped.raw().contains("held 0"), "{}", dropped.raw());
        let hoarded =
            operator.call("hostile__hoard_resources", json!({ "kind": "requests", "count": 4000 })).await;
        assert!(hoarded.raw().contains("memory limit"), "{}", hoarded.raw());
    }
}
