//! Files and their rows, in a folder, in a bucket with delayed deletions, and in a bucket of an S3 server.

mod late;
mod races;
mod s3;

use std::io::Write as _;

use futures::TryStreamExt;
use kitbag_base::sha256::Sha256;
use kitbag_database::{Holder, Scope, sql};
use kitbag_net::egress::EgressSettings;
use object_store::memory::InMemory;
use tempfile::{NamedTempFile, TempDir};

use super::*;
use late::Late;

impl Objects {
    async fn at(location: &Location, database: &Database) -> Self {
        let egress = Egress::new(EgressSettings::default());
        Self::open(database.clone(), location, &egress).await.expect("it can be opened")
    }
}

/// Captured files, and documents that refer to them.
#[derive(Clone)]
pub(super) struct Bench {
    database: Database,
    objects: Objects,
    files: Files,
}

impl Bench {
    async fn in_folder() -> (Self, TempDir) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(folder.path()).await;
        let objects = Objects::of_test(folder.path(), &database).await;
        (Self::new(database, objects), folder)
    }

    /// Creates a process with the database of a folder and this bucket.
    async fn over(bucket: Late, folder: &Path) -> Self {
        let database = Database::of_test(folder).await;
        let objects = Objects { rows: Rows::new(database.clone()), bucket: Bucket::over(bucket) };
        Self::new(database, objects)
    }

    pub(super) fn new(database: Database, objects: Objects) -> Self {
        Self { files: objects.artifacts(), objects, database }
    }

    async fn try_put(&self, bytes: &[u8]) -> Result<(String, FileLease), ObjectsError> {
        let mut source = NamedTempFile::new().expect("a scratch file");
        source.write_all(bytes).expect("it is ours");
        let digest = hex::encode(Sha256::digest(bytes));
        let held = self.files.put(&digest, source.path()).await?;
        Ok((digest, held))
    }

    async fn put_again(&self, dropped: FileLease, bytes: &[u8]) -> FileLease {
        let mut source = NamedTempFile::new().expect("a scratch file");
        source.write_all(bytes).expect("it is ours");
        self.files.put_again(dropped, source.path()).await.expect("it can be stored")
    }

    pub(super) async fn put(&self, bytes: &[u8]) -> (String, FileLease) {
        self.try_put(bytes).await.expect("it can be stored")
    }

    /// Stores a document that refers to the file, unless the file was dropped.
    async fn refer(&self, held: &FileLease, document: &str) -> bool {
        let holder = Holder::user(document);
        let mut transaction = self.database.begin(Scope::Holders(&[&holder])).await.expect("nobody keeps it");
        sql("INSERT INTO documents (id, holder, added_by, changed_by, number, source, identity, digest, title, capture_only, artifact,
                 artifact_size, artifact_type, state, revision, created_at, updated_at, text)
             VALUES ($1, $1, $1, $1, 1, 'user', $1, $2, 'T', $3, $4, 1, 'text/plain', 'ready', 1, 0, 0, '')")
        .bind(document)
        .bind(vec![0_u8])
        .bind(false)
        .bind(&held.digest)
        .execute(&mut transaction)
        .await
        .expect("a valid statement");
        let is_there = change_references(&mut transaction, FileKind::Artifact, Some(held), &[]).await;
        let is_there = is_there.expect("a valid statement");
        if is_there {
            transaction.commit().await.expect("it can be committed");
        }
        is_there
    }

    /// Removes a document without ending its file.
    async fn remove_document(&self, document: &str, digest: &str) {
        let holder = Holder::user(document);
        let mut transaction = self.database.begin(Scope::Holders(&[&holder])).await.expect("nobody keeps it");
        let delete = sql("DELETE FROM documents WHERE id = $1").bind(document);
        delete.execute(&mut transaction).await.expect("a valid statement");
        let let_go = [digest.to_owned()];
        let changed = change_references(&mut transaction, FileKind::Artifact, None, &let_go).await;
        changed.expect("a valid statement");
        transaction.commit().await.expect("it can be committed");
    }

    async fn remove(&self, document: &str, digest: &str) {
        self.remove_document(document, digest).await;
        self.files.end(&[digest.to_owned()]).await;
    }

    async fn read(&self, digest: &str) -> Option<Vec<u8>> {
        let opened = self.files.open(digest).await.expect("the store answers")?;
        let pieces: Vec<Bytes> = opened.bytes.try_collect().await.ok()?;
        let bytes = pieces.concat();
        assert_eq!(opened.size, bytes.len() as u64);
        Some(bytes)
    }

    /// Puts a file of more than two parts.
    async fn expect_read_back(&self) {
        let bytes: Vec<u8> =
            (0..12_000_000_u32).map(|number| number.to_le_bytes()[number as usize % 3]).collect();

        let (digest, _held) = self.put(&bytes).await;

        assert!(self.read(&digest).await == Some(bytes.clone()));
        assert_eq!(self.files.read(&digest, 10).await.expect("it is there"), &bytes[..10]);
        assert_eq!(self.files.read(&digest, u64::MAX).await.expect("it is there").len(), bytes.len());
        let (empty, _held) = self.put(b"").await;
        assert_eq!(self.read(&empty).await.as_deref(), Some(&b""[..]));
        assert_eq!(self.files.read(&empty, 10).await.expect("it is there"), Bytes::new());
        assert_eq!(self.read(&"0".repeat(64)).await, None);
        assert!(matches!(self.files.read(&"0".repeat(64), 1).await, Err(ObjectsError::Missing)));
    }

    async fn object(&self, digest: &str) -> Option<String> {
        self.objects.rows.object(FileKind::Artifact, digest).await.expect("it can be read")
    }

    /// Returns object, time and whether it is dropped, for each row.
    async fn rows(&self) -> Vec<(String, i64, bool)> {
        self.database.rows("SELECT object, kept_until, dropped FROM files ORDER BY object").await
    }
}

/// Returns the names of captured files in a folder.
fn names(folder: &TempDir) -> Vec<String> {
    let Ok(folders) = std::fs::read_dir(folder.path().join("artifacts")) else { return Vec::new() };
    let files = folders.flat_map(|it| std::fs::read_dir(it.expect("an entry").path()).expect("a folder"));
    let mut names: Vec<_> =
        files.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn what_was_put_is_read_back_whole_and_in_part() {
    let (bench, _folder) = Bench::in_folder().await;
    bench.expect_read_back().await;
}

#[tokio::test]
async fn the_same_bytes_are_stored_once_and_go_with_the_last_document() {
    let (bench, folder) = Bench::in_folder().await;

    let (digest, first) = bench.put(b"same").await;
    let (_, second) = bench.put(b"same").await;
    assert!(bench.refer(&first, "ana").await && bench.refer(&second, "ben").await);
    assert_eq!((names(&folder).len(), bench.rows().await.len()), (1, 1));

    bench.remove("ana", &digest).await;
    assert_eq!(bench.read(&digest).await.as_deref(), Some(&b"same"[..]));
    assert_eq!(bench.rows().await[0].1, 0, "ben needs it");

    bench.remove("ben", &digest).await;
    assert_eq!((names(&folder), bench.rows().await, bench.read(&digest).await), (vec![], vec![], None));
}

#[tokio::test]
async fn a_file_that_somebody_holds_is_not_dropped() {
    let (bench, folder) = Bench::in_folder().await;
    let (digest, first) = bench.put(b"bytes").await;
    let (_, second) = bench.put(b"bytes").await;

    bench.files.end(std::slice::from_ref(&digest)).await;
    bench.files.give_up(second).await;
    assert_eq!(names(&folder).len(), 1, "the first may still be relied on");

    assert!(bench.refer(&first, "ana").await);
    bench.remove("ana", &digest).await;
    assert_eq!(names(&folder), [""; 0]);
}

#[tokio::test]
async fn a_file_that_was_put_in_vain_goes_unless_a_document_has_it() {
    let (bench, folder) = Bench::in_folder().await;
    let (digest, held) = bench.put(b"bytes").await;
    bench.files.give_up(held).await;
    assert_eq!((names(&folder), bench.rows().await), (vec![], vec![]));

    let (_, held) = bench.put(b"bytes").await;
    assert!(bench.refer(&held, "ana").await);
    let (_, in_vain) = bench.put(b"bytes").await;
    bench.files.give_up(in_vain).await;

    assert_eq!(bench.read(&digest).await.as_deref(), Some(&b"bytes"[..]));
}

#[tokio::test]
async fn nothing_refers_to_a_file_that_was_dropped_and_the_next_object_has_another_name() {
    let (bench, _folder) = Bench::in_folder().await;
    let (digest, late) = bench.put(b"bytes").await;
    let (_, quick) = bench.put(b"bytes").await;
    let before = bench.object(&digest).await;
    assert!(bench.refer(&quick, "ana").await);
    bench.remove("ana", &digest).await;

    assert!(!bench.refer(&late, "ben").await, "it is gone");
    let (_, again) = bench.put(b"bytes").await;

    assert_ne!(bench.object(&digest).await, before);
    assert!(bench.refer(&again, "ben").await);
    assert_eq!(bench.read(&digest).await.as_deref(), Some(&b"bytes"[..]));
}

#[tokio::test]
async fn what_a_process_leaves_behind_at_any_step_is_ended_and_what_is_needed_stays() {
    let (bench, folder) = Bench::in_folder().await;
    let expire = "UPDATE files SET kept_until = 1 WHERE kept_until > 0";
    // Killed before a row referred to the file.
    let (_, unused) = bench.put(b"unused").await;
    // Killed after the document was removed, and before the file was ended.
    let (removed, held) = bench.put(b"removed").await;
    assert!(bench.refer(&held, "ana").await);
    bench.remove_document("ana", &removed).await;
    // Killed before the object was deleted.
    let (dropped, held) = bench.put(b"dropped").await;
    bench.objects.rows.release(&held.lease).await.expect("it can be written");
    let object = bench.objects.rows.drop_unless_needed(FileKind::Artifact, &dropped).await;
    assert!(object.expect("it can be written").is_some());
    // Put again although a document already refers to it.
    let (needed, held) = bench.put(b"needed").await;
    assert!(bench.refer(&held, "ben").await);
    bench.put(b"needed").await;

    let early = bench.objects.end_overdue().await.expect("the folder is ours");
    assert_eq!((early, names(&folder).len()), (1, 3), "nobody waits for what was removed");
    drop(unused);
    bench.database.execute(expire).await;
    let ended = bench.objects.end_overdue().await.expect("the folder is ours");

    assert_eq!((ended, names(&folder).len()), (2, 1));
    assert_eq!(bench.read(&needed).await.as_deref(), Some(&b"needed"[..]));
    let rows = bench.rows().await;
    assert!(rows.len() == 1 && rows[0].1 == 0, "{rows:?}");
}

#[tokio::test]
async fn what_a_crash_left_half_written_goes_with_its_object() {
    let (bench, folder) = Bench::in_folder().await;
    let (digest, held) = bench.put(b"whole").await;
    let object = bench.object(&digest).await.expect("it was put");
    for number in 1..=2 {
        std::fs::write(folder.path().join(format!("{object}#{number}")), "who").expect("it is ours");
    }

    bench.files.give_up(held).await;

    assert_eq!(names(&folder), [""; 0]);
}

#[tokio::test]
async fn what_is_not_among_the_rows_is_never_deleted() {
    let (bench, folder) = Bench::in_folder().await;
    let stray = folder.path().join(FileKind::Artifact.new_object(&"d".repeat(64)));
    std::fs::create_dir_all(stray.parent().expect("a folder")).expect("it is ours");
    std::fs::write(&stray, "of another server").expect("it is ours");

    bench.objects.end_overdue().await.expect("the folder is ours");
    let _reopened = Objects::of_test(folder.path(), &bench.database).await;
    bench.objects.end_overdue().await.expect("the folder is ours");

    assert!(stray.exists());
}

#[tokio::test]
async fn while_the_bucket_fails_nothing_is_stored_and_it_is_said() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let bucket = Late::new(InMemory::new());
    let bench = Bench::over(bucket.clone(), folder.path()).await;
    let (digest, held) = bench.put(b"before").await;
    assert!(bench.refer(&held, "ana").await);

    bucket.fail(true);
    let refused = bench.try_put(b"while").await.expect_err("it does not answer");
    assert!(matches!(refused, ObjectsError::Unavailable(_)), "{refused}");
    assert!(bench.files.open(&digest).await.is_err());
    bench.remove("ana", &digest).await;
    assert!(bench.objects.end_overdue().await.is_ok(), "its deletion is tried again later");

    bucket.fail(false);
    bench.database.execute("UPDATE files SET kept_until = 1").await;
    bench.objects.end_overdue().await.expect("it answers again");
    bucket.settle().await;
    assert_eq!((bucket.count().await, bench.rows().await), (0, vec![]));
}
