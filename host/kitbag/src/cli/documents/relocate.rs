//! `kitbag documents move`

use clap::Args;
use kitbag_knowledge::MINE;
use serde::Deserialize;
use serde_json::json;

use super::collection_id;
use super::restore::Moved;
use super::selection::Selection;
use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

const MOVE: &str = "mutation ($chosen: ChosenInput!, $from: String, $to: String) {
  moveDocuments(chosen: $chosen, from: $from, to: $to) { count conflicts { id title existing } }
}";

/// Move documents into a collection, out of one, or between two.
#[derive(Args, Debug)]
#[command(
    after_help = "Documents keep their ids, versions, and who added them. You have to be a curator of both collections. \
                        Whoever may read a collection then reads them, and whoever may not does not any more.\n\n\
                        Examples:\n  kitbag documents move ID ID --to handbook\n  \
                        kitbag documents move --source clipper --to handbook\n  \
                        kitbag documents move ID --from handbook --to mine"
)]
pub(super) struct Move {
    #[command(flatten)]
    selection: Selection,
    /// Where they go: the id of a collection, or `mine`.
    #[arg(long, value_name = "COLLECTION|mine")]
    to: String,
    /// Where they are: the id of a collection, or `mine`. By default your own; ids are found in any that you may read.
    #[arg(long, value_name = "COLLECTION|mine")]
    from: Option<String>,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Move {
    pub(super) async fn run(self) -> Result<(), CliError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct MoveResponse {
            move_documents: Moved,
        }

        let client = self.connection.open().await?;
        let to = collection_id(Some(&self.to));
        let named = self.from.as_deref();
        let parts = self.selection.parts_of_any(&client, named).await?;
        if !self.selection.is_by_id() {
            let from = collection_id(named);
            let count = self.selection.count(&client, from).await?;
            let words = self.selection.in_words(from);
            let readers = if to.is_some() { ", whose members then read them" } else { "" };
            self.confirmation.ask(&format!("To {}: {words}, {count} in number{readers}.", self.to))?;
        }
        let asked: usize = parts.iter().filter_map(|part| part.ids).sum();
        let mut moved = Moved::default();
        for part in parts {
            let variables = json!({ "chosen": part.chosen, "from": part.collection, "to": to });
            let MoveResponse { move_documents } = client.ask(MOVE, variables).await?;
            moved.add(move_documents);
        }
        let place = if self.to == MINE { "your own documents" } else { &self.to };
        report(&moved, || {
            let are = if moved.count == 1 { "is" } else { "are" };
            say!("{} {} in {} now.", moved.documents(), are, place);
            moved.note_absent(asked, "did not move: there already, or of no document there");
        })?;
        moved.expect_all("moved", "where it was")
    }
}
