//! `kitbag database …`: operations on a whole database.

mod copy;

use clap::Subcommand;

use super::error::CliError;

/// Copy a whole service to another database.
#[derive(Debug, Subcommand)]
pub(super) enum Database {
    /// Copy a service, with its files and secrets, to another database.
    Copy(copy::Copy),
}

impl Database {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Copy(command) => command.run().await,
        }
    }
}
