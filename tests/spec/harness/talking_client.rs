//! A real MCP client in its own process, which prints events as they happen.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{Kitbag, clients, within};

/// Running program from `clients/`. Killed when dropped.
pub(crate) struct TalkingClient {
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl TalkingClient {
    /// Starts `program` for the protocol `era`, to call `tool` as `user`.
    pub(crate) fn start(kitbag: &Kitbag, user: &str, program: &str, era: &str, tool: &str) -> Self {
        let url = kitbag.anonymous().url("/mcp");
        let mut process = Command::new("node")
            .current_dir(clients())
            .args([program, era, url.as_str(), tool])
            .env("KITBAG_TOKEN", kitbag.as_user(user).token())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node can be started");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let input = process.stdin.take().expect("it is piped");
        Self { _process: process, lines, input }
    }

    /// Waits for the next event.
    pub(crate) async fn said(&mut self) -> Value {
        let line = within("the client's word", self.lines.next_line()).await.expect("text");
        serde_json::from_str(&line.expect("the client goes on")).expect("JSON")
    }

    /// Writes a line to the client's standard input, which a client that needs no input may have closed.
    pub(crate) async fn tell(&mut self, line: &str) {
        let _ = self.input.write_all(format!("{line}\n").as_bytes()).await;
    }
}
