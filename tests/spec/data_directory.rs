//! Permissions of the data directory: only its owner has access, regardless of who created it and of the
//! umask.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::harness::{CommandOutput, ServerProcess, guests, kitbag, run};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// Returns path and mode of each entry below a folder that gives group or others a permission.
fn open_to_others(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if mode(&path) & 0o077 != 0 {
            found.push((path.clone(), mode(&path)));
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

/// Runs `kitbag serve` on `data`, which is expected to fail.
async fn serve(data: &Path) -> CommandOutput {
    let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(data);
    run(command).await
}

#[tokio::test]
async fn a_server_refuses_a_data_directory_that_others_can_enter() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");

    for open in [0o755, 0o750, 0o701, 0o777] {
        set_mode(&data, open);

        let refused = serve(&data).await;

        refused.assert_failed(&format!("chmod 700 {}", data.display()));
        assert_eq!(fs::read_dir(&data).expect("a folder").count(), 0, "something was written at {open:o}");
        let mut fetch = kitbag(["model", "fetch", "--from", "absent.whl", "--data"]);
        fetch.arg(&data);
        run(fetch).await.assert_failed("chmod 700");
    }
    set_mode(&data, 0o700);
    ServerProcess::start(&data).await.kill().await;
}

#[tokio::test]
async fn a_default_data_directory_that_is_a_link_is_not_followed() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let precious = folder.path().join("precious");
    fs::create_dir(&precious).expect("a folder");
    set_mode(&precious, 0o700);
    std::os::unix::fs::symlink(&precious, folder.path().join("kitbag-data")).expect("a link");
    let in_folder = async |arguments: &[&str]| {
        let mut command = kitbag(arguments);
        command.current_dir(folder.path());
        run(command).await
    };

    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["model", "fetch", "--from", "absent.whl"]] {
        let refused = in_folder(command).await;
        refused.assert_failed("kitbag-data is a symbolic link");
        refused.assert_failed("name the directory itself with --data");
    }

    assert_eq!(fs::read_dir(&precious).expect("a folder").count(), 0, "something was written");
    let named = in_folder(&["model", "fetch", "--from", "absent.whl", "--data", "./kitbag-data"]).await;
    named.assert_failed("absent.whl");
}

#[tokio::test]
async fn everything_that_a_server_writes_is_its_owners_alone_whatever_the_umask() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let data = folder.path().join("data");
    let mut server = without_umask(&["serve", "--listen", "127.0.0.1:0"], &data)
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("there is a shell");
    crate::harness::eventually("the server serves", async || data.join("server-url").exists()).await;
    let mut deploy = kitbag(["toolkit", "deploy"]);
    deploy.arg(guests::HINTS.path()).arg("--data").arg(&data);
    run(deploy).await.succeeded();
    let file = folder.path().join("file.bin");
    fs::write(&file, [0xff, 0xfe, 0x00]).expect("a file");
    let mut ingest = kitbag(["ingest", "--capture-only"]);
    ingest.arg(&file).arg("--data").arg(&data);
    run(ingest).await.succeeded();
    let mut token = kitbag(["token", "--data"]);
    token.arg(&data);
    run(token).await.succeeded();

    assert_eq!(mode(&data), 0o700);
    let open = open_to_others(&data);
    assert!(open.is_empty(), "{open:?}");
    assert!(data.join("artifacts").read_dir().expect("captured files").next().is_some());
    server.kill().await.expect("it runs");
}

/// Command that runs the program with umask 000.
fn without_umask(arguments: &[&str], data: &Path) -> Command {
    let program = kitbag([""; 0]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(program.as_std().get_program())
        .args(arguments)
        .arg("--data")
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

#[tokio::test]
async fn files_of_before_are_narrowed_at_the_start_and_the_log_says_so() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let first = ServerProcess::start(data.path()).await;
    first.as_operator().await.deploy(guests::HINTS.bytes()).await.assert_status(201);
    first.kill().await;
    let component = fs::read_dir(data.path().join("components")).expect("components").next();
    let component = component.expect("one").expect("an entry").path();
    let database = data.path().join("kitbag.sqlite");
    set_mode(&database, 0o644);
    set_mode(&component, 0o664);
    set_mode(&data.path().join("components"), 0o755);

    let second = ServerProcess::start(data.path()).await;

    let open = open_to_others(data.path());
    assert!(open.is_empty(), "{open:?}");
    let log = String::from_utf8(second.log()).expect("text");
    assert!(log.contains("took the permissions of other users"), "{log}");
}

#[tokio::test]
async fn keys_that_others_may_have_read_are_refused_and_not_narrowed() {
    let data = tempfile::tempdir().expect("a scratch directory");
    ServerProcess::start(data.path()).await.kill().await;

    for (key, advice) in [("master-key", "kitbag vault rotate"), ("local-issuer.p8", "delete it")] {
        let key = data.path().join(key);
        for open in [0o640, 0o604] {
            set_mode(&key, open);

            serve(data.path()).await.assert_failed(advice);

            assert_eq!(mode(&key), open, "the start hid what may have happened");
        }
        set_mode(&key, 0o600);
    }
    ServerProcess::start(data.path()).await.kill().await;
}
