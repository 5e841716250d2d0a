//! What the knowledge base refuses, and why.

use kitbag_manifest::Problems;
use thiserror::Error;

use crate::tasks::Interrupted;

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
    /// The database failed; the cause is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] sqlx::Error),
}

impl From<Interrupted> for KnowledgeError {
    fn from(_: Interrupted) -> Self {
        Self::Unavailable("the knowledge base was interrupted; try again")
    }
}
