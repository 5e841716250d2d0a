//! Copies a whole service to another database and another store of files, while neither has a server
//! ([why so](../../docs/decisions/0043-a-service-is-copied-in-one-transaction.md)).
//!
//! ```text
//! [ keep servers from starting → is the target empty? whose users? do its keys open the secrets?
//!   → copy each file, checked → one transaction: all rows, counted → commit ]
//! ```
//!
//! Invariants:
//! - nothing of the source is changed, whatever happens;
//! - the target has all rows or none. Files that it has without rows are those of a copy that has not ended, which the
//!   next one uses;
//! - a row that refers to a file is there only if the file was checked, or is named as missing;
//! - a secret opens for its user in the target if it did in the source, and for nobody else.

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

/// What is copied, and where to.
#[derive(Clone, Debug)]
pub struct Job {
    /// The service that is copied.
    pub source: Source,
    /// The service that it becomes.
    pub target: Target,
    /// The ids that users have in the target; `None` if they have the same.
    pub users: Option<UserIds>,
    /// What to do if files are missing or damaged in the source.
    pub missing: Missing,
}

/// A service that does not run.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its database.
    pub database: Database,
    /// Its files.
    pub objects: Objects,
}

/// A service that has not begun.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its database, with this program's schema.
    pub database: Database,
    /// Its files.
    pub objects: Objects,
    /// The issuer whom it trusts.
    pub issuer: String,
    /// Another issuer whose user ids name the same people.
    pub issuer_replaces: Option<String>,
    /// Where it has its master keys.
    pub keys: KeySource,
}

/// What is done if files are missing or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No row is copied.
    Refused,
    /// Everything else is copied.
    LeftOut,
}

/// A service that was copied.
#[derive(Clone, Debug)]
pub struct Copied {
    /// How much there is.
    pub counts: Counts,
    /// Rows of all tables.
    pub rows: u64,
    /// The files.
    pub files: FilesCopied,
    /// Secrets that did not open in the source and do not open in the target.
    pub broken_secrets: Vec<String>,
    /// Their number.
    pub broken_secrets_count: u64,
    /// Texts with NUL, which the target's database does not have: U+FFFD takes its place there.
    pub changed_texts: u64,
    /// Whether sessions of browsers were left behind, because another issuer signs people in.
    pub ended_sessions: bool,
}

/// Work of which a command reports how much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Files are copied.
    CopyFiles,
    /// Rows are copied.
    CopyRows,
}

/// Is told the step, and how much of how much is done.
pub type Progress<'a> = dyn FnMut(Step, u64, u64) + 'a;

/// Copies a service. Whoever calls this keeps other programs away from data directories.
pub async fn copy(job: &Job, progress: &mut Progress<'_>) -> Result<Copied, TransferError> {
    let Job { source, target, users, missing } = job;
    expect_empty(&mut target.database.snapshot().await?).await?;
    // Until the end: a server that starts waits for this transaction, and gives up.
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
    // A server may have run there meanwhile.
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

/// Fails if somebody has used a database.
async fn expect_empty(transaction: &mut Transaction) -> Result<(), TransferError> {
    for table in TABLES {
        if table.is_used(transaction).await? {
            return Err(TransferError::NotEmpty(table.name));
        }
    }
    Ok(())
}

/// Whether a process uses a database that is not a file. Who uses a file has locked its data directory.
async fn is_in_use(database: &Database, transaction: &mut Transaction) -> Result<bool, TransferError> {
    Ok(!database.is_exclusive() && is_process_alive(transaction).await?)
}
