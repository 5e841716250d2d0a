//! Hostile files and file servers: the document ends as `failed` with a human-readable reason, and the server
//! keeps running.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::capture::capturing;
use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{Files, Upstream, gzip, pdf};

#[tokio::test]
async fn hostile_files_fail_with_a_reason_and_the_server_goes_on() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(|settings| {
        capturing(settings);
        settings.extraction_memory = "256MiB".parse().expect("a size");
    })
    .await;
    let good = pdf::with_pages("On Tides", &["The moon pulls the sea.", "Twice a day."]);
    let gigabyte = (1 << 30) / gzip::MAX_MATCH_BYTES;

    let cases: Vec<(&str, &str, Vec<u8>, &str)> = vec![
        (
            "/flate.pdf",
            "application/pdf",
            pdf::flate_bomb(gigabyte),
            "more memory than a file may use (256 MiB)",
        ),
        ("/bombs.pdf", "application/pdf", pdf::bomb_of_bombs(), "more memory than a file may use (256 MiB)"),
        ("/pages.pdf", "application/pdf", pdf::self_referencing_pages(), "damaged: it has no pages"),
        ("/streams.pdf", "application/pdf", pdf::self_referencing_streams(), "the PDF holds no text"),
        ("/half.pdf", "application/pdf", good[..good.len() / 3].to_vec(), "the PDF is damaged: "),
        ("/head.pdf", "application/pdf", good[..12].to_vec(), "the PDF is damaged: "),
        ("/secret.pdf", "application/pdf", pdf::encrypted(), "the PDF is protected by a password"),
        ("/empty.pdf", "application/pdf", Vec::new(), "the file is empty"),
        (
            "/script.html",
            "text/html",
            b"<html><script>document.write('x')</script>".to_vec(),
            "holds no text",
        ),
    ];
    for (path, media_type, bytes, _) in &cases {
        ana.ingest_file(&files.put(path, media_type, bytes.clone()), json!({})).await;
    }

    for (path, _, bytes, reason) in &cases {
        let stored = kitbag.settled(&files.url(path)).await;
        stored.assert_failed(reason);
        assert_eq!(stored.artifact.is_some(), !bytes.is_empty(), "{path}: what was fetched is kept");
    }
    // Deep nesting alone is not an error.
    ana.ingest_file(&files.put("/deep.pdf", "application/pdf", pdf::deep(100_000)), json!({})).await;
    assert_eq!(kitbag.settled(&files.url("/deep.pdf")).await.text(), "deep");
    // The server still captures files and answers calls.
    ana.ingest_file(&files.put("/good.pdf", "application/pdf", good), json!({})).await;
    assert_eq!(
        kitbag.settled(&files.url("/good.pdf")).await.text(),
        "The moon pulls the sea.\n\nTwice a day."
    );
    assert_eq!(ana.call("probe__nothing", json!({})).await.text(), "nothing");
    assert_eq!(kitbag.files("captures"), [""; 0]);
}

#[tokio::test]
async fn odd_files_are_read_as_what_they_are() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let mut nested = "<!doctype html><title>Deep</title><script>evil()</script>".to_owned();
    nested.extend(std::iter::repeat_n("<div><b>", 50_000));
    nested.push_str("the bottom");
    let mut table = String::new();
    (0..1_700_000).for_each(|row| writeln!(table, "{row},a cell with words in it").expect("room"));
    assert!(table.len() > 50 << 20);
    let good = pdf::with_pages("On Tides", &["The moon pulls the sea."]);

    let loops = pdf::self_referencing_table();
    for (path, media_type, bytes, text) in [
        ("/is-pdf.txt", "text/plain", good, "The moon pulls the sea."),
        ("/is-html.pdf", "application/pdf", b"<html><body>Hello there".to_vec(), "Hello there"),
        ("/nested", "text/html", nested.into_bytes(), "the bottom"),
        ("/loops.pdf", "application/pdf", loops, "around"),
        ("/latin", "text/plain; charset=utf-8", b"The caf\xe9 is na\xefve.".to_vec(), "The café is naïve."),
        (
            "/odd",
            "text/markdown",
            b"<p align=center>Kitbag</p> \xFF".to_vec(),
            "<p align=center>Kitbag</p> ÿ",
        ),
    ] {
        let url = files.put(path, media_type, bytes);
        ana.ingest_file(&url, json!({})).await;
        assert_eq!(kitbag.settled(&url).await.text(), text, "{path}");
    }
    let url = files.put("/large.csv", "text/csv", table);
    ana.ingest_file(&url, json!({ "captureOnly": false })).await;
    let stored = kitbag.settled(&url).await;
    assert!(stored.text().len() <= 4 << 20 && stored.text().starts_with("0,a cell"));
    assert!(stored.text().ends_with("beyond 4 MiB, is not indexed.]"));
}

/// Header of a mail, up to the field that says what it contains.
const MAIL: &str = "From: ana@a.example\r\nTo: ben@b.example\r\nSubject: tides\r\n";

/// A mail whose parts stand in each other, `depth` deep.
fn nested_parts(depth: usize) -> String {
    let mut mail = MAIL.to_owned();
    for level in 0..depth {
        write!(mail, "Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n").expect("room");
    }
    mail + "Content-Type: text/plain\r\n\r\nthe bottom\r\n"
}

/// A mail of `count` parts, each with this header and body.
fn many_parts(count: usize, part: &str) -> String {
    let part = format!("--b\r\n{part}\r\n");
    format!("{MAIL}Content-Type: multipart/mixed; boundary=b\r\n\r\n{}--b--\r\n", part.repeat(count))
}

#[tokio::test]
async fn mails_of_any_depth_and_number_of_parts_are_read_or_refused() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(|settings| {
        capturing(settings);
        settings.extraction_memory = "128MiB".parse().expect("a size");
        // The extractor gives way to everything else that the machine does.
        settings.bounds.extraction_time = Duration::from_mins(5);
    })
    .await;
    let within_each_other = format!("{MAIL}Content-Type: message/rfc822\r\n\r\n").repeat(10_000);
    let words = "=?utf-8?b?w6k=?= ".repeat(100_000);

    for (path, mail, text) in [
        ("/deep", nested_parts(10_000), "Subject: tides\nFrom: ana@a.example\nTo: ben@b.example"),
        ("/wide", many_parts(20_000, "\r\nhigh and low"), "high and low"),
        ("/letters", format!("{within_each_other}{MAIL}\r\nthe bottom"), "Subject: tides"),
        ("/line", format!("X-Long: {}\r\n{MAIL}\r\nhigh and low", "x".repeat(1 << 20)), "high and low"),
        ("/fields", format!("{}{MAIL}\r\nhigh and low", "X: x\r\n".repeat(100_000)), "high and low"),
        ("/words", format!("Subject: {words}\r\nFrom: a@a.example\r\n\r\nhigh and low"), "high and low"),
    ] {
        let url = files.put(path, "message/rfc822", mail);
        ana.ingest_file(&url, json!({})).await;
        let stored = kitbag.settled(&url).await;
        assert!(stored.text().contains(text), "{path}: {:.200}", stored.text());
    }
    let letter = format!("Content-Type: message/rfc822\r\n\r\n{MAIL}\r\nx");
    let url = files.put("/full", "message/rfc822", many_parts(100_000, &letter));
    ana.ingest_file(&url, json!({})).await;
    kitbag.settled(&url).await.assert_failed("more memory than a file may use (128 MiB)");
}

#[tokio::test]
async fn servers_of_files_cannot_hold_or_fill_this_one() {
    let files = Files::start().await;
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(|settings| {
        capturing(settings);
        loopback_allowed(settings);
        settings.bounds.capture_time = Duration::from_secs(2);
        settings.capture_size = "4MiB".parse().expect("a size");
    })
    .await;

    for (url, reason) in [
        (files.url("/said-to-be-large"), "the file is larger than 4 MiB"),
        (files.url("/endless"), "the file is larger than 4 MiB"),
        (upstream.url("/bomb"), "the server compressed the file (gzip) although it was asked not to"),
        (upstream.url("/huge-head"), "is larger than 64 KiB"),
        (files.url("/status/410"), "the server of the file answered 410"),
    ] {
        ana.ingest_file(&url, json!({})).await;
        let stored = kitbag.settled(&url).await;
        stored.assert_failed(reason);
        assert_eq!(stored.artifact, None, "{url}");
    }
    // A capture that may succeed later is retried, and does not delay others.
    ana.ingest_file(&files.url("/drip"), json!({})).await;
    ana.ingest_file(&files.put("/after", "text/plain", "after it"), json!({})).await;
    assert_eq!(kitbag.settled(&files.url("/after")).await.text(), "after it");
    assert_eq!(value_of(&ana.fetch(&upstream.url("/hello")).await)["body"], "hello");
}

#[tokio::test]
async fn no_file_is_captured_from_a_private_address_however_it_is_named() {
    let files = Files::start().await;
    // 127.0.0.1 is allowed, so that the redirecting file server can be reached.
    let (kitbag, ana) = probe(|settings| {
        capturing(settings);
        settings.capture_private_ranges = "127.0.0.1/32".parse().expect("a range");
    })
    .await;
    let private = "requests to private addresses are refused";
    let redirect = |to: &str| files.url(&format!("/redirect?{to}"));

    for (url, reason) in [
        ("http://127.0.0.2/".to_owned(), private),
        ("http://0x7f.2/".to_owned(), private),
        ("http://[::1]/".to_owned(), private),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), private),
        ("http://2852039166/".to_owned(), private),
        ("http://10.0.0.1/".to_owned(), private),
        (redirect("http://169.254.169.254/"), private),
        (redirect("http://[::ffff:127.0.0.2]/"), private),
        (redirect("file:///etc/passwd"), "only http and https are possible"),
        (redirect("/redirect?/redirect"), "there were ten before it"),
    ] {
        ana.ingest_file(&url, json!({})).await;
        let stored = kitbag.settled(&url).await;
        stored.assert_failed(reason);
        assert_eq!(stored.artifact, None, "{url}");
    }
}
