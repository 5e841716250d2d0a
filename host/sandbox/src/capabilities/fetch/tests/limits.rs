//! Limits for the size and the number of requests, timeouts, and counters.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::observations::UsageSnapshot;

const SHORT: Option<Duration> = Some(Duration::from_millis(50));

/// Accepts one connection, sends `answer`, and then stalls.
async fn stalling(answer: &'static str) -> (TcpListenerTask, Guest, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let limits = FetchLimits { response_body: 1000, ..limits() };
    let guest = Toolkit { limits, ..Toolkit::listing(vec![authority.clone()]) }.call();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.ok();
    });
    (TcpListenerTask(serving), guest, format!("http://{authority}/"))
}

struct TcpListenerTask(tokio::task::JoinHandle<()>);

impl Drop for TcpListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[tokio::test]
async fn traffic_is_counted_and_the_count_outlives_the_call() {
    let server = TestServer::start(redirecting).await;
    let mut guest = Toolkit::reaching(&server).call();
    let usage = guest.observations.usage.clone();

    let post = request("POST", &format!("{}/redirect/307?/end", server.origin()), "four");
    let response = guest.send(post).await.unwrap();
    assert_eq!(whole(response).await, "hello");
    drop(guest);

    assert_eq!(usage.snapshot(), UsageSnapshot { requests: 2, bytes_out: 8, bytes_in: 5 });
}

#[tokio::test]
async fn a_guest_waits_for_an_answer_as_long_as_it_says() {
    let (_serving, mut guest, uri) = stalling("").await;
    let options = RequestOptions { first_byte_timeout: SHORT, ..RequestOptions::default() };

    let late = guest.send_with(get(&uri), options).await.err();

    assert!(matches!(late, Some(Error::ConnectionTimeout)), "{late:?}");
}

#[tokio::test]
async fn a_guest_waits_between_two_pieces_as_long_as_it_says() {
    let (_serving, mut guest, uri) = stalling("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    let options = RequestOptions { between_bytes_timeout: SHORT, ..RequestOptions::default() };

    let mut body = guest.send_with(get(&uri), options).await.unwrap().into_body();
    // The guest does not read for a while; reading ahead ends with the first error.
    tokio::time::sleep(Duration::from_millis(200)).await;

    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
    let late = tokio::time::timeout(Duration::from_secs(10), body.frame()).await.expect("it is given up");
    let late = late.unwrap().unwrap_err();
    assert!(matches!(late, Error::ConnectionReadTimeout), "{late:?}");
    assert!(body.frame().await.is_none(), "one error is enough");
    assert_eq!(guest.notes(), "fetch: the response paused for longer than the request allows\n");
}

#[tokio::test]
async fn a_long_answer_is_in_flight_until_it_is_read_or_given_up() {
    let server = TestServer::start(|_| Response::new(Full::from(vec![b'x'; 200 << 10]))).await;
    let mut toolkit = Toolkit::reaching(&server);
    toolkit.limits.in_flight = 1;
    let mut guest = toolkit.call();

    let first = guest.send(get(&server.origin())).await.unwrap();
    let mut second = Box::pin(guest.send(get(&server.origin())));
    let waits = tokio::time::timeout(Duration::from_millis(100), &mut second);
    assert!(waits.await.is_err(), "the first answer has the only place");

    assert_eq!(whole(first).await.len(), 200 << 10);
    drop(second.await.unwrap());
    assert_eq!(guest.get(&server.origin()).await.unwrap(), 200);
}

#[tokio::test]
async fn short_answers_wait_for_their_guest_and_hold_nobody_up() {
    let server = TestServer::start(redirecting).await;
    let mut toolkit = Toolkit::reaching(&server);
    toolkit.limits.in_flight = 1;
    let mut guest = toolkit.call();

    let sent: Vec<_> = (0..20).map(|_| guest.send(get(&server.origin()))).collect();
    let answers = futures::future::try_join_all(sent).await.unwrap();

    for answer in answers {
        assert_eq!(whole(answer).await, "hello");
    }
    assert_eq!(guest.notes(), "");
}

#[tokio::test]
async fn a_body_that_is_too_large_names_the_limit_and_the_setting() {
    let server = TestServer::start(redirecting).await;
    let mut toolkit = Toolkit::reaching(&server);
    toolkit.limits.request_body = 100;
    let mut guest = toolkit.call();

    let refused = guest.send(request("POST", &server.origin(), vec![b'x'; 101])).await.err();

    assert!(matches!(refused, Some(Error::HttpRequestBodySize(Some(100)))), "{refused:?}");
    let notes = guest.notes();
    assert_eq!(notes.lines().count(), 1, "{notes}");
    assert!(notes.contains("larger than 100 bytes"), "{notes}");
}

#[tokio::test]
async fn a_request_goes_on_while_its_guest_waits_for_the_processor() {
    let server = TestServer::start(redirecting).await;
    let mut guest = Toolkit::reaching(&server).call();
    let redirected = get(&format!("{}/redirect/302?/redirect/307?/end", server.origin()));

    // The guest is polled once, on a runtime that runs nothing after that.
    let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut sent = Box::pin(guest.send(redirected));
    {
        let _entered = elsewhere.enter();
        assert!(sent.as_mut().now_or_never().is_none());
    }

    let arrived = async {
        while server.hits("/end") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), arrived).await.expect("the last hop was taken");
    assert_eq!(sent.await.unwrap().status(), 200);
    elsewhere.shutdown_background();
}

#[tokio::test]
async fn a_response_that_breaks_off_is_incomplete() {
    let server = TestServer::start(redirecting).await;
    let (serving, mut guest, uri) = stalling("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;

    let mut body = guest.send(get(&uri)).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    drop((serving, server));

    assert!(matches!(body.frame().await.unwrap(), Err(Error::HttpResponseIncomplete)));
}

#[tokio::test]
async fn a_toolkit_without_egress_sends_nothing() {
    let server = TestServer::start(redirecting).await;
    let mut guest = Toolkit::listing(Vec::new()).call();

    assert!(matches!(guest.get(&server.origin()).await, Err(Error::HttpRequestDenied)));
    assert!(server.requests().is_empty());
}
