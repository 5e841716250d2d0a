//! The question before an act that is hard to undo.

use std::io::{IsTerminal as _, stdin};

use clap::Args;

use super::error::CliError;
use super::terminal::{Text, note, stderr_is_terminal};

/// Whether to ask.
#[derive(Args, Debug)]
pub(super) struct Confirmation {
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

impl Confirmation {
    /// Prompts for confirmation of `consequence`.
    pub(super) fn ask(&self, consequence: &str) -> Result<(), CliError> {
        if self.yes {
            return Ok(());
        }
        let consequence = Text::prose(consequence);
        // A terminal would break words.
        note!("{}", if stderr_is_terminal() { Text::wrapped(&consequence, 0) } else { consequence });
        if !stdin().is_terminal() {
            return Err(CliError::new("there is no terminal to ask whether to go on")
                .hint("say it with --yes, if that is what you want"));
        }
        let unreadable = |error: std::io::Error| CliError::new(format!("cannot read the answer: {error}"));
        let mut answer = String::new();
        note!("Go on? [y/N]");
        stdin().read_line(&mut answer).map_err(unreadable)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(CliError::new("nothing was changed")),
        }
    }

    /// Prompts twice, for an act that nothing undoes.
    pub(super) fn ask_twice(&self, consequence: &str) -> Result<(), CliError> {
        self.ask(consequence)?;
        self.ask("Really? Nobody gets them back, the operator from a backup alone.")
    }
}
