//! Commands: one a file. Each prints what a person wants to know, or JSON for a script.
//!
//! Invariant: everything that is printed goes through `terminal`, which escapes what others wrote.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods)]

mod client;
mod config;
mod demo;
mod documents;
mod ingest;
mod login;
mod logout;
mod model;
mod oauth;
mod search;
mod secret;
mod serve;
mod session;
mod sign_in_code;
mod terminal;
mod token;
mod toolkit;
mod vault;

use std::fmt;
use std::process::ExitCode;

#[doc(hidden)]
pub use ingest::fuzzing as ingest_fuzzing;

use clap::{Parser, Subcommand};
use kitbag_manifest::Problem;

use self::terminal::{Text, print_error, say};

/// A knowledge base whose toolkits are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(
    name = "kitbag",
    version,
    after_help = "Start with `kitbag demo`: it builds the example toolkits, serves them, calls one, and shows how to connect a client."
)]
pub struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a server.
    Serve(serve::Serve),
    /// Build the example toolkits, serve them, call one, and keep serving.
    Demo(demo::Demo),
    /// Search your documents.
    Search(search::Search),
    /// Bring documents into your knowledge base: files, folders, web pages, standard input.
    Ingest(ingest::Ingest),
    /// List, show, download and delete your documents.
    Documents(documents::Documents),
    /// Sign in at a server, in a browser.
    Login(login::Login),
    /// End the session at a server.
    Logout(logout::Logout),
    /// Print an access token of a server in local mode, for scripts and curl.
    Token(token::Token),
    /// Print the code that the sign-in page of a server in local mode asks for.
    SignInCode(sign_in_code::SignInCode),
    /// Write, build, check, deploy and manage toolkits.
    #[command(subcommand)]
    Toolkit(toolkit::Toolkit),
    /// Show and change your own settings of a toolkit.
    #[command(subcommand)]
    Config(config::Config),
    /// Set, remove and list your secrets for a toolkit.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Get, show and remove the model that search uses.
    #[command(subcommand)]
    Model(model::Model),
    /// Look after the vault that holds the users' secrets.
    #[command(subcommand)]
    Vault(vault::Vault),
}

/// Why a command failed: what happened, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    /// What is wrong in detail, each on a line of its own.
    problems: Vec<String>,
    hint: Option<String>,
}

impl std::error::Error for CliError {}

impl fmt::Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.message)?;
        self.problems.iter().try_for_each(|problem| write!(out, "\n  {problem}"))
    }
}

impl CliError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), problems: Vec::new(), hint: None }
    }

    /// An error that has several things to say, one a line.
    fn listing(message: impl Into<String>, problems: &[Problem]) -> Self {
        Self { problems: problems.iter().map(ToString::to_string).collect(), ..Self::new(message) }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Runs a command to its end. 0: done; 1: failed (2, from the parser: called wrongly).
pub async fn run(command: Command) -> ExitCode {
    let outcome = match command.verb {
        Verb::Serve(command) => command.run().await,
        Verb::Demo(command) => command.run().await,
        Verb::Search(command) => command.run().await,
        Verb::Ingest(command) => command.run().await,
        Verb::Documents(command) => command.run().await,
        Verb::Login(command) => command.run().await,
        Verb::Logout(command) => command.run().await,
        Verb::Token(command) => command.run(),
        Verb::SignInCode(command) => command.run(),
        Verb::Toolkit(command) => command.run().await,
        Verb::Config(command) => command.run().await,
        Verb::Secret(command) => command.run().await,
        Verb::Model(command) => command.run().await,
        Verb::Vault(command) => command.run().await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints a value as JSON for a script.
fn print_json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(value).map_err(|error| CliError::new(error.to_string()))?;
    say!("{}", Text::json(&json));
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Command;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }
}
