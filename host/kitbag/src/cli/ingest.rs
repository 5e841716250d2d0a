//! `kitbag ingest`

mod arrival;
mod batch;
#[doc(hidden)]
pub mod fuzzing;
mod inputs;
mod kinds;
mod lines;
mod mailbox;
mod report;
mod text;

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use kitbag_knowledge::MINE;
use serde::{Deserialize, Serialize};
use tokio::signal::ctrl_c;
use tokio::task::block_in_place;

use super::client::{Client, Connection};
use super::collection::Record;
use super::error::CliError;
use batch::Batch;
use inputs::{Input, Inputs};
use report::Report;

/// Bring documents into your knowledge base.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag ingest notes.md report.pdf plan.docx   text as it is, other files as they are
  kitbag ingest ~/notes --only md,txt           a folder with its subfolders
  kitbag ingest https://example.com/page        the server fetches it
  kitbag ingest ~/handbook --collection handbook
  pbpaste | kitbag ingest - --title \"Idea\"
  kitbag ingest export.jsonl --jsonl --wait     a document a line: {\"title\": …, \"text\": …}

Ingesting again changes nothing: a document is recognised by its URL, or else by its content, within its \
feed. So a local file that you have edited becomes a document of its own, unless it has a URL: give one \
in its front matter (url: https://…), or one for all files with --url-base.

The title comes from --title, or else from the file itself: its properties, its front matter, its first heading. \
Without one, and for source code, it is the file name. Of folders, texts, source code, office documents, e-books, \
messages (.eml, and each one of an .mbox), pages, PDF files and recordings are read; what .gitignore and .ignore \
name is left out, and what programs generate, such as node_modules and lock files: see --no-ignore. A line \
of --jsonl has title, and of text, url, author, fileUrl, audioUrl, mimeType, captureOnly and \
feed {key, name, label} what it needs.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Ingest {
    /// Files, folders, http and https URLs; `-` is standard input.
    #[arg(required = true, value_name = "FILE|FOLDER|URL|-")]
    sources: Vec<String>,
    /// Title; for one document.
    #[arg(long, conflicts_with = "jsonl")]
    title: Option<String>,
    /// Byline of documents that do not name one.
    #[arg(long)]
    author: Option<String>,
    /// Put them into this collection, by its id; by default they are your own. You have to be its curator.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    /// Put them into the feed with this key: a sub-group of your documents.
    #[arg(long, value_name = "KEY")]
    feed: Option<String>,
    /// What the feed is called; by default its key.
    #[arg(long, value_name = "NAME", requires = "feed")]
    feed_name: Option<String>,
    /// URL below which files are known, each by its path: files that come again are then updated.
    #[arg(long, value_name = "URL", conflicts_with = "jsonl")]
    url_base: Option<url::Url>,
    /// Of folders, only files with these extensions.
    #[arg(long, value_name = "EXT,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Of folders, leave out what this pattern names, as in `.gitignore`; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Of folders, also take what `.gitignore` and `.ignore` name, `node_modules`, lock files, and the like.
    #[arg(long)]
    no_ignore: bool,
    /// Each line of the files is a document in JSON.
    #[arg(long)]
    jsonl: bool,
    /// Keep captured files and what is known of them, and do not read them.
    #[arg(long)]
    capture_only: bool,
    /// Wait until search finds them. What could not be read is told then; without this, what is known so far.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Document to ingest (`SvcIngestDoc`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    title: String,
    /// Whether the title is only the file name.
    #[serde(skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    title_is_name: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audio_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(default)]
    capture_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feed: Option<Feed>,
}

/// Feed of a document (`SvcIngestFeed`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feed {
    key: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// Server's result for a stored document.
#[derive(Clone, Deserialize)]
struct Stored {
    id: String,
    change: String,
}

impl Ingest {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let report = Arc::new(Mutex::new(Report::new()));
        // A separate task, because reading may block: the interrupt must still be handled.
        let mut bringing = tokio::spawn(self.bring(report.clone()));
        let mut interrupt = pin!(ctrl_c());
        tokio::select! {
            brought = &mut bringing => brought.unwrap_or_else(|error| resume_unwind(error.into_panic()))?,
            Ok(()) = &mut interrupt => {
                bringing.abort();
                return lock(&report).interrupted();
            }
        }
        lock(&report).finish()
    }

    async fn bring(self, report: Arc<Mutex<Report>>) -> Result<(), CliError> {
        let client = self.connection.clone().open().await?;
        let mut inputs = Inputs::of(&self)?;
        let collection = self.collection.clone().filter(|name| name != MINE);
        check_collection(&client, collection.as_deref()).await?;
        let target = Target { client: &client, collection };
        lock(&report).begin(inputs.total(), inputs.left_out());
        let mut batch = Batch::default();
        // Reading may block: the thread hands what else it has to do, such as the interrupt, to another one.
        while let Some((name, input)) = block_in_place(|| inputs.next()) {
            match input {
                Ok(Input::Document(document)) => {
                    if batch.is_full_with(&document) {
                        send(&target, std::mem::take(&mut batch), &report).await?;
                    }
                    batch.add(name, document);
                }
                Ok(Input::File(file)) => {
                    let outcome = batch::upload(&target, file).await?;
                    lock(&report).sent(name, outcome);
                }
                Err(reason) => lock(&report).sent(name, Err(reason)),
            }
        }
        send(&target, batch, &report).await?;
        let stored = lock(&report).stored();
        arrival::look(&client, stored, self.wait, &report).await
    }

    fn feed(&self) -> Option<Feed> {
        let key = self.feed.clone()?;
        Some(Feed { name: self.feed_name.clone().unwrap_or_else(|| key.clone()), key, label: None })
    }
}

/// Place where documents are stored.
struct Target<'a> {
    client: &'a Client,
    /// Id of the collection; `None` for the user's own documents.
    collection: Option<String>,
}

/// Fails if the user may not add documents to the collection: otherwise each of them would fail.
async fn check_collection(client: &Client, collection: Option<&str>) -> Result<(), CliError> {
    let Some(id) = collection else { return Ok(()) };
    if Record::get(client, id).await?.is_curated() {
        return Ok(());
    }
    Err(CliError::new(format!("only curators of {id} may add documents to it"))
        .hint(format!("`kitbag collection share {id}` lists who they are")))
}

async fn send(target: &Target<'_>, batch: Batch, report: &Mutex<Report>) -> Result<(), CliError> {
    for (name, outcome) in batch.send(target).await? {
        lock(report).sent(name, outcome);
    }
    Ok(())
}

/// Locks the report, which the run shares with the interrupt handler.
fn lock(report: &Mutex<Report>) -> MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}

/// File that is uploaded unchanged, with its metadata.
struct File {
    content: Content,
    about: Document,
}

/// Source of a file's bytes.
enum Content {
    Path(PathBuf),
    /// In memory, with a file name.
    Bytes {
        name: String,
        bytes: Vec<u8>,
    },
}
