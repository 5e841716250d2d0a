//! `kitbag documents …`

mod bin;
mod delete;
pub(super) mod download;
mod history;
mod list;
mod relocate;
mod restore;
mod selection;
mod show;

use clap::{Args, Subcommand};
use kitbag_knowledge::MINE;
use serde::{Deserialize, Serialize};

use super::error::CliError;
use download::Download;
use list::List;

/// List, show, download, delete, restore and move documents.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  kitbag documents                              the newest of your own
  kitbag documents --collection handbook        the newest of a collection
  kitbag documents --state failed               what went wrong, and why
  kitbag documents --source clipper --feed en.wikipedia.org
  kitbag documents show ID
  kitbag documents download ID report.pdf
  kitbag documents delete ID                    into the bin
  kitbag documents restore ID                   and back
  kitbag documents move ID --to handbook"
)]
pub(super) struct Documents {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List your documents, or those of a collection, newest first.
    List(List),
    /// List deleted documents that can be restored, the latest first.
    Bin(bin::Bin),
    /// Print one document with its text.
    Show(show::Show),
    /// List the earlier texts of a document, newest first.
    History(history::History),
    /// Save the file that was captured for a document.
    Download(Download),
    /// Put documents into the bin, whatever their source.
    Delete(delete::Delete),
    /// Get documents back from the bin, or an earlier text of one.
    Restore(restore::Restore),
    /// Remove documents of the bin for good.
    Purge(bin::Purge),
    /// Move documents into a collection, out of one, or between two.
    Move(relocate::Move),
}

impl Documents {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.verb {
            None => self.list.run().await,
            Some(Verb::List(command)) => command.run().await,
            Some(Verb::Bin(command)) => command.run().await,
            Some(Verb::Show(command)) => command.run().await,
            Some(Verb::History(command)) => command.run().await,
            Some(Verb::Download(command)) => command.run().await,
            Some(Verb::Delete(command)) => command.run().await,
            Some(Verb::Restore(command)) => command.run().await,
            Some(Verb::Purge(command)) => command.run().await,
            Some(Verb::Move(command)) => command.run().await,
        }
    }
}

/// Fields of a document in a GraphQL response.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    id: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title_origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    url: Option<String>,
    author: Option<String>,
    /// `None` for the user's own documents.
    collection: Option<String>,
    added_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    source: String,
    feed: Option<Feed>,
    state: String,
    reason: Option<String>,
    artifact: Option<Artifact>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Feed {
    key: String,
    name: String,
    label: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    media_type: String,
    size: f64,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
}

/// Id of the named collection; `None` for the user's own documents, which no name or `mine` means.
fn collection_id(name: Option<&str>) -> Option<&str> {
    name.filter(|name| *name != MINE)
}

/// Ending of a command about the documents of a collection, with a space before it; empty for the user's own.
fn in_collection(collection: Option<&str>) -> String {
    collection.map(|id| format!(" --collection {id}")).unwrap_or_default()
}

fn not_found(id: &str) -> CliError {
    CliError::new(format!("you have no document {id:?}")).hint(
        "`kitbag documents` lists those you have, and `kitbag documents bin` those that you have deleted",
    )
}

/// Percent-encodes text as one path segment.
pub(super) fn path_segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
