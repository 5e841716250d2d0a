//! Errors of commands, for people and for scripts.

use std::fmt;

use kitbag_identity::client::ClientError;
use kitbag_manifest::Problem;

/// Exit codes. `docs/cli.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Permanent failure of the command.
    Failed = 1,
    /// The command line is wrong; nothing was done.
    Usage = 2,
    /// The server is unreachable or busy: the same command may succeed later.
    Unavailable = 3,
    /// No session or token, or the server rejects it.
    SignedOut = 4,
    /// The command succeeded and found problems that the operator must fix.
    Findings = 5,
    /// Interrupted by the user: the code that shells report for SIGINT.
    Interrupted = 130,
}

/// Error of a command: what happened, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(super) message: String,
    /// Details of the problem, one per line.
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

    /// Creates an error with several problems, one per line.
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
