//! Conditions under which registries are asked. `tests/spec/registries/updates.rs` uses a real registry.

use std::path::Path;

use http::{Response, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use kitbag_base::disk::Disk;
use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use kitbag_files::objects::Objects;
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Egress, EgressSettings};
use serde_json::json;
use tokio::net::TcpListener;

use super::*;
use crate::testing::{compiler, sandbox};
use crate::tests::books;
use crate::{Dependencies, Options, Toolkits};

const LIMIT: u64 = 1 << 20;
const HOUR: i64 = 3_600_000;

/// Content of the registry's component layer, which is not a valid component.
const COMPONENT: &[u8] = b"bytes";

/// Starts a registry whose only artifact is not a component.
async fn registry() -> TestServer {
    TestServer::start(|_| Response::new(Full::from(manifest()))).await
}

fn manifest() -> String {
    json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [] }).to_string()
}

fn digest() -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(manifest())))
}

/// Starts a registry that answers requests for [`COMPONENT`] with this status.
async fn registry_of_component(status: StatusCode) -> TestServer {
    TestServer::start(move |head| {
        let is_blob = head.uri.path().contains("/blobs/");
        let answer = Response::builder().status(if is_blob { status } else { StatusCode::OK });
        let body = if is_blob { Full::from(COMPONENT) } else { Full::from(manifest_of_component()) };
        answer.body(body).unwrap()
    })
    .await
}

fn manifest_of_component() -> String {
    let layer = json!({
        "mediaType": "application/wasm", "digest": format!("sha256:{}", component()), "size": COMPONENT.len(),
    });
    json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [layer] }).to_string()
}

fn component() -> String {
    hex::encode(Sha256::digest(COMPONENT))
}

/// Inserts a waiting upload with this digest.
async fn insert_upload(database: &Database, digest: &str, source_digest: Option<&str>, is_pulled: bool) {
    let source_digest = source_digest.map_or("NULL".to_owned(), |digest| format!("'{digest}'"));
    let now = Timestamp::now().as_millisecond();
    let pulled = if is_pulled { "TRUE" } else { "FALSE" };
    database
        .execute(&format!(
            "INSERT INTO toolkit_uploads (digest, toolkit_id, version, size, manifest, imports, uploaded_by, uploaded_at,
                 source, source_digest, source_pulled)
             VALUES ('{digest}', 'books', '3.0.0', 1, '{{}}', '[]', 'ana', {now}, 'oci://r.example/books:1', {source_digest},
                 {pulled})"
        ))
        .await;
}

/// Makes this process ask again, as if two hours had passed. Returns the state of the first toolkit.
async fn ask_again(toolkits: &Toolkits, database: &Database) -> Tracked {
    long_ago(database, "asked_at", 2 * HOUR).await;
    toolkits.updates.ask_registries().await.unwrap();
    toolkits.updates.tracked().await.unwrap().remove(0)
}

fn name(registry: &TestServer) -> String {
    format!("127.0.0.1:{}", registry.port())
}

/// Returns a database with `books`, whose live version came from this registry.
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

/// Opens a process that follows these registries.
async fn process(folder: &Path, database: &Database, followed: &[String]) -> Toolkits {
    let dependencies = Dependencies {
        components: Objects::of_test(folder, database).await.components(),
        database: database.clone(),
        sandbox: sandbox(),
        compiler: compiler(),
        disk: Disk::unwatched(),
        egress: Egress::new(EgressSettings::default()),
        on_removal: Arc::new(|| ()),
    };
    let options =
        Options { followed_registries: followed.to_vec(), component_limit: LIMIT, ..Options::default() };
    Toolkits::open(folder, dependencies, options).await.expect("they open")
}

async fn long_ago(database: &Database, column: &str, time: i64) {
    let then = Timestamp::now().as_millisecond() - time;
    database.execute(&format!("UPDATE registry_questions SET {column} = {then}")).await;
}

/// Returns the number of requests to the registry, for tags and for the artifact.
fn asked(registry: &TestServer) -> (usize, usize) {
    let by_digest = format!("/v2/books/manifests/{}", digest());
    (registry.hits("/v2/books/manifests/latest"), registry.hits(&by_digest))
}

#[tokio::test]
async fn a_registry_is_asked_once_an_hour_by_one_of_the_processes() {
    let folder = tempfile::tempdir().unwrap();
    let other_folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let followed = [name(&registry)];
    let one = process(folder.path(), &database, &followed).await;
    let other = process(other_folder.path(), &database, &followed).await;

    let (first, second) = tokio::join!(one.updates.ask_registries(), other.updates.ask_registries());
    first.and(second).unwrap();
    assert_eq!(asked(&registry).0, 1);
    one.updates.ask_registries().await.unwrap();
    long_ago(&database, "asked_at", HOUR - 60_000).await;
    one.updates.ask_registries().await.unwrap();
    assert_eq!(asked(&registry).0, 1);
    long_ago(&database, "asked_at", HOUR + 1).await;
    other.updates.ask_registries().await.unwrap();
    assert_eq!(asked(&registry).0, 2);
}

#[tokio::test]
async fn a_registry_that_the_settings_do_not_name_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    for followed in [vec![], vec!["127.0.0.1".to_owned()], vec!["ghcr.io".to_owned()]] {
        let toolkits = process(folder.path(), &database, &followed).await;

        toolkits.updates.ask_registries().await.unwrap();

        let tracked = toolkits.updates.tracked().await.unwrap();
        assert_eq!((tracked.len(), tracked[0].followed, &tracked[0].asked_at), (1, false, &None));
    }
    assert_eq!(registry.requests().len(), 0);
    // Nor is a registry asked whose reference cannot be followed.
    database.execute("UPDATE toolkit_provenance SET source = replace(source, ':latest', '')").await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    toolkits.updates.ask_registries().await.unwrap();
    assert_eq!((registry.requests().len(), toolkits.updates.tracked().await.unwrap()), (0, vec![]));
}

#[tokio::test]
async fn the_same_artifact_is_not_pulled_again_within_a_day_nor_once_it_was_discarded_or_deployed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    let ask_again = async || ask_again(&toolkits, &database).await;

    toolkits.updates.ask_registries().await.unwrap();
    let refused = toolkits.updates.tracked().await.unwrap().remove(0);
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
    // A source that was only stated by the uploader does not hide it.
    database.execute("DELETE FROM registry_questions").await;
    database
        .execute(&format!(
            "INSERT INTO toolkit_provenance (toolkit_id, version, source, source_digest, source_pulled)
             VALUES ('books', '1.0.0', 'oci://elsewhere.example/books:1', '{}', FALSE)",
            digest()
        ))
        .await;
    assert_eq!(ask_again().await.newer.expect("something").state, NewerState::Refused);
    assert_eq!(asked(&registry), (5, 3));
    // The artifact was live, and an operator rolled back.
    database.execute("DELETE FROM registry_questions").await;
    database.execute("UPDATE toolkit_provenance SET source_pulled = TRUE WHERE version = '1.0.0'").await;
    let deployed = ask_again().await.newer.expect("something");
    assert_eq!((deployed.state, deployed.version.as_deref()), (NewerState::Deployed, Some("1.0.0")));
    // The artifact is live.
    database
        .execute(&format!(
            "UPDATE toolkit_provenance SET source_digest = '{}' WHERE version = '2.0.0'",
            digest()
        ))
        .await;
    assert_eq!(ask_again().await.newer, None);
    assert_eq!(asked(&registry), (7, 3));
}

#[tokio::test]
async fn what_a_registry_has_said_stays_while_it_does_not_answer_and_goes_with_its_toolkit() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    toolkits.updates.ask_registries().await.unwrap();
    drop(registry);
    long_ago(&database, "asked_at", 2 * HOUR).await;

    toolkits.updates.ask_registries().await.unwrap();

    let tracked = toolkits.updates.tracked().await.unwrap().remove(0);
    assert!(tracked.newer.is_some() && tracked.problem.is_some(), "{tracked:?}");
    assert!(!tracked.problem.unwrap().contains("layers"));
    database.execute("UPDATE toolkit_provenance SET source = NULL").await;
    toolkits.updates.ask_registries().await.unwrap();
    assert_eq!(database.column::<i64>("SELECT count(*) FROM registry_questions").await, [1], "for an hour");
    long_ago(&database, "asked_at", 2 * HOUR).await;
    toolkits.updates.ask_registries().await.unwrap();
    assert_eq!(database.column::<i64>("SELECT count(*) FROM registry_questions").await, [0]);
}

#[tokio::test]
async fn toolkits_with_one_reference_are_asked_for_and_judged_each_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    database
        .execute(
            "INSERT INTO toolkit_versions
                 (toolkit_id, version, digest, size, manifest, imports, changes, deployed_by, deployed_at)
                 SELECT 'films', version, digest, size, manifest, imports, changes, deployed_by, deployed_at
                 FROM toolkit_versions WHERE version = '2.0.0';
             INSERT INTO toolkits VALUES ('films', 'ana', '2.0.0');
             INSERT INTO toolkit_provenance (toolkit_id, version, source, source_digest, source_pulled)
                 SELECT 'films', version, source, source_digest, FALSE FROM toolkit_provenance",
        )
        .await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    let states = async || -> Vec<_> {
        let tracked = toolkits.updates.tracked().await.unwrap().into_iter();
        tracked.map(|it| (it.id, it.newer.expect("something").state)).collect()
    };

    toolkits.updates.ask_registries().await.unwrap();

    let refused = |id: &str| (id.to_owned(), NewerState::Refused);
    assert_eq!(states().await, [refused("books"), refused("films")]);
    let recorded: Vec<String> = database.column("SELECT toolkit FROM audit ORDER BY id").await;
    assert_eq!(recorded, ["books", "films"]);
    // A version discarded for one toolkit is not discarded for the other.
    insert_upload(&database, "d", Some(&digest()), false).await;
    toolkits.updates.uploads.discard("d", &Actor::server()).await.unwrap();
    assert_eq!(states().await, [("books".to_owned(), NewerState::Discarded), refused("films")]);
}

#[tokio::test]
async fn a_pull_that_fails_is_no_refusal_and_is_tried_again_in_an_hour() {
    for status in [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS] {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry_of_component(status).await;
        let database = database(folder.path(), &registry).await;
        let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
        let blob = format!("/v2/books/blobs/sha256:{}", component());

        for pulls in [1, 2] {
            let tracked = ask_again(&toolkits, &database).await;
            assert_eq!(tracked.newer.expect("something").state, NewerState::Seen, "{status}");
            assert!(tracked.problem.is_some(), "{status}");
            assert_eq!(registry.hits(&blob), pulls, "{status}");
        }
        assert_eq!(database.column::<i64>("SELECT count(*) FROM audit").await, [0], "{status}");
    }
}

#[tokio::test]
async fn what_was_pulled_whole_is_not_pulled_again_within_a_day_nor_once_it_was_deployed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry_of_component(StatusCode::OK).await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    let blob = format!("/v2/books/blobs/sha256:{}", component());

    // This server cannot compile the component.
    let tracked = ask_again(&toolkits, &database).await;
    assert_eq!((tracked.newer.expect("something").state, registry.hits(&blob)), (NewerState::Seen, 1));
    assert!(tracked.problem.is_some());
    ask_again(&toolkits, &database).await;
    assert_eq!(registry.hits(&blob), 1);
    // The component waits, because somebody has uploaded it.
    insert_upload(&database, &component(), None, false).await;
    long_ago(&database, "pulled_at", 25 * HOUR).await;
    let waiting = ask_again(&toolkits, &database).await;
    assert_eq!((waiting.newer.expect("something").state, waiting.problem), (NewerState::Waiting, None));
    assert_eq!(registry.hits(&blob), 2);
    // The same component was deployed from another source.
    database.execute("DELETE FROM toolkit_uploads").await;
    let deployed = format!("UPDATE toolkit_versions SET digest = '{}' WHERE version = '1.0.0'", component());
    database.execute(&deployed).await;
    for _ in 0..2 {
        long_ago(&database, "pulled_at", 25 * HOUR).await;
        let deployed = ask_again(&toolkits, &database).await.newer.expect("something");
        assert_eq!((deployed.state, deployed.version.as_deref()), (NewerState::Deployed, Some("1.0.0")));
        assert_eq!(registry.hits(&blob), 2);
    }
    assert_eq!(database.column::<i64>("SELECT count(*) FROM audit").await, [0]);
}

#[tokio::test]
async fn nothing_is_pulled_where_there_is_no_place_for_it() {
    for (uploads, is_pulled) in [(4, true), (8, false)] {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry().await;
        let database = database(folder.path(), &registry).await;
        let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
        for upload in 0..uploads {
            insert_upload(&database, &format!("d{upload}"), Some("sha256:0"), is_pulled).await;
        }

        let tracked = ask_again(&toolkits, &database).await;

        assert!(tracked.problem.is_some() && asked(&registry) == (1, 0), "{tracked:?}");
        database.execute("DELETE FROM toolkit_uploads WHERE digest = 'd0'").await;
        ask_again(&toolkits, &database).await;
        assert_eq!(asked(&registry), (2, 1));
    }
}

#[tokio::test]
async fn what_was_discarded_before_it_was_pulled_does_not_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry_of_component(StatusCode::NOT_FOUND).await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    let seen = ask_again(&toolkits, &database).await.newer.expect("something");
    insert_upload(&database, &component(), Some(&seen.digest), false).await;

    toolkits.updates.uploads.discard(&component(), &Actor::server()).await.unwrap();

    let discarded = ask_again(&toolkits, &database).await.newer.expect("something");
    assert_eq!(discarded.state, NewerState::Discarded);
    assert_eq!(registry.hits(&format!("/v2/books/blobs/sha256:{}", component())), 1);
}

#[tokio::test]
async fn registries_that_are_silent_do_not_keep_another_from_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let mut followed = vec![name(&registry)];
    let mut silent = Vec::new();
    for id in ["a", "b", "c"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        silent.push(listener);
        database
            .execute(&format!(
                "INSERT INTO toolkit_versions
                     (toolkit_id, version, digest, size, manifest, imports, changes, deployed_by, deployed_at)
                     SELECT '{id}', version, digest, size, manifest, imports, changes, deployed_by, deployed_at
                     FROM toolkit_versions WHERE toolkit_id = 'books' AND version = '2.0.0';
                 INSERT INTO toolkits VALUES ('{id}', 'ana', '2.0.0');
                 INSERT INTO toolkit_provenance (toolkit_id, version, source, source_digest, source_pulled)
                     VALUES ('{id}', '2.0.0', 'oci://{host}/books:latest', 'sha256:00', FALSE)"
            ))
            .await;
        followed.push(host);
    }
    let toolkits = process(folder.path(), &database, &followed).await;
    let answered = async {
        while asked(&registry) != (1, 1) {
            sleep(Duration::from_millis(10)).await;
        }
    };

    tokio::select! {
        _ = toolkits.updates.ask_registries() => panic!("a silent registry has answered"),
        answered = timeout(Duration::from_secs(20), answered) => answered.expect("the other one was asked"),
    }
}

#[tokio::test]
async fn what_a_registry_has_said_is_not_shown_once_it_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry().await;
    let database = database(folder.path(), &registry).await;
    let toolkits = process(folder.path(), &database, &[name(&registry)]).await;
    assert!(ask_again(&toolkits, &database).await.newer.is_some());

    let toolkits = process(folder.path(), &database, &[]).await;

    let tracked = toolkits.updates.tracked().await.unwrap().remove(0);
    assert_eq!((tracked.newer, tracked.problem, tracked.asked_at), (None, None, None));
}
