//! The question of a call that has no answer yet.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_base::sha256::Sha256;
use kitbag_manifest::question::Question;
use serde::{Deserialize, Serialize};

/// Names a question by a hash of its key and of what its user is shown.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
pub struct QuestionId {
    /// The author's name of the question, as clients see it.
    pub key: String,
    /// In hexadecimal.
    shown: String,
}

/// Why a run ended at a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Unanswered {
    /// There is no answer yet.
    Asked {
        /// To whom the answer belongs.
        id: QuestionId,
        /// What the user is asked.
        question: Question,
    },
    /// The answer does not fit the question.
    Unfit {
        /// The question's key.
        key: String,
        /// `path: what is wrong`.
        violations: Vec<String>,
    },
}

/// The question at which a run ended, if it did. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct AskedQuestion(Arc<Mutex<Option<Unanswered>>>);

impl QuestionId {
    /// Returns the id of a question with this schema, as the guest gave it.
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

    /// Takes the question out.
    pub(crate) fn take(&self) -> Option<Unanswered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
