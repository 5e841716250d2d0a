//! `kitbag model …`: embedding models for search.

mod fetch;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use kitbag_knowledge::Embedder;
use kitbag_knowledge::model::{self, CATALOG, CatalogModel, DEFAULT_NAME, FetchError};
use serde::Serialize;
use serde_json::json;

pub(super) use self::fetch::fetch_default;
use super::error::CliError;
use super::output::report;
use super::terminal::{note, say};
use crate::telemetry;

/// List, get, show and remove models that search can use.
#[derive(Debug, Subcommand)]
pub(super) enum Model {
    /// List the models that can be fetched by name.
    List(List),
    /// Fetch a model by its name; by default all-MiniLM-L6-v2, 84 MB, Apache-2.0.
    Fetch(fetch::Fetch),
    /// Show a model, and try it.
    Show(Show),
    /// Remove a model from a data directory.
    Remove(Remove),
}

/// List the models that can be fetched by name.
#[derive(Args, Debug)]
#[command(
    after_help = "The first is the default. All are BERT models for sentences, which run in the server.

Examples:
  kitbag model list
  kitbag model list --output jsonl                   a line for each, with its repository and revision"
)]
pub(super) struct List {
    #[command(flatten)]
    data: Data,
}

/// Show a model, and try it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag model show
  kitbag model show multilingual-e5-small
  kitbag model show /srv/models/mine                 any folder that the setting model may name")]
pub(super) struct Show {
    /// Which model: a name of `kitbag model list`, or a folder.
    #[arg(value_name = "NAME|FOLDER", default_value = DEFAULT_NAME)]
    model: PathBuf,
    #[command(flatten)]
    data: Data,
}

/// Remove a model from a data directory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag model remove
  kitbag model remove bge-small-en-v1.5")]
pub(super) struct Remove {
    #[command(flatten)]
    name: Name,
    #[command(flatten)]
    data: Data,
}

/// A model of the catalogue.
#[derive(Args, Debug)]
struct Name {
    /// Which model: a name of `kitbag model list`.
    #[arg(value_name = "NAME", default_value = DEFAULT_NAME, value_parser = PossibleValuesParser::new(model::names()))]
    name: String,
}

/// Which data directory.
#[derive(Args, Debug)]
struct Data {
    /// The server's data directory.
    #[arg(long, env = "KITBAG_DATA", default_value = "kitbag-data")]
    data: PathBuf,
}

/// JSON output for a model of the catalogue.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    repository: &'static str,
    revision: &'static str,
    license: &'static str,
    languages: &'static str,
    dimensions: usize,
    /// Download size in bytes.
    size: u64,
    fetched: bool,
}

impl Model {
    pub(super) async fn run(self) -> Result<(), CliError> {
        telemetry::start(telemetry::QUIET);
        match self {
            Self::List(command) => command.run(),
            Self::Fetch(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Remove(command) => command.run(),
        }
    }
}

impl Name {
    fn model(&self) -> &'static CatalogModel {
        model::named(self.name.as_ref()).expect("the parser takes no other name")
    }
}

impl List {
    fn run(self) -> Result<(), CliError> {
        let models: Vec<_> = CATALOG
            .iter()
            .map(|model| Listed {
                name: model.name,
                repository: model.repository,
                revision: model.revision,
                license: model.license,
                languages: model.languages,
                dimensions: model.dimensions,
                size: model.download_size(),
                fetched: model::folder(&self.data.data, model).exists(),
            })
            .collect();
        report(&models, || {
            for model in &models {
                say!(
                    "{:<22} {:>4} MB  {:<12}  {} dimensions  {:<10}  {}",
                    model.name,
                    megabytes(model.size),
                    model.languages,
                    model.dimensions,
                    model.license,
                    if model.fetched { "fetched" } else { "not fetched" }
                );
            }
            note!("\n`kitbag model fetch NAME` gets one, and `kitbag serve --model NAME` uses it.");
        })
    }
}

impl Show {
    async fn run(self) -> Result<(), CliError> {
        let located = model::located(&self.data.data, &self.model);
        let folder = located.folder;
        if !folder.exists() {
            return Err(nothing_in(&folder, located.name));
        }
        let failed = |error: &dyn std::fmt::Display| {
            let error = CliError::new(error.to_string());
            error.hint_if(located.name.map(|name| {
                format!("`kitbag model remove {name}` and `kitbag model fetch {name}` get it anew")
            }))
        };
        let embedder = Embedder::open(&folder).await.map_err(|error| failed(&error))?;
        let vector = embedder.query("", "test".to_owned()).await.map_err(|error| failed(&error))?;
        let data = json!({
            "model": embedder.model(), "name": located.name, "dimensions": vector.len(), "folder": folder,
        });
        report(&data, || say!("{}  {} dimensions  {}", embedder.model(), vector.len(), folder.display()))
    }
}

impl Remove {
    fn run(self) -> Result<(), CliError> {
        let model = self.name.model();
        let folder = model::folder(&self.data.data, model);
        let removed = model::remove(&self.data.data, model).map_err(|error| explained(&error, model))?;
        report(&json!({ "folder": folder, "removed": removed }), || {
            if removed {
                say!(
                    "The model in {} is gone. A server that uses it does so until it stops.",
                    folder.display()
                );
            } else {
                say!("There is no model in {}.", folder.display());
            }
        })
    }
}

fn nothing_in(folder: &Path, name: Option<&str>) -> CliError {
    let Some(name) = name else {
        let names: Vec<_> = model::names().collect();
        return CliError::new(format!("{} is neither a folder nor the name of a model", folder.display()))
            .hint(format!("the names are {}", names.join(", ")));
    };
    CliError::new(format!("there is no model in {}", folder.display()))
        .hint(format!("get it with `kitbag model fetch {name}`"))
}

fn explained(error: &FetchError, model: &CatalogModel) -> CliError {
    let name = model.name;
    let hint = match error {
        FetchError::Download { .. } => {
            Some("run it again, or name another place with --from (`kitbag model fetch --help`)".to_owned())
        }
        FetchError::Occupied(_) => Some(format!("remove it first with `kitbag model remove {name}`")),
        FetchError::Hash { .. } => Some(
            "nothing was installed; a download that ends early looks like this too: run it again, or try another --from"
                .to_owned(),
        ),
        FetchError::Archive(_) => Some("nothing was installed; try another --from".to_owned()),
        FetchError::NoWheel(_) => Some(format!("leave --from out, or name a mirror of {}", model.hub())),
        FetchError::Directory(_) | FetchError::File { .. } | FetchError::UnderWay(_) => None,
    };
    CliError::new(error.to_string()).hint_if(hint)
}

fn megabytes(bytes: u64) -> u64 {
    (bytes + 500_000) / 1_000_000
}
