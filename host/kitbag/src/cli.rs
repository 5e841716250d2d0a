//! Commands of the program, one per file. Each reports its result to a person or to a script (`output`).
//!
//! Invariant: all output goes through `terminal`, which escapes untrusted text.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods)]

mod audit;
mod backup;
mod client;
mod collection;
mod completions;
mod config;
mod confirmation;
mod connect;
mod database;
mod demo;
mod doctor;
mod documents;
mod error;
mod format;
mod help;
mod ingest;
mod key;
mod login;
mod logout;
mod man;
mod model;
mod output;
mod overview;
mod progress;
mod publisher;
mod restore;
mod search;
mod secret;
mod serve;
mod server_data;
mod session;
mod sign_in_code;
mod terminal;
mod token;
mod tool;
mod toolkit;
mod user;
mod vault;
mod whom;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::error::{CliError, Exit};
use self::format::Choice;
#[doc(hidden)]
pub use self::ingest::fuzzing as ingest_fuzzing;
use self::terminal::print_error;

/// A knowledge base whose toolkits are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "kitbag", version, override_help = help::OVERVIEW)]
pub struct Command {
    #[command(flatten)]
    choice: Choice,
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
    /// List, show, download, delete, restore and move documents.
    Documents(documents::Documents),
    /// Make, list, share and delete collections: documents that a team keeps.
    #[command(subcommand)]
    Collection(collection::Collection),
    /// Sign in at a server, in a browser.
    Login(login::Login),
    /// End the session at a server.
    Logout(logout::Logout),
    /// Show, or write, the configuration of MCP clients for a server.
    Connect(connect::Connect),
    /// Print an access token of a server in local mode, for scripts and curl.
    Token(token::Token),
    /// Print the code that the sign-in page of a server in local mode asks for.
    SignInCode(sign_in_code::SignInCode),
    /// Write, build, check, deploy and manage toolkits.
    #[command(subcommand)]
    Toolkit(toolkit::Toolkit),
    /// Call tools of toolkits.
    #[command(subcommand)]
    Tool(tool::Tool),
    /// Show and change your own settings of a toolkit.
    #[command(subcommand)]
    Config(config::Config),
    /// Set, remove and list your secrets for a toolkit.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Make, list and revoke keys for programs that cannot sign in by a browser.
    #[command(subcommand)]
    Key(key::Key),
    /// Add, list and remove publishers, whose signatures of toolkits the server verifies. For operators.
    #[command(subcommand)]
    Publisher(publisher::Publisher),
    /// List, get, show and remove models that search can use.
    #[command(subcommand)]
    Model(model::Model),
    /// Show who did what: deploys, secrets, accounts, keys, sign-ins. For operators.
    Audit(audit::Audit),
    /// Show calls, failures and durations of all toolkits, users and sizes. For operators.
    Overview(overview::OverviewCommand),
    /// List users, show what each has and may, and end one who leaves, for operators; export what you have.
    #[command(subcommand)]
    User(user::User),
    /// Look after the vault that holds the users' secrets.
    #[command(subcommand)]
    Vault(vault::Vault),
    /// Back up a data directory, also while a server runs on it.
    Backup(backup::Backup),
    /// Put a backup into an empty data directory.
    Restore(restore::Restore),
    /// Copy a whole service to another database.
    #[command(subcommand)]
    Database(database::Database),
    /// Check a data directory, and say what to do about what is wrong.
    Doctor(doctor::Doctor),
    /// Print a script that completes commands in a shell.
    Completions(completions::Completions),
    /// Write the manual pages, one for each command.
    Man(man::Man),
}

/// Parses the command line. If it is invalid or asks for help, prints that and returns the exit code.
pub fn parse() -> Result<Command, ExitCode> {
    Command::try_parse().map_err(|error| {
        let format =
            Choice::guess(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()));
        if !error.use_stderr() || !format.is_json() {
            // Fails if the reader has closed the pipe.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { 0 });
        }
        format.choose();
        let text = error.to_string();
        let message = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        let error = CliError::new(message).hint("the same command with --help says what it takes");
        print_error(&error.exit(Exit::Usage));
        ExitCode::from(Exit::Usage as u8)
    })
}

/// Runs a command, and returns its exit code.
pub async fn run(command: Command) -> ExitCode {
    command.choice.format().choose();
    let outcome = match command.verb {
        Verb::Serve(command) => command.run().await,
        Verb::Demo(command) => command.run().await,
        Verb::Search(command) => command.run().await,
        Verb::Ingest(command) => command.run().await,
        Verb::Documents(command) => command.run().await,
        Verb::Collection(command) => command.run().await,
        Verb::Login(command) => command.run().await,
        Verb::Logout(command) => command.run().await,
        Verb::Connect(command) => command.run().await,
        Verb::Token(command) => command.run(),
        Verb::SignInCode(command) => command.run(),
        Verb::Toolkit(command) => command.run().await,
        Verb::Tool(command) => command.run().await,
        Verb::Config(command) => command.run().await,
        Verb::Secret(command) => command.run().await,
        Verb::Key(command) => command.run().await,
        Verb::Publisher(command) => command.run().await,
        Verb::Model(command) => command.run().await,
        Verb::Audit(command) => command.run().await,
        Verb::Overview(command) => command.run().await,
        Verb::User(command) => command.run().await,
        Verb::Vault(command) => command.run().await,
        Verb::Backup(command) => command.run().await,
        Verb::Restore(command) => command.run().await,
        Verb::Database(command) => command.run().await,
        Verb::Doctor(command) => command.run().await,
        Verb::Completions(command) => command.run(),
        Verb::Man(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::from(error.exit as u8)
        }
    }
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
