//! `kitbag database copy`

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;
use kitbag_base::ownership;
use kitbag_knowledge::model;
use kitbag_maintenance::transfer::{
    self, Copied, Counts, Job, Missing, Source, Step, Target, TransferError, UserIds,
};
use serde::Serialize;

use crate::app::{AtRest, AtRestError, StartError, share_data};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::report;
use crate::cli::progress::StepProgress;
use crate::cli::server_data::{self, ServerData};
use crate::cli::terminal::{counted, note, say};
use crate::settings::{Settings, Sources};
use crate::telemetry;

/// Largest file with new user ids, in bytes: enough for a million users.
const MAX_USERS_BYTES: u64 = 128 << 20;

/// Copy a service, with its files and secrets, to another database: from a data directory to PostgreSQL, or back.
#[derive(Args, Debug)]
#[command(
    after_help = "One of the two services is the one that a server would be which is started here: with --config, --data, \
--master-key and the environment. The other one has the settings in FILE, and nothing of the environment.

Stop all servers of both. The new service has to be empty: a new database, and a place for files that the old service \
does not use. Nothing of the old one is changed. If the copy fails or is interrupted, the new database has no rows, and \
the same command can be run again: files that are there already are not copied twice.

Everything is copied but what belongs to one server or one data directory: local sign-in with its clients and grants, \
compiled code, the model, and keys. The new service has to be given the master keys with which the old one has sealed its \
secrets; this is checked first. The hash of each file is checked.

Users keep their ids, which have to be those of the same issuer. From another one (or from local sign-in), name the new id \
of each user in a file for --users, such as {\"local\": \"auth0|42\"}: secrets are then sealed for the new id. If both \
issuers use the same ids, set issuer-replaces in the settings of the new service instead. Either way people sign in anew.

Exit codes: 0 done; 1 nothing was copied, but for files; 5 done, but files are missing or damaged in the old service, or \
secrets do not open there.

Examples:
  kitbag database copy --data /var/lib/kitbag --to new.toml      what is in the data directory, to the service of new.toml
  kitbag database copy --from old.toml --config new.toml         the same, with passwords of the new one in the environment"
)]
pub(in crate::cli) struct Copy {
    /// Copy to the service with the settings in this file.
    #[arg(long, value_name = "FILE", required_unless_present = "from", conflicts_with = "from")]
    to: Option<PathBuf>,
    /// Copy from the service with the settings in this file, to the one that a server would be which is started here.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    server: ServerData,
    /// File with the new id of each user: a JSON object `{"OLD": "NEW"}`.
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Copy everything else if files are missing or damaged in the old service.
    #[arg(long)]
    without_missing_files: bool,
}

impl Copy {
    pub(super) async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        telemetry::start(telemetry::QUIET);
        let here = self.server.settings_of_server()?;
        let (old, new) = match (&self.from, &self.to) {
            (Some(file), _) => (settings_of(file)?, here),
            (None, Some(file)) => (here, settings_of(file)?),
            (None, None) => return Err(CliError::new("name the other service with --to or --from")),
        };
        if share_data(&old, &new) {
            return Err(CliError::new("both services have the same database, or the same place for files").hint(
                "give the new one a database and a place for files (the setting objects) of its own: each service deletes \
                 files that it does not need",
            ));
        }
        let users = self.users.as_deref().map(read_users).transpose()?;
        let missing = if self.without_missing_files { Missing::LeftOut } else { Missing::Refused };
        let keys = server_data::keys(&new)?;
        // The old service first: if it cannot be opened, nothing is created for the new one.
        let source = AtRest::open(&old).await.map_err(|error| unopened("old", &error))?;
        let target = AtRest::begin(&new).await.map_err(|error| unopened("new", &error))?;
        let job = Job {
            source: Source { database: source.database.clone(), objects: source.objects.clone() },
            target: Target {
                database: target.database.clone(),
                objects: target.objects.clone(),
                issuer: new.issuer.name().to_owned(),
                issuer_replaces: new.issuer_replaces.get().map(|issuer| issuer.name().to_owned()),
                keys,
            },
            users,
            missing,
        };

        let mut progress = StepProgress::new();
        let copied =
            transfer::copy(&job, &mut |step, done, total| progress.show(shown(step), done, total)).await;
        drop(progress);
        let copied = copied.map_err(|error| explained(&error))?;
        target.close().await;
        source.close().await;
        self.print(&copied, &old, &new)
    }

    /// Prints what was copied and what to do next. Fails if the copy has problems.
    fn print(&self, copied: &Copied, old: &Settings, new: &Settings) -> Result<(), CliError> {
        report(&Shape::of(copied), || {
            say!("Copied: {}", contents(copied.counts));
            say!(
                "rows: {}; files: {} written ({}), {} there already",
                copied.rows,
                copied.files.written,
                ByteSize::b(copied.files.bytes).to_string(),
                copied.files.already_there
            );
            say!("Next:");
            match &self.to {
                Some(file) => say!(
                    "  - Start the new service with these settings: kitbag serve --config {}",
                    ownership::shell_quoted(file)
                ),
                None => {
                    say!("  - Start the new service with the settings that this command had: kitbag serve");
                }
            }
            for model in model::fetched(&old.data) {
                if !model::folder(&new.data, model).exists() {
                    say!(
                        "  - The model was not copied: kitbag model fetch {} --data {}",
                        model.name,
                        ownership::shell_quoted(&new.data)
                    );
                }
            }
            say!(
                "  - Keep the old service until the new one was tried. Nothing of it was changed; what is stored there"
            );
            say!("    from now on is not in the new one.");
        })?;
        if copied.ended_sessions {
            note!("Browsers have to sign in anew, because another issuer signs people in.");
        }
        if copied.changed_texts > 0 {
            note!(
                "Texts with NUL, which the new database does not have (U+FFFD is in its place): {}",
                copied.changed_texts
            );
        }
        let problems = problems(copied);
        if problems.is_empty() {
            return Ok(());
        }
        Err(CliError { problems, ..CliError::new("the copy is complete, but something was wrong before") }
            .exit(Exit::Findings)
            .hint("`kitbag doctor` says what to do about a data directory"))
    }
}

/// JSON output for a copy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    counts: Counts,
    rows: u64,
    files: Files<'a>,
    broken_secrets: u64,
    changed_texts: u64,
    ended_sessions: bool,
}

/// File counts of a copy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Files<'a> {
    written: u64,
    bytes: u64,
    already_there: u64,
    missing: u64,
    /// Some of the missing files.
    examples: &'a [String],
}

impl<'a> Shape<'a> {
    fn of(copied: &'a Copied) -> Self {
        let files = &copied.files;
        Self {
            counts: copied.counts,
            rows: copied.rows,
            files: Files {
                written: files.written,
                bytes: files.bytes,
                already_there: files.already_there,
                missing: files.missing_count,
                examples: &files.missing,
            },
            broken_secrets: copied.broken_secrets_count,
            changed_texts: copied.changed_texts,
            ended_sessions: copied.ended_sessions,
        }
    }
}

/// Loads the settings in a file, without flags and environment variables.
fn settings_of(file: &Path) -> Result<Settings, CliError> {
    Settings::load(Sources::default(), Some(file)).map_err(|error| {
        CliError::new(error.to_string()).hint(
            "the file has all settings of the other service: its variables in the environment are not used",
        )
    })
}

fn read_users(file: &Path) -> Result<UserIds, CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::new(format!("{}: {error}", file.display()));
    let mut text = String::new();
    let read = File::open(file).and_then(|opened| opened.take(MAX_USERS_BYTES).read_to_string(&mut text));
    read.map_err(|error| failed(&error))?;
    UserIds::parse(&text).map_err(|error| failed(&error))
}

/// Formats the number of copied objects for people.
fn contents(counts: Counts) -> String {
    let Counts { documents, secrets, toolkit_versions, records } = counts;
    [
        (documents, "document"),
        (secrets, "secret"),
        (toolkit_versions, "toolkit version"),
        (records, "call record"),
    ]
    .map(|(count, noun)| counted(usize::try_from(count).unwrap_or(usize::MAX), noun))
    .join(", ")
}

/// Problems of the old service, one text each.
fn problems(copied: &Copied) -> Vec<String> {
    let Copied { files, broken_secrets, broken_secrets_count, .. } = copied;
    let mut problems: Vec<_> =
        files.missing.iter().map(|file| format!("{file} (in the old service)")).collect();
    problems.extend(more(&files.missing, files.missing_count, "file"));
    problems.extend(
        broken_secrets.iter().map(|secret| format!("{secret} does not open in the old service either")),
    );
    problems.extend(more(broken_secrets, *broken_secrets_count, "secret"));
    problems
}

/// Number of items that are not named, as text; `None` if all are.
fn more(named: &[String], count: u64, noun: &str) -> Option<String> {
    let more = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(named.len());
    (more > 0).then(|| format!("and {} more", counted(more, noun)))
}

fn shown(step: Step) -> &'static str {
    match step {
        Step::CopyFiles => "copying files",
        Step::CopyRows => "copying rows",
    }
}

fn unopened(which: &str, error: &AtRestError) -> CliError {
    let hint = match error {
        AtRestError::Start(StartError::InUse(_)) => Some("stop that server, and run this again"),
        AtRestError::NoDatabase(_) | AtRestError::Distrusted(_) => Some(
            "name the old service's data directory with --data, or in its settings, and run this as its user",
        ),
        AtRestError::Schema { found, program } if found < program => Some(
            "use the version of this program that the old service has, or start a server of this version on it once",
        ),
        AtRestError::Schema { .. } => Some("use the version of this program that the old service has"),
        AtRestError::ForeignParts(_) => {
            Some("`kitbag doctor` says what to do about them; nothing was copied")
        }
        AtRestError::Start(_) => None,
    };
    CliError::new(format!("the {which} service: {error}")).hint_if(hint)
}

fn explained(error: &TransferError) -> CliError {
    let hint = match error {
        TransferError::SourceInUse | TransferError::TargetInUse => {
            Some("stop all servers of both services; one that was killed counts for half a minute")
        }
        TransferError::NotEmpty(_) => Some(
            "give the new service a new database: nothing is ever overwritten. If this is a copy that succeeded before, \
             there is nothing left to do",
        ),
        TransferError::OtherIssuer { .. } => Some(
            "name the new id of each user in a file for --users; or, if they are the same people, set issuer-replaces in \
             the settings of the new service",
        ),
        TransferError::Users(_) => {
            Some("the file for --users has the new id of each user; nothing was copied")
        }
        TransferError::Keys(_) | TransferError::MasterKeys(_) | TransferError::MissingKeys(_) => Some(
            "give the new service the master keys of the old one (its setting master-key); nothing was copied",
        ),
        TransferError::MissingFiles { .. } => Some(
            "the others were copied, and no rows; put these back, or copy everything else with --without-missing-files",
        ),
        TransferError::Objects { .. } | TransferError::Database(_) => {
            Some("no rows were copied; run it again when that is mended")
        }
        TransferError::Incomplete { .. } => None,
    };
    CliError { problems: error.details().to_vec(), ..CliError::new(error.to_string()) }.hint_if(hint)
}
