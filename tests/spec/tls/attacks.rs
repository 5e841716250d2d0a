//! Hostile TLS peers: unfinished or slow handshakes, and other protocols.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::{Certified, json_of};
use crate::harness::{Http, Kitbag, Raw, eventually, within};

/// Header of a TLS record that announces a handshake message of 16 KiB.
const RECORD: [u8; 5] = [22, 3, 1, 0x40, 0];

async fn assert_serves(certified: &Certified, kitbag: &Kitbag) {
    let answer = certified.client().get(kitbag.address(), "/healthz").await.expect("it serves");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_peer_that_says_nothing_or_trickles_is_cut_before_its_handshake_ends() {
    let certified = Certified::new();
    let kitbag =
        certified.kitbag(|settings| settings.request_timeout = "1s".parse().expect("a duration")).await;
    let begun = Instant::now();

    let mut silent = Raw::connect(&kitbag).await;
    let mut half = Raw::connect(&kitbag).await;
    half.write(RECORD).await;
    let mut trickling = Raw::connect(&kitbag).await;
    trickling.write(RECORD).await;
    let trickling = trickling.drip("\u{1}", Duration::from_millis(50));

    let (silent, half, trickling) = tokio::join!(silent.rest(), half.rest(), trickling);
    assert_eq!((silent.as_str(), half.as_str(), trickling.as_str()), ("", "", ""));
    assert!(begun.elapsed() >= Duration::from_secs(1), "they had less than the time they have");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_serves(&certified, &kitbag).await;
}

#[tokio::test]
async fn a_handshake_has_ten_seconds_however_long_a_request_may_take() {
    let certified = Certified::new();
    let kitbag =
        certified.kitbag(|settings| settings.request_timeout = "1h".parse().expect("a duration")).await;
    let begun = Instant::now();

    Raw::connect(&kitbag).await.rest().await;

    assert!((10..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn after_the_handshake_the_head_of_a_request_has_its_time_too() {
    let certified = Certified::new();
    let kitbag =
        certified.kitbag(|settings| settings.request_timeout = "1s".parse().expect("a duration")).await;
    let client = certified.client();

    for text in ["", "GET /healthz HTTP/1.1\r\nHost: "] {
        let mut stream = client.connect(kitbag.address()).await.expect("it is trusted");
        stream.write_all(text.as_bytes()).await.expect("it is open");
        let mut answer = Vec::new();
        // The connection is closed, with or without a close_notify alert.
        let _ = within("the end of the connection", stream.read_to_end(&mut answer)).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn strangers_who_begin_handshakes_without_end_keep_nobody_out() {
    const CONNECTIONS: usize = 24;
    const FLOOD: usize = 3 * CONNECTIONS;

    let certified = Certified::new();
    let kitbag = certified
        .kitbag(|settings| {
            settings.connections = CONNECTIONS;
            settings.connections_per_address = FLOOD;
            settings.trusted_proxies = "".parse().expect("a list");
            settings.request_timeout = "1h".parse().expect("a duration");
        })
        .await;
    let mut kept = certified.client().connect(kitbag.address()).await.expect("it is trusted");
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n", kitbag.address());
    // Only a response proves that the server has completed the handshake too.
    kept.write_all(format!("{head}\r\n").as_bytes()).await.expect("it is open");
    within("the answer", kept.read_u8()).await.expect("it is answered");

    let mut flood = Vec::new();
    for _ in 0..FLOOD {
        let mut connection = Raw::connect_from(&kitbag, Ipv4Addr::new(127, 0, 0, 2)).await;
        connection.write(RECORD).await;
        flood.push(connection);
    }

    assert_serves(&certified, &kitbag).await;
    let open = async |flood: &mut Vec<Raw>| {
        let mut open = 0;
        for connection in flood {
            open += usize::from(!connection.is_closed().await);
        }
        open
    };
    // The request above has evicted one of the flood's handshakes.
    eventually("a quarter is left for handshakes", async || open(&mut flood).await < CONNECTIONS / 4).await;
    // A connection with a completed handshake is not evicted.
    kept.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).await.expect("it is open");
    let mut answer = String::new();
    within("the answer", kept.read_to_string(&mut answer)).await.expect("it is answered");
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_request_in_plain_http_is_told_what_to_do() {
    let certified = Certified::new();
    let kitbag = certified.kitbag(|_| {}).await;
    let host = kitbag.address();

    for request in [
        format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 60000\r\n\r\n{}", "x".repeat(60_000)),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        let mut plain = Raw::connect(&kitbag).await;
        plain.write(&request).await;
        plain.finish().await;

        let answer = plain.rest().await;

        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer:?}");
        let detail = json_of(&answer)["detail"].clone();
        assert!(detail.as_str().is_some_and(|detail| detail.contains("https://")), "{answer}");
    }
    let http = Http::new(format!("http://{host}").parse().expect("a URL"));
    http.get("/toolkits").await.assert_problem(400, "This port speaks HTTPS");
}

/// Writes until the server has closed both directions of the connection.
async fn write_without_end(kitbag: &Kitbag, piece: &[u8], pause: Duration) {
    let mut stream = TcpStream::connect(kitbag.address()).await.expect("it listens");
    while stream.write_all(piece).await.is_ok() {
        sleep(pause).await;
    }
}

#[tokio::test]
async fn plain_http_without_end_is_cut() {
    let certified = Certified::new();
    let kitbag =
        certified.kitbag(|settings| settings.request_timeout = "1s".parse().expect("a duration")).await;
    let begun = Instant::now();

    let slow = write_without_end(&kitbag, b"GET ", Duration::from_millis(50));
    let fast = write_without_end(&kitbag, &[b'G'; 4096], Duration::ZERO);
    within("their end", async { tokio::join!(slow, fast) }).await;

    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_serves(&certified, &kitbag).await;
}

#[tokio::test]
async fn what_is_neither_tls_nor_http_ends_the_connection_alone() {
    let certified = Certified::new();
    let kitbag = certified.kitbag(|_| {}).await;

    let mut oversized = vec![22, 3, 1, 0xff, 0xff];
    oversized.resize(70_000, 1);
    // A handshake message that announces 16 MiB, in valid records.
    let mut endless = Vec::new();
    for number in 0..64_u8 {
        endless.extend([22, 3, 3, 0x40, 0]);
        endless.extend(if number == 0 { [1, 0xff, 0xff, 0xff] } else { [0; 4] });
        endless.extend(std::iter::repeat_n(0, 0x3ffc));
    }
    for bytes in
        [vec![0; 100], vec![0xff; 100], vec![22, 3, 1, 0, 4, 1, 0, 0, 0], vec![22; 300], oversized, endless]
    {
        let mut stranger = Raw::connect(&kitbag).await;
        stranger.write(&bytes).await;
        stranger.finish().await;

        let answer = stranger.rest().await;

        assert!(!answer.contains("HTTP/1.1"), "{answer:?}");
    }
    assert_serves(&certified, &kitbag).await;
}

#[tokio::test]
async fn handshakes_are_counted_by_what_became_of_them() {
    let certified = Certified::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    let kitbag = certified
        .kitbag(|settings| {
            settings.metrics_listen = address.parse().expect("an address");
            settings.request_timeout = "1s".parse().expect("a duration");
        })
        .await;
    let metrics = Http::new(format!("http://{address}").parse().expect("a URL"));

    assert_serves(&certified, &kitbag).await;
    Raw::connect(&kitbag).await.rest().await;
    let mut plain = Raw::connect(&kitbag).await;
    plain.write("GET / HTTP/1.1\r\n\r\n").await;
    plain.finish().await;
    plain.rest().await;
    let mut garbage = Raw::connect(&kitbag).await;
    garbage.write([0; 64]).await;
    garbage.rest().await;

    for result in ["completed", "timeout", "plain-http", "failed"] {
        let line = format!("kitbag_tls_handshakes_total{{result=\"{result}\"}} 1");
        eventually(&line, async || metrics.get("/metrics").await.text().contains(&line)).await;
    }
}
