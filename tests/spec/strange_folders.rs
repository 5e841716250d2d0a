//! Untrusted folders and servers: commands neither send them tokens nor run commands that they configure.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use clap::CommandFactory;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{CommandOutput, Impostor, Kitbag, SignIn, Terminal, guests, kitbag, run};

/// Master key in hexadecimal.
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Working directory for commands; its `kitbag-data` announces a server.
struct Folder(TempDir);

impl Folder {
    fn announcing(url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let data = folder.path().join("kitbag-data");
        fs::create_dir(&data).expect("a folder");
        fs::write(data.join("server-url"), url).expect("a file");
        set_mode(&data, 0o700);
        set_mode(&data.join("server-url"), 0o600);
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn data(&self) -> PathBuf {
        self.path().join("kitbag-data")
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = kitbag(arguments);
        command.current_dir(self.path());
        run(command).await
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// Starts a server that imitates Kitbag without deployed toolkits.
async fn impostor() -> Impostor {
    Impostor::start(|_, _| Json(json!([])).into_response()).await
}

#[tokio::test]
async fn a_folder_announces_a_server_of_this_machine_or_none() {
    for url in
        ["http://kitbag.example/", "https://kitbag.example/", "http://127.0.0.1.kitbag.example/", "\u{1b}[2J"]
    {
        let folder = Folder::announcing(url);

        let listed = folder.run(&["toolkit", "list"]).await;

        listed.assert_failed("there is no server to talk to");
        listed.assert_failed("does not hold the http or https URL of a server on this machine");
        folder.run(&["token"]).await.assert_failed("does not hold the http or https URL");
        folder
            .run(&["toolkit", "list", "--data", "kitbag-data"])
            .await
            .assert_failed("does not hold the http");
    }
}

#[tokio::test]
async fn a_server_is_announced_by_a_folder_of_the_user_alone_or_not_at_all() {
    type Change = fn(&Folder);
    let server = impostor().await;
    let open = Folder::announcing(server.url());
    open.run(&["toolkit", "list"]).await.succeeded();
    assert_eq!(server.requests().len(), 1, "nothing else stands in the way");

    let cases: [(Change, &str); 6] = [
        (|it| set_mode(&it.data().join("server-url"), 0o666), "can be changed by other users"),
        (|it| set_mode(&it.data().join("server-url"), 0o620), "can be changed by other users"),
        (|it| set_mode(&it.data(), 0o777), "can be changed by other users"),
        (|it| set_mode(&it.data(), 0o755), "chmod 700"),
        (
            |it| {
                let file = it.data().join("server-url");
                fs::rename(&file, it.path().join("elsewhere")).expect("it is ours");
                symlink("../elsewhere", file).expect("a link");
            },
            "is a symbolic link",
        ),
        (
            |it| {
                let file = it.data().join("server-url");
                fs::remove_file(&file).expect("it is ours");
                fs::create_dir(file).expect("a folder");
            },
            "is not a file",
        ),
    ];
    for (change, why) in cases {
        let folder = Folder::announcing(server.url());
        change(&folder);

        let listed = folder.run(&["toolkit", "list"]).await;

        listed.assert_failed("there is no server to talk to");
        listed.assert_failed(why);
        assert_eq!(
            listed.stderr.lines().filter(|line| line.starts_with("warning: ")).count(),
            1,
            "{listed:?}"
        );
        // With `--data`, there is no fallback to the server of a session.
        folder.run(&["toolkit", "list", "--data", "kitbag-data"]).await.assert_failed(why);
        folder.run(&["token"]).await.assert_failed(why);
    }
    assert_eq!(server.requests().len(), 1, "a server of a strange folder was asked");
}

#[tokio::test]
async fn the_session_wins_over_the_folder_and_a_named_data_directory_over_the_session() {
    let (at, server) = (SignIn::local().await, impostor().await);
    at.deploy(guests::TEXT).await;
    let ana = Terminal::at(at.url());
    ana.login("ana").await;
    let folder = Folder::announcing(server.url());
    let list = |arguments: &[&str]| {
        let mut command = ana.command_without_server(&[&["toolkit", "list"], arguments].concat());
        command.current_dir(folder.path());
        run(command)
    };

    let listed = list(&[]).await.succeeded();

    assert!(listed.contains("text"), "{listed}");
    assert!(server.requests().is_empty(), "the session's server is meant");
    list(&["--data", "kitbag-data"]).await.succeeded();
    // A misspelled `--data` does not fall back to another server.
    list(&["--data", "kitbag-dta"]).await.assert_failed("there is no server to talk to");
    let [request] = server.requests().try_into().expect("one request");
    let kept: serde_json::Value = serde_json::from_str(&ana.sessions()).expect("JSON");
    let token = kept[at.url()]["access_token"].as_str().expect("a token").to_owned();
    assert!(
        !request.headers["authorization"].to_str().expect("text").contains(&token),
        "the session's token"
    );
}

#[tokio::test]
async fn settings_of_a_folder_that_others_can_write_to_are_not_used() {
    let folder = Folder::announcing("http://127.0.0.1:1/");
    let file = folder.path().join("kitbag.toml");
    fs::write(&file, "call-tiem = \"1s\"\n").expect("a file");
    set_mode(&file, 0o644);
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    // With these permissions, the file is read: its error is reported.
    folder.run(&serve).await.assert_failed("call-tiem");

    for (of_file, of_folder) in [(0o666, 0o755), (0o664, 0o755), (0o644, 0o777), (0o644, 0o770)] {
        set_mode(&file, of_file);
        set_mode(folder.path(), of_folder);

        let refused = folder.run(&serve).await;

        refused.assert_failed("kitbag.toml in this folder is not used");
        refused.assert_failed("--config kitbag.toml");
        assert!(!refused.stderr.contains("call-tiem"), "it was read: {refused:?}");
        let component = guests::TEXT.path();
        let checked = folder.run(&["toolkit", "check", component.to_str().expect("UTF-8")]).await;
        checked.assert_failed("kitbag.toml in this folder is not used");
    }
    // A file named by the user is read even if group-writable, but not if world-writable.
    set_mode(&file, 0o664);
    folder.run(&[&serve[..], &["--config", "kitbag.toml"]].concat()).await.assert_failed("call-tiem");
    set_mode(&file, 0o666);
    folder
        .run(&[&serve[..], &["--config", "kitbag.toml"]].concat())
        .await
        .assert_failed("can be changed by other");
    let mut by_variable = kitbag(serve);
    by_variable.current_dir(folder.path()).env("KITBAG_CONFIG", "kitbag.toml");
    run(by_variable).await.assert_failed("can be changed by other");
}

#[tokio::test]
async fn no_folder_makes_the_server_run_a_command() {
    let folder = Folder::announcing("http://127.0.0.1:1/");
    let (file, ran) = (folder.path().join("kitbag.toml"), folder.path().join("ran"));
    // The command yields no key, so the server does not start, and the test need not stop it.
    fs::write(&file, "master-key = \"command:touch ran; exit 1\"\n").expect("a file");
    set_mode(&file, 0o644);
    let serve = ["serve", "--listen", "127.0.0.1:0"];

    for mode in [0o777, 0o755] {
        set_mode(folder.path(), mode);
        folder.run(&serve).await.assert_failed("--config kitbag.toml");
        assert!(!ran.exists(), "the command was run, in a folder of mode {mode:o}");
    }

    folder
        .run(&[&serve[..], &["--config", "kitbag.toml"]].concat())
        .await
        .assert_failed("master key command");
    assert!(ran.exists(), "named, it is run");
    fs::remove_file(&ran).expect("it is ours");
    fs::write(&file, "master-key = \"env:MY_KEY\"\ncall-tiem = \"1s\"").expect("it is ours");
    let mut other_sources = kitbag(serve);
    other_sources.current_dir(folder.path()).env("MY_KEY", KEY);
    run(other_sources).await.assert_failed("call-tiem");
}

#[tokio::test]
async fn no_token_goes_over_plain_http_to_another_machine() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let mut tried = 0;
    for path in crate::hostile_text::leaves(&kitbag::cli::Command::command()) {
        let arguments = crate::hostile_text::arguments(&path, folder.path());
        let leaf = crate::hostile_text::leaf(&path);
        if !leaf.get_arguments().any(|argument| argument.get_id() == "server") || path == ["logout"] {
            continue;
        }
        // The name does not resolve: a command with the expected error has not sent anything.
        let mut command = kitbag(path.iter().map(String::as_str).chain(arguments.iter().map(String::as_str)));
        command
            .args(["--server", "http://kitbag.invalid"])
            .env("KITBAG_TOKEN", "a-token")
            .env("XDG_STATE_HOME", folder.path())
            .current_dir(folder.path());

        run(command).await.assert_failed("http://kitbag.invalid/ is not protected");
        tried += 1;
    }
    assert!(tried > 10, "only {tried} commands talk to a server");
}

#[tokio::test]
async fn a_token_follows_no_redirect() {
    let other = impostor().await;
    let place = other.url().to_owned();
    let redirecting = Impostor::start(move |_, _| {
        (StatusCode::TEMPORARY_REDIRECT, [("location", format!("{place}/toolkits"))]).into_response()
    })
    .await;
    let mut command = kitbag(["toolkit", "list", "--server", redirecting.url()]);
    command.env("KITBAG_TOKEN", "a-token");

    run(command).await.assert_failed("307");

    assert_eq!((redirecting.requests().len(), other.requests().len()), (1, 0));
}

#[tokio::test]
async fn sessions_in_a_folder_that_others_can_enter_are_not_used() {
    let server = Kitbag::start().await;
    let ana = Terminal::at(server.base_url().as_str());
    ana.login("ana").await;
    let folder = ana.session_file().parent().expect("a folder").to_owned();

    for mode in [0o755, 0o750, 0o777] {
        set_mode(&folder, mode);
        let refused = ana.run(&["toolkit", "list"]).await;
        refused.assert_failed("your sessions cannot be used");
        refused.assert_failed("chmod");
    }

    set_mode(&folder, 0o700);
    ana.run(&["toolkit", "list"]).await.succeeded();
}
