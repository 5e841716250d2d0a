//! `kitbag collection new | list | show | describe`

use clap::{ArgGroup, Args};
use http::Method;
use kitbag_knowledge::collections::Role;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Record, path, role_name};
use crate::cli::client::Connection;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Text, note, say, text};

/// Make a collection, of which you are the curator.
#[derive(Args, Debug)]
#[command(
    after_help = "The id is chosen once: 1 to 64 of the characters a-z, 0-9 and -. Operators decide who may make collections \
                  (setting `collections`); each user may make 20."
)]
pub(in crate::cli) struct New {
    /// The collection's id, such as `handbook`.
    id: String,
    /// What people call it; by default its id.
    #[arg(long)]
    name: Option<String>,
    /// What is in it.
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    #[command(flatten)]
    connection: Connection,
}

/// List the collections that you may read, and those in the bin that you kept.
#[derive(Args, Debug)]
pub(in crate::cli) struct List {
    /// All collections, with what they take and who keeps them. For operators.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Show a collection, with its members and what it takes.
#[derive(Args, Debug)]
pub(in crate::cli) struct Show {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Change the name and the description of a collection. For its curators.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("about").args(["name", "description"]).multiple(true).required(true)))]
pub(in crate::cli) struct Describe {
    /// The collection's id.
    id: String,
    /// What people call it.
    #[arg(long)]
    name: Option<String>,
    /// What is in it; an empty one removes it.
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Deserialize, Serialize)]
struct Listed {
    collections: Vec<Record>,
}

impl New {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, name, description, connection } = self;
        let client = connection.open().await?;
        let name = name.unwrap_or_else(|| id.clone());
        let body = json!({ "id": id, "name": name, "description": description }).to_string();
        let made: Record = client.send(Method::POST, "/collections", "application/json", body).await?;
        report(&made, || {
            say!("{} is there, and you are its curator.", made.id);
            note!("Fill it: kitbag ingest FILE --collection {}", made.id);
            note!("Share it: kitbag collection share {} --group NAME", made.id);
        })
    }
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let path = if self.all { "/all-collections" } else { "/collections" };
        let Listed { collections } = client.send(Method::GET, path, "application/json", "").await?;
        report(&collections, || {
            if collections.is_empty() && self.all {
                say!("There are no collections.");
            } else if collections.is_empty() {
                say!("There are no collections that you may read.");
                note!("`kitbag collection new ID` makes one.");
            }
            for collection in &collections {
                say!("{}", line(collection));
            }
        })
    }
}

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let record = Record::get(&self.connection.open().await?, &self.id).await?;
        report(&record, || record.print())
    }
}

impl Describe {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, name, description, connection } = self;
        let client = connection.open().await?;
        // The server replaces both.
        let now = Record::get(&client, &id).await?;
        let body = json!({
            "name": name.unwrap_or(now.name),
            "description": description.unwrap_or(now.description),
        });
        let changed: Record =
            client.send(Method::PATCH, &path(&id), "application/json", body.to_string()).await?;
        report(&changed, || changed.print())
    }
}

/// Formats a collection as id, role and name; for operators with its size and its curators.
fn line(collection: &Record) -> Text {
    let role = collection.role.map_or("", role_name);
    let mut line = text!("{:<24} {:<8} {}", collection.id, role, Text::prose(&collection.name));
    if let Some(size) = collection.size {
        let curators = collection.members().iter().filter(|member| member.role == Role::Curator);
        let curators: Vec<_> = curators.map(|member| member.subject.to_string()).collect();
        line = text!("{}\n    {}; kept by {}", line, size.words(), curators.join(", "));
    }
    if let Some(at) = &collection.deleted_at {
        line = text!("{}\n    in the bin since {}", line, at);
    }
    line
}
