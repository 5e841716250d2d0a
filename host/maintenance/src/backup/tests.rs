//! Backups and restores of a real database, with files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use std::path::{Path, PathBuf};

use kitbag_base::folder::Folder;
use kitbag_base::sha256::Sha256;
use kitbag_database::Scope;
use kitbag_files::stored_files::{FileKind, has_unfinished_restore};

use super::manifest::StoredFile;
use super::*;

/// A data directory with a database and files, and a folder for its backups.
struct Scratch {
    directory: tempfile::TempDir,
    database: Database,
}

fn name_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Returns the statement that stores a document with this captured file.
fn document(id: &str, file: &str) -> String {
    format!(
        "INSERT INTO documents (id, holder, added_by, changed_by, number, source, identity, digest, title, capture_only, artifact,
             artifact_size, artifact_type, state, revision, created_at, updated_at, text)
         VALUES ('{id}', 'user:ana', 'ana', 'ana', (SELECT ifnull(max(number), 0) + 1 FROM documents), 'user', '{id}', x'00', 'T', 0,
             '{file}', 1, 'text/plain', 'ready', 1, 0, 0, 'text of {id}')"
    )
}

/// Returns the statement that stores the object of a file.
fn kept(kind: FileKind, digest: &str) -> String {
    let object = kind.plain_object(digest);
    let name = kind.name(digest);
    format!("INSERT OR IGNORE INTO files VALUES ('{object}', '{name}', 0, 0)")
}

impl Scratch {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let data = directory.path().join("data");
        fs::create_dir(&data).expect("a folder");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let database = Database::open(&data).await.expect("a database");
        Self { directory, database }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Stores a captured file as a server does: first the file, then its document.
    async fn capture(&self, id: &str, bytes: &[u8]) -> PathBuf {
        let file = self.write(bytes);
        let name = name_of(bytes);
        let insert = format!("{}; {}", kept(FileKind::Artifact, &name), document(id, &name));
        self.database.execute(&insert).await;
        file
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        let name = name_of(bytes);
        let folder = self.path("data/artifacts").join(&name[..2]);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(".new"), bytes).expect("a file");
        fs::rename(folder.join(".new"), folder.join(&name)).expect("it is ours");
        folder.join(name)
    }

    fn job(&self) -> Job {
        Job {
            data: self.path("data"),
            files: self.path("data"),
            folder: self.path("backups"),
            master_key: Some(self.path("data/master-key")),
            master_key_source: "a file".to_owned(),
            keys: KeyCopies::LeftOut,
            keep: None,
        }
    }

    async fn back_up(&self) -> Created {
        create(&self.job(), &mut |_, _, _| {}).await.expect("it can be backed up")
    }

    fn restore_job(&self) -> RestoreJob {
        RestoreJob {
            folder: self.path("backups"),
            name: None,
            purpose: Purpose::Restore(self.path("restored")),
            damaged: Damaged::Refused,
        }
    }

    async fn restore(&self) -> Result<Restored, BackupError> {
        restore(&self.restore_job(), &mut |_, _, _| {}).await
    }

    /// Asserts that a restore fails with an error that contains `words`, and writes no files.
    async fn assert_refused(&self, words: &str) {
        let refused = self.restore().await.expect_err("it is refused").to_string();
        assert!(refused.contains(words), "no {words:?} in {refused:?}");
        let placed = fs::read_dir(self.path("restored")).map_or(0, Iterator::count);
        assert_eq!(placed, 0, "something was put in place");
    }

    /// Returns the path of the file with these bytes in the backups.
    fn backed_up(&self, bytes: &[u8]) -> PathBuf {
        let name = name_of(bytes);
        self.path("backups/files").join(&name[..2]).join(name)
    }
}

fn flip_a_byte(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("it is ours");
}

#[tokio::test]
async fn what_is_restored_is_what_was_backed_up() {
    let scratch = Scratch::new().await;
    for (id, bytes) in [("d1", &b"one"[..]), ("d2", b"two"), ("d3", b"one")] {
        scratch.capture(id, bytes).await;
    }
    let component = name_of(b"component");
    let version = format!(
        "INSERT INTO toolkits VALUES ('t', 'op', '1.0.0');
         INSERT INTO toolkit_versions VALUES ('t', '1.0.0', '{component}', 9, '{{}}', '{{}}', '[]', 'op', 0);"
    );
    fs::create_dir(scratch.path("data/components")).expect("a folder");
    fs::write(scratch.path("data/components").join(format!("{component}.wasm")), "component")
        .expect("a file");
    scratch.database.execute(&version).await;
    scratch.database.execute(&kept(FileKind::Component, &component)).await;

    let created = scratch.back_up().await;
    let restored = scratch.restore().await.expect("it is whole");

    let counts = Counts { documents: 3, toolkit_versions: 1, files: 3, ..Counts::default() };
    assert_eq!((created.manifest.counts, created.new_files, created.new_bytes), (counts, 3, 15));
    assert_eq!((restored.name, &restored.manifest), (created.name, &created.manifest));
    let database = Database::open(&scratch.path("restored")).await.expect("it opens");
    assert_eq!(database.all_rows().await, scratch.database.all_rows().await);
    let copy = |data| {
        let object = FileKind::Component.plain_object(&component);
        FileKind::Component.open(&Folder::open(&scratch.path(data)).expect("a folder"), &object)
    };
    assert!(copy("data").is_ok() && copy("restored").is_ok());
    for bytes in [b"one", b"two"] {
        let name = name_of(bytes);
        let file = scratch.path("restored/artifacts").join(&name[..2]).join(name);
        assert_eq!(fs::read(file).expect("a file"), bytes);
    }
    assert!(!has_unfinished_restore(&scratch.path("restored")));
    assert!(matches!(scratch.restore().await, Err(BackupError::NotEmpty { .. })));
}

#[tokio::test]
async fn a_file_is_copied_once_and_goes_with_the_last_backup_that_has_it() {
    let scratch = Scratch::new().await;
    let first = scratch.capture("d1", b"one").await;
    scratch.capture("d2", b"two").await;
    scratch.back_up().await;
    scratch.database.execute("DELETE FROM documents WHERE id = 'd1'").await;
    fs::remove_file(first).expect("it is ours");

    let second = scratch.back_up().await;
    assert_eq!((second.new_files, scratch.backed_up(b"one").exists()), (0, true));
    let job = Job { keep: std::num::NonZeroUsize::new(1), ..scratch.job() };
    let third = create(&job, &mut |_, _, _| {}).await.expect("it can be backed up");

    assert_eq!(third.removed.expect("they are ours").len(), 2);
    assert_eq!((scratch.backed_up(b"one").exists(), scratch.backed_up(b"two").exists()), (false, true));
    let names: Vec<_> =
        list(&scratch.path("backups")).expect("a folder").into_iter().map(|it| it.name).collect();
    assert_eq!(names, [third.name]);
    scratch.restore().await.expect("it is whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_backup_is_complete_although_files_come_and_go_while_it_is_made() {
    let scratch = Arc::new(Scratch::new().await);
    for number in 0..50 {
        scratch.capture(&format!("d{number}"), format!("file {number}").as_bytes()).await;
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let removed = Arc::new(AtomicU64::new(0));
    // Same order as in a server: files are written before their rows, and removed after them.
    let come_and_go = |first: u64| {
        let scratch = scratch.clone();
        let stopped = stopped.clone();
        let removed = removed.clone();
        tokio::spawn(async move {
            let mut number = first;
            while !stopped.load(Ordering::Relaxed) {
                let id = format!("n{number}");
                let bytes = format!("short-lived {number}");
                let file = scratch.capture(&id, bytes.as_bytes()).await;
                tokio::time::sleep(Duration::from_millis(number % 7)).await;
                scratch.database.execute(&format!("DELETE FROM documents WHERE id = '{id}'")).await;
                let lock = scratch.database.begin(Scope::AllHolders).await.expect("nobody keeps it");
                fs::remove_file(file).expect("it is ours");
                lock.roll_back().await.expect("nothing was written");
                removed.fetch_add(1, Ordering::Relaxed);
                number += 3;
            }
        })
    };
    let tasks: Vec<_> = (0..3).map(come_and_go).collect();

    for _ in 0..15 {
        let before = removed.load(Ordering::Relaxed);
        let created = scratch.back_up().await;
        assert_eq!(created.manifest.missing_files, [""; 0], "a file was removed before it was copied");
        assert!(created.manifest.counts.files >= 50);
        let check = RestoreJob { purpose: Purpose::Check, ..scratch.restore_job() };
        restore(&check, &mut |_, _, _| {}).await.expect("it is whole");
        assert!(removed.load(Ordering::Relaxed) > before, "nothing went away meanwhile");
    }
    stopped.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no panic");
    }
}

#[tokio::test]
async fn what_is_missing_in_the_data_directory_is_listed_and_does_not_keep_the_rest_from_being_saved() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    let missing = scratch.capture("d2", b"missing").await;
    let damaged = scratch.capture("d3", b"damaged").await;
    let linked = scratch.capture("d4", b"linked").await;
    fs::remove_file(&missing).expect("it is ours");
    flip_a_byte(&damaged);
    fs::rename(&linked, scratch.path("elsewhere")).expect("it is ours");
    symlink(scratch.path("elsewhere"), &linked).expect("a link");

    let created = scratch.back_up().await;

    let mut expected: Vec<_> = [missing, damaged, linked]
        .map(|path| path.strip_prefix(scratch.path("data")).expect("it was there").display().to_string())
        .into();
    expected.sort();
    assert_eq!(created.manifest.missing_files, expected);
    assert_eq!(created.new_files, 1);
    assert!(!scratch.backed_up(b"linked").exists());
    assert_eq!(scratch.restore().await.expect("the rest is whole").left_out, 0);
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored_unless_the_rest_is_asked_for() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    scratch.capture("d2", b"two").await;
    let created = scratch.back_up().await;
    let file = scratch.backed_up(b"one");
    let whole = fs::read(&file).expect("a file");

    flip_a_byte(&file);
    scratch.assert_refused("missing or damaged: 1").await;
    fs::remove_file(&file).expect("it is ours");
    scratch.assert_refused("missing or damaged: 1").await;
    fs::write(scratch.path("whole"), &whole).expect("a file");
    symlink(scratch.path("whole"), &file).expect("a link");
    scratch.assert_refused("missing or damaged: 1").await;

    for (damaged, words) in
        [(DATABASE, "is damaged: its bytes"), ("manifest.json", "manifest.json is damaged")]
    {
        let path = created.folder.join(damaged);
        let whole = fs::read(&path).expect("a file");
        fs::write(&path, &whole[..whole.len() / 2]).expect("it is ours");
        let job = RestoreJob { name: Some(created.name.clone()), ..scratch.restore_job() };
        let refused = restore(&job, &mut |_, _, _| {}).await.expect_err("it is refused").to_string();
        assert!(refused.contains(words), "{refused}");
        fs::write(&path, whole).expect("it is ours");
    }
    flip_a_byte(&created.folder.join(DATABASE));
    scratch.assert_refused(&format!("{DATABASE} is damaged")).await;
    flip_a_byte(&created.folder.join(DATABASE));

    let job = RestoreJob { damaged: Damaged::LeftOut, ..scratch.restore_job() };
    let restored = restore(&job, &mut |_, _, _| {}).await.expect("the rest is whole");
    assert_eq!(restored.left_out, 1);
    let name = name_of(b"one");
    assert!(!scratch.path("restored/artifacts").join(&name[..2]).join(name).exists());
}

#[tokio::test]
async fn a_backup_of_a_newer_schema_or_format_is_refused_and_one_of_another_database_too() {
    let scratch = Scratch::new().await;
    let created = scratch.back_up().await;
    let path = created.folder.join("manifest.json");
    let write = |manifest: &Manifest| {
        fs::write(&path, serde_json::to_vec(manifest).expect("JSON")).expect("it is ours");
    };

    write(&Manifest { schema: created.manifest.schema + 1, ..created.manifest.clone() });
    assert!(matches!(scratch.restore().await, Err(BackupError::Newer { .. })));
    write(&Manifest { schema: created.manifest.schema - 1, ..created.manifest.clone() });
    scratch.assert_refused("describes another database").await;
    write(&Manifest { counts: Counts { documents: 7, ..Counts::default() }, ..created.manifest.clone() });
    scratch.assert_refused("describes another database").await;
    write(&Manifest { format: 2, ..created.manifest.clone() });
    scratch.assert_refused("no complete backup").await;
    let outside = StoredFile { name: "../../data/file".to_owned(), size: 0, sha256: String::new() };
    write(&Manifest { keys: vec![outside.clone()], ..created.manifest.clone() });
    scratch.assert_refused("no complete backup").await;
    write(&Manifest { database: outside, ..created.manifest.clone() });
    scratch.assert_refused("no complete backup").await;
    write(&created.manifest);
    scratch.restore().await.expect("it is whole");
}

#[tokio::test]
async fn the_newest_backup_that_is_complete_is_restored_and_newer_ones_are_named() {
    let scratch = Scratch::new().await;
    let first = scratch.back_up().await;
    let second = scratch.back_up().await;
    fs::write(second.folder.join("manifest.json"), "{").expect("it is ours");
    fs::create_dir(scratch.path("backups/2999-01-01T00-00-00Z.unfinished")).expect("a folder");

    let restored = scratch.restore().await.expect("the first is whole");

    assert_eq!(restored.name, first.name);
    assert_eq!(restored.passed_over.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&second.name]);
}

#[tokio::test]
async fn an_interrupted_restore_goes_on_and_no_other_directory_is_touched() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    scratch.back_up().await;
    scratch.restore().await.expect("it is whole");
    let restored = scratch.path("restored");
    // The state after a crash before the last step.
    fs::remove_file(restored.join(DATABASE)).expect("it is ours");
    fs::write(restored.join("restore-unfinished"), "").expect("a file");
    fs::write(restored.join("restore-incoming"), "a part").expect("a file");
    assert!(has_unfinished_restore(&restored));

    scratch.restore().await.expect("it goes on");

    assert!(!has_unfinished_restore(&restored) && restored.join(DATABASE).exists());
    assert!(!restored.join("restore-incoming").exists());
    fs::write(scratch.path("file"), "").expect("a file");
    let job = RestoreJob { purpose: Purpose::Restore(scratch.path("file")), ..scratch.restore_job() };
    assert!(matches!(restore(&job, &mut |_, _, _| {}).await, Err(BackupError::Directory(_))));
}

#[tokio::test]
async fn a_backup_that_fails_leaves_the_earlier_ones_as_they_were() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    let first = scratch.back_up().await;
    let names = || {
        let mut names: Vec<_> = fs::read_dir(scratch.path("backups"))
            .expect("a folder")
            .map(|it| it.expect("one").file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let root = rustix::process::geteuid().is_root();

    // A database that is damaged beyond its first pages.
    scratch.capture("d2", b"two").await;
    let long = format!("UPDATE documents SET text = '{}'", "x".repeat(200_000));
    scratch.database.execute(&long).await;
    scratch.database.close().await;
    let path = scratch.path("data").join(DATABASE);
    let mut bytes = fs::read(&path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xff);
    fs::write(&path, bytes).expect("it is ours");
    let failed = create(&scratch.job(), &mut |_, _, _| {}).await.expect_err("it is damaged");

    assert!(
        matches!(failed, BackupError::Damaged(_) | BackupError::Database(_) | BackupError::Copy(_)),
        "{failed}"
    );
    assert_eq!(names(), before);
    scratch.restore().await.expect("the first is whole");
    if !root {
        fs::set_permissions(scratch.path("backups"), fs::Permissions::from_mode(0o500)).expect("it is ours");
        let failed = create(&scratch.job(), &mut |_, _, _| {}).await.expect_err("it cannot be written");
        fs::set_permissions(scratch.path("backups"), fs::Permissions::from_mode(0o700)).expect("it is ours");
        assert!(failed.to_string().contains("ermission denied"), "{failed}");
    }
    assert_eq!(list(&scratch.path("backups")).expect("a folder")[0].name, first.name);
}

#[tokio::test]
async fn databases_of_other_versions_of_the_program_are_refused() {
    let scratch = Scratch::new().await;
    scratch.database.claim_schema(9999).await;

    let refused = create(&scratch.job(), &mut |_, _, _| {}).await.expect_err("it is newer");

    assert!(matches!(refused, BackupError::Schema { found: 9999, .. }), "{refused}");
    fs::remove_file(scratch.path("data").join(DATABASE)).expect("it is ours");
    let refused = create(&scratch.job(), &mut |_, _, _| {}).await.expect_err("there is none");
    assert!(matches!(refused, BackupError::NoDatabase(_)), "{refused}");
}

#[tokio::test]
async fn keys_are_part_of_a_backup_only_where_that_is_asked_for() {
    let scratch = Scratch::new().await;
    for (name, text) in [("master-key", hex::encode([7; 32])), ("local-issuer.p8", "key".to_owned())] {
        let path = scratch.path("data").join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    }
    let without = scratch.back_up().await;
    assert!(without.manifest.keys.is_empty() && !without.folder.join("keys").exists());

    let job = Job { keys: KeyCopies::Included, ..scratch.job() };
    let with = create(&job, &mut |_, _, _| {}).await.expect("it can be backed up");

    let names: Vec<_> = with.manifest.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["master-key", "local-issuer.p8"]);
    flip_a_byte(&with.folder.join("keys/master-key"));
    scratch.assert_refused("master-key is damaged").await;
    flip_a_byte(&with.folder.join("keys/master-key"));
    scratch.restore().await.expect("it is whole");
    for name in names {
        let [before, after] = ["data", "restored"].map(|data| scratch.path(data).join(name));
        assert_eq!(fs::read(&before).expect("a key"), fs::read(&after).expect("a key"));
        assert_eq!(fs::metadata(&after).expect("a key").permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn everything_in_a_backup_is_its_owners_alone() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    scratch.back_up().await;

    let mut folders = vec![scratch.path("backups")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let (path, metadata) =
                entry.map(|it| (it.path(), it.metadata().expect("it is there"))).expect("an entry");
            assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
            seen += 1;
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(seen > 6, "{seen}");
}

#[tokio::test]
async fn a_database_with_code_of_somebody_else_is_neither_restored_nor_backed_up() {
    let scratch = Scratch::new().await;
    scratch.capture("d1", b"one").await;
    let created = scratch.back_up().await;
    let database = created.folder.join(DATABASE);
    let whole = fs::read(&database).expect("a file");
    for (planted, named) in [
        ("CREATE TRIGGER evil AFTER INSERT ON documents BEGIN DELETE FROM documents; END", "trigger evil"),
        ("CREATE INDEX evil ON documents (title)", "index evil"),
        ("ALTER TABLE issuers RENAME TO mine; CREATE VIEW issuers AS SELECT * FROM mine", "view issuers"),
    ] {
        fs::write(&database, &whole).expect("it is ours");
        let changed = Database::open_existing(&created.folder).await.expect("a database");
        changed.execute(planted).await;
        changed.close().await;
        let bytes = fs::read(&database).expect("a file");
        let mut manifest = created.manifest.clone();
        manifest.database.size = bytes.len() as u64;
        manifest.database.sha256 = name_of(&bytes);
        let text = serde_json::to_vec(&manifest).expect("it is JSON");
        fs::write(created.folder.join("manifest.json"), text).expect("it is ours");

        scratch.assert_refused(named).await;
    }

    scratch.database.execute("CREATE VIEW evil AS SELECT 1").await;
    let refused = create(&scratch.job(), &mut |_, _, _| {}).await.expect_err("it could not be restored");
    assert_eq!(refused.details(), ["view evil"]);
}
