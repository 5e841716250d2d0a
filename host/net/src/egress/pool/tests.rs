//! Connections that a pool returns, stores and closes.

use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::*;
use crate::egress::connector::{Connected, Stream};
use crate::egress::{Allowlist, Membership};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A server that accepts connections, and a pool of connections to it.
struct Fixture {
    listener: TcpListener,
    pool: Pool,
}

impl Fixture {
    async fn new(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, pool: Pool::new(limits, &Handle::current()) }
    }

    /// Puts a new connection into the pool, and returns the server's end.
    async fn put(&self, key: &Arc<Key>) -> TcpStream {
        let stream = TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap();
        let (end, _) = self.listener.accept().await.unwrap();
        let stream = Stream::Http(TokioIo::new(stream));
        let connection =
            Connection::over(Connected { stream, is_private: true }, &Handle::current()).await.unwrap();
        while !connection.is_idle() {
            tokio::task::yield_now().await;
        }
        self.pool.put(key.clone(), connection);
        end
    }
}

fn toolkit() -> Arc<Allowlist> {
    Arc::default()
}

fn key(toolkit: &Arc<Allowlist>, user: &str, uri: &'static str) -> Arc<Key> {
    let policy =
        Policy::Toolkit { allowlist: toolkit.clone(), user: user.into(), membership: Membership::none() };
    Arc::new(Key { policy, target: target(uri) })
}

fn target(uri: &'static str) -> Target {
    Target::of(&http::Uri::from_static(uri)).unwrap()
}

async fn is_closed(mut end: TcpStream) -> bool {
    timeout(TIMEOUT, end.read(&mut [0])).await.is_ok_and(|read| read.unwrap_or(0) == 0)
}

#[tokio::test]
async fn a_connection_is_taken_by_its_key_alone() {
    let books = toolkit();
    let films = toolkit();
    let own = key(&books, "ana", "https://api.example/");
    let fixture = Fixture::new(Limits::default()).await;
    let _end = fixture.put(&own).await;
    let others = [
        key(&books, "ben", "https://api.example/"),
        key(&films, "ana", "https://api.example/"),
        key(&books, "ana", "https://api.example:444/"),
        key(&books, "ana", "http://api.example:443/"),
        key(&books, "ana", "https://www.api.example/"),
        Arc::new(Key {
            policy: Policy::Capture { user: "ana".into() },
            target: target("https://api.example/"),
        }),
        Arc::new(Key { policy: Policy::Operator, target: target("https://api.example/") }),
    ];

    for other in others {
        assert!(fixture.pool.take(&other).is_none(), "{other:?}");
    }
    assert!(fixture.pool.take(&key(&books, "ana", "https://API.example.:443/other")).is_some());
    assert!(fixture.pool.take(&own).is_none(), "it serves one request at a time");
}

#[tokio::test]
async fn beyond_a_limit_the_one_that_was_idle_longest_is_closed() {
    let limits = Limits { per_key: 2, per_user: 3, total: 4, ..Limits::default() };
    let fixture = Fixture::new(limits).await;
    let toolkit = toolkit();
    let of = |user, uri| key(&toolkit, user, uri);

    let first = fixture.put(&of("ana", "https://a.example/")).await;
    let second = fixture.put(&of("ana", "https://a.example/")).await;
    let _third = fixture.put(&of("ana", "https://a.example/")).await;
    assert!(is_closed(first).await, "the limit of the key");
    assert_eq!(fixture.pool.len(), 2);

    let _fourth = fixture.put(&of("ana", "https://b.example/")).await;
    let _fifth = fixture.put(&of("ana", "https://c.example/")).await;
    assert!(is_closed(second).await, "the limit of the user");
    assert_eq!(fixture.pool.len(), 3);

    let mut ends = Vec::new();
    for user in ["ben", "cem", "dia"] {
        ends.push(fixture.put(&of(user, "https://a.example/")).await);
    }
    assert_eq!(fixture.pool.len(), 4, "the limit of all");
    assert!(fixture.pool.take(&of("ana", "https://a.example/")).is_none());
    assert!(fixture.pool.take(&of("dia", "https://a.example/")).is_some());
}

#[tokio::test]
async fn a_connection_is_closed_when_it_was_idle_for_long() {
    let limits = Limits { idle_timeout: Duration::from_millis(60), ..Limits::default() };
    let fixture = Fixture::new(limits).await;
    let key = key(&toolkit(), "ana", "https://a.example/");
    let end = fixture.put(&key).await;

    assert!(is_closed(end).await);

    assert_eq!(fixture.pool.len(), 0);
}

#[tokio::test]
async fn an_old_connection_serves_no_further_request() {
    let limits = Limits { max_age: Duration::from_millis(30), ..Limits::default() };
    let fixture = Fixture::new(limits).await;
    let key = key(&toolkit(), "ana", "https://a.example/");
    let end = fixture.put(&key).await;

    sleep(Duration::from_millis(40)).await;

    assert!(fixture.pool.take(&key).is_none());
    assert!(is_closed(end).await);
}

#[tokio::test]
async fn a_connection_that_its_server_closed_or_wrote_to_is_not_taken() {
    for unasked in ["", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"] {
        let fixture = Fixture::new(Limits::default()).await;
        let key = key(&toolkit(), "ana", "https://a.example/");
        let mut end = fixture.put(&key).await;

        tokio::io::AsyncWriteExt::write_all(&mut end, unasked.as_bytes()).await.unwrap();
        if unasked.is_empty() {
            drop(end);
        } else {
            assert!(is_closed(end).await);
        }
        let taken = async {
            while fixture.pool.lock().iter().any(|entry| entry.connection.is_idle()) {
                sleep(Duration::from_millis(5)).await;
            }
            fixture.pool.take(&key)
        };

        assert!(timeout(TIMEOUT, taken).await.expect("it is noticed").is_none());
    }
}

#[tokio::test]
async fn idle_connections_are_closed_with_their_pool() {
    let fixture = Fixture::new(Limits::default()).await;
    let end = fixture.put(&key(&toolkit(), "ana", "https://a.example/")).await;

    drop(fixture);

    assert!(is_closed(end).await);
}
