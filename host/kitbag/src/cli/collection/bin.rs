//! `kitbag collection delete | restore | purge`

use clap::Args;
use http::Method;
use serde_json::json;

use super::{Record, path, with_hint};
use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// What to look at if a collection is not in the bin.
const LIST_HINT: &str =
    "`kitbag collection list` also lists those that were deleted, and `kitbag collection delete` deletes one";

/// Put a collection into the bin, with its documents. For its curators.
#[derive(Args, Debug)]
#[command(
    after_help = "Nobody finds it, or its documents, from the next request on. Until the bin is emptied its curators can restore it."
)]
pub(in crate::cli) struct Delete {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Get a collection back from the bin, with its documents. For those who kept it.
#[derive(Args, Debug)]
pub(in crate::cli) struct Restore {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Remove a deleted collection for good, with its documents. For those who kept it.
#[derive(Args, Debug)]
pub(in crate::cli) struct Purge {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Delete {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, connection } = self;
        connection.open().await?.delete(&path(&id)).await?;
        report(&json!({ "id": id }), || {
            say!("{} is in the bin, with its documents,", id);
            say!("until the bin is emptied (30 days by default).");
            say!("Back again: kitbag collection restore {}", id);
        })
    }
}

impl Restore {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, connection } = self;
        let path = format!("{}/restore", path(&id));
        let restored = connection.open().await?.try_send(Method::POST, &path, "application/json", "").await;
        let restored: Record = restored.map_err(|failed| with_hint(failed, LIST_HINT))?;
        report(&restored, || say!("{} is there again, with its documents.", restored.id))
    }
}

impl Purge {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, confirmation, connection } = self;
        let client = connection.open().await?;
        confirmation.ask(&format!(
            "{id} is removed for good, with all its documents, those in its own bin too. Nobody gets them back."
        ))?;
        client
            .delete(&format!("{}?purge=true", path(&id)))
            .await
            .map_err(|error| with_hint(error, LIST_HINT))?;
        report(&json!({ "id": id }), || say!("{} is gone.", id))
    }
}
