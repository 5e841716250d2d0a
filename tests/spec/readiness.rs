//! `/readyz`: whether the server can serve, and the part that fails.

use serde_json::{Value, json};

use crate::harness::database::{self, Database};
use crate::harness::{Http, Kitbag, ask_raw, eventually, guests};

/// Returns status and body of `/readyz`; `None` if the server closes the connection instead, as it may begin
/// to stop between connection and request.
async fn ready(http: &Http) -> Option<(u16, Value)> {
    let answer = http.get_if_served("/readyz").await?;
    Some((answer.status.as_u16(), answer.json()))
}

/// Waits until `/readyz` returns the expected response; results may be cached for a second.
async fn assert_becomes(http: &Http, status: u16, expected: Value) {
    eventually(&format!("{status} {expected}"), async || {
        ready(http).await == Some((status, expected.clone()))
    })
    .await;
}

fn parts(status: &str, database: &str, vault: &str, registry: &str) -> Value {
    let mut parts = json!({ "status": status, "database": database, "vault": vault, "registry": registry });
    if database::is_server() {
        parts["processes"] = json!("ok");
        parts["toolkits"] = json!("ok");
    }
    parts
}

#[tokio::test]
async fn a_server_is_ready_when_every_part_of_it_answers() {
    let kitbag = Kitbag::start().await;

    assert_becomes(&kitbag.anonymous(), 200, parts("ready", "ok", "ok", "ok")).await;
}

#[tokio::test]
async fn under_another_name_the_status_is_all_that_it_says() {
    let kitbag = Kitbag::start().await;
    assert_becomes(&kitbag.anonymous(), 200, parts("ready", "ok", "ok", "ok")).await;
    let ask = async |path: &str, host: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        ask_raw(kitbag.base_url(), &request).await
    };

    for host in ["balancer.internal", "evil.example:8787"] {
        let answer = ask("/readyz", host).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"), "{host}: {answer}");
        let answer = ask("/healthz", host).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok\n"), "{host}: {answer}");
    }
    let answer = ask("/readyz", "127.0.0.1:1").await;
    assert!(answer.contains("\"database\":\"ok\""), "{answer}");
}

#[tokio::test]
async fn it_says_which_part_fails_and_is_ready_again_when_none_does() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    kitbag.as_user("ana").set_secret("probe", "API_KEY", "a-secret-value").await;
    let (http, mut other) = (kitbag.anonymous(), Database::of(kitbag.data()).await);

    let (lock, unlock) = match &other {
        Database::File(_) => ("BEGIN EXCLUSIVE", "ROLLBACK"),
        Database::Server(_) => {
            ("SELECT pg_advisory_lock(hashtextextended('processes', 0))", "SELECT pg_advisory_unlock_all()")
        }
    };

    for (damage, repair, expected) in [
        (lock, unlock, parts("failing", "failing", "ok", "ok")),
        (
            "UPDATE secrets SET master_key = master_key || 'x'",
            "UPDATE secrets SET master_key = rtrim(master_key, 'x')",
            parts("failing", "ok", "failing", "ok"),
        ),
        (
            "ALTER TABLE toolkits RENAME TO elsewhere",
            "ALTER TABLE elsewhere RENAME TO toolkits",
            parts("failing", "ok", "ok", "failing"),
        ),
    ] {
        other.execute(damage, &[]).await;
        assert_becomes(&http, 503, expected).await;
        // `/healthz`: the process is alive and need not be restarted.
        http.get("/healthz").await.assert_status(200);

        other.execute(repair, &[]).await;
        assert_becomes(&http, 200, parts("ready", "ok", "ok", "ok")).await;
    }
}

#[tokio::test]
async fn while_it_waits_for_calls_under_way_it_is_not_ready_and_serves_nobody_else() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.call_time = "5s".parse().expect("a duration");
        settings.bounds.concurrent_calls_per_user = 1;
    })
    .await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;
    let (base_url, ana) = (kitbag.base_url().clone(), kitbag.as_user("ana"));
    // A new connection for each request, because a stopping server closes idle connections.
    let http = || Http::new(base_url.clone());
    let under_way = ana.occupy("hostile__half_a_line", json!({}), "hints__plain").await;

    let stopped = tokio::spawn(kitbag.stop());

    let stopping = json!({ "status": "stopping" });
    eventually("it stops", async || ready(&http()).await == Some((503, stopping.clone()))).await;
    http().get("/healthz").await.assert_status(200);
    http().get("/toolkits").await.assert_problem(503, "stopping");
    assert!(!under_way.is_finished(), "the call goes on");
    stopped.await.expect("it stops");
}
