//! `kitbag doctor`

use std::path::Path;

use clap::Args;
use kitbag_knowledge::model::{self, DEFAULT_NAME, Located};
use kitbag_maintenance::doctor::{self, Depth, Finding, Presented, Report, Step, Subject};
use kitbag_net::egress::Egress;

use super::error::{CliError, Exit};
use super::output;
use super::progress::StepProgress;
use super::server_data::{self, ServerData};
use super::terminal::{Text, counted, say};
use crate::app::{audit_retention, certificate_files, egress_settings, objects_location};
use crate::settings::{DatabaseLocation, Listen, Model, Settings};
use crate::telemetry;

/// Indentation of a finding's continuation lines, in spaces.
const INDENT: usize = 4;

/// Check a service, and say what to do about what is wrong.
#[derive(Args, Debug)]
#[command(
    after_help = "Changes nothing, and works with or without a server running. Checks the database, files without rows and \
rows without files, the bytes of each file, the audit log, keys and the secrets that they open, permissions, seals of \
compiled code, free space, the certificate, and the model. Where the database is a PostgreSQL server's, it checks the \
schema and the rows, and no pages; where files are in a bucket, those of rows.

Give it the settings of the server: the same --config, --data, --master-key and environment.

Exit codes: 0 nothing is wrong; 5 something is, and is printed with what to do; 1 it could not look.

Examples:
  kitbag doctor --data /var/lib/kitbag
  kitbag doctor --data /var/lib/kitbag --quick      without reading the whole database and every file
  kitbag doctor --config /etc/kitbag.toml --json    for a monitoring system"
)]
pub(super) struct Doctor {
    #[command(flatten)]
    server: ServerData,
    /// Do not read the whole database, every file, compiled code and the model.
    #[arg(long)]
    quick: bool,
}

impl Doctor {
    pub(super) async fn run(self) -> Result<(), CliError> {
        telemetry::start(telemetry::QUIET);
        let settings = self.server.settings_of_server()?;
        let subject = Subject {
            data: settings.data.clone(),
            database: match &settings.database {
                DatabaseLocation::Server(url) => Some(url.clone()),
                DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => None,
            },
            files: objects_location(&settings),
            egress: Egress::new(
                egress_settings(&settings).map_err(|error| CliError::new(error.to_string()))?,
            ),
            key_source: server_data::keys(&settings)?,
            model: used_model(&settings),
            model_is_optional: settings.model == Model::Default,
            free_disk_space: settings.free_disk_space.get().map(|size| size.bytes() as u64),
            audit_retention: audit_retention(&settings),
            certificate: presented(&settings),
            depth: if self.quick { Depth::Quick } else { Depth::Full },
        };
        let mut progress = StepProgress::new();
        let report =
            doctor::examine(&subject, &mut |step, done, total| progress.show(shown(step), done, total)).await;
        drop(progress);
        let report = report.map_err(|error| {
            CliError::new(error.to_string())
                .hint("name the server's data directory with --data, and run this as the server's user")
        })?;
        output::report(&report, || print(&report, &settings.data))?;
        match report.findings.len() {
            0 => Ok(()),
            count => Err(CliError::new(format!("found {}", counted(count, "problem"))).exit(Exit::Findings)),
        }
    }
}

fn print(report: &Report, data: &Path) {
    for Finding { what, remedy, examples, more } in &report.findings {
        say!("problem: {}", Text::indented(what, INDENT));
        for example in examples {
            say!("    {}", *example);
        }
        if *more > 0 {
            say!("    (and {} more)", *more);
        }
        say!("  do: {}", Text::indented(remedy, INDENT));
    }
    for note in &report.notes {
        say!("ok: {}", *note);
    }
    if report.findings.is_empty() {
        say!("Nothing is wrong with {}.", data.display());
    }
}

/// Embedding model of the server; `None` if it runs none itself.
fn used_model(settings: &Settings) -> Option<Located> {
    if settings.embedding_url.get().is_some() {
        return None;
    }
    match &settings.model {
        Model::None => None,
        Model::NameOrFolder(named) => Some(model::located(&settings.data, named)),
        Model::Default => Some(model::located(&settings.data, Path::new(DEFAULT_NAME))),
    }
}

/// Certificate of the server; `None` if it does not terminate TLS.
fn presented(settings: &Settings) -> Option<Presented> {
    let addresses: Vec<_> = settings.listen.iter().filter_map(Listen::tcp).collect();
    Some(Presented { files: certificate_files(settings)?, url: settings.base_url(&addresses).ok() })
}

fn shown(step: Step) -> &'static str {
    match step {
        Step::Files => "checking files of rows",
        Step::Strays => "looking for files without rows",
    }
}
