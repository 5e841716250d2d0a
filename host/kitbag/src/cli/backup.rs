//! `kitbag backup`

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;
use kitbag_base::ownership;
use kitbag_maintenance::backup::{self, BackupError, Counts, Created, Job, KeyCopies, Manifest, Step};
use serde::Serialize;

use super::error::{CliError, Exit};
use super::output::report;
use super::progress::StepProgress;
use super::server_data::{self, ServerData};
use super::terminal::{counted, say};
use crate::settings::MasterKey;
use crate::telemetry;

/// Number of missing files to list by name.
const MAX_NAMED_FILES: usize = 10;

/// Back up a data directory, also while a server runs on it.
#[derive(Args, Debug)]
#[command(
    after_help = "DIR holds any number of backups. Each has a copy of the database; files are copied once for all of \
them. DIR is created if it is missing, and has to be yours alone (mode 0700).

The settings file, the model and compiled code are not part of a backup. Neither are keys, unless you ask for them \
with --keys: secrets cannot be opened without the master key, so keep a copy of it elsewhere.

Exit codes: 0 done; 1 no backup was made, and earlier ones are as they were; 5 a backup was made, but files or keys \
are missing or damaged in the data directory (`kitbag doctor` says which).

Examples:
  kitbag backup /backups/kitbag --data /var/lib/kitbag --keep 14     every night, by a timer
  kitbag restore /backups/kitbag --check                             every week: is each file still whole?
  kitbag restore /backups/kitbag --data /var/lib/kitbag-new          when it matters"
)]
pub(super) struct Backup {
    /// Folder for the backups.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    server: ServerData,
    /// Also copy the master key (if it is in a file) and the keys of local sign-in. Whoever can read the backup can
    /// then read all secrets.
    #[arg(long)]
    keys: bool,
    /// Keep so many backups and remove older ones; by default all are kept.
    #[arg(long, value_name = "COUNT")]
    keep: Option<NonZeroUsize>,
}

impl Backup {
    pub(super) async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        telemetry::start(telemetry::QUIET);
        let settings = self.server.settings()?;
        let master_key = match &settings.master_key {
            MasterKey::File(path) => Some(path.clone().unwrap_or_else(|| settings.data.join("master-key"))),
            _ => None,
        };
        let job = Job {
            data: settings.data.clone(),
            files: server_data::files(&settings)?,
            folder: self.folder,
            master_key,
            master_key_source: server_data::describe_keys(&settings),
            keys: if self.keys { KeyCopies::Included } else { KeyCopies::LeftOut },
            keep: self.keep,
        };
        let mut progress = StepProgress::new();
        let created =
            backup::create(&job, &mut |step, done, total| progress.show(shown(step), done, total)).await;
        drop(progress);
        print(&created.map_err(|error| explained(&error, &job))?)
    }
}

/// JSON output for a created backup.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    name: &'a str,
    folder: &'a Path,
    new_files: u64,
    new_bytes: u64,
    manifest: &'a Manifest,
    /// Number of secrets that cannot be decrypted with the copied keys.
    unopened_secrets: Option<u64>,
    /// Names of older backups that were removed.
    removed: &'a [String],
}

/// Prints what the backup contains and what it lacks. Fails if the backup has problems.
fn print(created: &Created) -> Result<(), CliError> {
    let unopened = created
        .secrets
        .as_ref()
        .map(|check| check.broken + check.missing_keys.iter().map(|(_, secrets)| secrets).sum::<u64>());
    let shape = Shape {
        name: &created.name,
        folder: &created.folder,
        new_files: created.new_files,
        new_bytes: created.new_bytes,
        manifest: &created.manifest,
        unopened_secrets: unopened,
        removed: created.removed.as_deref().unwrap_or_default(),
    };
    report(&shape, || print_text(&shape))?;
    let problems = problems(created, unopened);
    if problems.is_empty() {
        return Ok(());
    }
    Err(CliError { problems, ..CliError::new("the backup is complete, but something is wrong") }
        .exit(Exit::Findings)
        .hint("`kitbag doctor` says what to do about the data directory"))
}

fn print_text(shape: &Shape<'_>) {
    let Manifest { counts, database, master_keys, master_key_source, .. } = shape.manifest;
    say!("Backed up to {}", shape.folder.display());
    say!("{}", contents(counts));
    say!(
        "database: {}; files: {}, {} of them new ({})",
        ByteSize::b(database.size).to_string(),
        counts.files,
        shape.new_files,
        ByteSize::b(shape.new_bytes).to_string()
    );
    match shape.unopened_secrets {
        Some(0) => say!("The keys are part of it: keep the folder as safe as the secrets themselves."),
        None if !master_keys.is_empty() => {
            say!(
                "Not part of it: the master key {}, without which secrets cannot be opened, nor the audit log verified.",
                master_keys.join(", ")
            );
            say!("It comes from {}: keep a copy of that elsewhere.", *master_key_source);
        }
        _ => {}
    }
    for name in shape.removed {
        say!("Removed the backup {}", *name);
    }
}

/// Problems of a backup, one text each.
fn problems(created: &Created, unopened: Option<u64>) -> Vec<String> {
    let missing = &created.manifest.missing_files;
    let mut problems: Vec<_> = missing
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|path| format!("{path} is missing or damaged in the data directory, and so not in the backup"))
        .collect();
    if missing.len() > MAX_NAMED_FILES {
        problems.push(format!("and {} more", counted(missing.len() - MAX_NAMED_FILES, "file")));
    }
    if let Some(count @ 1..) = unopened {
        problems.push(format!("secrets that do not open with the key that was copied: {count}"));
    }
    if let Err(error) = &created.removed {
        problems.push(format!("older backups were not removed: {error}"));
    }
    problems
}

/// Formats the contents of a backup for people.
pub(super) fn contents(counts: &Counts) -> String {
    let Counts { documents, secrets, toolkit_versions, records, files: _ } = *counts;
    let counted = |count: u64, noun| counted(usize::try_from(count).unwrap_or(usize::MAX), noun);
    format!(
        "{}, {}, {}, {}",
        counted(documents, "document"),
        counted(secrets, "secret"),
        counted(toolkit_versions, "toolkit version"),
        counted(records, "call record")
    )
}

pub(super) fn shown(step: Step) -> &'static str {
    match step {
        Step::CopyFiles => "copying files",
        Step::CopyDatabase => "copying pages of the database",
        Step::CheckFiles => "checking files",
        Step::PlaceFiles => "putting files in place",
    }
}

fn explained(error: &BackupError, job: &Job) -> CliError {
    let hint = match error {
        BackupError::Distrusted(distrust) => distrust.remedy().map(|_| {
            "the data directory and the folder for backups have to be yours alone: mode 0700 (`chmod 700`)".to_owned()
        }),
        BackupError::NoDatabase(_) => Some("name the server's data directory with --data".to_owned()),
        BackupError::Damaged(_) => Some(
            "nothing was removed: earlier backups are as they were; `kitbag doctor` says what to do"
                .to_owned(),
        ),
        BackupError::ForeignParts(_) => Some("`kitbag doctor` says what to do about them".to_owned()),
        BackupError::Schema { found, program } if found < program => Some(
            "use the version of this program that the server has, or start a server of this version once"
                .to_owned(),
        ),
        BackupError::Schema { .. } => Some("use the version of this program that the server has".to_owned()),
        BackupError::TooBusy => Some("run it again at a quieter time: what was copied is kept".to_owned()),
        BackupError::DiskFull(_) | BackupError::NoRoom { .. } => Some(format!(
            "earlier backups are as they were; make room, or keep fewer of them (--keep) in {}",
            job.folder.display()
        )),
        BackupError::InUse(_) => Some("wait until it has ended".to_owned()),
        _ => None,
    };
    CliError { problems: error.details().to_vec(), ..CliError::new(error.to_string()) }.hint_if(hint)
}
