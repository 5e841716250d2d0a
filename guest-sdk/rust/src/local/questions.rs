//! Questions to the user in a test, with the rules of a server: a question ends the run, and the handler runs
//! again.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::pending;

use kitbag_manifest::SCOPE_ASK;
use kitbag_manifest::question::{MAX_QUESTIONS, Question};
use serde_json::{Map, Value};

use super::platform::Platform;
use crate::{AskError, Asked};

/// Answers that the test provides, by key, and the questions asked so far.
#[derive(Default)]
pub(super) struct Questions {
    answers: HashMap<String, Asked<Value>>,
    /// Questions asked so far, in order. In the next run they have their answers.
    asked: RefCell<Vec<Question>>,
    /// Whether the run has ended at a question.
    is_waiting: Cell<bool>,
}

impl Questions {
    pub(super) fn new(answers: HashMap<String, Asked<Value>>) -> Self {
        Self { answers, ..Self::default() }
    }

    /// Returns whether the run has ended at a question, and resets the flag.
    pub(super) fn take_waiting(&self) -> bool {
        self.is_waiting.take()
    }

    pub(super) fn take_asked(&self) -> Vec<Question> {
        self.asked.take()
    }
}

impl Platform {
    pub(crate) async fn ask(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Asked<Map<String, Value>>, AskError> {
        let (state, questions) = (self.state(), &self.state().questions);
        if !state.definition.has_scope(SCOPE_ASK) {
            let why = format!("the toolkit does not declare the scope {SCOPE_ASK}");
            return Err(AskError::Invalid(why));
        }
        if questions.answers.is_empty() {
            return Err(AskError::Unsupported);
        }
        let question = Question::check(key, message, schema)
            .map_err(|problems| AskError::Invalid(problems.to_string()))?;
        if questions.asked.borrow().contains(&question) {
            return Ok(questions.answer_to(&question));
        }
        if questions.asked.borrow().len() >= MAX_QUESTIONS {
            let why = format!("the call has asked {MAX_QUESTIONS} questions, which is the most it may");
            return Err(AskError::Invalid(why));
        }
        questions.asked.borrow_mut().push(question);
        questions.is_waiting.set(true);
        pending().await
    }
}

impl Questions {
    /// Returns the answer that the test provides.
    ///
    /// # Panics
    /// If the test has no answer, or the answer does not fit the question's schema.
    fn answer_to(&self, question: &Question) -> Asked<Map<String, Value>> {
        let key = &question.key;
        let Some(answer) = self.answers.get(key) else {
            panic!("the test has no answer to the question {key:?}; see Call::answer")
        };
        let fits = answer.clone().try_map(|value| {
            let fields = value.as_object().cloned().ok_or_else(|| vec!["must be an object".to_owned()])?;
            question.accept(fields)
        });
        fits.unwrap_or_else(|violations| {
            panic!("the answer to the question {key:?} does not fit: {}", violations.join("; "))
        })
    }
}
