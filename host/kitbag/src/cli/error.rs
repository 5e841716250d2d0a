//! Why a command failed, for people and for scripts.

use std::fmt;

use kitbag_identity::client::ClientError;
use kitbag_manifest::Problem;

/// Why a command failed, for scripts. `docs/cli.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command failed, and would fail again.
    Failed = 1,
    /// The command line is wrong; nothing was done.
    Usage = 2,
    /// The server cannot be reached, or is busy: the same command may succeed later.
    Unavailable = 3,
    /// There is no session or token, or the server does not accept it.
    SignedOut = 4,
    /// The command did its work, and found something that the operator has to put right.
    Findings = 5,
    /// The user has interrupted it: what a shell says of a program that SIGINT has ended.
    Interrupted = 130,
}

/// Why a command failed: what happened, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(super) message: String,
    /// What is wrong in detail, each on a line of its own.
    pub(super) problems: Vec<String>,
    pub(super) hint: Option<String>,
    pub(super) exit: Exit,
}

impl std::error::Error for CliError {}

impl fmt::Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.message)?;
        self.problems.iter().try_for_each(|problem| write!(out, "\n  {problem}"))
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        Self { hint: error.hint, ..Self::new(error.message) }
    }
}

impl CliError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), problems: Vec::new(), hint: None, exit: Exit::Failed }
    }

    /// An error that has several things to say, one a line.
    pub(super) fn listing(message: impl Into<String>, problems: &[Problem]) -> Self {
        Self { problems: problems.iter().map(ToString::to_string).collect(), ..Self::new(message) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if(Some(hint))
    }

    pub(super) fn hint_if(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into).or(self.hint), ..self }
    }

    pub(super) fn exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}
