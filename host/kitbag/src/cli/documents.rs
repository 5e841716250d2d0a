//! `kitbag documents …`

mod download;
mod list;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::json;
use whatlang::Lang;

use super::client::Connection;
use super::error::CliError;
use super::output::report;
use super::terminal::{Screen, Text, say};
use download::Download;
use list::List;

/// List, show, download and delete your documents.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  kitbag documents                              the newest
  kitbag documents --state failed               what went wrong, and why
  kitbag documents --source clipper --feed en.wikipedia.org
  kitbag documents show ID
  kitbag documents download ID report.pdf"
)]
pub(super) struct Documents {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List your documents, newest first.
    List(List),
    /// Print one document with its text.
    Show(Show),
    /// Save the file that was captured for a document.
    Download(Download),
    /// Remove a document, whatever its source.
    Delete(Delete),
}

/// Print one document with its text.
#[derive(Args, Debug)]
struct Show {
    /// The document's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Remove a document.
#[derive(Args, Debug)]
struct Delete {
    /// The document's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

impl Documents {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.verb {
            None => self.list.run().await,
            Some(Verb::List(command)) => command.run().await,
            Some(Verb::Show(command)) => command.run().await,
            Some(Verb::Download(command)) => command.run().await,
            Some(Verb::Delete(command)) => command.run().await,
        }
    }
}

const SHOW: &str = "query ($id: ID!) {
  document(id: $id) {
    id title titleOrigin encoding language url author source feed { key name label } state reason
    artifact { mediaType size url } createdAt updatedAt text
  }
}";

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

impl Show {
    async fn run(self) -> Result<(), CliError> {
        #[derive(Deserialize)]
        struct DocumentsResponse {
            document: Option<Document>,
        }

        let DocumentsResponse { document } =
            self.connection.open().await?.ask(SHOW, json!({ "id": self.id })).await?;
        let document = document.ok_or_else(|| not_found(&self.id))?;
        report(&document, || print(&document))
    }
}

fn print(document: &Document) {
    let feed = document.feed.as_ref().map(|feed| match &feed.label {
        Some(label) => format!("{label} {} ({})", feed.name, feed.key),
        None => format!("{} ({})", feed.name, feed.key),
    });
    let file = document.artifact.as_ref().map(|file| format!("{}, {} bytes", file.media_type, file.size));
    let origin = document.title_origin.as_ref().map(|origin| match origin.as_str() {
        "FILE" => "found in the file".to_owned(),
        "FILE_NAME" => "the name of the file".to_owned(),
        _ => "given".to_owned(),
    });
    let language = document.language.as_ref().map(|code| {
        Lang::from_code(code).map_or_else(|| code.clone(), |language| language.eng_name().to_owned())
    });
    let reason = document.reason.as_ref();
    let state = reason.map_or(document.state.to_lowercase(), |reason| format!("failed: {reason}"));
    say!("{}", Screen::of_stdout().bold(&Text::prose(&document.title)));
    for (label, value) in [
        ("id", Some(&document.id)),
        ("title", origin.as_ref()),
        ("language", language.as_ref()),
        ("encoding", document.encoding.as_ref()),
        ("source", Some(&document.source)),
        ("feed", feed.as_ref()),
        ("author", document.author.as_ref()),
        ("url", document.url.as_ref()),
        ("file", file.as_ref()),
        ("state", Some(&state)),
        ("created", Some(&document.created_at)),
        ("updated", Some(&document.updated_at)),
    ] {
        if let Some(value) = value {
            say!("{:<8} {}", label, Text::prose(value));
        }
    }
    if let Some(text) = document.text.as_ref().filter(|text| !text.is_empty()) {
        say!("\n{}", Text::indented(text, 0));
    }
}

impl Delete {
    async fn run(self) -> Result<(), CliError> {
        let delete = "mutation ($id: ID!) { deleteDocument(id: $id) }";
        let _: serde_json::Value =
            self.connection.open().await?.ask(delete, json!({ "id": self.id })).await?;
        report(&json!({ "id": self.id }), || say!("{} is gone.", self.id))
    }
}

fn not_found(id: &str) -> CliError {
    CliError::new(format!("you have no document {id:?}")).hint("`kitbag documents` lists those you have")
}

/// Percent-encodes text as one path segment.
pub(super) fn path_segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
