//! Jobs of the knowledge base, which the processes share.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Cluster;
use crate::harness::database::Database;
use crate::harness::{User, eventually, guests};

const DOCUMENTS: usize = 1000;
const JOBS: &str = "SELECT COUNT(*) FROM knowledge_jobs";

/// Stores `count` documents, in batches of 50.
async fn ingest(ana: &User, count: usize) {
    for batch in (0..count).collect::<Vec<_>>().chunks(50) {
        let documents: Vec<_> = batch
            .iter()
            .map(|number| {
                let text = format!("Narwhal number {number} swims. ").repeat(20);
                json!({ "title": format!("Narwhal {number}"), "text": text })
            })
            .collect();
        ana.call("probe__ingest", json!({ "documents": documents })).await.text();
    }
}

async fn count(database: &mut Database, sql: &'static str) -> i64 {
    let rows: Vec<(i64,)> = database.rows(sql, &[]).await;
    rows[0].0
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn every_document_is_indexed_once_though_a_process_is_killed_each_second() {
    let (cluster, [first, second, third]) = Cluster::start().await;
    cluster.operator(&first).deploy(guests::PROBE.bytes()).await.assert_status(201);
    let ana = cluster.user(&first, "ana");
    let mut database = cluster.database().await;
    ingest(&ana, DOCUMENTS).await;

    let mut others = vec![second, third];
    let mut interruptions = 0;
    for round in 0..3 {
        others.remove(0).server.kill().await;
        interruptions += usize::from(count(&mut database, JOBS).await > 0);
        others.push(cluster.join(&format!("next{round}")).await);
        sleep(Duration::from_secs(1)).await;
    }
    assert!(interruptions > 0, "nothing was left to do when a process was killed");
    // Jobs of a killed process can be claimed once its lease has expired, after 30 s.
    eventually("all jobs are done", async || count(&mut database, JOBS).await == 0).await;

    let ready = "SELECT COUNT(*) FROM documents WHERE state = 'ready'";
    assert_eq!(count(&mut database, ready).await, i64::try_from(DOCUMENTS).expect("a few"));
    let passages = "SELECT COUNT(*) FROM chunks";
    let distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT document, position FROM chunks) AS places";
    assert_eq!(count(&mut database, passages).await, count(&mut database, distinct).await);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_slept_through_its_lease_registers_anew_and_goes_on() {
    let (cluster, [sleeper, awake]) = Cluster::start().await;
    cluster.operator(&awake).deploy(guests::PROBE.bytes()).await.assert_status(201);
    let mut database = cluster.database().await;
    let ids = async |database: &mut Database| -> BTreeSet<String> {
        let rows: Vec<(String,)> = database.rows("SELECT id FROM processes", &[]).await;
        rows.into_iter().map(|(id,)| id).collect()
    };
    let before = ids(&mut database).await;
    assert_eq!(before.len(), 2);

    ingest(&cluster.user(&sleeper, "ana"), 100).await;
    sleeper.signal("STOP").await;
    let deadline = Instant::now() + Duration::from_mins(1);
    while ids(&mut database).await.len() > 1 {
        assert!(Instant::now() < deadline, "it still counts as alive");
        sleep(Duration::from_millis(100)).await;
    }
    eventually("the other one does its jobs", async || count(&mut database, JOBS).await == 0).await;
    sleeper.signal("CONT").await;

    eventually("it is back", async || ids(&mut database).await.len() == 2).await;
    let after = ids(&mut database).await;
    assert_eq!(before.intersection(&after).count(), 1, "no id is used twice");
    assert!(sleeper.log().contains("begins anew"), "{}", sleeper.log());
    eventually("it is ready", async || sleeper.readiness().await.0 == 200).await;
    ingest(&cluster.user(&sleeper, "ana"), 10).await;
    eventually("jobs go on", async || count(&mut database, "SELECT COUNT(*) FROM knowledge_jobs").await == 0)
        .await;
}
