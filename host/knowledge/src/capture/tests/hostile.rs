//! Hostile servers and addresses: each capture ends within its limits, with a reason.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;

/// Server that sends `head`, and then `piece` repeatedly with pauses.
async fn raw(head: String, piece: impl Into<Bytes>, pause: Duration) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/file", listener.local_addr().expect("an address"));
    let piece = piece.into();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let head = head.clone();
            let piece = piece.clone();
            tokio::spawn(async move {
                let _request = stream.read(&mut [0; 4096]).await;
                let mut sent = stream.write_all(head.as_bytes()).await;
                while sent.is_ok() && !piece.is_empty() {
                    sleep(pause).await;
                    sent = stream.write_all(&piece).await;
                }
                // Sends nothing more, and keeps the connection open.
                sleep(Duration::from_mins(5)).await;
            });
        }
    });
    (url, serving)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
const PIECE: &[u8] = &[b'x'; 64 << 10];

#[track_caller]
fn assert_failed(failure: &CaptureFailure, kind: FailureKind, reason: &str) {
    assert!(failure.reason.contains(reason), "no {reason:?} in {:?}", failure.reason);
    assert_eq!(failure.kind, kind, "{}", failure.reason);
    assert!(failure.file.is_none());
}

#[tokio::test]
async fn a_file_that_is_too_large_ends_at_the_limit_whether_it_says_so_or_not() {
    let bench = Bench::new().await;
    let declared = raw(format!("{OK}Content-Length: 2147483648\r\n\r\n"), Bytes::new(), Duration::ZERO).await;
    let until_close = raw(format!("{OK}Connection: close\r\n\r\n"), PIECE, Duration::ZERO).await;
    let chunk = [b"10000\r\n", PIECE, b"\r\n"].concat();
    let chunked = raw(format!("{OK}Transfer-Encoding: chunked\r\n\r\n"), chunk, Duration::ZERO).await;

    for (url, serving) in [declared, until_close, chunked] {
        let failure = bench.failure(&url).await;
        assert_failed(&failure, FailureKind::Permanent, "the file is larger than 1 MiB");
        serving.abort();
    }
}

#[tokio::test]
async fn a_file_that_drips_or_never_comes_ends_with_its_time() {
    let bench = Bench::with(&["127.0.0.0/8"], |settings| settings.time = Duration::from_millis(600)).await;
    let drips = raw(format!("{OK}\r\n"), ".", Duration::from_millis(20)).await;
    let silent = raw(String::new(), Bytes::new(), Duration::ZERO).await;
    let stuck = raw(format!("{OK}Content-Length: 100\r\n\r\nhalf"), Bytes::new(), Duration::ZERO).await;

    for (url, serving) in [drips, silent, stuck] {
        let failure = bench.failure(&url).await;
        assert_failed(&failure, FailureKind::Transient, "the file did not arrive within 0.6 s");
        serving.abort();
    }
}

#[tokio::test]
async fn a_file_that_breaks_off_is_tried_again_and_never_kept_in_part() {
    let bench = Bench::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _request = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(format!("{OK}Content-Length: 100\r\n\r\nhalf").as_bytes()).await;
    });

    let failure = bench.failure(&url).await;

    assert_failed(&failure, FailureKind::Transient, "the file did not arrive whole");
}

#[tokio::test]
async fn an_empty_or_a_compressed_file_is_refused() {
    let server = server().await;
    let bench = Bench::new().await;

    let empty = bench.failure(&format!("{}/empty", server.origin())).await;
    let compressed = bench.failure(&format!("{}/gzip", server.origin())).await;

    assert_failed(&empty, FailureKind::Permanent, "the file is empty");
    assert_failed(&compressed, FailureKind::Permanent, "the server compressed the file (gzip)");
}

#[tokio::test]
async fn a_status_says_whether_trying_again_may_help() {
    let server = server().await;
    let bench = Bench::new().await;

    for (status, kind) in [
        (404, FailureKind::Permanent),
        (403, FailureKind::Permanent),
        (410, FailureKind::Permanent),
        (304, FailureKind::Permanent),
        (408, FailureKind::Transient),
        (429, FailureKind::Transient),
        (500, FailureKind::Transient),
        (503, FailureKind::Transient),
    ] {
        let failure = bench.failure(&format!("{}/status/{status}", server.origin())).await;
        assert_failed(&failure, kind, &format!("the server of the file answered {status}"));
    }
    let closed = server.origin();
    drop(server);
    assert_eq!(bench.failure(&closed).await.kind, FailureKind::Transient);
}

#[tokio::test]
async fn no_private_address_is_captured_from_however_it_is_spelled() {
    let server = server().await;
    let bench = Bench::with(&[], |_| {}).await;
    let port = server.port();

    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
        "[fd00:ec2::254]",
    ] {
        let failure = bench.failure(&format!("http://{host}:{port}/notes.md")).await;
        assert_failed(&failure, FailureKind::Permanent, "requests to private addresses are refused");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn only_ports_that_serve_files_are_captured_from() {
    let server = server().await;
    let bench = Bench::new().await;

    for url in [
        "http://127.0.0.1:25/",
        "https://127.0.0.1:22/",
        "http://127.0.0.1:443.:22/",
        "http://127.0.0.1:6000/",
        "http://127.0.0.1:6667/",
        &format!("{}/to?http://127.0.0.1:25/", server.origin()),
        &format!("{}/to?//127.0.0.1:6667/", server.origin()),
    ] {
        let failure = bench.failure(url).await;
        let reason = if url.contains("443.") { "no URL" } else { "is at a port of other services" };
        assert_failed(&failure, FailureKind::Permanent, reason);
    }
}

#[tokio::test]
async fn a_redirect_opens_no_door() {
    // The first server is allowed, and the redirect target is not.
    let server = server().await;
    let bench = Bench::with(&["127.0.0.1/32"], |_| {}).await;
    let via = |to: &str| format!("{}/to?{to}", server.origin());

    for to in
        ["http://127.0.0.2/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "//10.0.0.1/"]
    {
        let failure = bench.failure(&via(to)).await;
        assert_failed(&failure, FailureKind::Permanent, "requests to private addresses are refused");
    }
    for to in ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,x", "javascript:alert(1)"] {
        let failure = bench.failure(&via(to)).await;
        assert_failed(&failure, FailureKind::Permanent, "only http and https are possible");
    }
    assert!(bench.capture(&via("/notes.md")).await.is_ok());
}

#[tokio::test]
async fn a_loop_of_redirects_ends_after_ten() {
    let server = server().await;
    let bench = Bench::new().await;

    let failure = bench.failure(&format!("{}/loop", server.origin())).await;

    assert_failed(&failure, FailureKind::Permanent, "there were ten before it");
    assert_eq!(server.hits("/loop"), 11);
}

#[tokio::test]
async fn what_is_no_address_of_a_file_is_refused_before_anything_is_sent() {
    let bench = Bench::new().await;

    for (url, reason) in [
        ("file:///etc/passwd", "only http and https files can be captured, not file:"),
        ("ftp://files.example/x", "only http and https files can be captured, not ftp:"),
        ("data:text/plain,hello", "only http and https files can be captured, not data:"),
        ("notes.md", "is no URL"),
        ("", "is no URL"),
        ("http://", "is no URL"),
        ("http://ana:secret@files.example/", "user information is not allowed"),
        ("http://files.example:0/", "port 0"),
    ] {
        assert_failed(&bench.failure(url).await, FailureKind::Permanent, reason);
    }
}
