//! Two processes that repeatedly store and remove the same file.

use std::time::Duration;

use tokio::time::sleep;

use super::*;

const ROUNDS: usize = 500;
const BYTES: &[u8] = b"the same file";

/// Captures the file, reads it while its document exists, and removes the document. Returns how often the
/// file had to be put again, because it was dropped before the document referred to it.
pub(super) async fn capture_and_remove(bench: Bench, name: &'static str, rounds: usize) -> usize {
    let mut again = 0;
    for round in 0..rounds {
        let document = format!("{name}-{round}");
        let (digest, mut held) = bench.put(BYTES).await;
        while !bench.refer(&held, &document).await {
            held = bench.put_again(held, BYTES).await;
            again += 1;
        }
        for wait in [0, 1, 5] {
            sleep(Duration::from_millis(wait)).await;
            let read = bench.read(&digest).await;
            assert_eq!(read.as_deref(), Some(BYTES), "{document} has no file after {wait} ms");
        }
        bench.remove(&document, &digest).await;
    }
    again
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_file_captured_and_its_last_document_deleted_by_two_processes_is_never_missed() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let bucket = Late::new(InMemory::new());
    let one = Bench::over(bucket.clone(), folder.path()).await;
    let other = Bench::over(bucket.clone(), folder.path()).await;

    let (first, second) = tokio::join!(
        tokio::spawn(capture_and_remove(one.clone(), "one", ROUNDS)),
        tokio::spawn(capture_and_remove(other, "other", ROUNDS)),
    );

    first.expect("no reference without a file");
    second.expect("no reference without a file");
    // The janitor ends the remaining leases.
    one.database.execute("UPDATE files SET kept_until = 1").await;
    one.objects.end_overdue().await.expect("it answers");
    bucket.settle().await;
    assert_eq!((bucket.count().await, one.rows().await), (0, vec![]));
}
