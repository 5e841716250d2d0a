use tempfile::TempDir;

use super::*;

use crate::sha256::Sha256;

async fn store() -> (TempDir, Artifacts) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let artifacts = Artifacts::open(data.path()).await.expect("the folder is ours");
    (data, artifacts)
}

async fn put(data: &TempDir, artifacts: &Artifacts, bytes: &[u8]) -> (String, Hold) {
    let file = data.path().join("arriving");
    std::fs::write(&file, bytes).expect("the folder is ours");
    let digest = hex::encode(Sha256::digest(bytes));
    let hold = artifacts.put_file(&digest, &file).await.expect("it can be kept");
    (digest, hold)
}

async fn read(artifacts: &Artifacts, digest: &str) -> Option<Vec<u8>> {
    let opened = artifacts.open_file(digest).await.expect("the store answers")?;
    let pieces: Vec<Bytes> = opened.bytes.try_collect().await.expect("it can be read");
    let bytes = pieces.concat();
    assert_eq!(opened.size, bytes.len() as u64);
    Some(bytes)
}

fn files(data: &TempDir) -> Vec<String> {
    let folders = std::fs::read_dir(data.path().join(FOLDER)).expect("a folder");
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder.expect("an entry").path()).expect("a folder"));
    files.map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn what_was_kept_is_read_back_whole_and_in_part() {
    let (data, artifacts) = store().await;
    let bytes: Vec<u8> =
        (0..12_000_000_u32).map(|number| number.to_le_bytes()[number as usize % 3]).collect();

    let (digest, _hold) = put(&data, &artifacts, &bytes).await;

    assert!(read(&artifacts, &digest).await == Some(bytes.clone()));
    assert_eq!(artifacts.read(&digest, 10).await.expect("it is there"), &bytes[..10]);
    assert_eq!(artifacts.read(&digest, u64::MAX).await.expect("it is there").len(), bytes.len());
    assert_eq!(read(&artifacts, &"0".repeat(64)).await, None);
}

#[tokio::test]
async fn the_same_bytes_are_kept_once() {
    let (data, artifacts) = store().await;

    let (one, _first) = put(&data, &artifacts, b"same").await;
    let (two, _second) = put(&data, &artifacts, b"same").await;

    assert_eq!(one, two);
    assert_eq!(files(&data), [one]);
}

#[tokio::test]
async fn a_file_is_removed_unless_it_is_being_captured_again() {
    let (data, artifacts) = store().await;
    let (digest, first) = put(&data, &artifacts, b"bytes").await;
    let (_, second) = put(&data, &artifacts, b"bytes").await;

    drop(first);
    artifacts.remove(&digest).await.expect("nothing is to be done");
    assert!(read(&artifacts, &digest).await.is_some());

    drop(second);
    artifacts.remove(&digest).await.expect("it can be removed");
    artifacts.remove(&digest).await.expect("what is not there need not be removed");
    assert_eq!(read(&artifacts, &digest).await, None);
}

#[tokio::test]
async fn a_file_that_comes_again_while_it_is_being_removed_is_kept_anew() {
    let (data, artifacts) = store().await;
    let (digest, _) = put(&data, &artifacts, b"bytes").await;
    let removing = artifacts.begin_removal(&digest).expect("nobody holds it");

    let mut again = std::pin::pin!(put(&data, &artifacts, b"bytes"));
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), &mut again).await;
    assert!(early.is_err(), "it takes for kept what is about to go");
    artifacts.store.delete(&place(&digest)).await.expect("it can be removed");
    drop(removing);
    let _hold = again.await;

    assert!(read(&artifacts, &digest).await.is_some());
    assert!(artifacts.begin_removal(&digest).is_none(), "it is held");
}

#[tokio::test]
async fn a_sweep_leaves_what_is_referred_to_and_what_is_held() {
    let (data, artifacts) = store().await;
    let (kept, _) = put(&data, &artifacts, b"kept").await;
    let (gone, _) = put(&data, &artifacts, b"gone").await;
    let (held, _hold) = put(&data, &artifacts, b"held").await;

    artifacts.sweep(&HashSet::from([kept.clone()])).await;

    assert!(read(&artifacts, &kept).await.is_some() && read(&artifacts, &held).await.is_some());
    assert_eq!(read(&artifacts, &gone).await, None);
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_gone_after_the_next_start() {
    let (data, artifacts) = store().await;
    let (digest, _) = put(&data, &artifacts, b"whole").await;
    let half = data.path().join(FOLDER).join(&digest[..2]).join(format!("{digest}#1"));
    std::fs::write(half, "who").expect("the folder is ours");

    let artifacts = Artifacts::open(data.path()).await.expect("the folder is ours");

    assert_eq!(files(&data), std::slice::from_ref(&digest));
    assert_eq!(read(&artifacts, &digest).await, Some(b"whole".to_vec()));
}
