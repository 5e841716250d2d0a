//! The unanswered question at which a call ended.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_base::sha256::Sha256;
use kitbag_manifest::question::Question;
use serde::{Deserialize, Serialize};

/// Identifies a question by a hash of its key, its message and its schema.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
pub struct QuestionId {
    /// The author's key of the question, visible to clients.
    pub key: String,
    /// SHA-256 of key, message and schema, hexadecimal.
    shown: String,
}

/// Reason why a run ended at a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Unanswered {
    /// There is no answer yet.
    Asked {
        /// Id of the question, under which the answer is stored.
        id: QuestionId,
        /// The question for the user.
        question: Question,
    },
    /// The answer does not fit the question.
    Unfit {
        /// The question's key.
        key: String,
        /// Violations, each as `path: what is wrong`.
        violations: Vec<String>,
    },
}

/// The question at which a run ended, if it did. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct AskedQuestion(Arc<Mutex<Option<Unanswered>>>);

impl QuestionId {
    /// Returns the id of a question, from its texts as the guest passed them.
    pub(crate) fn new(key: &str, message: &str, schema: &str) -> Self {
        let mut shown = Sha256::new();
        for part in [key, message, schema] {
            shown.update(part.len().to_be_bytes());
            shown.update(part);
        }
        Self { key: key.to_owned(), shown: hex::encode(shown.finish()) }
    }
}

impl PartialEq for QuestionId {
    fn eq(&self, other: &Self) -> bool {
        self.shown == other.shown
    }
}

impl AskedQuestion {
    /// Records the question, just before the host ends the run.
    pub(crate) fn record(&self, question: Unanswered) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(question);
    }

    /// Returns the question and clears it.
    pub(crate) fn take(&self) -> Option<Unanswered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
