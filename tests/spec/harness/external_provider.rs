//! A certified `OpenID` provider, in its own process.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::MutexGuard;

use super::{Recorder, Transcript, root, within};

/// Port of account providers, which the guest declares.
const ACCOUNTS_PORT: u16 = 18997;
/// Locked by the running account provider.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// npm's `oidc-provider` behind a recorder. Killed when dropped.
pub(crate) struct ExternalProvider {
    recorder: Recorder,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
    _process: Child,
}

impl ExternalProvider {
    /// Starts a provider that issues access tokens for `resource`, valid for `access_token_seconds`.
    pub(crate) async fn start(transcript: &Transcript, resource: &str, access_token_seconds: u32) -> Self {
        let recorder = Recorder::start(transcript).await;
        let arguments = ["provider.mjs", recorder.url(), resource, &access_token_seconds.to_string()];
        let mut process = start(&arguments);
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let port = within("the provider's start", lines.next_line()).await.expect("its output is text");
        let port: u16 = port.expect("it starts").parse().expect("it prints its port");
        recorder.forward_to(([127, 0, 0, 1], port).into());
        let input = process.stdin.take().expect("it is piped");
        Self { recorder, lines, input, _process: process }
    }

    /// Sets the groups that tokens name from now on: a JSON object with lists by user.
    pub(crate) async fn set_groups(&mut self, groups: &Value) {
        self.input.write_all(format!("{groups}\n").as_bytes()).await.expect("it listens");
        let line = within("the provider's word", self.lines.next_line()).await.expect("its output is text");
        assert_eq!(line.as_deref(), Some("groups are set"));
    }

    /// Issuer identifier of the provider.
    pub(crate) fn issuer(&self) -> &str {
        self.recorder.url()
    }
}

/// npm's `oidc-provider` for users' accounts; rotates refresh tokens. Killed when dropped.
pub(crate) struct AccountProvider {
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
    _process: Child,
    _turn: MutexGuard<'static, ()>,
}

impl AccountProvider {
    /// API that responds with the token's user.
    pub(crate) const API: &str = "http://127.0.0.1:18997/me";

    /// Waits until no other test runs an account provider.
    pub(crate) async fn turn() -> MutexGuard<'static, ()> {
        TURN.lock().await
    }

    /// Starts a provider whose client has this redirect URI.
    pub(crate) async fn start(redirect_uri: &str, access_token_seconds: u32) -> Self {
        let turn = Self::turn().await;
        let (port, seconds) = (ACCOUNTS_PORT.to_string(), access_token_seconds.to_string());
        let mut process = start(&["accounts.mjs", &port, redirect_uri, &seconds]);
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let input = process.stdin.take().expect("it is piped");
        let mut provider = Self { lines, input, _process: process, _turn: turn };
        provider.says("ready").await;
        provider
    }

    /// Waits for an output line, such as `token refresh_token 200` after a rotated refresh token.
    pub(crate) async fn says(&mut self, expected: &str) {
        loop {
            let line =
                within("the provider's word", self.lines.next_line()).await.expect("its output is text");
            if line.expect("it runs") == expected {
                return;
            }
        }
    }

    /// Holds back responses of the token endpoint, or releases them.
    pub(crate) async fn hold(&mut self, holds: bool) {
        let word = if holds { "hold" } else { "go" };
        self.input.write_all(format!("{word}\n").as_bytes()).await.expect("it listens");
        self.says(word).await;
    }
}

fn start(arguments: &[&str]) -> Child {
    let folder = root().join("tests/providers/oidc");
    assert!(folder.join("node_modules").is_dir(), "run `just install`");
    let mut command = Command::new("node");
    command.current_dir(folder).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).kill_on_drop(true).spawn().expect("there is Node")
}
