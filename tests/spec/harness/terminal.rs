//! A user's terminal, with its own home directory for the sessions of `kitbag login`.

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::process::Command;

use super::sign_in::PromptingProcess;
use super::{Browser, CommandOutput, kitbag, run};

/// A home directory, and the server that its commands talk to.
pub(crate) struct Terminal {
    home: TempDir,
    server: String,
}

impl Terminal {
    /// Creates a terminal with an empty home directory, whose commands talk to `server`.
    pub(crate) fn at(server: &str) -> Self {
        Self { home: tempfile::tempdir().expect("a scratch directory"), server: server.to_owned() }
    }

    /// Creates a `kitbag` command in this terminal.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = kitbag(arguments);
        command
            .current_dir(self.home.path())
            .env("XDG_STATE_HOME", self.home.path())
            .env("KITBAG_SERVER", &self.server);
        command
    }

    /// Creates a `kitbag` command without `KITBAG_SERVER`.
    pub(crate) fn command_without_server(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env_remove("KITBAG_SERVER");
        command
    }

    /// Signs in as `user` at another server, in addition to the terminal's own.
    pub(crate) async fn login_also_at(&mut self, server: &str, user: &str) {
        let first = std::mem::replace(&mut self.server, server.to_owned());
        self.login(user).await;
        self.server = first;
    }

    /// Runs a command until it exits.
    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run(self.command(arguments)).await
    }

    /// Starts `kitbag login`, which waits for a browser.
    pub(crate) fn start_login(&self) -> PromptingProcess {
        self.start_login_with(&[])
    }

    /// Starts `kitbag login` with further arguments.
    pub(crate) fn start_login_with(&self, arguments: &[&str]) -> PromptingProcess {
        PromptingProcess::start(self.command(&[&["login", "--no-browser"], arguments].concat()))
    }

    /// Signs in as `user`; panics on failure.
    pub(crate) async fn login(&self, user: &str) {
        let mut login = self.start_login();
        let page = login.page().await;
        let (_, answer) = Browser::default().sign_in(&page, user).await;
        answer.assert_status(200);
        let said = login.finished().await.succeeded();
        assert!(said.contains("Signed in to "), "{said}");
    }

    /// Path of the file with the sessions.
    pub(crate) fn session_file(&self) -> PathBuf {
        self.home.path().join("kitbag/sessions.json")
    }

    /// Content of the file with the sessions.
    pub(crate) fn sessions(&self) -> String {
        std::fs::read_to_string(self.session_file()).expect("somebody has signed in")
    }
}
