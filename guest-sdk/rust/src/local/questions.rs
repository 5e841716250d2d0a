//! Questions to the user in a test: a question ends the run, and the handler runs again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::pending;
use std::mem::take;

use kitbag_manifest::SCOPE_ASK;
use kitbag_manifest::question::Question;
use kitbag_manifest::test_host::questions::{self, Asking, TestAnswer};
use kitbag_manifest::test_host::require_scope;
use serde_json::{Map, Value};

use super::platform::Platform;
use crate::{AskError, Asked};

/// Answers that the test provides, and the questions of all runs.
#[derive(Default)]
pub(super) struct Questions {
    state: RefCell<questions::Questions>,
    asked: RefCell<Vec<Question>>,
}

impl Questions {
    pub(super) fn new(answers: BTreeMap<String, TestAnswer>) -> Self {
        let state = questions::Questions { answers, ..questions::Questions::default() };
        Self { state: RefCell::new(state), asked: RefCell::default() }
    }

    /// Returns whether the run has ended at a question; the next run begins.
    pub(super) fn take_waiting(&self) -> bool {
        take(&mut self.state.borrow_mut().has_ended)
    }

    pub(super) fn take_asked(&self) -> Vec<Question> {
        self.asked.take()
    }
}

impl Platform {
    /// Asks the user.
    ///
    /// # Panics
    /// If the test has no answer, or the answer does not fit the question's schema.
    pub(crate) async fn ask(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Asked<Map<String, Value>>, AskError> {
        let state = self.state();
        require_scope(&state.definition, SCOPE_ASK).map_err(AskError::Invalid)?;
        let asking = state.questions.state.borrow_mut().ask(key, message, schema);
        match asking {
            Asking::Accepted(fields) => Ok(Asked::Accepted(fields)),
            Asking::Declined => Ok(Asked::Declined),
            Asking::Cancelled => Ok(Asked::Cancelled),
            Asking::EndsRun(question) => {
                state.questions.asked.borrow_mut().extend(question.map(|it| *it));
                pending().await
            }
            Asking::Unsupported => Err(AskError::Unsupported),
            Asking::Invalid(why) => Err(AskError::Invalid(why)),
            Asking::Mistake(why) => panic!("{why}; see Call::answer"),
        }
    }
}
