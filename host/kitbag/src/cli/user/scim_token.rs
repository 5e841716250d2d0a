//! `kitbag user scim-token …`: tokens of identity providers that provision users and groups (SCIM). For operators.

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say};

/// Make, show and revoke tokens of identity providers that maintain users and groups here (SCIM). For operators.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "A provider with such a token adds and deactivates users, and keeps groups, at BASE-URL/scim/v2. It can do nothing \
                  else with it. The setting `scim-user-id` turns it on; docs/organisation.md says what to type where."
)]
pub(in crate::cli) enum ScimToken {
    /// Make a token, and print it this once.
    New(New),
    /// Show which tokens there are, and when each was used last.
    Show(Show),
    /// Revoke a token, from the next request on.
    Revoke(Revoke),
}

/// Make a token, and print it this once.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  kitbag user scim-token new entra")]
pub(in crate::cli) struct New {
    /// What you call it, such as the provider that has it.
    name: String,
    #[command(flatten)]
    connection: Connection,
}

/// Show which tokens there are.
#[derive(Args, Debug)]
pub(in crate::cli) struct Show {
    #[command(flatten)]
    connection: Connection,
}

/// Revoke a token.
#[derive(Args, Debug)]
#[command(after_help = "Users whom the provider has deactivated stay so, and groups stay as they are.")]
pub(in crate::cli) struct Revoke {
    /// Its id, or its name.
    name: String,
    #[command(flatten)]
    connection: Connection,
}

impl ScimToken {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::New(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
    }
}

impl New {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let wanted = json!({ "name": self.name }).to_string();
        let made: Value = client.send(Method::POST, "/scim-tokens", "application/json", wanted).await?;
        report(&made, || {
            say!("{}", text(&made["token"]));
            note!("Give it to the identity provider: it is not shown again.");
        })
    }
}

impl Show {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let tokens: Vec<Value> = client.send(Method::GET, "/scim-tokens", "application/json", "").await?;
        report(&tokens, || {
            if tokens.is_empty() {
                say!("No identity provider has a token. `kitbag user scim-token new NAME` makes one.");
            }
            for token in &tokens {
                say!(
                    "{}  {:<24} made by {} at {}, used {}",
                    text(&token["id"]),
                    text(&token["name"]),
                    text(&token["createdBy"]),
                    text(&token["createdAt"]),
                    token["usedAt"].as_str().unwrap_or("never")
                );
            }
        })
    }
}

impl Revoke {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let tokens: Vec<Value> = client.send(Method::GET, "/scim-tokens", "application/json", "").await?;
        let named = |token: &&Value| token["id"] == self.name.as_str() || token["name"] == self.name.as_str();
        let id = tokens.iter().find(named).map_or(self.name.as_str(), |token| text(&token["id"])).to_owned();
        client.delete(&format!("/scim-tokens/{}", path_segment(&id))).await?;
        report(&json!({ "id": id }), || say!("The token {} is revoked.", self.name))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
