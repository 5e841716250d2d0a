//! `kitbag collection …`: documents that a team keeps.

mod bin;
mod manage;
mod members;

use bytesize::ByteSize;
use clap::Subcommand;
use http::Method;
use kitbag_knowledge::collections::{Membership, Role};
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::documents::path_segment;
use super::error::{CliError, Exit};
use super::output::report;
use super::terminal::{Screen, Text, counted, say, text};

/// Make, list, share and delete collections: documents that a team keeps.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  kitbag collection new handbook --name Handbook
  kitbag collection share handbook --group sales
  kitbag ingest ~/handbook --collection handbook
  kitbag search \"how do we travel?\" --in handbook

Readers find, read and download the documents of a collection, in every search. Its curators also add, change and \
delete them, and share it. docs/collections.md says more.")]
pub(super) enum Collection {
    /// Make a collection, of which you are the curator.
    New(manage::New),
    /// List the collections that you may read.
    List(manage::List),
    /// Show a collection, with its members and what it takes.
    Show(manage::Show),
    /// Change the name and the description of a collection.
    Describe(manage::Describe),
    /// Share a collection with groups, users or everyone; without any, list its members.
    Share(members::Share),
    /// Share a collection no longer with a group, a user or everyone.
    Unshare(members::Unshare),
    /// Put a collection into the bin, with its documents.
    Delete(bin::Delete),
    /// Get a collection back from the bin, with its documents.
    Restore(bin::Restore),
    /// Remove a deleted collection for good, with its documents.
    Purge(bin::Purge),
    /// Become a curator of a collection. For operators.
    TakeOver(members::TakeOver),
}

impl Collection {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::New(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Describe(command) => command.run().await,
            Self::Share(command) => command.run().await,
            Self::Unshare(command) => command.run().await,
            Self::Delete(command) => command.run().await,
            Self::Restore(command) => command.run().await,
            Self::Purge(command) => command.run().await,
            Self::TakeOver(command) => command.run().await,
        }
    }
}

/// A collection, as the server lists it.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
    /// `None` for an operator who is no member.
    role: Option<Role>,
    /// RFC 3339; `None` unless it is in the bin.
    deleted_at: Option<String>,
    deleted_by: Option<String>,
    /// `None` in lists for members.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// `None` in lists for members.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<Membership>>,
}

/// What the documents of a collection take.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct Size {
    documents: u64,
    bytes: u64,
}

impl Record {
    /// Returns a collection that the user may read.
    pub(super) async fn get(client: &Client, id: &str) -> Result<Self, CliError> {
        let record = client.try_send(Method::GET, &path(id), "application/json", "").await;
        record.map_err(|failed| with_hint(failed, "`kitbag collection list` lists those that you may read"))
    }

    /// Whether the user may change its documents.
    pub(super) fn is_curated(&self) -> bool {
        self.role == Some(Role::Curator)
    }

    /// Prints the collection with its members.
    fn print(&self) {
        say!("{}", Screen::of_stdout().bold(&Text::prose(&self.name)));
        if !self.description.is_empty() {
            say!("  {}", Text::wrapped(&Text::prose(&self.description), 2));
        }
        say!("id        {}", self.id);
        if let Some(role) = self.role {
            say!("you are   its {}", role_name(role));
        }
        if let Some(size) = self.size {
            say!("has       {}", size.words());
        }
        if let Some(deletion) = self.deletion() {
            say!("in the bin since {}", deletion);
        }
        print_members(&self.id, self.members());
    }

    fn members(&self) -> &[Membership] {
        self.members.as_deref().unwrap_or_default()
    }

    /// Time and user of the deletion; `None` unless the collection is in the bin.
    fn deletion(&self) -> Option<Text> {
        let by = self.deleted_by.as_deref().unwrap_or_default();
        self.deleted_at.as_deref().map(|at| text!("{}, deleted by {}", at, by))
    }
}

impl Size {
    fn words(self) -> String {
        let documents = counted(usize::try_from(self.documents).unwrap_or(usize::MAX), "document");
        format!("{documents}, {}", ByteSize(self.bytes))
    }
}

/// Members of a collection.
#[derive(Deserialize, Serialize)]
struct Members {
    members: Vec<Membership>,
}

impl Members {
    fn report(&self, id: &str) -> Result<(), CliError> {
        report(self, || print_members(id, &self.members))
    }
}

fn print_members(id: &str, members: &[Membership]) {
    say!("{} is shared with", id);
    for Membership { subject, role } in members {
        say!("  {:<8} {}", role_name(*role), subject.to_string());
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Reader => "reader",
        Role::Curator => "curator",
    }
}

fn path(id: &str) -> String {
    format!("/collections/{}", path_segment(id))
}

/// Adds a hint to a refusal that has none.
fn with_hint(error: impl Into<CliError>, hint: &str) -> CliError {
    let error = error.into();
    let needs_hint = error.exit == Exit::Failed && error.hint.is_none();
    if needs_hint { error.hint(hint) } else { error }
}
