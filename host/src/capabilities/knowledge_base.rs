//! What both capabilities over the knowledge base say when it refuses.

use tracing::error;

use crate::knowledge::{Knowledge, KnowledgeError};

/// Why the knowledge base did not do what a guest asked for, in words that it may read.
pub(super) enum Refusal {
    NotFound,
    Invalid(String),
    Unavailable(String),
}

impl From<KnowledgeError> for Refusal {
    fn from(refusal: KnowledgeError) -> Self {
        match refusal {
            KnowledgeError::NotFound => Self::NotFound,
            KnowledgeError::Invalid(problems) => Self::Invalid(problems.to_string()),
            KnowledgeError::Unavailable(reason) => Self::Unavailable(reason.to_owned()),
            // Trying again does not help: the user has to delete something.
            KnowledgeError::Quota(exceeded) => Self::Invalid(exceeded.to_string()),
            KnowledgeError::TooManyUploads(refusal) => Self::Unavailable(refusal.to_string()),
            KnowledgeError::DiskFull(full) => Self::Unavailable(full.to_string()),
            KnowledgeError::Storage(cause) => {
                error!(%cause, "the knowledge base failed");
                Self::Unavailable("the knowledge base cannot be reached now; try again later".to_owned())
            }
        }
    }
}

/// The knowledge base of a call. Only a sandbox that serves nobody has none.
pub(super) fn of_call(knowledge: Option<&Knowledge>) -> wasmtime::Result<&Knowledge> {
    knowledge.ok_or_else(|| wasmtime::Error::msg("this sandbox has no knowledge base"))
}
