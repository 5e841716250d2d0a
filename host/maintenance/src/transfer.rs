//! Copies a whole service to another database and another store of files, while neither has a running server
//! ([decision 0043](../../docs/decisions/0043-a-service-is-copied-in-one-transaction.md)).
//!
//! ```text
//! [ keep servers from starting → is the target empty? whose users? do its keys open the secrets?
//!   → copy each file, checked → one transaction: all rows, counted → commit ]
//! ```
//!
//! Invariants:
//! - the source is never changed;
//! - the target gets all rows or none. Files in it without rows are from an interrupted copy, and the next one uses
//!   them;
//! - a row that refers to a file is copied only if the file was checked, or is reported as missing;
//! - a secret that opens for its user in the source opens in the target too, and for no other user.

mod error;
mod files;
mod plan;
mod rows;
mod store;
#[cfg(test)]
mod tests;
mod users;

use kitbag_database::peers::is_process_alive;
use kitbag_database::{Database, Scope, TABLES, Transaction};
use kitbag_files::objects::Objects;
use kitbag_identity::record_issuer;
use kitbag_vault::KeySource;

pub use error::TransferError;
pub use files::FilesCopied;
use plan::Plan;
pub use store::Counts;
pub use users::{UserIds, UserIdsError};

/// Source and target of a copy, with its options.
#[derive(Clone, Debug)]
pub struct Job {
    /// Service to copy.
    pub source: Source,
    /// New service.
    pub target: Target,
    /// User ids in the target, by user id of the source; `None` if they are the same.
    pub users: Option<UserIds>,
    /// Policy for files that are missing or damaged in the source.
    pub missing: Missing,
}

/// A stopped service.
#[derive(Clone, Debug)]
pub struct Source {
    /// Database of the service.
    pub database: Database,
    /// Files of the service.
    pub objects: Objects,
}

/// A service that has not been used yet.
#[derive(Clone, Debug)]
pub struct Target {
    /// Database of the service, with this program's schema.
    pub database: Database,
    /// Files of the service.
    pub objects: Objects,
    /// Issuer that the service trusts.
    pub issuer: String,
    /// Another issuer, whose user ids identify the same people.
    pub issuer_replaces: Option<String>,
    /// Source of the master keys.
    pub keys: KeySource,
}

/// Policy for missing or damaged files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The copy fails, and no rows are copied.
    Refused,
    /// All other files are copied.
    LeftOut,
}

/// Result of copying a service.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Numbers of copied items.
    pub counts: Counts,
    /// Number of copied rows in all tables.
    pub rows: u64,
    /// Copied files.
    pub files: FilesCopied,
    /// Examples of secrets that open neither in the source nor in the target.
    pub broken_secrets: Vec<String>,
    /// Number of secrets that open neither in the source nor in the target.
    pub broken_secrets_count: u64,
    /// Number of texts in which NUL was replaced by U+FFFD, because the target's database does not support
    /// it.
    pub changed_texts: u64,
    /// Whether browser sessions were not copied, because the target trusts another issuer.
    pub ended_sessions: bool,
}

/// Steps that report progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copies files.
    CopyFiles,
    /// Copies rows.
    CopyRows,
}

/// Progress callback: the step, the amount done, and the total.
pub type Progress<'a> = dyn FnMut(Step, u64, u64) + 'a;

/// Copies a service. The caller must lock the data directories against other programs.
pub async fn copy(job: &Job, progress: &mut Progress<'_>) -> Result<Copied, TransferError> {
    let Job { source, target, users, missing } = job;
    expect_empty(&mut target.database.snapshot().await?).await?;
    // Open until the end: a server that starts waits for this transaction, and gives up.
    let mut hold = source.database.begin(Scope::Processes).await?;
    hold.take_long().await?;
    if is_in_use(&source.database, &mut hold).await? {
        return Err(TransferError::SourceInUse);
    }
    let mut state = source.database.snapshot().await?;
    state.take_long().await?;

    let mut plan = Plan::of(source, target, users.as_ref(), &mut state).await?;
    let counts = store::counts(&mut state).await?;
    let files = files::copy(source, target, &mut state, progress).await?;
    if files.missing_count > 0 && *missing == Missing::Refused {
        return Err(TransferError::MissingFiles { count: files.missing_count, examples: files.missing });
    }

    let mut incoming = target.database.begin(Scope::Processes).await?;
    incoming.take_long().await?;
    if is_in_use(&target.database, &mut incoming).await? {
        return Err(TransferError::TargetInUse);
    }
    // A server may have run on the target meanwhile.
    expect_empty(&mut incoming).await?;
    let rows = rows::copy(&mut state, &mut incoming, &mut plan, progress).await?;
    if plan.is_other_issuer() {
        record_issuer(&mut incoming, &target.issuer).await?;
    }
    incoming.commit().await?;
    state.roll_back().await?;
    hold.roll_back().await?;

    let ended_sessions = plan.is_other_issuer();
    let Plan { broken_secrets, changed_texts, .. } = plan;
    Ok(Copied {
        counts,
        rows,
        files,
        broken_secrets: broken_secrets.examples,
        broken_secrets_count: broken_secrets.broken,
        changed_texts,
        ended_sessions,
    })
}

/// Fails if a database has been used.
async fn expect_empty(transaction: &mut Transaction) -> Result<(), TransferError> {
    for table in TABLES {
        if table.is_used(transaction).await? {
            return Err(TransferError::NotEmpty(table.name));
        }
    }
    Ok(())
}

/// Whether a process uses a database on a server. A database in a file is protected by the lock of its data
/// directory.
async fn is_in_use(database: &Database, transaction: &mut Transaction) -> Result<bool, TransferError> {
    Ok(!database.is_exclusive() && is_process_alive(transaction).await?)
}
