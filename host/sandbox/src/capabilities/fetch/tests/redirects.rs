//! Each hop of a redirect is a request like any other.

use futures::stream;
use http_body_util::StreamBody;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

async fn upstream() -> (TestServer, Guest) {
    let server = TestServer::start(redirecting).await;
    let guest = Toolkit::reaching(&server).call();
    (server, guest)
}

#[tokio::test]
async fn a_redirect_is_followed_where_the_guest_does_not_see_it() {
    let (server, mut guest) = upstream().await;

    let response =
        guest.send(get(&format!("{}/redirect/302?/redirect/307?/end", server.origin()))).await.unwrap();

    assert_eq!(whole(response).await, "hello");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(guest.observations.usage.snapshot().requests, 3);
}

fn asking(mode: &str, uri: &str) -> Request<WasiBody> {
    let mut request = get(uri);
    request.headers_mut().insert("kitbag-redirect", mode.parse().unwrap());
    request
}

#[tokio::test]
async fn a_guest_may_get_a_redirect_itself() {
    let (server, mut guest) = upstream().await;

    let response =
        guest.send(asking("manual", &format!("{}/redirect/302?/end", server.origin()))).await.unwrap();

    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (302, &"/end".parse().unwrap())
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_guest_that_asks_is_told_where_a_response_comes_from() {
    let (server, mut guest) = upstream().await;
    let first = format!("{}/redirect/302?/end", server.origin());

    let told = guest.send(asking("follow", &first)).await.unwrap();
    let silent = guest.send(get(&first)).await.unwrap();

    assert_eq!(told.headers()["kitbag-url"], format!("{}/end", server.origin()));
    assert!(!silent.headers().contains_key("kitbag-url"));
}

#[tokio::test]
async fn what_guest_and_host_say_of_redirects_crosses_no_network() {
    let server = TestServer::start(|_| {
        Response::builder().header("kitbag-url", "https://bank.example/").body(Full::default()).unwrap()
    })
    .await;
    let mut guest = Toolkit::reaching(&server).call();

    for mode in ["manual", "follow", "sideways"] {
        let response = guest.send(asking(mode, &server.origin())).await.unwrap();

        let told = response.headers().get("kitbag-url").map(|url| url.to_str().unwrap().to_owned());
        assert!(told.is_none_or(|url| url.starts_with(&server.origin())), "{mode}");
        let (head, _) = server.received().pop().unwrap();
        assert!(!head.headers.contains_key("kitbag-redirect"), "{mode}");
    }
}

#[tokio::test]
async fn a_body_is_dropped_or_repeated_by_the_status() {
    let (server, mut guest) = upstream().await;

    for (status, method, body) in
        [(302, "GET", ""), (303, "GET", ""), (307, "POST", "body"), (308, "POST", "body")]
    {
        let mut post = request("POST", &format!("{}/redirect/{status}?/end", server.origin()), "body");
        post.headers_mut().insert("content-type", "text/plain".parse().unwrap());
        post.headers_mut().insert("content-length", "4".parse().unwrap());

        guest.send(post).await.unwrap();

        let (head, arrived) = server.received().pop().unwrap();
        assert_eq!((head.method.as_str(), &arrived[..], head.uri.path()), (method, body.as_bytes(), "/end"));
        assert_eq!(head.headers.contains_key("content-type"), method == "POST", "{status}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_remembered_cannot_be_redirected() {
    let (server, mut guest) = upstream().await;
    let large = vec![b'x'; (1 << 20) + 1];
    let post = |status: u16| {
        request("POST", &format!("{}/redirect/{status}?/end?secret", server.origin()), large.clone())
    };

    let repeated = guest.send(post(307)).await.err();
    let dropped = guest.send(post(303)).await;

    assert!(matches!(repeated, Some(Error::HttpProtocolError)), "{repeated:?}");
    assert_eq!(dropped.unwrap().status(), 200);
    let notes = guest.notes();
    assert_eq!(
        notes,
        "fetch: the request cannot be redirected: its body is larger than 1024 KiB and cannot be sent again\n"
    );
}

#[tokio::test]
async fn a_body_that_is_still_on_its_way_is_repeated_whole() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let (chunks, arriving) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let server = tokio::spawn(async move {
        // The server responds after the head, and only then does the guest write the body.
        let (mut first, _) = listener.accept().await.unwrap();
        assert!(read_until(&mut first, "\r\n\r\n").await);
        first
            .write_all(b"HTTP/1.1 307 Go\r\nlocation: /end\r\ncontent-length: 100\r\n\r\nmoved")
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        chunks.send("late body".into()).unwrap();
        drop(chunks);
        let mut second = tokio::select! {
            true = read_until(&mut first, "POST /end") => first,
            accepted = listener.accept() => accepted.unwrap().0,
        };
        assert!(read_until(&mut second, "late body").await);
        second.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    });
    let body = stream::unfold(arriving, async |mut arriving| {
        let chunk = arriving.recv().await?;
        Some((Ok(http_body::Frame::data(chunk)), arriving))
    });
    let post =
        Request::post(format!("http://{authority}/")).body(StreamBody::new(body).boxed_unsync()).unwrap();
    let limits = FetchLimits { in_flight: 1, requests: 2, ..limits() };

    let answer = Toolkit { limits, ..Toolkit::listing(vec![authority]) }.call().send(post).await;

    assert_eq!(answer.unwrap().status(), 200);
    server.await.unwrap();
}

/// Reads until `text` was received. Returns `false` at the end of the stream.
async fn read_until(stream: &mut TcpStream, text: &str) -> bool {
    let mut seen = Vec::new();
    while !seen.windows(text.len()).any(|window| window == text.as_bytes()) {
        if stream.read_buf(&mut seen).await.unwrap() == 0 {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_a_request_may_not_go() {
    let (server, mut guest) = upstream().await;
    let elsewhere = TestServer::start(redirecting).await;
    let port = server.port();
    let other = elsewhere.port();

    for (location, expected) in [
        (format!("http://127.0.0.1:{other}/"), "HttpRequestDenied"),
        (format!("//localhost:{other}/"), "HttpRequestDenied"),
        (format!("http://127.0.0.2:{port}/"), "HttpRequestDenied"),
        (format!("http://[::ffff:127.0.0.1]:{port}/"), "HttpRequestDenied"),
        ("http://evil.example/".to_owned(), "HttpRequestDenied"),
        (format!("http://evil.example\\@127.0.0.1:{port}/"), "HttpRequestDenied"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "DestinationIpProhibited"),
        ("http://0xa9fea9fe/latest".to_owned(), "DestinationIpProhibited"),
        (format!("http://user:pass@127.0.0.1:{port}/"), "HttpProtocolError"),
        (format!("http://127.0.0.1:{port}@evil.example/"), "HttpProtocolError"),
        ("file:///etc/passwd".to_owned(), "HttpProtocolError"),
        ("http://".to_owned(), "HttpProtocolError"),
    ] {
        let refused = guest.get(&format!("{}/redirect/302?{location}", server.origin())).await.unwrap_err();

        assert_eq!(format!("{refused:?}"), expected, "{location}");
        let notes = guest.notes();
        assert_eq!(notes.lines().count(), 1, "{location}: {notes}");
        for inside in ["meta-data", "passwd", "pass@", "redirect/"] {
            assert!(!notes.contains(inside), "{location}: {notes}");
        }
    }
    assert_eq!(elsewhere.connections(), 0);
    assert_eq!(server.requests().len(), 12);
}

#[tokio::test]
async fn another_spelling_of_a_listed_host_is_that_host() {
    let (server, mut guest) = upstream().await;
    let port = server.port();

    for location in
        [format!("http://127.1:{port}/"), format!("//LOCALHOST.:{port}/"), format!("http://0x7f.1:{port}/")]
    {
        assert_eq!(guest.get(&format!("{}/redirect/302?{location}", server.origin())).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn credentials_of_the_guest_do_not_cross_origins() {
    let (server, mut guest) = upstream().await;
    let crossing = format!("http://localhost:{}/end", server.port());

    for (location, crosses) in [("/end", false), (crossing.as_str(), true)] {
        let mut request = get(&format!("{}/redirect/307?{location}", server.origin()));
        for (name, value) in [("authorization", "Bearer mine"), ("cookie", "a=b"), ("x-kept", "1")] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }

        guest.send(request).await.unwrap();

        for name in ["authorization", "cookie"] {
            assert_eq!(server.last_header(name).is_none(), crosses, "{name} to {location}");
        }
        assert_eq!(server.last_header("x-kept").unwrap(), "1");
    }
}

#[tokio::test]
async fn every_hop_counts_against_the_budget_of_the_call() {
    let server = TestServer::start(redirecting).await;
    let mut toolkit = Toolkit::reaching(&server);
    toolkit.limits.requests = 3;
    let mut guest = toolkit.call();

    let refused = guest.get(&format!("{}/redirect/302", server.origin())).await.unwrap_err();

    assert!(matches!(refused, Error::ConnectionLimitReached), "{refused:?}");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(guest.notes(), "fetch: this call has made all the requests it may make\n");
    assert!(guest.get(&server.origin()).await.is_err());
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_circle_of_redirects_ends_after_twenty() {
    let (server, mut guest) = upstream().await;

    let refused = guest.get(&format!("{}/redirect/302", server.origin())).await.unwrap_err();

    assert!(matches!(refused, Error::HttpProtocolError), "{refused:?}");
    assert_eq!(server.requests().len(), 21);
    assert!(guest.notes().contains("there were twenty before it"));
}

#[tokio::test]
async fn a_redirect_without_a_place_is_the_answer() {
    let server = TestServer::start(|_| Response::builder().status(302).body(Full::default()).unwrap()).await;

    assert_eq!(Toolkit::reaching(&server).call().get(&server.origin()).await.unwrap(), 302);
}
