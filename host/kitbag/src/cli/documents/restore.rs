//! `kitbag documents restore`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bin::not_in_bin;
use super::collection_id;
use super::selection::Selection;
use crate::cli::client::Connection;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::report;
use crate::cli::terminal::{counted, note, say};

const RESTORE: &str = "mutation ($chosen: ChosenInput!, $collection: String) {
  restoreDocuments(chosen: $chosen, collection: $collection) { count conflicts { id title existing } }
}";

const RESTORE_VERSION: &str =
    "mutation ($id: ID!, $number: Int!) { restoreVersion(id: $id, number: $number) }";

/// Get documents back from the bin, or an earlier text of one.
#[derive(Args, Debug)]
#[command(
    after_help = "Documents come back with the ids that they had. With --version, an earlier text of a document that is not in the bin \
                        becomes its text again, and the present one an earlier one.\n\n\
                        Examples:\n  kitbag documents restore ID\n  kitbag documents restore --all --collection handbook\n  \
                        kitbag documents restore ID --version 3"
)]
pub(super) struct Restore {
    #[command(flatten)]
    selection: Selection,
    /// From the bin of this collection, by its id; by default from your own.
    #[arg(long, value_name = "COLLECTION")]
    collection: Option<String>,
    /// The earlier text with this number in `kitbag documents history`; of one document.
    #[arg(long, value_name = "N", conflicts_with_all = ["source", "feed", "all", "collection"])]
    version: Option<u32>,
    #[command(flatten)]
    connection: Connection,
}

/// Result of a move out of the bin or to another holder.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Moved {
    pub(super) count: u64,
    pub(super) conflicts: Vec<Conflict>,
}

/// Document that did not move, because the same is there already.
#[derive(Deserialize, Serialize)]
pub(super) struct Conflict {
    id: String,
    title: String,
    existing: Option<String>,
}

impl Restore {
    pub(super) async fn run(self) -> Result<(), CliError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct RestoreResponse {
            restore_documents: Moved,
        }

        if let Some(number) = self.version {
            return self.restore_version(number).await;
        }
        let client = self.connection.open().await?;
        let collection = collection_id(self.collection.as_deref());
        let mut moved = Moved::default();
        let mut asked = 0;
        for part in self.selection.parts_of(collection) {
            asked += part.ids.unwrap_or_default();
            let variables = json!({ "chosen": part.chosen, "collection": part.collection });
            let RestoreResponse { restore_documents } = client.ask(RESTORE, variables).await?;
            moved.add(restore_documents);
        }
        if moved.count == 0 && moved.conflicts.is_empty() && self.selection.is_by_id() {
            return Err(not_in_bin(collection));
        }
        report(&moved, || {
            let are = if moved.count == 1 { "is" } else { "are" };
            say!("{} {} there again.", moved.documents(), are);
            moved.note_absent(asked, "were not in the bin");
        })?;
        moved.expect_all("restored", "in the bin")
    }

    async fn restore_version(self, number: u32) -> Result<(), CliError> {
        let id = self.selection.single_id().ok_or_else(|| {
            CliError::new("--version is of one document").hint("name one id").exit(Exit::Usage)
        })?;
        let client = self.connection.open().await?;
        let variables = json!({ "id": id, "number": number });
        let restored = client.ask::<Value>(RESTORE_VERSION, variables).await;
        restored.map_err(|failure| {
            let error = CliError::from(failure);
            let hint = format!("`kitbag documents history {id}` lists the versions that there are");
            if error.exit == Exit::Failed { error.hint(hint) } else { error }
        })?;
        report(&json!({ "id": id, "version": number }), || {
            say!("The text of {} is that of version {} again.", id, number);
        })
    }
}

impl Moved {
    pub(super) fn add(&mut self, more: Self) {
        self.count += more.count;
        self.conflicts.extend(more.conflicts);
    }

    pub(super) fn documents(&self) -> String {
        counted(usize::try_from(self.count).unwrap_or(usize::MAX), "document")
    }

    /// Notes how many of the ids that were asked for have neither moved nor a conflict.
    pub(super) fn note_absent(&self, asked: usize, why: &str) {
        let settled = self.count.saturating_add(self.conflicts.len() as u64);
        if let Some(absent) = (asked as u64).checked_sub(settled).filter(|absent| *absent > 0) {
            note!("{} of the ids {}.", absent, why);
        }
    }

    /// Fails if some documents did not move. `moved` and `place` are words of the message: `moved`, `where they were`.
    pub(super) fn expect_all(self, moved: &str, place: &str) -> Result<(), CliError> {
        let Some(first) = self.conflicts.first() else { return Ok(()) };
        let hint = match &first.existing {
            Some(existing) => format!(
                "to have the one that stays, delete the other first (kitbag documents delete {existing}) and run the same command again; \
                 otherwise leave it {place}"
            ),
            None => format!(
                "they are the same as each other, and one of them is there now; the others may stay {place}"
            ),
        };
        let count = counted(self.conflicts.len(), "document");
        let problems = self.conflicts.iter().map(Conflict::in_words).collect();
        let message = format!("{count} not {moved}, since the same is there already; it stays {place}");
        Err(CliError { problems, ..CliError::new(message).hint(hint).exit(Exit::Findings) })
    }
}

impl Conflict {
    fn in_words(&self) -> String {
        let there = match &self.existing {
            Some(id) => format!("there: {id}"),
            None => "moved by the same command".to_owned(),
        };
        format!("{} {} ({there})", self.id, self.title)
    }
}
