//! Captures: success, storage, permanent failure.

use std::path::Path;
use std::sync::Mutex as Plain;

use tokio::time::Instant;

use kitbag_database::Holder;

use super::*;
use crate::capture::{CaptureFailure, CaptureJob, Captured, FailureKind};
use crate::document::Artifact;
use crate::document_file::DocumentFile;
use crate::store::Read;
use crate::store::tests::file;

#[tokio::test]
async fn the_title_that_a_file_gives_itself_stays_where_none_was_given() {
    let (context, _data) = context().await;
    let url = "https://a.example/annual.pdf";
    let by = |author: &str| NewDocument { author: Some(author.to_owned()), ..file(url, url) };
    let id = &context.ingest("ana", vec![by("Ana")]).await[0];
    let job = context.take(Kind::Capture, "", 1).await.expect("the database works").remove(0);
    let pdf = Artifact { digest: "d".repeat(64), size: 3, media_type: "application/pdf".to_owned() };
    let title = async || {
        let document = context
            .store
            .document(&[Holder::user("ana")], id)
            .await
            .expect("it can be read")
            .expect("it is there");
        (document.summary.title, document.text, document.summary.artifact)
    };

    let kept = context
        .store
        .keep_captured(
            &job,
            &DocumentFile::of_document(pdf.clone()),
            &Read::titled("Annual report", "All is well."),
        )
        .await;
    assert_eq!(kept.expect("the database works"), Ok(true));
    let captured = ("Annual report".to_owned(), "All is well.".to_owned(), Some(pdf.clone()));
    assert_eq!(title().await, captured);

    context.ingest("ana", vec![by("Ben")]).await;
    assert_eq!(title().await, captured, "only the author has changed");
    context.ingest("ana", vec![NewDocument { title: "Mine".to_owned(), ..by("Ben") }]).await;
    assert_eq!(title().await, ("Mine".to_owned(), captured.1, captured.2));
}

/// Runs captures until `ready` returns true, then stops them.
async fn capture_until<C, F>(context: &Context, capture: C, mut ready: impl AsyncFnMut() -> bool)
where
    C: Fn(CaptureJob) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Captured, CaptureFailure>> + Send + 'static,
{
    let running = tokio::spawn(capturing::run(context.clone(), capture));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !ready().await {
        assert!(Instant::now() < deadline, "waited in vain");
        sleep(Duration::from_millis(5)).await;
    }
    running.abort();
}

fn refusal(kind: FailureKind) -> CaptureFailure {
    CaptureFailure { reason: "the file is out".to_owned(), kind, file: None }
}

#[tokio::test]
async fn a_file_that_cannot_be_had_is_asked_for_again_and_its_document_is_found_by_what_is_known_of_it() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", vec![file("Report", "https://a.example/annual.pdf")]).await[0];
    let asked = Arc::new(AtomicUsize::new(0));
    let capture = {
        let asked = asked.clone();
        move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            async { Err(refusal(FailureKind::Transient)) }
        }
    };

    let failed = async || matches!(context.store.state("ana", id).await, State::Failed(_));
    capture_until(&context, capture, failed).await;
    context.index_all(None).await;

    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert_eq!(context.store.state("ana", id).await, State::Failed("the file is out".to_owned()));
    assert_eq!(context.store.count("chunk_texts WHERE text LIKE '%annual pdf%'").await, 1);
    assert_eq!(context.store.job(id).await, None);

    // Ingesting the same document again starts another try.
    context.ingest("ana", vec![file("Report", "https://a.example/annual.pdf")]).await;
    assert_eq!(context.store.job(id).await, Some(("capture".to_owned(), 0)));
}

#[tokio::test]
async fn what_failed_for_want_of_something_is_captured_once_it_is_there() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await[0];
    let failed = async || matches!(context.store.state("ana", id).await, State::Failed(_));
    let capture = |_| async { Err(refusal(FailureKind::NoTranscriber)) };
    capture_until(&context, capture, failed).await;

    assert_eq!(context.store.capture_again(capturing::EXTRACTOR).await.expect("the database works"), 0);
    assert_eq!(context.store.capture_again(capturing::TRANSCRIBER).await.expect("the database works"), 1);

    assert_eq!(context.store.state("ana", id).await, State::Pending);
    assert_eq!(context.store.job(id).await, Some(("capture".to_owned(), 0)));
}

#[tokio::test]
async fn what_lacked_something_is_captured_later_also_when_it_could_not_be_indexed() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await[0];
    let failed = async || matches!(context.store.state("ana", id).await, State::Failed(_));
    capture_until(&context, |_| async { Err(refusal(FailureKind::NoTranscriber)) }, failed).await;

    let job = context.take(Kind::Index, "", 1).await.expect("the database works").remove(0);
    let index_failed = crate::store::Failed { reason: "no index", ..Default::default() };
    let gave_up = context.store.give_up(Kind::Index, &job, index_failed).await.expect("the database works");

    assert!(gave_up);
    assert_eq!(context.store.state("ana", id).await, State::Failed("the file is out".to_owned()));
    assert_eq!(context.store.job(id).await, None);
    assert_eq!(context.store.capture_again(capturing::TRANSCRIBER).await.expect("the database works"), 1);
}

/// File that was just captured.
async fn kept(context: &Context, data: &Path, digest: &str) -> DocumentFile {
    let mut arriving = tempfile::NamedTempFile::new_in(data).expect("the folder is ours");
    std::io::Write::write_all(&mut arriving, b"bytes").expect("the folder is ours");
    let artifact = Artifact { digest: digest.to_owned(), size: 5, media_type: "audio/mpeg".to_owned() };
    DocumentFile::put(&context.artifacts, artifact, arriving.into_temp_path()).await.expect("it can be kept")
}

#[tokio::test]
async fn a_file_that_was_kept_is_not_fetched_again_by_the_next_try() {
    let (context, data) = context().await;
    let id = &context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await[0];
    let digest = "d".repeat(64);
    let had = Arc::new(Plain::new(Vec::new()));
    let capture = {
        let context = context.clone();
        let had = had.clone();
        let folder = data.path().to_owned();
        let digest = digest.clone();
        move |job: CaptureJob| {
            had.lock().expect("no panic").push(job.kept.map(|file| file.digest));
            let context = context.clone();
            let folder = folder.clone();
            let digest = digest.clone();
            async move {
                let file = Some(kept(&context, &folder, &digest).await);
                Err(CaptureFailure { file, ..refusal(FailureKind::Transient) })
            }
        }
    };

    let failed = async || matches!(context.store.state("ana", id).await, State::Failed(_));
    capture_until(&context, capture, failed).await;

    assert_eq!(*had.lock().expect("no panic"), [None, Some(digest.clone()), Some(digest.clone())]);
    assert!(context.artifacts.open(&digest).await.expect("the store answers").is_some());
}

#[tokio::test]
async fn a_file_whose_document_went_while_it_was_captured_goes_as_well() {
    for is_captured in [true, false] {
        let (context, data) = context().await;
        let id = context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await.remove(0);
        let digest = "d".repeat(64);
        let capture = {
            let context = context.clone();
            let folder = data.path().to_owned();
            let digest = digest.clone();
            move |_| {
                let context = context.clone();
                let folder = folder.clone();
                let digest = digest.clone();
                let id = id.clone();
                async move {
                    let file = kept(&context, &folder, &digest).await;
                    context.store.remove("ana", &id).await.expect("it was there");
                    if is_captured {
                        Ok(Captured { file, title: None, text: None, encoding: None })
                    } else {
                        Err(CaptureFailure { file: Some(file), ..refusal(FailureKind::Transient) })
                    }
                }
            }
        };

        let is_gone =
            async || context.store.count("documents").await == 0 && context.store.count("files").await == 0;
        capture_until(&context, capture, is_gone).await;
    }
}

#[tokio::test]
async fn a_file_that_takes_the_server_with_it_is_given_up_in_the_end() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", vec![file("Bomb", "https://a.example/bomb.pdf")]).await[0];

    // As if the server had crashed in each try.
    for begun in 1..=3 {
        let begins = async || context.store.job(id).await == Some(("capture".to_owned(), begun));
        capture_until(&context, |_| std::future::pending(), begins).await;
        assert!(context.store.due(Kind::Capture, "", 9).await.expect("the database works").is_empty());
        // The next process with the same id starts by releasing its jobs.
    }
    let failed = async || matches!(context.store.state("ana", id).await, State::Failed(_));
    capture_until(&context, |_| std::future::pending(), failed).await;

    let expected = State::Failed("the server stopped each time it read the file".to_owned());
    assert_eq!(context.store.state("ana", id).await, expected);
}

#[tokio::test]
async fn a_capture_that_panics_fails_its_document_and_no_more() {
    let (context, _data) = context().await;
    let ids = context
        .ingest("ana", vec![file("A", "https://a.example/a.pdf"), file("B", "https://a.example/b.pdf")])
        .await;
    let capture = |_| async { panic!("a bug") };
    let both_failed = async || {
        matches!(context.store.state("ana", &ids[0]).await, State::Failed(_))
            && matches!(context.store.state("ana", &ids[1]).await, State::Failed(_))
    };

    capture_until(&context, capture, both_failed).await;

    let expected = "the file could not be read: this is a fault of the server".to_owned();
    assert_eq!(context.store.state("ana", &ids[0]).await, State::Failed(expected));
}

#[tokio::test]
async fn a_capture_that_becomes_due_is_begun_while_another_user_keeps_all_of_theirs_busy() {
    let (context, _data) = context().await;
    let files = |name: &str| {
        (0..3).map(|n| file("F", &format!("https://{name}.example/{n}.pdf"))).collect::<Vec<_>>()
    };
    context.ingest("ben", files("ben")).await;
    let put_off = context.take(Kind::Capture, "", 9).await.expect("the database works");
    let jobs: Vec<_> = put_off.into_iter().map(|job| (job, 0)).collect();
    context.store.put_off(Kind::Capture, &jobs, now() + 500).await.expect("the database works");
    context.ingest("ana", files("ana")).await;
    let begun = Arc::new(AtomicUsize::new(0));
    let capture = {
        let begun = begun.clone();
        move |_| {
            begun.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        }
    };

    // No notification is sent.
    capture_until(&context, capture, async || begun.load(Ordering::SeqCst) == 4).await;
}

#[tokio::test]
async fn captures_are_bounded_and_one_user_does_not_have_them_all() {
    let (context, _data) = context().await;
    let files = |name: &str| {
        (0..20).map(|n| file("F", &format!("https://{name}.example/{n}.pdf"))).collect::<Vec<_>>()
    };
    context.ingest("ana", files("ana")).await;
    let under_way = Arc::new(Plain::new(Vec::new()));
    let capture = {
        let under_way = under_way.clone();
        move |job: CaptureJob| {
            under_way.lock().expect("no panic").push(job.file_url.expect("it has one"));
            std::future::pending()
        }
    };
    let count = |name: &str| {
        let urls = under_way.lock().expect("no panic");
        urls.iter().filter(|url| url.contains(name)).count()
    };

    let running = tokio::spawn(capturing::run(context.clone(), capture));
    let wait = async |done: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done() && Instant::now() < deadline {
            sleep(Duration::from_millis(5)).await;
        }
        sleep(Duration::from_millis(50)).await;
    };
    wait(&|| count("ana") == 2).await;
    assert_eq!(count("ana"), 2);
    context.ingest("ben", files("ben")).await;
    context.wakes.capture.notify_one();
    wait(&|| count("ben") == 2).await;
    running.abort();

    assert_eq!((count("ana"), count("ben")), (2, 2));
}
