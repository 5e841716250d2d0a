//! Output and exit codes of `kitbag backup`, `restore` and `doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use tokio::process::Command;

use super::{Scratch, VALUE, files, upload};
use crate::harness::{ServerProcess, guests, kitbag, run};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// Creates a data directory with a secret and a file, on which a server has run.
async fn used() -> Scratch {
    let scratch = Scratch::new();
    let server = ServerProcess::start(&scratch.path("data")).await;
    let user = server.as_operator().await;
    user.deploy(guests::PROBE.bytes()).await.assert_status(201);
    user.set_secret("probe", "API_KEY", VALUE).await;
    upload(&user, "file", "a file of its own".to_owned()).await;
    user.settled().await;
    assert!(server.terminate().await.success());
    scratch
}

#[tokio::test]
async fn without_keys_a_backup_says_what_it_lacks_and_a_restore_what_to_do() {
    let scratch = used().await;

    let said = scratch.back_up(&[]).await;

    assert!(said.contains("Not part of it: the master key"), "{said}");
    assert!(said.contains(&format!("the file {}", scratch.path("data/master-key").display())), "{said}");
    let key = fs::read_to_string(scratch.path("data/master-key")).expect("a key");
    for (path, bytes) in files(&scratch.path("backups")) {
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!has(key.trim()) && !has(VALUE), "{}", path.display());
    }
    let said = scratch.restore("restored").await;
    assert!(said.contains("put it into restored/master-key (mode 0600)"), "{said}");
    let refused = scratch.doctor("restored", &[]).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stdout.contains("cannot use the master key file"), "{refused:?}");
    fs::copy(scratch.path("data/master-key"), scratch.path("restored/master-key")).expect("it is ours");
    assert_eq!(scratch.doctor("restored", &[]).await.code, Some(0));
    ServerProcess::start(&scratch.path("restored")).await.kill().await;
}

#[tokio::test]
async fn old_backups_are_removed_and_each_is_listed_until_then() {
    let scratch = used().await;
    for _ in 0..3 {
        scratch.back_up(&["--keep", "2"]).await;
    }

    let list = run(scratch.restore_with(&["--list"])).await.succeeded();

    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(
        list.contains("1 document, 1 secret, 1 toolkit version")
            && list.contains("files: 2")
            && list.contains("without keys"),
        "{list}"
    );
    let whole = run(scratch.restore_with(&["--check"])).await.succeeded();
    assert!(whole.contains("is whole: its database, and its files: 2"), "{whole}");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_what_to_do_and_nothing_is_changed() {
    let scratch = used().await;
    scratch.back_up(&[]).await;
    let before = files(&scratch.path("backups"));

    set_mode(&scratch.path("backups"), 0o755);
    let refused = run(scratch.backup(&[])).await;
    refused.assert_failed("can be read by other users");
    refused.assert_failed("chmod 700");
    set_mode(&scratch.path("backups"), 0o700);
    let mut elsewhere = kitbag(["backup"]);
    elsewhere.arg(scratch.path("backups")).arg("--data").arg(scratch.path("absent"));
    run(elsewhere).await.assert_failed("absent");
    run(scratch.restore_with(&["--data", "data"])).await.assert_failed("is not empty");
    run(scratch.restore_with(&["--backup", "../data", "--data", "new"])).await.assert_failed("has no backup");
    run(scratch.restore_with(&["--backup", "2000-01-01T00-00-00Z", "--check"])).await.assert_failed("--list");

    assert_eq!(files(&scratch.path("backups")), before);
    assert!(!scratch.path("absent").exists());
}

#[tokio::test]
async fn a_backup_that_cannot_be_written_or_is_killed_leaves_the_last_one_whole() {
    let scratch = used().await;
    let last = scratch.back_up(&[]).await;
    let last = last.lines().next().and_then(|line| line.rsplit('/').next()).expect("its name").to_owned();
    // Limits files to 128 blocks of 512 bytes. A larger one raises SIGXFSZ, which kills the program. If the
    // signal is ignored, the write fails.
    let limited = |first: &str| {
        let backup = scratch.backup(&[]);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{first} ulimit -f 128; exec \"$@\""), "sh"])
            .arg(backup.as_std().get_program())
            .args(backup.as_std().get_args())
            .current_dir(scratch.folder.path());
        command
    };

    run(limited("trap '' XFSZ;")).await.assert_failed("error: cannot copy the database");
    let names =
        || fs::read_dir(scratch.path("backups")).expect("a folder").map(|it| it.expect("one").file_name());
    let is_unfinished = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".unfinished");
    assert!(!names().any(is_unfinished), "what failed was not removed");
    assert_eq!(run(limited("")).await.code, None, "it was killed");
    assert!(names().any(is_unfinished), "it was killed before it began");

    let whole = run(scratch.restore_with(&["--check"])).await.succeeded();
    assert!(whole.contains(&last), "{whole}");
    scratch.back_up(&[]).await;
    assert!(!names().any(is_unfinished), "the next backup cleans up");
}

#[tokio::test]
async fn a_server_does_not_start_on_a_restore_that_was_interrupted() {
    let scratch = used().await;
    scratch.back_up(&["--keys"]).await;
    scratch.restore("restored").await;
    fs::write(scratch.path("restored/restore-unfinished"), "").expect("a file");
    let mut serve = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
    serve.arg(scratch.path("restored"));

    run(serve).await.assert_failed("run the same `kitbag restore` again");

    scratch.restore("restored").await;
    ServerProcess::start(&scratch.path("restored")).await.kill().await;
}

#[tokio::test]
async fn a_restore_does_not_touch_a_directory_that_a_server_uses() {
    let scratch = used().await;
    scratch.back_up(&[]).await;
    let server = ServerProcess::start(&scratch.path("other")).await;
    let before = fs::read(scratch.path("other/master-key")).expect("a key");

    run(scratch.restore_with(&["--data", "other"])).await.assert_failed("is not empty");

    assert_eq!(fs::read(scratch.path("other/master-key")).expect("a key"), before);
    server.as_operator().await.get("/toolkits").await.assert_status(200);
}

#[tokio::test]
async fn a_backup_is_made_although_the_data_directory_is_damaged_and_says_so() {
    let scratch = used().await;
    let artifacts = files(&scratch.path("data/artifacts"));
    let artifact = scratch.path("data/artifacts").join(artifacts.keys().next().expect("a file"));
    fs::remove_file(artifact).expect("it is ours");

    let made = run(scratch.backup(&[])).await;

    assert_eq!(made.code, Some(5), "{made:?}");
    assert!(
        made.stderr.contains("is missing or damaged in the data directory")
            && made.stderr.contains("kitbag doctor"),
        "{made:?}"
    );
    let restored = run(scratch.restore_with(&["--data", "restored"])).await;
    assert!(restored.stderr.contains("1 file missing or damaged before the backup"), "{restored:?}");
    restored.succeeded();
    let doctor = scratch.doctor("data", &["--json"]).await;
    assert_eq!(doctor.code, Some(5), "{doctor:?}");
    let report: Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    assert!(report["findings"][0]["what"].as_str().expect("text").contains("are missing"), "{report}");
    assert!(!doctor.stdout.contains(VALUE));
}

#[tokio::test]
async fn the_doctor_says_when_it_cannot_look() {
    let scratch = Scratch::new();

    let absent = scratch.doctor("absent", &[]).await;
    let unset = scratch.doctor(".", &["--master-key", "env:ABSENT_VARIABLE"]).await;

    for (ran, words) in [(absent, "cannot read the data directory"), (unset, "ABSENT_VARIABLE")] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint: "), "{ran:?}");
    }
}
