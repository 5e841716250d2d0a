//! Checks a service, with or without a running server, and suggests remedies: its data directory, and its database and
//! files where these are elsewhere.
//!
//! Invariants:
//! - nothing is changed; if no server runs on the database, its engine may leave two empty files next to it;
//! - memory does not grow with the number of files or rows: names are read in pages, and only some examples of each
//!   kind of finding are stored;
//! - no finding contains a secret or a key.

mod audit;
mod certificate;
mod database;
mod files;
mod keys;
mod model;
mod permissions;
mod seals;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use kitbag_base::disk::Disk;
use kitbag_base::folder::Folder;
use kitbag_base::ownership::{self, Distrust};
use kitbag_database::audit::Retention;
use kitbag_database::{Database, DatabaseError};
use kitbag_files::objects::Location;
use kitbag_files::stored_files::has_unfinished_restore;
use kitbag_knowledge::model::Located;
use kitbag_net::egress::Egress;
use kitbag_vault::KeySource;
use secrecy::SecretString;
use serde::Serialize;
use thiserror::Error;

pub use certificate::Presented;

/// Service to check, with the settings of its server.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Data directory.
    pub data: PathBuf,
    /// URL of the PostgreSQL database; `None` for the one in the data directory.
    pub database: Option<SecretString>,
    /// Where components and captured files are.
    pub files: Location,
    /// Sends the requests to a bucket.
    pub egress: Egress,
    /// Source of the master keys.
    pub key_source: KeySource,
    /// Local embedding model of the search; `None` if there is none, or a remote service.
    pub model: Option<Located>,
    /// Whether the server starts without that model if it is missing.
    pub model_is_optional: bool,
    /// Reserve of free disk space, below which the server stores nothing more, in bytes; `None` for the
    /// default.
    pub free_disk_space: Option<u64>,
    /// Ages before which the server removes no entry of the audit log.
    pub audit_retention: Retention,
    /// Certificate of the server; `None` for plain HTTP.
    pub certificate: Option<Presented>,
    /// Depth of the checks.
    pub depth: Depth,
}

/// Depth of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Checks names, permissions, keys and rows.
    Quick,
    /// Also reads the whole database and all files.
    Full,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Description of the problem.
    pub what: String,
    /// Suggested remedy.
    pub remedy: String,
    /// Examples of affected files or rows.
    pub examples: Vec<String>,
    /// Number of affected files or rows beyond the examples.
    pub more: u64,
}

/// Result of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Problems that were found.
    pub findings: Vec<Finding>,
    /// Checks without a problem, and checks that were skipped because of a finding.
    pub notes: Vec<String>,
}

/// Error: the data directory does not exist, or cannot be read.
#[derive(Debug, Error)]
#[error("cannot read the data directory {}: {cause}", path.display())]
pub struct CannotLook {
    path: PathBuf,
    cause: std::io::Error,
}

/// Steps that report progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Checks files to which rows refer.
    Files,
    /// Searches for files to which no row refers.
    Strays,
}

/// Progress callback: the step, the amount done, and the total; the total is 0 if it is unknown.
pub type Progress<'a> = dyn FnMut(Step, u64, u64) + 'a;

/// Examples of one finding.
#[derive(Debug, Default)]
struct Examples {
    shown: Vec<String>,
    more: u64,
}

/// Checks a service. Blocks, except while it waits for the database or a bucket.
pub async fn examine(subject: &Subject, progress: &mut Progress<'_>) -> Result<Report, CannotLook> {
    let data = &subject.data;
    let unreadable = |cause| CannotLook { path: data.clone(), cause };
    let folder = Folder::open(data).map_err(unreadable)?;
    folder.names().and_then(|mut names| names.next().transpose()).map_err(unreadable)?;

    let mut report = Report::default();
    if let Err(distrust) = ownership::check_private(data) {
        report.findings.push(unsafe_directory(data, &distrust));
    }
    if has_unfinished_restore(data) {
        report.findings.push(Finding::new(
            "a restore into this directory was interrupted",
            "run the same `kitbag restore` again; it goes on in this directory",
        ));
    }
    permissions::check(data, &mut report).map_err(unreadable)?;
    check_space(subject, &mut report).map_err(unreadable)?;
    if let Some(database) = database::check(subject, &mut report).await {
        if let Err(error) = check_rows(subject, &database, &mut report, progress).await {
            report.findings.push(database::unreadable(subject, &error));
        }
        database.close().await;
    }
    keys::check_files(data, &folder, &mut report);
    certificate::check(subject.certificate.as_ref(), &mut report);
    if subject.depth == Depth::Full {
        seals::check(data, &mut report);
        model::check(subject, &mut report).await;
    }
    Ok(report)
}

/// Checks rows, and the files and secrets to which they refer.
async fn check_rows(
    subject: &Subject,
    database: &Database,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> Result<(), DatabaseError> {
    files::check(subject, database, report, progress).await?;
    audit::check(database, &subject.key_source, subject.audit_retention, report).await?;
    keys::check_secrets(&subject.key_source, database, report).await
}

fn unsafe_directory(data: &Path, distrust: &Distrust) -> Finding {
    let remedy = match distrust.remedy() {
        Some(_) => format!("run: chmod 700 {}", ownership::shell_quoted(data)),
        None => "run the server, and this command, as the user to whom it belongs".to_owned(),
    };
    Finding::new(format!("{distrust}: the server does not start"), remedy)
}

fn check_space(subject: &Subject, report: &mut Report) -> std::io::Result<()> {
    check_space_of(&subject.data, subject, report)?;
    let Location::Folder(files) = &subject.files else { return Ok(()) };
    if *files == subject.data {
        return Ok(());
    }
    match check_space_of(files, subject, report) {
        // The check of files says so.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        checked => checked,
    }
}

fn check_space_of(folder: &Path, subject: &Subject, report: &mut Report) -> std::io::Result<()> {
    let (free, reserve) = Disk::new(folder, subject.free_disk_space)?.free_and_reserve();
    let [shown_free, shown_reserve] = [free, reserve].map(bytesize::ByteSize::b);
    let place = if folder == subject.data { String::new() } else { format!(" of {}", folder.display()) };
    if free < reserve {
        report.findings.push(Finding::new(
            format!("the disk{place} has {shown_free} free, less than the reserve of {shown_reserve}: nothing more is stored"),
            "make room on the disk, or lower the setting free-disk-space",
        ));
    } else if place.is_empty() {
        report.notes.push(format!("{shown_free} are free; {shown_reserve} are kept as a reserve"));
    } else {
        report
            .notes
            .push(format!("{shown_free} are free on the disk{place}; {shown_reserve} are kept as a reserve"));
    }
    Ok(())
}

impl Finding {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into(), examples: Vec::new(), more: 0 }
    }
}

impl Report {
    /// Adds a finding about the examples, if there are any. Appends their number to `what`.
    fn add(&mut self, examples: Examples, what: &str, remedy: impl Into<String>) {
        let count = examples.count();
        if count > 0 {
            let Examples { shown, more } = examples;
            let finding = Finding::new(format!("{what}: {count}"), remedy);
            self.findings.push(Finding { examples: shown, more, ..finding });
        }
    }
}

impl Examples {
    const MAX_SHOWN: usize = 10;

    fn push(&mut self, example: impl Into<String>) {
        if self.shown.len() < Self::MAX_SHOWN {
            self.shown.push(example.into());
        } else {
            self.more += 1;
        }
    }

    fn count(&self) -> u64 {
        self.shown.len() as u64 + self.more
    }
}
