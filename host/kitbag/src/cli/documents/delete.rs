//! `kitbag documents delete`

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::bin::purge;
use super::selection::{Part, Selection};
use super::{collection_id, in_collection};
use crate::cli::client::{Client, Connection};
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{counted, note, say};

const DELETE: &str = "mutation ($chosen: ChosenInput!, $collection: String) {
  deleteDocuments(chosen: $chosen, collection: $collection)
}";

/// Put documents into the bin, whatever their source.
#[derive(Args, Debug)]
#[command(
    after_help = "Nothing finds a deleted document. It counts in the quota, and can be restored, until the bin is emptied: after 30 \
                        days by default. With --purge it goes at once.\n\n\
                        Examples:\n  kitbag documents delete ID ID\n  kitbag documents delete --source clipper\n  \
                        kitbag documents delete --feed plans --collection handbook\n  kitbag documents delete ID --purge"
)]
pub(super) struct Delete {
    #[command(flatten)]
    selection: Selection,
    /// Of this collection, by its id; by default your own. Ids are found in any that you may read.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    /// Remove them from the bin, too: for good.
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Delete {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.clone().open().await?;
        let named = self.collection.as_deref();
        let parts = self.selection.parts_of_any(&client, named).await?;
        self.ask(&client, collection_id(named)).await?;
        let mut count = 0;
        for part in &parts {
            count += delete(&client, part).await?;
        }
        if self.purge {
            for part in &parts {
                purge(&client, part).await?;
            }
        }
        let asked: usize = parts.iter().filter_map(|part| part.ids).sum();
        report(&json!({ "count": count, "purged": self.purge }), || {
            let are = if count == 1 { "is" } else { "are" };
            let documents = counted(usize::try_from(count).unwrap_or(usize::MAX), "document");
            if self.purge {
                say!("{} {} gone.", documents, are);
            } else {
                say!("{} {} in the bin until it is emptied (30 days by default).", documents, are);
                self.print_ways_back(&parts);
            }
            if let Some(absent) = (asked as u64).checked_sub(count).filter(|absent| *absent > 0) {
                note!("{} of the ids are of no document there.", absent);
            }
        })
    }

    /// Asks whether to go on, unless the documents are named one by one and can be restored.
    async fn ask(&self, client: &Client, collection: Option<&str>) -> Result<(), CliError> {
        let words = self.selection.in_words(collection);
        if self.purge {
            let others = if self.selection.is_by_id() { "" } else { ", with those in the bin already" };
            return self.confirmation.ask_twice(&format!("Removed for good: {words}{others}."));
        }
        if self.selection.is_by_id() {
            return Ok(());
        }
        let count = self.selection.count(client, collection).await?;
        self.confirmation.ask(&format!("Into the bin: {words}, {count} in number."))
    }

    fn print_ways_back(&self, parts: &[Part]) {
        if let (Some(id), [part]) = (self.selection.single_id(), parts) {
            let collection = in_collection(part.collection.as_deref());
            say!("Back again: kitbag documents restore {}{}", id, collection);
            return;
        }
        for part in parts {
            say!("What is there: kitbag documents bin{}", in_collection(part.collection.as_deref()));
        }
    }
}

/// Puts documents into the bin. Returns their number.
async fn delete(client: &Client, Part { collection, chosen, .. }: &Part) -> Result<u64, CliError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct DeleteResponse {
        delete_documents: u64,
    }

    let variables = json!({ "chosen": chosen, "collection": collection });
    let DeleteResponse { delete_documents } = client.ask(DELETE, variables).await?;
    Ok(delete_documents)
}
