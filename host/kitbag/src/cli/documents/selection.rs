//! Documents that a command deletes, restores, purges or moves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{collection_id, not_found};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::terminal::counted;

/// Ids per mutation.
const MAX_IDS: usize = 1000;
/// Documents per look-up: the server limits the cost of a query.
const MAX_DOCUMENTS_PER_REQUEST: usize = 100;
/// Source of documents that users ingest themselves.
const USER_SOURCE: &str = kitbag_knowledge::USER_SOURCE;

const COUNT: &str = "query ($source: String, $feed: String, $collection: String) {
  documents(first: 1, source: $source, feed: $feed, collection: $collection) { totalCount }
}";

/// Chosen documents.
#[derive(Args, Debug)]
#[group(id = "chosen", required = true, multiple = true)]
pub(super) struct Selection {
    /// Those with these ids.
    #[arg(value_name = "ID", conflicts_with_all = ["source", "feed", "all"])]
    ids: Vec<String>,
    /// Those of this source: the id of a toolkit, or `user` for what people ingested themselves.
    #[arg(long)]
    source: Option<String>,
    /// Those of the feed with this key, of the source `user` unless --source names another.
    #[arg(long, value_name = "KEY")]
    feed: Option<String>,
    /// All of them.
    #[arg(long, conflicts_with_all = ["source", "feed"])]
    all: bool,
}

/// Chosen documents of one holder, as variables of one mutation.
pub(super) struct Part {
    /// Id of the collection; `None` for the user's own documents.
    pub(super) collection: Option<String>,
    /// GraphQL's `ChosenInput`.
    pub(super) chosen: Value,
    /// Number of ids; `None` if the documents are not chosen by ids.
    pub(super) ids: Option<usize>,
}

impl Selection {
    /// Whether the documents are chosen by their ids.
    pub(super) fn is_by_id(&self) -> bool {
        !self.ids.is_empty()
    }

    /// The only id; `None` if the documents are chosen otherwise.
    pub(super) fn single_id(&self) -> Option<&str> {
        match self.ids.as_slice() {
            [id] => Some(id),
            _ => None,
        }
    }

    /// Parts of the selection in one holder.
    pub(super) fn parts_of(&self, collection: Option<&str>) -> Vec<Part> {
        if self.is_by_id() {
            return parts_by_id(collection.map(str::to_owned), &self.ids).collect();
        }
        let chosen = match (&self.feed, &self.source) {
            (Some(key), source) => {
                json!({ "feed": { "source": source.as_deref().unwrap_or(USER_SOURCE), "key": key } })
            }
            (None, Some(source)) => json!({ "source": source }),
            (None, None) => json!({ "all": true }),
        };
        vec![Part { collection: collection.map(str::to_owned), chosen, ids: None }]
    }

    /// Parts of the selection in each holder: documents that are chosen by their ids may be anywhere if no collection,
    /// nor `mine`, is named. Fails if any id is unknown then.
    pub(super) async fn parts_of_any(
        &self,
        client: &Client,
        named: Option<&str>,
    ) -> Result<Vec<Part>, CliError> {
        if named.is_some() || !self.is_by_id() {
            return Ok(self.parts_of(collection_id(named)));
        }
        let mut by_holder: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
        for ids in self.ids.chunks(MAX_DOCUMENTS_PER_REQUEST) {
            for (id, collection) in ids.iter().zip(holders(client, ids).await?) {
                by_holder.entry(collection).or_default().push(id.clone());
            }
        }
        let parts = by_holder.iter().flat_map(|(collection, ids)| parts_by_id(collection.clone(), ids));
        Ok(parts.collect())
    }

    /// Number of chosen documents that are not in the bin.
    pub(super) async fn count(&self, client: &Client, collection: Option<&str>) -> Result<u64, CliError> {
        #[derive(Deserialize)]
        struct CountResponse {
            documents: Total,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Total {
            total_count: u64,
        }

        let source = self.source.as_deref().or(self.feed.as_ref().map(|_| USER_SOURCE));
        let variables = json!({ "source": source, "feed": self.feed, "collection": collection });
        let CountResponse { documents } = client.ask(COUNT, variables).await?;
        Ok(documents.total_count)
    }

    /// The selection in words, such as `all documents of the source clipper in handbook`.
    pub(super) fn in_words(&self, collection: Option<&str>) -> String {
        let mut words = match (self.ids.len(), &self.feed, &self.source) {
            (0, Some(feed), source) => {
                let source = source.as_deref().unwrap_or(USER_SOURCE);
                format!("all documents of the feed {feed} of the source {source}")
            }
            (0, None, Some(source)) => format!("all documents of the source {source}"),
            (0, None, None) => "all documents".to_owned(),
            (count, ..) => counted(count, "document"),
        };
        if let Some(id) = collection {
            words = format!("{words} of {id}");
        }
        words
    }
}

fn parts_by_id(collection: Option<String>, ids: &[String]) -> impl Iterator<Item = Part> {
    ids.chunks(MAX_IDS).map(move |ids| Part {
        collection: collection.clone(),
        chosen: json!({ "ids": ids }),
        ids: Some(ids.len()),
    })
}

/// Queries the collections of documents, each under an alias; `None` for the user's own documents.
async fn holders(client: &Client, ids: &[String]) -> Result<Vec<Option<String>>, CliError> {
    #[derive(Deserialize)]
    struct Document {
        collection: Option<String>,
    }

    let mut declared = String::new();
    let mut fields = String::new();
    let mut variables = Map::new();
    for (index, id) in ids.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(declared, "$d{index}: ID! ");
        let _ = write!(fields, "d{index}: document(id: $d{index}) {{ collection }} ");
        variables.insert(format!("d{index}"), Value::from(id.as_str()));
    }
    let query = format!("query ({declared}) {{ {fields} }}");
    let mut answer: Map<String, Value> = client.ask(&query, Value::Object(variables)).await?;
    let unreadable = |error| CliError::new(format!("the server's answer cannot be read: {error}"));
    let mut collections = Vec::with_capacity(ids.len());
    for (index, id) in ids.iter().enumerate() {
        let document = answer.remove(&format!("d{index}")).unwrap_or_default();
        let document: Option<Document> = serde_json::from_value(document).map_err(unreadable)?;
        collections.push(document.ok_or_else(|| not_found(id))?.collection);
    }
    Ok(collections)
}
