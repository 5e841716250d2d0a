//! Reuse of connections by requests, also with hostile or faulty servers.

use std::sync::Mutex;

use futures::stream;
use http::Method;
use http_body_util::{BodyExt, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

/// Hand-written server that can violate HTTP.
struct Raw {
    uri: String,
    heads: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

/// Behaviour of the server after a response.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Serve,
    Close,
}

impl Raw {
    /// Starts a server that responds to request `number`, counted over all connections, with the result of
    /// `answer`; `None` closes the connection without a response.
    async fn start(answer: impl Fn(usize) -> Option<(&'static str, Next)> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        let answer = Arc::new(answer);
        let accepting = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let seen = seen.clone();
                let answer = answer.clone();
                open.spawn(async move {
                    while let Some(head) = head(&mut stream).await {
                        let number = {
                            let mut seen = seen.lock().unwrap();
                            seen.push(head);
                            seen.len() - 1
                        };
                        let Some((text, next)) = answer(number) else { return };
                        stream.write_all(text.as_bytes()).await.ok();
                        if next == Next::Close {
                            return;
                        }
                    }
                });
            }
        });
        Self { uri, heads, accepting }
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Reads up to the end of a request head, and any bytes that arrive with it.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut received = Vec::new();
    while !received.windows(4).any(|window| window == b"\r\n\r\n") {
        if stream.read_buf(&mut received).await.ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&received).into_owned())
}

async fn send(egress: &Egress, method: Method, uri: &str) -> Result<Bytes, EgressError> {
    let body = if method == Method::POST { "body" } else { "" };
    let request = Request::builder().method(method).uri(uri).body(Full::from(body)).unwrap();
    let response = egress.send(request, &Policy::Operator).await?;
    Ok(response.into_body().collect().await.expect("the body arrives whole").to_bytes())
}

/// Waits until the client has detected that the server closed an idle connection.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn users_and_toolkits_share_no_connection() {
    let upstream = upstream().await;
    let egress = egress(&["127.0.0.0/8"]);
    let listed = [format!("127.0.0.1:{}", upstream.port())];
    let of_ana = listing_for("ana", &listed);
    let Policy::Toolkit { allowlist, .. } = of_ana.clone() else { panic!("it is a toolkit's") };
    let of_ben = Policy::Toolkit { allowlist, user: "ben".into(), membership: Membership::none() };
    let of_another_toolkit = listing_for("ana", &listed);

    for (connections, policy) in [(1, &of_ana), (2, &of_ben), (3, &of_another_toolkit), (4, &capture())] {
        for _ in 0..2 {
            fetch(&egress, &upstream.origin(), policy).await.unwrap();
            assert_eq!(upstream.connections(), connections, "{policy:?}");
        }
    }
    fetch(&egress, &upstream.origin(), &of_ana).await.unwrap();
    assert_eq!(upstream.connections(), 4);
}

#[tokio::test]
async fn names_of_one_address_share_no_connection() {
    let upstream = upstream().await;
    let egress = egress(&["127.0.0.0/8"]);

    for host in ["127.0.0.1", "localhost"] {
        fetch(&egress, &format!("http://{host}:{}/", upstream.port()), &capture()).await.unwrap();
    }

    assert_eq!(upstream.connections(), 2);
    assert_eq!(upstream.last_header("host").unwrap(), format!("localhost:{}", upstream.port()));
}

#[tokio::test]
async fn an_idle_connection_is_no_way_to_a_host_that_is_no_longer_listed() {
    let upstream = upstream().await;
    let egress = egress(&["127.0.0.0/8"]);
    let listed = listing(&[format!("127.0.0.1:{}", upstream.port())]);
    fetch(&egress, &upstream.origin(), &listed).await.unwrap();

    let next_version = listing(&["api.example".to_owned()]);
    let refused = fetch(&egress, &upstream.origin(), &next_version).await;

    assert!(matches!(refused, Err(EgressError::NotListed { .. })), "{refused:?}");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_closes_idle_connections_fails_no_request() {
    let server = Raw::start(|_| Some((HELLO, Next::Close))).await;
    let egress = egress(&[]);

    for method in [Method::GET, Method::POST, Method::POST, Method::GET] {
        assert_eq!(send(&egress, method, &server.uri).await.unwrap(), "hello");
    }

    assert_eq!(server.requests(), 4, "each was sent once");
}

#[tokio::test]
async fn a_request_that_changes_something_is_never_sent_twice() {
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        // The second request has arrived when the connection is closed.
        let server = Raw::start(|number| (number == 0).then_some((HELLO, Next::Serve))).await;
        let egress = egress(&[]);
        send(&egress, Method::GET, &server.uri).await.unwrap();

        let lost = send(&egress, method.clone(), &server.uri).await;
        settle().await;

        assert!(matches!(lost, Err(EgressError::Protocol { .. })), "{method}: {lost:?}");
        assert_eq!(server.requests(), 2, "{method}");
    }
}

#[tokio::test]
async fn a_request_without_effect_is_sent_again_once() {
    let server = Raw::start(|number| (number != 1).then_some((HELLO, Next::Serve))).await;
    let egress = egress(&[]);
    send(&egress, Method::GET, &server.uri).await.unwrap();

    assert_eq!(send(&egress, Method::GET, &server.uri).await.unwrap(), "hello");
    assert_eq!(server.requests(), 3);

    // A server that never responds again gets no third request.
    let silent = Raw::start(|number| (number == 0).then_some((HELLO, Next::Serve))).await;
    send(&egress, Method::GET, &silent.uri).await.unwrap();
    assert!(send(&egress, Method::GET, &silent.uri).await.is_err());
    assert_eq!(silent.requests(), 3);
}

#[tokio::test]
async fn a_second_response_answers_nobody() {
    const TWO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello\
                       HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled";
    const EMPTY_AND_ANOTHER: &str =
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled";

    for (first, body) in [(TWO, "hello"), (EMPTY_AND_ANOTHER, "")] {
        let server =
            Raw::start(move |number| Some((if number == 0 { first } else { HELLO }, Next::Serve))).await;
        let egress = egress(&[]);

        assert_eq!(send(&egress, Method::GET, &server.uri).await.unwrap(), body);
        for method in [Method::POST, Method::GET] {
            assert_eq!(send(&egress, method, &server.uri).await.unwrap(), "hello");
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_to_be_closed_is_not_used_again() {
    const LAST: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
    const OLD: &str = "HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello";

    for answer in [LAST, OLD] {
        // The server itself would keep the connection open.
        let server = Raw::start(move |_| Some((answer, Next::Serve))).await;
        let egress = egress(&[]);

        for _ in 0..2 {
            assert_eq!(send(&egress, Method::POST, &server.uri).await.unwrap(), "hello");
        }

        assert_eq!(egress.operator.pool.len(), 0);
        assert_eq!(server.requests(), 2);
    }
}

#[tokio::test]
async fn a_body_that_nobody_reads_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let egress = egress(&[]);
    let sending = {
        let egress = egress.clone();
        tokio::spawn(async move { egress.send(get(&uri), &Policy::Operator).await })
    };
    let (mut stream, _) = listener.accept().await.unwrap();
    head(&mut stream).await.unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();

    drop(sending.await.unwrap().unwrap());

    assert_closed(stream).await;
    assert_eq!(egress.operator.pool.len(), 0);
}

#[tokio::test]
async fn an_upload_that_a_server_does_not_read_holds_its_connection_for_seconds_only() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let egress = egress(&[]);
    let endless = StreamBody::new(stream::pending::<Result<http_body::Frame<Bytes>, BoxError>>());
    let request = Request::post(uri).body(endless).unwrap();
    let sending = {
        let egress = egress.clone();
        tokio::spawn(async move { egress.send(request, &Policy::Operator).await })
    };
    let (mut stream, _) = listener.accept().await.unwrap();
    head(&mut stream).await.unwrap();
    stream.write_all(HELLO.as_bytes()).await.unwrap();

    let body = sending.await.unwrap().unwrap().into_body().collect().await.unwrap().to_bytes();

    assert_eq!(body, "hello");
    assert_eq!(egress.operator.pool.len(), 0, "it is not idle");
    assert_closed(stream).await;
}

#[tokio::test]
async fn idle_connections_are_closed_with_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let egress = egress(&[]);
    let sending = {
        let egress = egress.clone();
        tokio::spawn(async move { send(&egress, Method::GET, &uri).await })
    };
    let (mut stream, _) = listener.accept().await.unwrap();
    head(&mut stream).await.unwrap();
    stream.write_all(HELLO.as_bytes()).await.unwrap();
    sending.await.unwrap().unwrap();
    assert_eq!(egress.operator.pool.len(), 1);

    drop(egress);

    assert_closed(stream).await;
}

async fn assert_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    // The end of the stream, or an error because the client no longer reads: both are a closed connection.
    timeout(TIMEOUT, stream.read_to_end(&mut rest)).await.expect("the connection is closed").ok();
}
