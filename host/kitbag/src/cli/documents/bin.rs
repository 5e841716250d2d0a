//! `kitbag documents bin | purge`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::selection::{Part, Selection};
use super::{Feed, PageInfo, collection_id, in_collection};
use crate::cli::client::{Client, Connection};
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Screen, Text, counted, note, say, text};

/// Documents per request.
const PAGE_SIZE: u32 = 100;

const BIN: &str = "query ($first: Int, $after: String, $collection: String) {
  bin(first: $first, after: $after, collection: $collection) {
    totalCount
    nodes { id title url collection addedBy source feed { key name label } deletedAt deletedBy }
    pageInfo { endCursor hasNextPage }
  }
}";

const PURGE: &str = "mutation ($chosen: ChosenInput!, $collection: String) {
  purgeDocuments(chosen: $chosen, collection: $collection)
}";

/// List deleted documents that can be restored, the latest first.
#[derive(Args, Debug)]
#[command(
    after_help = "The bin is emptied of what was deleted 30 days ago, or as long as the operator has set (setting `bin`). \
                        `kitbag documents restore` gets documents back."
)]
pub(super) struct Bin {
    /// Those of this collection, by its id; by default your own.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    /// Documents at most.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    connection: Connection,
}

/// Remove documents of the bin for good.
#[derive(Args, Debug)]
pub(super) struct Purge {
    #[command(flatten)]
    selection: Selection,
    /// Of this collection, by its id; by default your own.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

/// A document in the bin.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeletedDocument {
    id: String,
    title: String,
    url: Option<String>,
    collection: Option<String>,
    added_by: String,
    source: String,
    feed: Option<Feed>,
    deleted_at: String,
    deleted_by: String,
}

#[derive(Deserialize)]
struct BinResponse {
    bin: Listed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    total_count: u64,
    nodes: Vec<DeletedDocument>,
    page_info: PageInfo,
}

impl Bin {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.clone().open().await?;
        let (documents, total) = self.collect(&client).await?;
        report(&documents, || {
            if documents.is_empty() {
                say!("The bin is empty.");
                return;
            }
            let screen = Screen::of_stdout();
            for document in &documents {
                say!("{}", line(document, screen));
            }
            if (documents.len() as u64) < total {
                note!("\n{} of {}; --limit shows more.", documents.len(), total);
            }
            let collection = in_collection(collection_id(self.collection.as_deref()));
            note!("\nBack again: kitbag documents restore ID{}", collection);
        })
    }

    /// Returns the documents up to the limit, and how many there are.
    async fn collect(&self, client: &Client) -> Result<(Vec<DeletedDocument>, u64), CliError> {
        let mut documents = Vec::new();
        let mut after = None;
        loop {
            let missing = self.limit.saturating_sub(u32::try_from(documents.len()).unwrap_or(u32::MAX));
            let variables = json!({
                "first": missing.clamp(1, PAGE_SIZE),
                "after": after,
                "collection": collection_id(self.collection.as_deref()),
            });
            let BinResponse { bin: page } = client.ask(BIN, variables).await?;
            documents.extend(page.nodes.into_iter().take(missing as usize));
            after = page.page_info.end_cursor;
            let is_complete = documents.len() >= self.limit as usize;
            if is_complete || !page.page_info.has_next_page || after.is_none() {
                return Ok((documents, page.total_count));
            }
        }
    }
}

impl Purge {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let collection = collection_id(self.collection.as_deref());
        let words = self.selection.in_words(collection);
        self.confirmation.ask(&format!(
            "Removed from the bin for good: {words}. Nobody gets them back, the operator from a backup alone."
        ))?;
        let mut count = 0;
        for part in self.selection.parts_of(collection) {
            count += purge(&client, &part).await?;
        }
        if count == 0 && self.selection.is_by_id() {
            return Err(not_in_bin(collection));
        }
        report(&json!({ "count": count }), || {
            let are = if count == 1 { "is" } else { "are" };
            let documents = counted(usize::try_from(count).unwrap_or(usize::MAX), "document");
            say!("{} {} gone.", documents, are);
        })
    }
}

/// Removes documents of the bin for good. Returns their number.
pub(super) async fn purge(client: &Client, Part { collection, chosen, .. }: &Part) -> Result<u64, CliError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PurgeResponse {
        purge_documents: u64,
    }

    let variables = json!({ "chosen": chosen, "collection": collection });
    let PurgeResponse { purge_documents } = client.ask(PURGE, variables).await?;
    Ok(purge_documents)
}

/// Error for ids of which none is in a bin.
pub(super) fn not_in_bin(collection: Option<&str>) -> CliError {
    match collection {
        Some(id) => CliError::new(format!("the bin of {id} has no such document"))
            .hint(format!("`kitbag documents bin --collection {id}` lists what it has")),
        None => CliError::new("your bin has no such document").hint(
            "`kitbag documents bin` lists what it has; --collection names the bin of a collection instead",
        ),
    }
}

/// Formats a document as id, time and user of its deletion, and title.
fn line(document: &DeletedDocument, screen: Screen) -> Text {
    let title = screen.bold(&Text::prose(&document.title));
    text!("{}  {}  {}  {}", document.id, document.deleted_at, document.deleted_by, title)
}
