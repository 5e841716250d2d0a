//! `kitbag documents history`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::not_found;
use crate::cli::client::Connection;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Text, note, say};

const HISTORY: &str = "query ($id: ID!) {
  document(id: $id) {
    title updatedAt changedBy
    versions { number title changedAt replacedAt changedBy }
  }
}";

/// List the earlier texts of a document, newest first.
#[derive(Args, Debug)]
#[command(
    after_help = "A change of its text keeps the one before: the last 10 of them, for 90 days. A source that changes a document \
                        several times a day leaves one of each day.\n\n\
                        `kitbag documents show ID --version N` prints one, and `kitbag documents restore ID --version N` makes it the \
                        text again."
)]
pub(super) struct History {
    /// The document's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// An earlier text of a document.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub(super) number: u32,
    pub(super) title: String,
    pub(super) changed_at: String,
    pub(super) replaced_at: String,
    pub(super) changed_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
}

#[derive(Deserialize)]
struct HistoryResponse {
    document: Option<Document>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    title: String,
    updated_at: String,
    changed_by: String,
    versions: Vec<Version>,
}

impl History {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let HistoryResponse { document } = client.ask(HISTORY, json!({ "id": self.id })).await?;
        let Document { title, updated_at, changed_by, versions } =
            document.ok_or_else(|| not_found(&self.id))?;
        report(&versions, || {
            say!("now  {}  {}  {}", updated_at, changed_by, Text::prose(&title));
            for version in &versions {
                say!(
                    "{:>3}  {}  {}  {}",
                    version.number,
                    version.changed_at,
                    version.changed_by,
                    Text::prose(&version.title)
                );
            }
            if versions.is_empty() {
                note!("There are no earlier texts.");
            }
        })
    }
}
