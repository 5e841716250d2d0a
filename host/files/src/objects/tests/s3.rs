//! Files in a bucket. Tests with a real S3 server need `TEST_S3`, its URL with key and secret.

use std::time::Duration;

use http::{Response, StatusCode, header};
use http_body_util::Full;
use kitbag_net::egress::test_server::TestServer;
use url::Url;

use super::races::capture_and_remove;
use super::*;
use crate::objects::BucketLocation;

const ROUNDS: usize = 60;
const SECRET: &str = "the-secret-of-the-key";

/// Returns the location of a bucket at this service.
fn at(endpoint: &str, key_id: &str, secret: &str, prefix: &str) -> Location {
    Location::Bucket(BucketLocation {
        bucket: "kitbag-tests".to_owned(),
        prefix: prefix.to_owned(),
        endpoint: Some(endpoint.parse().expect("a URL")),
        region: "us-east-1".to_owned(),
        key_id: key_id.to_owned(),
        secret: secret.into(),
    })
}

/// Returns a location that no other test uses, with this secret instead of the valid one if given.
fn of_server(folder: &TempDir, secret: Option<&str>) -> Location {
    let server: Url = std::env::var("TEST_S3").expect("`TEST_S3` is set").parse().expect("a URL");
    let address = format!("http://127.0.0.1:{}", server.port().expect("a port"));
    let secret = secret.or(server.password()).expect("a secret");
    let name = folder.path().file_name().expect("it has a name").to_string_lossy();
    at(&address, server.username(), secret, name.trim_start_matches('.'))
}

impl Bench {
    /// Creates a bench in a bucket of the S3 server, with this secret instead of the valid one if given.
    async fn in_bucket(secret: Option<&str>) -> (Self, TempDir) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let location = of_server(&folder, secret);
        let database = Database::of_test(folder.path()).await;
        let objects = Objects::at(&location, &database).await;
        (Self::new(database, objects), folder)
    }

    /// Creates a bench in a bucket at this service.
    async fn at(endpoint: &str) -> (Self, TempDir) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(folder.path()).await;
        let objects = Objects::at(&at(endpoint, "key", SECRET, ""), &database).await;
        (Self::new(database, objects), folder)
    }

    /// Returns the number of rows, and checks that the object of each exists.
    async fn count(&self) -> usize {
        let rows = self.rows().await;
        for (object, _, _) in &rows {
            assert!(self.objects.bucket.size(object).await.expect("it answers").is_some(), "{object}");
        }
        rows.len()
    }
}

#[tokio::test]
#[ignore = "needs S3"]
async fn what_was_put_into_a_bucket_is_read_back_whole_and_in_part() {
    let (bench, _folder) = Bench::in_bucket(None).await;
    bench.expect_read_back().await;
}

#[tokio::test]
#[ignore = "needs S3"]
async fn a_file_goes_from_the_bucket_with_the_last_document() {
    let (bench, _folder) = Bench::in_bucket(None).await;
    let (digest, first) = bench.put(b"same").await;
    let (_, second) = bench.put(b"same").await;
    assert!(bench.refer(&first, "ana").await && bench.refer(&second, "ben").await);
    let object = bench.object(&digest).await.expect("it was put");

    bench.remove("ana", &digest).await;
    assert_eq!(bench.count().await, 1);
    bench.remove("ben", &digest).await;

    assert_eq!(bench.count().await, 0);
    assert_eq!(bench.objects.bucket.size(&object).await.expect("it answers"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs S3"]
async fn no_file_in_a_bucket_is_missed_by_two_processes_that_capture_and_remove_it() {
    let (one, folder) = Bench::in_bucket(None).await;
    let database = Database::of_test(folder.path()).await;
    let location = of_server(&folder, None);
    let other = Bench::new(database.clone(), Objects::at(&location, &database).await);

    let (first, second) = tokio::join!(
        tokio::spawn(capture_and_remove(one.clone(), "one", ROUNDS)),
        tokio::spawn(capture_and_remove(other, "other", ROUNDS)),
    );

    first.expect("no reference without a file");
    second.expect("no reference without a file");
    one.database.execute("UPDATE files SET kept_until = 1").await;
    one.objects.end_overdue().await.expect("it answers");
    assert_eq!(one.count().await, 0);
}

#[tokio::test]
#[ignore = "needs S3"]
async fn a_bucket_that_refuses_the_key_is_told_from_one_that_fails() {
    let (bench, _folder) = Bench::in_bucket(Some("wrong")).await;
    let refused = bench.try_put(b"a file").await.expect_err("the key is wrong");
    assert!(matches!(refused, ObjectsError::Refused(_)), "{refused}");
}

#[tokio::test]
async fn a_service_that_sends_the_request_elsewhere_is_not_followed() {
    let elsewhere = TestServer::start(|_| Response::new(Full::default())).await;
    let target = format!("{}/kitbag-tests/stolen", elsewhere.origin());
    let service = TestServer::start(move |_| {
        let redirect = Response::builder().status(StatusCode::TEMPORARY_REDIRECT);
        redirect.header(header::LOCATION, &target).body(Full::default()).expect("it is valid")
    })
    .await;
    let (bench, _folder) = Bench::at(&service.origin()).await;

    bench.try_put(b"a file").await.expect_err("it was not stored");

    assert!(!service.requests().is_empty());
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_long_answer_is_not_read_to_its_end_and_quoted_in_part() {
    let service = TestServer::start(|_| {
        let text = Full::from("<Error><Message>no</Message></Error>".repeat(1 << 20));
        Response::builder().status(StatusCode::BAD_REQUEST).body(text).expect("it is valid")
    })
    .await;
    let (bench, _folder) = Bench::at(&service.origin()).await;

    let refused = bench.try_put(b"a file").await.expect_err("it was not stored").to_string();

    assert!(refused.len() < 1000, "{} bytes", refused.len());
}

#[tokio::test]
async fn a_service_where_nobody_listens_is_given_up() {
    let (bench, _folder) = Bench::at("http://127.0.0.1:9").await;

    let refused = tokio::time::timeout(Duration::from_mins(2), bench.try_put(b"a file")).await;

    assert!(matches!(refused, Ok(Err(ObjectsError::Unavailable(_)))), "{refused:?}");
}

#[tokio::test]
async fn the_secret_is_in_no_request_and_no_message() {
    let service = TestServer::start(|_| {
        Response::builder().status(StatusCode::FORBIDDEN).body(Full::from(SECRET)).expect("it is valid")
    })
    .await;
    let (bench, _folder) = Bench::at(&service.origin()).await;

    bench.try_put(b"a file").await.expect_err("it is refused");

    assert!(!format!("{:?}", bench.objects).contains(SECRET));
    for (head, body) in service.received() {
        assert!(!format!("{head:?}").contains(SECRET));
        assert!(!body.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
    }
}
