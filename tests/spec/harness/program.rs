//! The real program as a child process.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;

use super::{Http, User, sign_in_code, within};

/// A `kitbag` command without the `KITBAG_` variables and the sign-in sessions of the account that runs
/// the tests.
pub(crate) fn kitbag<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kitbag"));
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| name.to_string_lossy().starts_with("KITBAG_")) {
        command.env_remove(name);
    }
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/nobody-signed-in"));
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end.
pub(crate) async fn run(mut command: Command) -> CommandOutput {
    within("the command", command.output()).await.expect("the program can be started").into()
}

impl From<Output> for CommandOutput {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program prints UTF-8");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl CommandOutput {
    /// Asserts that the command succeeded, and returns its standard output.
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Asserts that the command line was valid and the command failed, with `words` on standard error.
    #[track_caller]
    pub(crate) fn assert_failed(&self, words: &str) {
        assert!(matches!(self.code, Some(1 | 3 | 4)), "{self:?}");
        assert!(self.stderr.contains(words), "no {words:?} in {}", self.stderr);
    }
}

/// Sends SIGINT, as Ctrl-C does.
pub(crate) async fn interrupt(child: &Child) {
    signal(child, "-INT").await;
}

async fn signal(child: &Child, signal: &str) {
    let process = child.id().expect("it runs").to_string();
    let asked = Command::new("kill").args([signal, &process]).status().await.expect("there is `kill`");
    assert!(asked.success());
}

/// Server in its own process. Killed when dropped.
pub(crate) struct ServerProcess {
    child: Child,
    base_url: Url,
    data: PathBuf,
    log: File,
}

impl ServerProcess {
    /// Starts `kitbag serve` on a data directory and waits until it serves.
    pub(crate) async fn start(data: &Path) -> Self {
        Self::start_with(data, |_| {}).await
    }

    /// Starts `kitbag serve` with the flags and variables that `change` adds.
    pub(crate) async fn start_with(data: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let (line, mut server) = Self::start_saying(data, change).await;
        server.base_url = line.strip_prefix("Kitbag serves ").expect(&line).parse().expect("a URL");
        sign_in_code::remember(&server.base_url, data);
        server
    }

    /// Like [`start_with`](Self::start_with), for another output format: returns the first line of standard
    /// output, and a server whose URL is unknown.
    pub(crate) async fn start_saying(data: &Path, change: impl FnOnce(&mut Command)) -> (String, Self) {
        let mut log = tempfile::tempfile().expect("a scratch file");
        if data.exists() {
            super::server::make_private(data);
        }
        // A variable, because a flag would take precedence over the variable of a test.
        let mut command = kitbag(["serve", "--data"]);
        command.arg(data).env("KITBAG_LISTEN", "127.0.0.1:0");
        change(&mut command);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(log.try_clone().expect("a second handle"))
            .spawn()
            .expect("the program can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let line = within("the server's start", lines.next_line()).await.expect("standard output is text");
        let line = line.unwrap_or_else(|| {
            let mut said = String::new();
            log.rewind().and_then(|()| log.read_to_string(&mut said)).expect("the log is text");
            panic!("the server did not start: {said}")
        });
        let base_url = "http://127.0.0.1".parse().expect("a URL");
        (line, Self { child, base_url, data: data.to_owned(), log })
    }

    /// Process id of the server.
    pub(crate) fn process(&self) -> u32 {
        self.child.id().expect("the server runs")
    }

    /// Standard error of the server so far.
    pub(crate) fn log(&self) -> Vec<u8> {
        // A positioned read: the file offset is shared with the server, and must not move.
        let length = self.log.metadata().expect("a file").len();
        let mut written = vec![0; usize::try_from(length).expect("it fits into memory")];
        self.log.read_exact_at(&mut written, 0).expect("the log can be read");
        written
    }

    /// Kills the process (SIGKILL).
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("the server runs");
    }

    /// Sends SIGTERM and waits until the process has ended.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        signal(&self.child, "-TERM").await;
        within("the server's end", self.child.wait()).await.expect("the server runs")
    }

    /// The operator, with a token from `kitbag token`.
    pub(crate) async fn as_operator(&self) -> User {
        self.as_user("local").await
    }

    /// A user, with a token from `kitbag token`.
    pub(crate) async fn as_user(&self, name: &str) -> User {
        let mut command = kitbag(["token", "--user", name, "--data"]);
        command.arg(&self.data);
        let token = run(command).await.succeeded();
        User::new(Http::new(self.base_url.clone()), token.trim())
    }

    /// Data directory of the server.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn base_url(&self) -> &Url {
        &self.base_url
    }
}
