//! `kitbag documents list`

use std::fmt;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use super::{Document, PageInfo, collection_id};
use crate::cli::client::{Client, Connection};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Screen, Text, note, say, text};

/// Documents per request.
const PAGE_SIZE: u32 = 100;

const LIST: &str =
    "query ($first: Int, $after: String, $source: String, $feed: String, $state: DocumentState) {
  documents(first: $first, after: $after, source: $source, feed: $feed, state: $state) { ...page }
  holder: me { usage { documents documentsQuota bytes bytesQuota } }
}";

const LIST_COLLECTION: &str = "query (
  $first: Int, $after: String, $source: String, $feed: String, $state: DocumentState, $collection: String!
) {
  documents(
    first: $first, after: $after, source: $source, feed: $feed, state: $state, collection: $collection
  ) { ...page }
  holder: collection(id: $collection) { usage { documents documentsQuota bytes bytesQuota } }
}";

const PAGE: &str = "
fragment page on DocumentConnection {
  totalCount
  nodes {
    id title url author collection addedBy source feed { key name label } state reason
    artifact { mediaType size url } createdAt updatedAt
  }
  pageInfo { endCursor hasNextPage }
}";

/// List your documents, or those of a collection, newest first.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Those of this collection, by its id; by default your own.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    /// Only of this source: the id of a toolkit, or `user` for what you ingested yourself.
    #[arg(long)]
    source: Option<String>,
    /// Only of the feed with this key.
    #[arg(long, value_name = "KEY")]
    feed: Option<String>,
    /// Only in this state.
    #[arg(long)]
    state: Option<DocumentState>,
    /// Documents at most.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    connection: Connection,
}

/// How far a document is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DocumentState {
    /// Search finds it soon.
    Pending,
    /// Search finds it.
    Ready,
    /// Something went wrong for good.
    Failed,
}

#[derive(Deserialize)]
struct DocumentsResponse {
    documents: Listed,
    /// The user, or the collection.
    holder: Holder,
}

#[derive(Deserialize)]
struct Holder {
    usage: Usage,
}

/// Number and size of the holder's documents, with their quotas.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    documents: u64,
    documents_quota: u64,
    bytes: f64,
    bytes_quota: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    total_count: u64,
    nodes: Vec<Document>,
    page_info: PageInfo,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.clone().open().await?;
        let (documents, total, usage) = self.collect(&client).await?;
        report(&documents, || {
            if documents.is_empty() {
                say!("There are no such documents. `kitbag ingest` brings some in.");
            }
            let screen = Screen::of_stdout();
            for document in &documents {
                say!("{}", line(document, screen));
            }
            if (documents.len() as u64) < total {
                note!("\n{} of {}; --limit shows more.", documents.len(), total);
            }
            let whose = collection_id(self.collection.as_deref());
            let whose = whose.map_or("You have".to_owned(), |id| format!("{id} has"));
            note!("\n{} {}.", whose, usage.to_string());
        })
    }

    /// Returns the documents up to the limit, the number of matches, and the usage of the holder's quota.
    async fn collect(&self, client: &Client) -> Result<(Vec<Document>, u64, Usage), CliError> {
        let state = self.state.map(|state| match state {
            DocumentState::Pending => "PENDING",
            DocumentState::Ready => "READY",
            DocumentState::Failed => "FAILED",
        });
        let collection = collection_id(self.collection.as_deref());
        let query = format!("{}{PAGE}", if collection.is_some() { LIST_COLLECTION } else { LIST });
        let mut documents = Vec::new();
        let mut after = None;
        loop {
            let missing = self.limit.saturating_sub(u32::try_from(documents.len()).unwrap_or(u32::MAX));
            let variables = json!({
                "first": missing.clamp(1, PAGE_SIZE),
                "after": after,
                "source": self.source,
                "feed": self.feed,
                "state": state,
                "collection": collection,
            });
            let DocumentsResponse { documents: page, holder } = client.ask(&query, variables).await?;
            documents.extend(page.nodes.into_iter().take(missing as usize));
            after = page.page_info.end_cursor;
            let is_complete = documents.len() >= self.limit as usize;
            if is_complete || !page.page_info.has_next_page || after.is_none() {
                return Ok((documents, page.total_count, holder.usage));
            }
        }
    }
}

impl fmt::Display for Usage {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the server counts whole bytes, and a number that is none of that is shown as 0"
    )]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: f64| ByteSize(bytes as u64);
        let Self { documents, documents_quota, bytes, bytes_quota } = *self;
        let bytes = size(bytes);
        let bytes_quota = size(bytes_quota);
        write!(formatter, "{documents} of {documents_quota} documents, and {bytes} of {bytes_quota}")
    }
}

/// Formats a document as id, state, source and title, with the reason of a failure below.
fn line(document: &Document, screen: Screen) -> Text {
    let source = document
        .feed
        .as_ref()
        .map_or_else(|| document.source.clone(), |feed| format!("{}/{}", document.source, feed.name));
    let line = text!(
        "{}  {:<7}  {:<24}  {}",
        document.id,
        document.state.to_lowercase(),
        Text::prose(&source),
        screen.bold(&Text::prose(&document.title)),
    );
    match &document.reason {
        Some(reason) => text!("{}\n    {}", line, Text::prose(reason)),
        None => line,
    }
}
