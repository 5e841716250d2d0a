//! `kitbag ingest`

mod arrival;
mod batch;
#[doc(hidden)]
pub mod fuzzing;
mod inputs;
mod kinds;
mod lines;
mod mailbox;
mod text;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CliError;
use super::client::{Client, Connection};
use super::output::{Format, print_line, report};
use super::terminal::{Text, counted, note, say};
use batch::Batch;
use inputs::{Input, Inputs, LeftOut, Why};

/// Bring documents into your knowledge base.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag ingest notes.md report.pdf plan.docx   text as it is, other files as they are
  kitbag ingest ~/notes --only md,txt           a folder with its subfolders
  kitbag ingest https://example.com/page        the server fetches it
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
    /// Wait until search finds them, or says why not.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

/// A document on its way in (`SvcIngestDoc`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    title: String,
    /// Whether the title is the name of the file and nothing else.
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

/// Its feed (`SvcIngestFeed`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feed {
    key: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// What the server said of a document that it stored.
#[derive(Clone, Deserialize)]
struct Stored {
    id: String,
    change: String,
}

impl Ingest {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.clone().open().await?;
        let mut run = Run { client, bar: bar(), tally: Tally::default() };
        let mut batch = Batch::default();
        let inputs = Inputs::of(&self)?;
        let left_out = inputs.left_out();
        for (name, input) in inputs {
            match input {
                Ok(Input::Document(document)) => {
                    if batch.is_full_with(&document) {
                        run.send(std::mem::take(&mut batch)).await?;
                    }
                    batch.add(name, document);
                }
                Ok(Input::File(file)) => run.upload(name, file).await?,
                Err(error) => run.failed(&name, &error),
            }
        }
        run.send(batch).await?;
        if self.wait {
            run.wait().await?;
        }
        run.finish(&left_out)
    }

    fn feed(&self) -> Option<Feed> {
        let key = self.feed.clone()?;
        Some(Feed { name: self.feed_name.clone().unwrap_or_else(|| key.clone()), key, label: None })
    }
}

/// A file that goes to the server as it is, and what is known of it.
struct File {
    content: Content,
    about: Document,
}

/// Where the bytes of a file are.
enum Content {
    Path(PathBuf),
    /// Here, under this name.
    Bytes {
        name: String,
        bytes: Vec<u8>,
    },
}

/// One run of the command.
struct Run {
    client: Client,
    bar: ProgressBar,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    created: usize,
    updated: usize,
    unchanged: usize,
    /// How many are the same as another of this run.
    same: usize,
    failed: usize,
    /// Ids of documents that this run has created or updated.
    changed: HashSet<String>,
    /// What was stored, by name and id.
    stored: Vec<(String, String)>,
    /// What became of each document, for one JSON document at the end.
    outcomes: Vec<Value>,
}

impl Run {
    async fn send(&mut self, batch: Batch) -> Result<(), CliError> {
        for (name, outcome) in batch.send(&self.client).await? {
            match outcome {
                Ok(stored) => self.stored(name, &stored),
                Err(reason) => self.failed(&name, &reason),
            }
        }
        Ok(())
    }

    async fn upload(&mut self, name: String, file: File) -> Result<(), CliError> {
        match batch::upload(&self.client, file).await? {
            Ok(stored) => self.stored(name, &stored),
            Err(reason) => self.failed(&name, &reason),
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), CliError> {
        let waiting = self.tally.stored.clone();
        for (name, reason) in arrival::wait(&self.client, waiting, &self.bar).await? {
            self.failed(&name, &reason);
        }
        Ok(())
    }

    fn stored(&mut self, name: String, stored: &Stored) {
        let first = self.tally.stored.iter().position(|(_, id)| *id == stored.id);
        if let Some((other, _)) = first.map(|first| &self.tally.stored[first]) {
            // In a later run both are unchanged.
            if self.tally.changed.contains(&stored.id) {
                self.tally.same += 1;
                if Format::current() == Format::Text {
                    let (name, other) = (Text::prose(&name), Text::prose(other));
                    self.bar.suspend(|| note!("{}: has the same content as {}", name, other));
                }
            } else {
                self.tally.unchanged += 1;
            }
            self.tell(json!({ "input": name, "id": stored.id, "change": "UNCHANGED" }));
            self.bar.inc(1);
            return;
        }
        if stored.change != "UNCHANGED" {
            self.tally.changed.insert(stored.id.clone());
        }
        match stored.change.as_str() {
            "CREATED" => self.tally.created += 1,
            "UPDATED" => self.tally.updated += 1,
            _ => self.tally.unchanged += 1,
        }
        self.tell(json!({ "input": name, "id": stored.id, "change": stored.change }));
        self.tally.stored.push((name, stored.id.clone()));
        self.bar.inc(1);
    }

    fn failed(&mut self, name: &str, reason: &str) {
        self.tally.failed += 1;
        if Format::current() == Format::Text {
            self.bar.suspend(|| note!("{}: {}", Text::prose(name), Text::prose(reason)));
        }
        self.tell(json!({ "input": name, "error": reason }));
        self.bar.inc(1);
    }

    /// Tells a script what became of a document: at once, or at the end.
    fn tell(&mut self, outcome: Value) {
        match Format::current() {
            Format::Text => {}
            Format::Json => self.tally.outcomes.push(outcome),
            Format::Jsonl => self.bar.suspend(|| print_line(&outcome)),
        }
    }

    fn finish(self, left_out: &LeftOut) -> Result<(), CliError> {
        self.bar.finish_and_clear();
        let Tally { created, updated, unchanged, same, changed: _, failed, stored, outcomes } = self.tally;
        match Format::current() {
            Format::Text => {
                if let [(_, id)] = stored.as_slice() {
                    say!("{}", id);
                }
                let count = counted(created + updated + unchanged + same, "document");
                match same {
                    0 => say!("{}: {} new, {} updated, {} unchanged.", count, created, updated, unchanged),
                    _ => say!(
                        "{}: {} new, {} updated, {} unchanged, {} the same as another.",
                        count,
                        created,
                        updated,
                        unchanged,
                        same
                    ),
                }
                tell_left_out(left_out);
            }
            Format::Json => report(&outcomes, || {})?,
            Format::Jsonl => {}
        }
        match failed {
            0 => Ok(()),
            failed => Err(CliError::new(format!("{} went wrong", counted(failed, "document"))).hint(
                "run the same command again once that is repaired: what is there already stays as it is",
            )),
        }
    }
}

/// Says what of folders was not taken, and how to take it.
fn tell_left_out(left_out: &LeftOut) {
    let listed = |why| {
        let kinds = left_out.by(why);
        let shown: Vec<_> = kinds.iter().map(|(what, count)| format!("{count} {what}")).collect();
        (kinds, shown.join(", "))
    };
    let (kinds, shown) = listed(Why::UnknownKind);
    if !kinds.is_empty() {
        let extensions: Vec<_> = kinds.iter().filter_map(|(what, _)| what.strip_prefix('.')).collect();
        let advice = match extensions.as_slice() {
            [] => "name them to take them".to_owned(),
            extensions => format!("take them with --only {}", extensions.join(",")),
        };
        note!("not read, by kind: {}; {}", Text::prose(&shown), Text::prose(&advice));
    }
    let (kinds, shown) = listed(Why::Generated);
    if !kinds.is_empty() {
        note!("left out as generated: {}; take them with --no-ignore", Text::prose(&shown));
    }
}

/// Seen at a terminal only, and not before there is something to wait for.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} documents  {elapsed}  {msg}");
    let bar = ProgressBar::new_spinner().with_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
