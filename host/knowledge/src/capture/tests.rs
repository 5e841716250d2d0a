//! Captures from a real server on loopback, into a real folder.

mod hostile;

use std::future::pending;

use futures::future::join_all;
use futures::{FutureExt, StreamExt, stream};
use http::{Response, StatusCode};
use http_body_util::Full;
use kitbag_database::Database;
use kitbag_files::objects::Objects;
use kitbag_net::egress::EgressSettings;
use kitbag_net::egress::test_server::TestServer;
use tempfile::TempDir;

use super::*;

/// Capture under test, with its data directory.
pub(super) struct Bench {
    capture: Capture,
    data: TempDir,
}

impl Bench {
    /// `opened` are address ranges that the operator allows for captures. Toolkits may access all of
    /// loopback.
    pub(super) async fn with(opened: &[&str], change: impl FnOnce(&mut CaptureSettings)) -> Self {
        let data = tempfile::tempdir().expect("a scratch directory");
        let range = |range: &&str| range.parse().expect("a range");
        let egress = Egress::new(EgressSettings {
            toolkit_ranges: ["127.0.0.0/8", "::1/128"].iter().map(range).collect(),
            capture_ranges: opened.iter().map(range).collect(),
            ..EgressSettings::default()
        });
        let mut settings =
            CaptureSettings { size: 1 << 20, time: Duration::from_secs(20), transcription: None };
        change(&mut settings);
        // Returns its input: the real extractors are tested in the sandbox.
        let extract: Extract = Arc::new(|kind, bytes| {
            let text = format!("{kind:?}: {}", String::from_utf8_lossy(&bytes));
            async move {
                if text.contains("endless") {
                    pending::<()>().await;
                }
                Ok(Extracted { title: Some(" A\ntitle ".to_owned()), text, truncated: false })
            }
            .boxed()
        });
        let database = Database::of_test(data.path()).await;
        let artifacts = Objects::of_test(data.path(), &database).await.artifacts();
        let capture = Capture::open(data.path(), artifacts, egress, settings, extract).await;
        let capture = capture.expect("the folder is ours");
        Self { capture, data }
    }

    pub(super) async fn new() -> Self {
        Self::with(&["127.0.0.0/8"], |_| {}).await
    }

    pub(super) async fn capture(&self, url: &str) -> Result<Captured, CaptureFailure> {
        self.capture.capture(&CaptureJob { file_url: Some(url.to_owned()), ..CaptureJob::default() }).await
    }

    pub(super) async fn failure(&self, url: &str) -> CaptureFailure {
        let failure = self.capture(url).await.expect_err("it must not be captured");
        assert_eq!(self.arriving(), 0, "{url}: what had arrived stays");
        failure
    }

    /// Number of incoming or partially received files.
    pub(super) fn arriving(&self) -> usize {
        std::fs::read_dir(self.data.path().join(ARRIVING)).expect("a folder").count()
    }
}

fn with_type(media_type: &'static str, body: &'static [u8]) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    response.headers_mut().insert("content-type", media_type.parse().expect("a header"));
    response
}

async fn server() -> TestServer {
    TestServer::start(|request| match request.uri.path() {
        "/notes.md" => with_type("application/octet-stream", b"# Notes\n\nSome *words*."),
        "/latin" => with_type("text/plain", b"caf\xe9 cr\xe8me"),
        "/endless" => with_type("text/html", b"<!doctype html>endless"),
        "/page" => with_type("application/pdf", b"<!doctype html><p>A page"),
        "/doc" => with_type("text/plain", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n"),
        "/sound" => with_type("text/plain", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0"),
        "/picture" => with_type("text/plain", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"),
        "/binary" => with_type("text/plain", b"\x01\x02\x03\0\x04 nothing known \xFF\xFE"),
        "/wordperfect" => with_type("text/plain", b"\xFFWPC\x10\0\0\0\x01\x0A"),
        "/excel4" => with_type("text/plain", b"\x09\x04\x06\0\0\0\x10\0\0\0"),
        "/empty" => with_type("text/plain", b""),
        "/blank" => with_type("text/plain", b" \n "),
        "/gzip" => {
            let mut response = with_type("text/plain", b"\x1f\x8b\x08\0\0\0\0\0");
            response.headers_mut().insert("content-encoding", "gzip".parse().expect("a header"));
            response
        }
        path if path.starts_with("/status/") => {
            let mut response = Response::new(Full::from("no"));
            *response.status_mut() = path[8..].parse::<StatusCode>().expect("a status");
            response
        }
        "/to" | "/loop" => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::FOUND;
            let to = request.uri.query().unwrap_or("/loop");
            response.headers_mut().insert("location", to.parse().expect("a header"));
            response
        }
        path => panic!("nothing is at {path}"),
    })
    .await
}

#[tokio::test]
async fn a_file_becomes_text_by_what_its_bytes_are() {
    let server = server().await;
    let bench = Bench::new().await;

    for (path, media_type, title, text) in [
        ("/notes.md", "text/markdown", Some("Notes"), Some("# Notes\n\nSome *words*.")),
        ("/latin", "text/plain", None, Some("café crème")),
        ("/page", "text/html", Some("A title"), Some("Html: <!doctype html><p>A page")),
    ] {
        let captured = bench.capture(&format!("{}{path}", server.origin())).await.expect("a file");

        assert_eq!(captured.file.artifact().media_type, media_type, "{path}");
        assert_eq!((captured.title.as_deref(), captured.text.as_deref()), (title, text), "{path}");
    }
    let pdf = bench.capture(&format!("{}/doc", server.origin())).await.expect("a file");
    assert!(pdf.text.as_ref().is_some_and(|text| text.starts_with("Pdf: %PDF-1.7")));
    assert_eq!(bench.arriving(), 1, "it may have to be stored again");
    drop(pdf);
    assert_eq!(bench.arriving(), 0);
    let asked = &server.requests()[0].headers;
    assert_eq!(asked["accept-encoding"], "identity");
    assert!(asked["user-agent"].to_str().expect("ASCII").starts_with("Mozilla/5.0"));
}

#[tokio::test]
async fn what_cannot_be_read_is_kept_and_says_why() {
    let server = server().await;
    let bench = Bench::new().await;

    for (path, media_type, reason) in [
        ("/picture", "image/png", "it is a picture (image/png)"),
        ("/binary", "application/octet-stream", "it is neither text nor of another kind that can be read"),
        ("/wordperfect", "application/vnd.wordperfect", "a WordPerfect document"),
        ("/excel4", "application/x-excel-4", "a worksheet of Excel 4 or older"),
        ("/blank", "text/plain", "the file holds no text"),
    ] {
        let failure = bench.capture(&format!("{}{path}", server.origin())).await.expect_err(path);

        assert!(failure.reason.contains(reason), "{path}: {}", failure.reason);
        assert_eq!(failure.kind, FailureKind::Permanent, "{path}");
        assert_eq!(failure.file.expect("it is kept").artifact().media_type, media_type, "{path}");
    }
}

#[tokio::test]
async fn what_is_only_to_be_kept_is_kept_and_not_read() {
    let server = server().await;
    let bench = Bench::new().await;
    let file_url = Some(format!("{}/sound", server.origin()));

    let job = CaptureJob { file_url, capture_only: true, ..CaptureJob::default() };
    let captured = bench.capture.capture(&job).await.expect("a file");

    assert_eq!((captured.title, captured.text), (None, None));
    let artifact = captured.file.artifact();
    assert_eq!((artifact.media_type.as_str(), artifact.size), ("audio/wav", 20));
    assert!(bench.capture.artifacts().open(&artifact.digest).await.expect("an answer").is_some());
}

#[tokio::test]
async fn speech_without_a_transcriber_is_kept_and_not_fetched_again() {
    let server = server().await;
    let bench = Bench::new().await;
    let file_url = Some(format!("{}/sound", server.origin()));
    let job = CaptureJob { file_url, ..CaptureJob::default() };

    let failure = bench.capture.capture(&job).await.expect_err("nobody can transcribe it");

    assert_eq!(failure.kind, FailureKind::NoTranscriber);
    assert!(
        failure.reason.starts_with("no transcriber is configured: the file is kept"),
        "{}",
        failure.reason
    );
    let kept = Some(failure.file.expect("it is kept").artifact().clone());
    let again = bench.capture.capture(&CaptureJob { kept, ..job }).await.expect_err("still nobody can");
    assert_eq!(again.kind, FailureKind::NoTranscriber);
    assert_eq!(server.hits("/sound"), 1);
}

#[tokio::test]
async fn no_other_file_waits_for_recordings_that_are_transcribed() {
    let server = server().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it has one");
    let url = format!("http://{address}/v1/audio/transcriptions").parse().expect("a URL");
    let bench = Bench::with(&["127.0.0.0/8"], |settings| {
        settings.transcription =
            Some(TranscriptionSettings { url, model: "whisper-1".to_owned(), key: None });
    })
    .await;
    let sound = format!("{}/sound", server.origin());
    let recording =
        |user: &str| CaptureJob { user: user.into(), file_url: Some(sound.clone()), ..CaptureJob::default() };
    let jobs = ["ana", "ana", "ben"].map(recording);
    let recordings = futures::future::join_all(jobs.iter().map(|job| bench.capture.capture(job)));
    // The service accepts one recording of each user, and does not respond.
    let taken = async {
        let taken = [listener.accept().await, listener.accept().await];
        let url = format!("{}/notes.md", server.origin());
        let notes = bench.capture(&url);
        let notes = tokio::time::timeout(Duration::from_secs(10), notes).await.expect("it waits");
        (taken, notes)
    };

    tokio::select! {
        _ = recordings => panic!("nobody has transcribed them"),
        (_taken, notes) = taken => assert!(notes.expect("a file").text.is_some()),
    }
}

#[tokio::test]
async fn an_upload_goes_the_same_way_as_a_file_that_is_fetched() {
    const PIECE: &[u8] = &[b'x'; 64 << 10];

    let bench = Bench::new().await;
    let upload = |pieces: Vec<&'static [u8]>| stream::iter(pieces).map(|it| Ok::<_, String>(Bytes::from(it)));

    let kept =
        bench.capture.keep(upload(vec![b"a,b\n", b"1,2\n"]), None, Some("table.csv")).await.expect("it fits");
    let job = CaptureJob { kept: Some(kept.artifact().clone()), ..CaptureJob::default() };
    let captured = bench.capture.capture(&job).await.expect("a file");

    assert_eq!(kept.artifact().media_type, "text/csv");
    assert_eq!(captured.text.as_deref(), Some("a,b\n1,2\n"));
    let too_large =
        bench.capture.keep(upload(vec![PIECE; 17]), None, None).await.expect_err("it is too large");
    assert_eq!(too_large.reason, "the file is larger than 1 MiB");
    let broken = stream::iter([Ok(Bytes::from("half")), Err("gone")]);
    let broken = bench.capture.keep(broken, None, None).await.expect_err("it is not whole");
    assert_eq!(broken.kind, FailureKind::Transient);
    drop(kept);
    assert_eq!(bench.arriving(), 0);
}

#[tokio::test]
async fn what_a_crash_left_half_arrived_is_gone_after_the_next_start() {
    let bench = Bench::new().await;
    std::fs::write(bench.data.path().join(ARRIVING).join(".tmp1"), "half").expect("the folder is ours");
    let Parts { artifacts, egress, settings, extract, .. } = &*bench.capture.0;

    let artifacts = artifacts.clone();
    let egress = egress.clone();
    let reopened = Capture::open(bench.data.path(), artifacts, egress, settings.clone(), extract.clone());

    assert!(reopened.await.is_ok());
    assert_eq!(bench.arriving(), 0);
}

#[tokio::test]
async fn files_of_one_user_that_take_long_leave_a_place_to_others() {
    let server = server().await;
    let bench = Bench::new().await;
    let job = |user: &str, path| CaptureJob {
        user: user.into(),
        file_url: Some(format!("{}{path}", server.origin())),
        ..CaptureJob::default()
    };
    let endless = [(); 5].map(|()| job("mallory", "/endless"));
    let of_mallory = join_all(endless.iter().map(|job| bench.capture.capture(job)));
    let of_ana = async {
        while server.requests().len() < 5 {
            tokio::task::yield_now().await;
        }
        // By now the files are being read, or wait for it.
        tokio::time::sleep(Duration::from_millis(200)).await;
        bench.capture.capture(&job("ana", "/page")).await
    };

    let captured = tokio::select! {
        biased;
        _ = of_mallory => unreachable!("these files take for ever"),
        captured = tokio::time::timeout(Duration::from_secs(20), of_ana) => captured,
    };

    let captured = captured.expect("a place is left").expect("a file");
    assert_eq!(captured.text.as_deref(), Some("Html: <!doctype html><p>A page"));
}
