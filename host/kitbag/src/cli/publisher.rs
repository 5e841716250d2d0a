//! `kitbag publisher …`: trusted publishers, whose signatures a server verifies. For operators.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use http::Method;
use kitbag_base::signatures::PublicKey;
use kitbag_toolkits::Publisher as Known;
use serde_json::json;

use super::client::Connection;
use super::documents::path_segment;
use super::error::CliError;
use super::output::report;
use super::terminal::say;
use super::toolkit::small_text;

/// Add, list and remove publishers, whose signatures of toolkits the server verifies. For operators.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Once a version of a toolkit is signed by a publisher, all that follow have to be: `kitbag toolkit \
                  reset-publisher` ends that. The setting `require-signature` refuses versions that nobody has signed."
)]
pub(super) enum Publisher {
    /// Add a publisher with the public key that its signatures are verified with.
    Add(Add),
    /// List the publishers, with the fingerprints of their keys.
    List(List),
    /// Remove a publisher: nothing that it has signed is deployed any more.
    Remove(Remove),
}

/// Add a publisher with the public key that its signatures are verified with.
#[derive(Args, Debug)]
#[command(
    after_help = "The key is what `cosign generate-key-pair` calls cosign.pub: ECDSA with P-256, in PEM. Compare its fingerprint \
                  with what the publisher tells you: `openssl pkey -pubin -in KEY.pub -outform DER | sha256sum`.\n\n\
                  Example:\n  kitbag publisher add acme acme.pub"
)]
pub(super) struct Add {
    /// What you call the publisher: letters, digits, and - _ . @ between them.
    name: String,
    /// File with the public key.
    #[arg(value_name = "KEY.pub")]
    key: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

/// List the publishers.
#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    connection: Connection,
}

/// Remove a publisher.
#[derive(Args, Debug)]
#[command(
    after_help = "Versions that it has signed and that are live stay so. Its toolkits stay bound to its key: they get no other \
                  version until `kitbag toolkit reset-publisher`, or until the same key is added again."
)]
pub(super) struct Remove {
    /// Its name.
    name: String,
    #[command(flatten)]
    connection: Connection,
}

impl Publisher {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Add(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Remove(command) => command.run().await,
        }
    }
}

impl Add {
    async fn run(self) -> Result<(), CliError> {
        let key = small_text(&self.key)?;
        // Only a valid public key is sent, above all no private key.
        PublicKey::from_pem(&key)
            .map_err(|error| CliError::new(format!("{} cannot be used: {error}", self.key.display())))?;
        let wanted = json!({ "name": self.name, "key": key }).to_string();
        let client = self.connection.open().await?;
        let added: Known = client.send(Method::POST, "/publishers", "application/json", wanted).await?;
        report(&added, || say!("{} is a publisher, with the key {}", added.name, added.key))
    }
}

impl List {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let known: Vec<Known> = client.send(Method::GET, "/publishers", "application/json", "").await?;
        report(&known, || {
            if known.is_empty() {
                say!("There are no publishers. `kitbag publisher add NAME KEY.pub` adds one.");
            }
            for Known { name, key, added_by, added_at } in &known {
                say!("{:<24} {}", name, key);
                say!("{:<24} added by {}, {}", "", added_by, added_at);
            }
        })
    }
}

impl Remove {
    async fn run(self) -> Result<(), CliError> {
        let path = format!("/publishers/{}", path_segment(&self.name));
        self.connection.open().await?.delete(&path).await?;
        report(&json!({ "name": self.name }), || say!("{} is no publisher any more.", self.name))
    }
}
