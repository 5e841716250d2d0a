//! `kitbag sign-in-code`

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_identity::SignInCode as Code;
use secrecy::ExposeSecret;
use serde_json::json;

use super::error::CliError;
use super::output::report;
use super::terminal::say;

/// Print the code that the sign-in page of a server in local mode asks for.
#[derive(Args, Debug)]
#[command(
    after_help = "The code is in the file sign-in-code of the data directory. To replace it, delete the file and \
                  start the server again: everybody signs in anew."
)]
pub(super) struct SignInCode {
    /// The server's data directory.
    #[arg(long, env = "KITBAG_DATA", default_value = "kitbag-data")]
    data: PathBuf,
}

impl SignInCode {
    pub(super) fn run(self) -> Result<(), CliError> {
        let code = Code::read(&self.data).map_err(|error| CliError::new(error.to_string()))?;
        let code = code.ok_or_else(|| {
            CliError::new(format!(
                "no server in local mode has run on the data directory {}",
                self.data.display()
            ))
            .hint("start one with `kitbag serve`, or name its directory with --data")
        })?;
        let code = code.reveal();
        report(&json!({ "code": code.expose_secret() }), || say!("{}", code.expose_secret()))
    }
}

/// Command line that prints the sign-in code of the server on `data`, to show to its operator.
pub(super) fn command_for(data: &Path) -> String {
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    format!("kitbag sign-in-code --data {}", data.display())
}
