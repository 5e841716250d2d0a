//! `kitbag restore`

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_base::ownership;
use kitbag_maintenance::backup::{
    self, BackupError, Damaged, Found, Manifest, Purpose, RestoreJob, Restored,
};
use serde::Serialize;

use super::backup::{contents, shown};
use super::error::CliError;
use super::output::report;
use super::progress::StepProgress;
use super::terminal::{counted, note, say};
use crate::telemetry;

/// Put a backup into an empty data directory.
#[derive(Args, Debug)]
#[command(
    after_help = "Everything is checked before anything is put in place: the database and each file against their \
hashes. The data directory has to be empty or missing; nothing is ever overwritten.

Sessions and grants are those of the backup: what was revoked since is valid again. In local mode, delete the file \
sign-in-code before the start to have everybody sign in anew.

Examples:
  kitbag restore /backups/kitbag --data /var/lib/kitbag-new               the newest backup
  kitbag restore /backups/kitbag --list                                   which there are
  kitbag restore /backups/kitbag --backup 2026-11-23T04-26-32Z --data new
  kitbag restore /backups/kitbag --check                                  only check the newest one"
)]
pub(super) struct Restore {
    /// Folder with the backups.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The data directory to create.
    #[arg(long, env = "KITBAG_DATA", required_unless_present_any = ["list", "check"])]
    data: Option<PathBuf>,
    /// Which backup; by default the newest complete one.
    #[arg(long = "backup", value_name = "NAME")]
    name: Option<String>,
    /// List the backups, and restore none.
    #[arg(long, conflicts_with_all = ["check", "name", "without_damaged"])]
    list: bool,
    /// Check the backup, and restore nothing.
    #[arg(long)]
    check: bool,
    /// Restore also if files of the backup are missing or damaged, without them.
    #[arg(long)]
    without_damaged: bool,
}

impl Restore {
    pub(super) async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        telemetry::start(telemetry::QUIET);
        if self.list {
            return list(&self.folder);
        }
        let purpose = match self.data {
            Some(data) if !self.check => Purpose::Restore(data),
            _ => Purpose::Check,
        };
        let damaged = if self.without_damaged { Damaged::LeftOut } else { Damaged::Refused };
        let job = RestoreJob { folder: self.folder, name: self.name, purpose, damaged };
        let mut progress = StepProgress::new();
        let restored =
            backup::restore(&job, &mut |step, done, total| progress.show(shown(step), done, total)).await;
        drop(progress);
        print(&restored.map_err(|error| explained(&error))?, &job)
    }
}

fn list(folder: &Path) -> Result<(), CliError> {
    let found = backup::list(folder).map_err(|error| explained(&error))?;
    if found.is_empty() {
        return Err(explained(&BackupError::NoBackup(folder.to_owned())));
    }
    let shapes: Vec<_> = found.iter().map(FoundShape::of).collect();
    report(&shapes, || found.iter().for_each(print_found))
}

/// JSON output for a backup in a list.
#[derive(Serialize)]
struct FoundShape<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'a Manifest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> FoundShape<'a> {
    fn of(Found { name, manifest }: &'a Found) -> Self {
        Self {
            name,
            manifest: manifest.as_ref().ok(),
            error: manifest.as_ref().err().map(ToString::to_string),
        }
    }
}

fn print_found(found: &Found) {
    match &found.manifest {
        Ok(Manifest { counts, schema, keys, .. }) => say!(
            "{}  {}; files: {}; schema {}; {}",
            found.name,
            contents(counts),
            counts.files,
            *schema,
            if keys.is_empty() { "without keys" } else { "with keys" }
        ),
        Err(error) => say!("{}  cannot be used: {}", found.name, error.to_string()),
    }
}

/// JSON output for a restored or checked backup.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    name: &'a str,
    /// Restored data directory; `None` if the backup was only checked.
    data: Option<&'a Path>,
    manifest: &'a Manifest,
    passed_over: Vec<PassedOver<'a>>,
    left_out: u64,
}

/// Newer backup that was skipped because it cannot be used.
#[derive(Serialize)]
struct PassedOver<'a> {
    name: &'a str,
    reason: String,
}

fn print(restored: &Restored, job: &RestoreJob) -> Result<(), CliError> {
    let Restored { name, manifest, passed_over, left_out } = restored;
    for (newer, reason) in passed_over {
        note!("warning: {} is newer and was passed over: {}", *newer, reason.to_string());
    }
    if *left_out > 0 {
        let count = usize::try_from(*left_out).unwrap_or(usize::MAX);
        note!("warning: {} missing or damaged in the backup", counted(count, "file"));
    }
    let missing = manifest.missing_files.len();
    if missing > 0 {
        note!("warning: {} missing or damaged before the backup was made", counted(missing, "file"));
    }
    let passed_over =
        passed_over.iter().map(|(name, reason)| PassedOver { name, reason: reason.to_string() });
    let data = match &job.purpose {
        Purpose::Restore(data) => Some(data.as_path()),
        Purpose::Check => None,
    };
    let shape = Shape { name, data, manifest, passed_over: passed_over.collect(), left_out: *left_out };
    report(&shape, || match data {
        Some(data) => print_restored(name, manifest, data),
        None => say!(
            "The backup {} is whole: its database, and its files: {}",
            *name,
            manifest.counts.files.saturating_sub(missing as u64)
        ),
    })
}

fn print_restored(name: &str, manifest: &Manifest, data: &Path) {
    say!("Restored the backup {} into {}", *name, data.display());
    say!("{}, as of {}", contents(&manifest.counts), manifest.created_at);
    say!("Next:");
    if !manifest.master_keys.is_empty() {
        let source = &manifest.master_key_source;
        if manifest.keys.iter().any(|key| key.name == "master-key") {
            say!(
                "  - The master key is in {} now; the server had it in {}.",
                data.join("master-key").display(),
                *source
            );
        } else {
            say!(
                "  - Secrets and the audit log need the master key {}, which is not part of the backup. The server had it in {}:",
                manifest.master_keys.join(", "),
                *source
            );
            say!(
                "    give it to the server with its setting master-key, or put it into {} (mode 0600).",
                data.join("master-key").display()
            );
        }
    }
    if manifest.had_model {
        say!(
            "  - The model is not part of a backup: kitbag model fetch --data {}",
            ownership::shell_quoted(data)
        );
        say!("    (add the name of the model, unless it was the default one)");
    }
    say!(
        "  - Start the server with the settings that it had, and this directory: kitbag serve --data {}",
        ownership::shell_quoted(data)
    );
    say!("  - Check it: kitbag doctor --data {}", ownership::shell_quoted(data));
}

fn explained(error: &BackupError) -> CliError {
    let hint = match error {
        BackupError::NoBackup(_) | BackupError::NoSuchBackup { .. } => {
            Some("`kitbag restore DIR --list` shows the backups in a folder")
        }
        BackupError::Unusable { .. } => {
            Some("nothing was put in place; `--list` shows other backups, `--backup NAME` restores one")
        }
        BackupError::DamagedFiles { .. } => Some(
            "nothing was put in place; another backup may have whole files (`--list`, `--backup NAME`), \
             and --without-damaged restores everything else",
        ),
        BackupError::Newer { .. } => Some(
            "nothing was put in place; install the version of this program that has made the backup, or a newer one",
        ),
        BackupError::NotEmpty { .. } => Some(
            "name a directory that does not exist yet; stop the server and move the old directory away first if it is to have its name",
        ),
        BackupError::DiskFull(_) | BackupError::NoRoom { .. } => {
            Some("make room, or name a directory on another disk, and run it again")
        }
        BackupError::InUse(_) => Some("wait until it has ended"),
        BackupError::DataInUse(_) => Some("stop the server, and name a directory that does not exist yet"),
        _ => None,
    };
    CliError { problems: error.details().to_vec(), ..CliError::new(error.to_string()) }.hint_if(hint)
}
