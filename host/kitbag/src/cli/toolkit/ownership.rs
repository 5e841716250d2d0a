//! `kitbag toolkit release | take-over`: ownership of a toolkit.

use clap::Args;
use http::Method;
use kitbag_toolkits::TakenOver as Taken;
use serde_json::{Value, json};

use crate::cli::client::{Client, Connection};
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Let any operator have a toolkit of yours.
#[derive(Args, Debug)]
#[command(
    after_help = "The next operator who deploys it owns it. Then the secrets and settings that were set for it are \
                  removed. It stays yours if you deploy it again before."
)]
pub(in crate::cli) struct Release {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Make another operator's toolkit yours.
#[derive(Args, Debug)]
#[command(
    after_help = "The secrets and settings that users have set for it are removed: they were given to its owner's \
                  code. `kitbag toolkit show` tells everybody who sees the toolkit who took it over, when, and from \
                  whom."
)]
pub(in crate::cli) struct TakeOver {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Release {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let path = format!("/toolkits/{}/release", self.id);
        self.connection.open().await?.post(&path).await?;
        report(&json!({ "id": self.id }), || {
            say!("{} is released: the next operator who deploys it owns it.", self.id);
        })
    }
}

impl TakeOver {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let owner = owner(&client, &self.id).await?;
        self.confirmation.ask(&format!(
            "{} belongs to {owner}. Once it is yours, the secrets and settings that users have set for it are \
             removed, and everybody who sees it sees that you took it over.",
            self.id
        ))?;
        let path = format!("/toolkits/{}/take-over", self.id);
        let taken: Taken = client.send(Method::POST, &path, "application/json", "").await?;
        report(&taken, || print_taken(&self.id, &taken))
    }
}

/// Prints the previous owner of a toolkit, and what was removed.
pub(super) fn print_taken(id: &str, taken: &Taken) {
    let Taken { from, removed_secrets, removed_settings } = taken;
    say!(
        "{} is yours; it was {}'s. Removed: {} secrets and {} settings of users.",
        id,
        from,
        removed_secrets,
        removed_settings
    );
}

async fn owner(client: &Client, id: &str) -> Result<String, CliError> {
    let record: Value = client.send(Method::GET, &format!("/toolkits/{id}"), "application/json", "").await?;
    Ok(record["owner"].as_str().unwrap_or_default().to_owned())
}
