//! Changes made on one process apply to the next request on every process.

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Cluster, Link, Member};
use crate::harness::{User, Wat, guests};

const ROUNDS: usize = 40;

/// Returns both members of a pair. The first one alternates between rounds.
fn in_turn(round: usize, pair: &[Member; 2]) -> (&Member, &Member) {
    (&pair[round % 2], &pair[(round + 1) % 2])
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_is_removed_on_one_is_refused_by_the_next_request_on_the_other() {
    let (cluster, pair) = Cluster::start::<2>().await;

    for round in 0..ROUNDS {
        let (one, other) = in_turn(round, &pair);
        cluster.operator(one).deploy(guests::HINTS.bytes()).await.assert_status(201);
        cluster.user(other, "ana").call("hints__plain", json!({})).await.text();

        cluster.operator(one).delete("/toolkits/hints").await.assert_status(204);

        cluster.user(other, "ana").call("hints__plain", json!({})).await.assert_unknown_tool();
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_secret_that_is_unset_on_one_is_in_no_later_call_on_the_other() {
    let (cluster, pair) = Cluster::start::<2>().await;
    cluster.operator(&pair[0]).deploy(guests::PROBE.bytes()).await.assert_status(201);
    let read = async |user: &User| user.call("probe__secret", json!({ "name": "API_KEY" })).await;

    for round in 0..ROUNDS {
        let (one, other) = in_turn(round, &pair);
        let (here, there) = (cluster.user(one, "ana"), cluster.user(other, "ana"));
        here.set_secret("probe", "API_KEY", "a-secret-value").await;
        let known = read(&there).await;
        here.delete("/toolkits/probe/secrets/API_KEY").await.assert_status(204);
        let unknown = read(&there).await;

        assert_ne!(known.raw(), unknown.raw(), "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_a_toolkit_caches_on_one_is_there_on_the_other_until_it_is_cleared() {
    let (cluster, pair) = Cluster::start::<2>().await;
    cluster.operator(&pair[0]).deploy(guests::PROBE.bytes()).await.assert_status(201);

    for round in 0..ROUNDS {
        let (one, other) = in_turn(round, &pair);
        let (here, there) = (cluster.user(one, "ana"), cluster.user(other, "ana"));
        let read = async |user: &User| {
            user.call("probe__cache_get", json!({ "key": "key" })).await.text().to_owned()
        };
        let set = json!({ "key": "key", "value": format!("of round {round}") });
        here.call("probe__cache_set", set).await.text();
        assert_eq!(read(&there).await, format!(r#"{{"value":"of round {round}"}}"#));
        there.delete("/toolkits/probe/cache").await.assert_status(200);
        assert_eq!(read(&here).await, r#"{"value":null}"#, "round {round}");
        assert_eq!(read(&cluster.user(other, "ben")).await, r#"{"value":null}"#);
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_consent_on_one_is_seen_by_the_next_call_on_the_other() {
    let (cluster, pair) = Cluster::start::<2>().await;
    let hosts = ["a.example", "b.example", "c.example", "d.example"];
    let component = |round: usize| {
        let version = format!("{}.0.0", round + 1);
        let toolkit =
            Wat { version: &version, egress: &hosts[..=round], secrets: &["KEY"], ..Wat::default() };
        toolkit.component()
    };
    cluster.operator(&pair[0]).deploy(component(0)).await.assert_status(201);
    cluster.user(&pair[1], "ana").set_secret("wat", "KEY", "a-secret-value").await;

    for (round, host) in hosts.iter().enumerate().skip(1) {
        let (one, other) = in_turn(round, &pair);
        let (here, there) = (cluster.user(one, "ana"), cluster.user(other, "ana"));
        assert_eq!(here.call("wat__run", json!({})).await.text(), "done");
        assert_eq!(there.call("wat__run", json!({})).await.text(), "done");

        cluster.operator(one).deploy(component(round)).await.assert_status(201);

        let new = format!("network {host}");
        there.call("wat__run", json!({})).await.assert_tool_error(&new);
        here.call("wat__run", json!({})).await.assert_tool_error(&new);
        let digest = there.get("/toolkits/wat/consent").await.json()["digest"].clone();
        there.post("/toolkits/wat/consent", &json!({ "digest": digest })).await.assert_status(204);
        assert_eq!(here.call("wat__run", json!({})).await.text(), "done", "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_is_cut_off_serves_nothing_that_was_removed() {
    let (cluster, [member]) = Cluster::start().await;
    let url = cluster.database_url();
    let link = Link::to(&url).await;
    let cut_off = cluster.join_with("cut-off", |command| {
        command.env("KITBAG_DATABASE", link.through(&url).as_str());
    });
    let cut_off = cut_off.await;
    cluster.operator(&member).deploy(guests::HINTS.bytes()).await.assert_status(201);
    let ana = cluster.user(&cut_off, "ana");
    ana.call("hints__plain", json!({})).await.text();

    link.fall_silent();
    cluster.operator(&member).delete("/toolkits/hints").await.assert_status(204);
    for _ in 0..3 {
        ana.post_mcp("tools/call", Some("hints__plain"), json!({ "name": "hints__plain", "arguments": {} }))
            .await
            .assert_status(503);
    }

    link.speak_again();
    ana.call("hints__plain", json!({})).await.assert_unknown_tool();
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn of_two_components_with_one_version_that_are_deployed_at_once_one_wins_everywhere() {
    let (cluster, pair) = Cluster::start::<2>().await;
    let original = guests::GREETER_V1.bytes();
    // A custom section at the end changes the bytes but not the toolkit.
    let altered = [&original[..], &[0, 5, 1, b'x', 1, 2, 3]].concat();

    let (one, other) = (cluster.operator(&pair[0]), cluster.operator(&pair[1]));
    let (one, other) = tokio::join!(one.deploy(original), other.deploy(altered));
    let mut answers = [one.status.as_u16(), other.status.as_u16()];
    answers.sort_unstable();
    assert_eq!(answers, [201, 409]);

    let mut digests = Vec::new();
    for member in &pair {
        let shown = cluster.operator(member).get("/toolkits/greeter").await.assert_status(200).json();
        digests.push(shown["versions"][0]["digest"].clone());
        let greeting = cluster.operator(member).call("greeter__greet", json!({ "name": "Ana" })).await;
        assert_eq!(greeting.text(), "Hello, Ana!");
    }
    assert_eq!(digests[0], digests[1]);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_killed_in_a_deploy_leaves_the_old_or_the_new_version_whole_everywhere() {
    const STEPS: u32 = 6;

    let (cluster, [survivor]) = Cluster::start().await;
    let operator = cluster.operator(&survivor);
    let started = Instant::now();
    operator.deploy(guests::GREETER_V2.bytes()).await.assert_status(201);
    let duration = started.elapsed();

    for step in 1..=STEPS {
        operator.delete("/toolkits/greeter").await.assert_status(204);
        operator.deploy(guests::GREETER_V1.bytes()).await.assert_status(201);
        let victim = cluster.join(&format!("victim{step}")).await;
        let deploying = tokio::spawn({
            let operator = cluster.operator(&victim);
            async move { operator.deploy(guests::GREETER_V2.bytes()).await }
        });
        sleep(duration * step * 12 / (STEPS * 10)).await;
        victim.server.kill().await;
        let acknowledged = deploying.await.is_ok_and(|answer| answer.status == 201);

        let third = cluster.join(&format!("third{step}")).await;
        for member in [&survivor, &third] {
            let shown = cluster.operator(member).get("/toolkits/greeter").await.assert_status(200).json();
            let live = shown["liveVersion"].as_str().expect("a version");
            assert!(live == "2.0.0" || !acknowledged, "step {step}: an acknowledged deploy was lost");
            let greeting = cluster.operator(member).call("greeter__greet", json!({ "name": "Ana" })).await;
            let expected = if live == "1.0.0" { "Hello, Ana!" } else { "Good day, Ana!" };
            assert_eq!(greeting.text(), expected, "step {step}: {shown}");
        }
        assert!(third.server.terminate().await.success());
    }
}
