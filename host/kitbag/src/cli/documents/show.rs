//! `kitbag documents show`

use clap::Args;
use serde::Deserialize;
use serde_json::json;
use whatlang::Lang;

use super::history::Version;
use super::{Document, not_found};
use crate::cli::client::{Client, Connection};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Screen, Text, say};

const SHOW: &str = "query ($id: ID!) {
  document(id: $id) {
    id title titleOrigin encoding language url author collection addedBy changedBy
    source feed { key name label } state reason
    artifact { mediaType size url } createdAt updatedAt text
  }
}";

const VERSIONS: &str = "query ($id: ID!) {
  document(id: $id) { versions { number title changedAt replacedAt changedBy text } }
}";

/// Print one document with its text.
#[derive(Args, Debug)]
pub(super) struct Show {
    /// The document's id.
    id: String,
    /// An earlier text, by its number in `kitbag documents history`.
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    #[command(flatten)]
    connection: Connection,
}

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        #[derive(Deserialize)]
        struct DocumentsResponse {
            document: Option<Document>,
        }

        let client = self.connection.open().await?;
        if let Some(number) = self.version {
            let version = version(&client, &self.id, number).await?;
            return report(&version, || print_version(&version));
        }
        let DocumentsResponse { document } = client.ask(SHOW, json!({ "id": self.id })).await?;
        let document = document.ok_or_else(|| not_found(&self.id))?;
        report(&document, || print(&document))
    }
}

/// Returns an earlier text of a document.
async fn version(client: &Client, id: &str, number: u32) -> Result<Version, CliError> {
    #[derive(Deserialize)]
    struct VersionsResponse {
        document: Option<Versions>,
    }
    #[derive(Deserialize)]
    struct Versions {
        versions: Vec<Version>,
    }

    let VersionsResponse { document } = client.ask(VERSIONS, json!({ "id": id })).await?;
    let Versions { versions } = document.ok_or_else(|| not_found(id))?;
    versions.into_iter().find(|version| version.number == number).ok_or_else(|| {
        CliError::new(format!("there is no version {number} of {id}"))
            .hint(format!("`kitbag documents history {id}` lists those that there are"))
    })
}

fn print_version(version: &Version) {
    say!("{}", Screen::of_stdout().bold(&Text::prose(&version.title)));
    let number = version.number.to_string();
    for (label, value) in [
        ("version", &number),
        ("by", &version.changed_by),
        ("from", &version.changed_at),
        ("until", &version.replaced_at),
    ] {
        say!("{:<8} {}", label, Text::prose(value));
    }
    say!("\n{}", Text::indented(version.text.as_deref().unwrap_or_default(), 0));
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
    let by = |time: &str, user: Option<&str>| match user {
        Some(user) => format!("{time}, by {user}"),
        None => time.to_owned(),
    };
    let created = by(&document.created_at, Some(&document.added_by));
    let updated = by(&document.updated_at, document.changed_by.as_deref());
    say!("{}", Screen::of_stdout().bold(&Text::prose(&document.title)));
    for (label, value) in [
        ("id", Some(&document.id)),
        ("in", document.collection.as_ref()),
        ("title", origin.as_ref()),
        ("language", language.as_ref()),
        ("encoding", document.encoding.as_ref()),
        ("source", Some(&document.source)),
        ("feed", feed.as_ref()),
        ("author", document.author.as_ref()),
        ("url", document.url.as_ref()),
        ("file", file.as_ref()),
        ("state", Some(&state)),
        ("created", Some(&created)),
        ("updated", Some(&updated)),
    ] {
        if let Some(value) = value {
            say!("{:<8} {}", label, Text::prose(value));
        }
    }
    if let Some(text) = document.text.as_ref().filter(|text| !text.is_empty()) {
        say!("\n{}", Text::indented(text, 0));
    }
}
