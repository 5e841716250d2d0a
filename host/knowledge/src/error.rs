//! What the knowledge base refuses, and why.

use kitbag_base::disk::DiskFull;
use kitbag_base::tasks::Interrupted;
use kitbag_database::DatabaseError;
use kitbag_manifest::Problems;
use thiserror::Error;

use super::quota::{QuotaExceeded, TooManyUploads};

/// Why the knowledge base did not do what it was asked for.
#[derive(Debug, Error)]
pub enum KnowledgeError {
    /// The user has no such document; whether another has is not said.
    #[error("there is no such document")]
    NotFound,
    /// The request breaks rules: all of them, each with its path. Nothing was stored.
    #[error("{0}")]
    Invalid(Problems),
    /// It cannot answer now; says why, in words that a user may see.
    #[error("{0}")]
    Unavailable(&'static str),
    /// The user's documents would be more than they may be. Nothing was stored.
    #[error("nothing was stored: {0}")]
    Quota(#[from] QuotaExceeded),
    /// The user brings in more at a time than one user may.
    #[error(transparent)]
    TooManyUploads(#[from] TooManyUploads),
    /// There is no room on the disk. Nothing was stored.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The database failed; the cause is for the log.
    #[error("storage failed: {0}")]
    Storage(#[source] DatabaseError),
}

impl From<DatabaseError> for KnowledgeError {
    fn from(error: DatabaseError) -> Self {
        if error.is_disk_full() { Self::DiskFull(DiskFull) } else { Self::Storage(error) }
    }
}

impl From<Interrupted> for KnowledgeError {
    fn from(_: Interrupted) -> Self {
        Self::Unavailable("the knowledge base was interrupted; try again")
    }
}
