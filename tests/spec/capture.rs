//! Captured files: fetched, stored, and turned into text.

use kitbag::settings::Settings;
use serde_json::json;

use crate::fetch::probe;
use crate::harness::{Files, extractors, pdf};

/// Allows captures from loopback.
pub(crate) fn captures_allowed(settings: &mut Settings) {
    settings.capture_private_ranges = "127.0.0.0/8".parse().expect("a range");
}

/// Allows captures from loopback, and installs the extractors.
pub(crate) fn capturing(settings: &mut Settings) {
    captures_allowed(settings);
    settings.extractors = extractors::folder();
}

#[tokio::test]
async fn files_of_all_kinds_become_text_and_are_kept() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let page = format!(
        "<!doctype html><title>On Tides</title><script>track()</script><nav>Home</nav><article>{}</article>",
        "<p>The moon pulls the sea, and the sea follows it around the earth, for ever and ever.</p>"
            .repeat(9)
    );

    for (path, media_type, bytes) in [
        ("/paper.pdf", "application/pdf", pdf::with_pages("On Ebb", &["The ebb\nis late.", "And low."])),
        ("/page", "text/html", page.into_bytes()),
        ("/notes.md", "application/octet-stream", b"# Notes\n\nSpring tide.".to_vec()),
        ("/table", "text/csv", b"place,height\nBrest,7\n".to_vec()),
        ("/data", "application/json", b"{\"neap\": 3}".to_vec()),
        ("/picture", "text/plain", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec()),
    ] {
        ana.ingest_file(&files.put(path, media_type, bytes), json!({})).await;
    }

    let pdf = kitbag.settled(&files.url("/paper.pdf")).await;
    assert_eq!(pdf.text(), "The ebb\nis late.\n\nAnd low.");
    assert_eq!((pdf.title.as_str(), pdf.artifact_type.as_deref()), ("On Ebb", Some("application/pdf")));
    let page = kitbag.settled(&files.url("/page")).await;
    assert!(page.text().starts_with("The moon pulls") && !page.text().contains("track"), "{page:?}");
    assert_eq!((page.title.as_str(), page.artifact_type.as_deref()), ("On Tides", Some("text/html")));
    for (path, media_type, text) in [
        ("/notes.md", "text/markdown", "# Notes\n\nSpring tide."),
        ("/table", "text/csv", "place,height\nBrest,7\n"),
        ("/data", "application/json", "{\"neap\": 3}"),
    ] {
        let stored = kitbag.settled(&files.url(path)).await;
        assert_eq!((stored.text(), stored.artifact_type.as_deref()), (text, Some(media_type)), "{path}");
        assert!(kitbag.has_artifact(&stored.artifact.expect("it is kept")), "{path}");
    }
    let picture = kitbag.settled(&files.url("/picture")).await;
    assert_eq!((picture.state.as_str(), picture.artifact_type.as_deref()), ("failed", Some("image/png")));
    assert!(kitbag.has_artifact(&picture.artifact.expect("it is kept")));
    assert_eq!(kitbag.files("captures"), [""; 0]);
}

#[tokio::test]
async fn the_same_bytes_of_two_users_are_kept_once() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let (one, two) = (files.put("/one", "text/plain", "same"), files.put("/two", "text/plain", "same"));

    ana.ingest_file(&one, json!({})).await;
    kitbag.as_user("ben").ingest_file(&two, json!({})).await;

    assert_eq!(kitbag.settled(&one).await.artifact, kitbag.settled(&two).await.artifact);
    assert_eq!(kitbag.files("artifacts").len(), 1);
}

#[tokio::test]
async fn a_file_that_is_only_to_be_kept_is_not_read() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let url = files.put("/broken.pdf", "application/pdf", "%PDF-1.7 and nothing that could be read");

    ana.ingest_file(&url, json!({ "captureOnly": true })).await;

    let stored = kitbag.settled(&url).await;
    assert_eq!((stored.text(), stored.artifact_size), ("", Some(39)));
}

#[tokio::test]
async fn without_an_extractor_a_file_waits_until_there_is_one() {
    let files = Files::start().await;
    let empty = tempfile::tempdir().expect("a scratch directory");
    let folder = empty.path().to_owned();
    let (kitbag, ana) = probe(|settings| {
        captures_allowed(settings);
        settings.extractors = folder.clone();
    })
    .await;
    let url = files.put("/page", "text/html", "<html><p>A short page about the tides.");
    ana.ingest_file(&url, json!({})).await;
    let stored = kitbag.settled(&url).await;
    stored.assert_failed("no extractor for text/html is installed: the file is kept");
    assert!(stored.artifact.is_some());

    std::fs::copy(extractors::folder().join("html.wasm"), folder.join("html.wasm")).expect("it is there");
    let kitbag = kitbag.stop().await.start().await;

    assert_eq!(kitbag.settled(&url).await.text(), "A short page about the tides.");
    assert_eq!(files.hits("/page"), 1, "it was kept, and need not be fetched again");
}

#[tokio::test]
async fn a_server_that_has_no_time_is_asked_again() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let url = files.url("/late");

    ana.ingest_file(&url, json!({})).await;
    kitbag.settled(&url).await.assert_failed("the server of the file answered 404");
    files.put("/late", "text/plain", "here it is");
    ana.ingest_file(&url, json!({})).await;

    assert_eq!(kitbag.settled(&url).await.text(), "here it is");
}
