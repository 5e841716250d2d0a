//! `kitbag vault …`: maintenance of the vault by operators.

use clap::{Args, Subcommand};
use http::Method;
use kitbag_vault::Rotated;

use super::client::Connection;
use super::error::CliError;
use super::output::report;
use super::terminal::{note, say};

/// Look after the vault that holds the users' secrets.
#[derive(Debug, Subcommand)]
pub(super) enum Vault {
    /// Wrap every secret with a new master key.
    Rotate(Rotate),
}

/// Wrap every secret with a new master key.
#[derive(Args, Debug)]
#[command(
    after_help = "Where the key is in a file, the server makes a new one and replaces it. Where the operator gives it \
                  (`--master-key env:…` or `command:…`; with a database server also `file:…`), give the server the new key \
                  first and the old one after it, restart it, rotate, and then take the old one away."
)]
pub(super) struct Rotate {
    #[command(flatten)]
    connection: Connection,
}

impl Vault {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Rotate(command) => command.run().await,
        }
    }
}

impl Rotate {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let rotated: Rotated = client.send(Method::POST, "/vault/rotate", "application/json", "").await?;
        report(&rotated, || {
            let Rotated { master_key, rewrapped, broken } = &rotated;
            say!("The master key is {} now; secrets wrapped anew: {}.", master_key, rewrapped);
            if *broken > 0 {
                note!(
                    "warning: {} secrets do not open; they stay as they are, and so does their key (the server's log names them)",
                    broken
                );
            }
        })
    }
}
