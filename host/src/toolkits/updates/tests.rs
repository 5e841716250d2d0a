//! When registries are asked, and when not. `tests/spec/registries/updates.rs` has a real one.

use std::path::Path;

use http::Response;
use http_body_util::Full;
use serde_json::json;

use super::*;
use crate::database::Database;
use crate::disk::Disk;
use crate::egress::test_server::TestServer;
use crate::egress::{Egress, EgressSettings};
use crate::objects::Objects;
use crate::sha256::Sha256;
use crate::toolkits::tests::{books, compiler, sandbox};

const LIMIT: u64 = 1 << 20;
const HOUR: i64 = 3_600_000;

/// A registry whose only artifact is no component.
async fn registry() -> TestServer {
    TestServer::start(|_| Response::new(Full::from(manifest()))).await
}

fn manifest() -> String {
    json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [] }).to_string()
}

fn digest() -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(manifest())))
}

fn name(registry: &TestServer) -> String {
    format!("127.0.0.1:{}", registry.port())
}

/// `books`, whose live version came from this registry, with its database.
async fn database(folder: &Path, registry: &TestServer) -> Database {
    let (database, _toolkits, _removals) = books(folder).await;
    let row = format!("('books', '2.0.0', 'oci://{}/books:latest', 'sha256:00', FALSE)", name(registry));
    database
        .execute(&format!(
            "INSERT INTO toolkit_provenance (toolkit_id, version, source, source_digest, source_pulled) VALUES {row}"
        ))
        .await;
    database
}

/// A process that follows these registries.
async fn process(folder: &Path, database: &Database, followed: &[String]) -> Toolkits {
    let components = Objects::of_test(folder, database).await.components();
    let (disk, egress) = (Disk::unwatched(), Egress::new(EgressSettings::default()));
    let opening = Toolkits::open(folder, components, database.clone(), sandbox(), compiler(), disk, egress);
    opening.await.expect("they open").following(followed.to_vec(), LIMIT)
}

async fn long_ago(database: &Database, column: &str, time: i64) {
    let then = Timestamp::now().as_millisecond() - time;
    database.execute(&format!("UPDATE registry_questions SET {column} = {then}")).await;
}

/// How often the registry was asked, and how often for an artifact.
fn asked(registry: &TestServer) -> (usize, usize) {
    let by_digest = format!("/v2/books/manifests/{}", digest());
    (registry.hits("/v2/books/manifests/latest"), registry.hits(&by_digest))
}

#[tokio::test]
async fn a_registry_is_asked_once_an_hour_by_one_of_the_processes() {
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let followed = [name(&registry)];
    let one = process(folder.path(), &database, &followed).await;
    let other = process(other_folder.path(), &database, &followed).await;

    let (first, second) = tokio::join!(one.ask_registries(), other.ask_registries());
    first.and(second).unwrap();
    assert_eq!(asked(&registry).0, 1);
    one.ask_registries().await.unwrap();
    long_ago(&database, "asked_at", HOUR - 60_000).await;
    one.ask_registries().await.unwrap();
    assert_eq!(asked(&registry).0, 1);
    long_ago(&database, "asked_at", HOUR + 1).await;
    other.ask_registries().await.unwrap();
    assert_eq!(asked(&registry).0, 2);
}

#[tokio::test]
async fn a_registry_that_the_settings_do_not_name_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    for followed in [vec![], vec!["127.0.0.1".to_owned()], vec!["ghcr.io".to_owned()]] {
        let toolkits = process(folder.path(), &database, &followed).await;

        toolkits.ask_registries().await.unwrap();

        let tracked = toolkits.tracked().await.unwrap();
        assert_eq!((tracked.len(), tracked[0].followed, &tracked[0].asked_at), (1, false, &None));
    }
    assert_eq!(registry.requests().len(), 0);
    // Nor one by whose reference nothing can be followed.
    database.execute("UPDATE toolkit_provenance SET source = replace(source, ':latest', '')").await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    toolkits.ask_registries().await.unwrap();
    assert_eq!((registry.requests().len(), toolkits.tracked().await.unwrap()), (0, vec![]));
}

#[tokio::test]
async fn the_same_artifact_is_not_pulled_again_within_a_day_nor_once_it_was_discarded_or_deployed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    let ask_again = async || {
        long_ago(&database, "asked_at", 2 * HOUR).await;
        toolkits.ask_registries().await.unwrap();
        toolkits.tracked().await.unwrap().remove(0)
    };

    toolkits.ask_registries().await.unwrap();
    let refused = toolkits.tracked().await.unwrap().remove(0);
    assert!(refused.problem.as_ref().unwrap().contains("it has 0 layers"), "{refused:?}");
    let newer = refused.newer.expect("something");
    assert_eq!((newer.state, newer.digest), (NewerState::Refused, digest()));
    assert_eq!(asked(&registry), (1, 1));
    let acts: Vec<String> = database.column("SELECT act FROM audit").await;
    assert_eq!(acts, ["toolkit.newer_refused"]);

    assert_eq!(ask_again().await.newer.expect("something").state, NewerState::Refused);
    assert_eq!(asked(&registry), (2, 1), "it was pulled lately");
    long_ago(&database, "pulled_at", 25 * HOUR).await;
    ask_again().await;
    assert_eq!(asked(&registry), (3, 2));
    long_ago(&database, "pulled_at", 25 * HOUR).await;
    database.execute("UPDATE registry_questions SET discarded = TRUE").await;
    assert_eq!(ask_again().await.newer.expect("something").state, NewerState::Discarded);
    assert_eq!(asked(&registry), (4, 2));
    // It was live, and an operator went back.
    database.execute("DELETE FROM registry_questions").await;
    database
        .execute(&format!(
            "INSERT INTO toolkit_provenance (toolkit_id, version, source, source_digest, source_pulled)
             VALUES ('books', '1.0.0', 'oci://elsewhere.example/books:1', '{}', FALSE)",
            digest()
        ))
        .await;
    let deployed = ask_again().await.newer.expect("something");
    assert_eq!((deployed.state, deployed.version.as_deref()), (NewerState::Deployed, Some("1.0.0")));
    // It is live.
    database
        .execute(&format!(
            "UPDATE toolkit_provenance SET source_digest = '{}' WHERE version = '2.0.0'",
            digest()
        ))
        .await;
    assert_eq!(ask_again().await.newer, None);
    assert_eq!(asked(&registry), (6, 2));
}

#[tokio::test]
async fn what_a_registry_has_said_stays_while_it_does_not_answer_and_goes_with_its_toolkit() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    toolkits.ask_registries().await.unwrap();
    drop(registry);
    long_ago(&database, "asked_at", 2 * HOUR).await;

    toolkits.ask_registries().await.unwrap();

    let tracked = toolkits.tracked().await.unwrap().remove(0);
    assert!(tracked.newer.is_some() && tracked.problem.is_some(), "{tracked:?}");
    assert!(!tracked.problem.unwrap().contains("layers"));
    database.execute("UPDATE toolkit_provenance SET source = NULL").await;
    toolkits.ask_registries().await.unwrap();
    assert_eq!(database.column::<i64>("SELECT count(*) FROM registry_questions").await, [1], "for an hour");
    long_ago(&database, "asked_at", 2 * HOUR).await;
    toolkits.ask_registries().await.unwrap();
    assert_eq!(database.column::<i64>("SELECT count(*) FROM registry_questions").await, [0]);
}
