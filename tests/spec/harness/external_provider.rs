//! A certified `OpenID` provider, in its own process.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Recorder, Transcript, root, within};

/// npm's `oidc-provider`, behind a recorder. Killed when it is dropped.
pub(crate) struct ExternalProvider {
    recorder: Recorder,
    _process: Child,
}

impl ExternalProvider {
    /// Starts a provider that issues access tokens for `resource`, valid for `access_token_seconds`.
    pub(crate) async fn start(transcript: &Transcript, resource: &str, access_token_seconds: u32) -> Self {
        let recorder = Recorder::start(transcript).await;
        let folder = root().join("tests/providers/oidc");
        assert!(folder.join("node_modules").is_dir(), "run `just install`");
        let mut process = Command::new("node")
            .current_dir(folder)
            .args(["provider.mjs", recorder.url(), resource, &access_token_seconds.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("there is Node");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let port = within("the provider's start", lines.next_line()).await.expect("its output is text");
        let port: u16 = port.expect("it starts").parse().expect("it prints its port");
        recorder.forward_to(([127, 0, 0, 1], port).into());
        Self { recorder, _process: process }
    }

    /// Its issuer identifier.
    pub(crate) fn issuer(&self) -> &str {
        self.recorder.url()
    }
}
