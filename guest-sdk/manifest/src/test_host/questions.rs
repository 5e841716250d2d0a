//! Questions to the user: a question ends the run, and the handler runs again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::question::{MAX_QUESTIONS, Question};

/// Response of the user in a test.
#[derive(Clone, Debug, PartialEq)]
pub enum TestAnswer {
    /// The user accepts with these fields.
    Accepted(Value),
    /// The user declines.
    Declined,
    /// The user dismisses the question.
    Cancelled,
}

/// A question that a call has asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// Key of the answer.
    pub key: String,
    /// Text of the question.
    pub message: String,
    /// JSON Schema of the answer, as text.
    pub schema: String,
}

/// The questions of one call, across its runs.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Answers that the test provides, by key.
    pub answers: BTreeMap<String, TestAnswer>,
    /// Questions so far.
    pub asked: Vec<AskedQuestion>,
    /// Whether the current run has ended at a question.
    pub has_ended: bool,
}

/// Outcome of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Asking {
    /// The user has accepted with these fields.
    Accepted(Map<String, Value>),
    /// The user has declined.
    Declined,
    /// The user has dismissed the question.
    Cancelled,
    /// The run ends. The question is new, unless the run had ended already: as in the sandbox, nothing is asked then.
    EndsRun(Option<Box<Question>>),
    /// The user cannot be asked.
    Unsupported,
    /// The question breaks a rule, which the text names.
    Invalid(String),
    /// The test has no answer, or one that does not fit; the text says so.
    Mistake(String),
}

impl Questions {
    /// Asks the user, or returns the answer to a question of an earlier run.
    pub fn ask(&mut self, key: &str, message: &str, schema: &str) -> Asking {
        if self.has_ended {
            return Asking::EndsRun(None);
        }
        if self.answers.is_empty() {
            return Asking::Unsupported;
        }
        let question = match Question::check(key, message, schema) {
            Ok(question) => question,
            Err(problems) => return Asking::Invalid(problems.to_string()),
        };
        let asked =
            AskedQuestion { key: key.to_owned(), message: message.to_owned(), schema: schema.to_owned() };
        if self.asked.contains(&asked) {
            return self.answer_to(&question);
        }
        if self.asked.len() >= MAX_QUESTIONS {
            return Asking::Invalid(format!(
                "the call has asked {MAX_QUESTIONS} questions, which is the most it may"
            ));
        }
        self.asked.push(asked);
        self.has_ended = true;
        Asking::EndsRun(Some(Box::new(question)))
    }

    fn answer_to(&self, question: &Question) -> Asking {
        let key = &question.key;
        let fields = match self.answers.get(key) {
            None => return Asking::Mistake(format!("the test has no answer to the question {key:?}")),
            Some(TestAnswer::Declined) => return Asking::Declined,
            Some(TestAnswer::Cancelled) => return Asking::Cancelled,
            Some(TestAnswer::Accepted(fields)) => fields,
        };
        let accepted = match fields {
            Value::Object(fields) => question.accept(fields.clone()),
            _ => Err(vec!["must be an object".to_owned()]),
        };
        accepted.map_or_else(
            |why| {
                Asking::Mistake(format!(
                    "the answer to the question {key:?} does not fit: {}",
                    why.join("; ")
                ))
            },
            Asking::Accepted,
        )
    }
}
