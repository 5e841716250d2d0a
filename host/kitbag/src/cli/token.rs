//! `kitbag token`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kitbag_base::local_mode;
use kitbag_identity::{AccessGrant, LocalIssuer};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::client::unusable;
use super::error::CliError;
use super::output::report;
use super::terminal::say;

/// Default validity of a token for a person's own use.
pub(super) const DEFAULT_LIFETIME: Duration = Duration::from_hours(12);

/// Print an access token of a server in local mode.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: curl -H \"Authorization: Bearer $(kitbag token)\" http://127.0.0.1:8787/toolkits"
)]
pub(super) struct Token {
    /// User to sign in as; the default is an operator.
    #[arg(long, default_value = local_mode::USER)]
    user: String,
    /// How long the token is valid.
    #[arg(long, default_value = "12h", value_parser = humantime::parse_duration)]
    lifetime: Duration,
    /// The server's data directory.
    #[arg(long, env = "KITBAG_DATA", default_value = "kitbag-data")]
    data: PathBuf,
}

impl Token {
    pub(super) fn run(self) -> Result<(), CliError> {
        let token = mint(&self.data, &self.user, self.lifetime)?;
        let data = json!({
            "token": token.expose_secret(),
            "user": self.user,
            "lifetimeSeconds": self.lifetime.as_secs(),
        });
        report(&data, || say!("{}", token.expose_secret()))
    }
}

/// Signs a token with the key of the server that runs on `data`.
pub(super) fn mint(data: &Path, user: &str, lifetime: Duration) -> Result<SecretString, CliError> {
    let base_url = local_mode::announced(data).map_err(unusable)?.ok_or_else(|| {
        CliError::new(format!("no server in local mode has run on the data directory {}", data.display()))
            .hint("start one with `kitbag serve`, or name its directory with --data")
    })?;
    let issuer =
        LocalIssuer::open(data, base_url.as_str()).map_err(|error| CliError::new(error.to_string()))?;
    Ok(issuer.mint_access_token(AccessGrant {
        user,
        client_id: "kitbag-cli",
        scopes: &["profile", "email", "offline_access"],
        lifetime,
    }))
}
