//! Errors of the knowledge base.

use kitbag_base::disk::DiskFull;
use kitbag_base::tasks::Interrupted;
use kitbag_database::DatabaseError;
use kitbag_manifest::Problems;
use thiserror::Error;

use super::collections::CollectionError;
use super::quota::{QuotaExceeded, TooManyUploads};

/// Reason why a request to the knowledge base failed.
#[derive(Debug, Error)]
pub enum KnowledgeError {
    /// No such document of this user; does not reveal whether another user has it.
    #[error("there is no such document")]
    NotFound,
    /// Invalid request: lists every broken rule with its path. Nothing was stored.
    #[error("{0}")]
    Invalid(Problems),
    /// The collection does not exist for the user, or the user may not change it.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// Temporarily unavailable; the reason may be shown to a user.
    #[error("{0}")]
    Unavailable(&'static str),
    /// The user's storage quota would be exceeded. Nothing was stored.
    #[error("nothing was stored: {0}")]
    Quota(#[from] QuotaExceeded),
    /// The user's upload rate limit is exceeded.
    #[error(transparent)]
    TooManyUploads(#[from] TooManyUploads),
    /// The disk is full. Nothing was stored.
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
