//! `kitbag:toolkit/ask`: questions to the calling user. Granted by scope `svc:ask`.
//!
//! The guest never waits for a person: a question without an answer ends the run. The client asks its user,
//! and makes the call again with the answer
//! ([reason](../../../docs/decisions/0079-a-call-that-asks-runs-again.md)).
//!
//! Invariant: an answer is passed only to the question that its user was shown, never to another one under
//! the same key.

use std::sync::Arc;

use kitbag_manifest::question::{MAX_QUESTIONS, Question};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wasmtime::component::{HasData, Linker};

use super::CallContext;
use crate::contract::interfaces::ask::{self, Answer, AskError};
use crate::observations::{AskedQuestion, QuestionId, Unanswered};

/// A user's response to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Response {
    /// The user accepted with these values, which have not been validated.
    Accepted(Map<String, Value>),
    /// The user declined.
    Declined,
    /// The user dismissed the question without choosing.
    Cancelled,
}

/// The user's responses to the questions of a call, in the order in which they were given. At most
/// [`MAX_QUESTIONS`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Answers(Vec<Answered>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answered {
    question: QuestionId,
    response: Response,
}

/// The ask capability of one call.
#[derive(Default)]
pub struct Ask {
    state: AskState,
    asked: AskedQuestion,
}

/// Whether, and with which answers, a guest can ask.
#[derive(Default)]
enum AskState {
    /// Outside a call, where asking traps.
    #[default]
    Outside,
    /// The client cannot ask its user.
    Unsupported,
    /// The client can ask; contains the answers so far.
    Answers(Arc<Answers>),
}

impl Answers {
    /// Adds a response. Ignored if there are [`MAX_QUESTIONS`] already.
    pub fn add(&mut self, question: QuestionId, response: Response) {
        if self.0.len() < MAX_QUESTIONS {
            self.0.push(Answered { question, response });
        }
    }

    /// Whether there are no responses.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn to(&self, question: &QuestionId) -> Option<&Response> {
        self.0.iter().find(|it| it.question == *question).map(|it| &it.response)
    }
}

impl Ask {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let state = call.answers.map_or(AskState::Unsupported, |answers| AskState::Answers(answers.clone()));
        Self { state, asked: call.observations.asked.clone() }
    }
}

impl ask::Host for Ask {
    async fn ask(
        &mut self,
        key: String,
        message: String,
        schema: String,
    ) -> wasmtime::Result<Result<Answer, AskError>> {
        let answers = match &self.state {
            AskState::Outside => return Err(wasmtime::Error::msg("nobody can be asked outside a call")),
            AskState::Unsupported => return Ok(Err(AskError::Unsupported)),
            AskState::Answers(answers) => answers,
        };
        let question = match Question::check(&key, &message, &schema) {
            Ok(question) => question,
            Err(problems) => return Ok(Err(AskError::Invalid(problems.to_string()))),
        };
        let id = QuestionId::new(&key, &message, &schema);
        let unanswered = match answers.to(&id) {
            Some(Response::Declined) => return Ok(Ok(Answer::Declined)),
            Some(Response::Cancelled) => return Ok(Ok(Answer::Cancelled)),
            Some(Response::Accepted(fields)) => match question.accept(fields.clone()) {
                Ok(fields) => return Ok(Ok(Answer::Accepted(Value::Object(fields).to_string()))),
                Err(violations) => Unanswered::Unfit { key, violations },
            },
            None if answers.0.len() >= MAX_QUESTIONS => {
                let problem =
                    format!("the call has asked {MAX_QUESTIONS} questions, which is the most it may");
                return Ok(Err(AskError::Invalid(problem)));
            }
            None => Unanswered::Asked { id, question },
        };
        self.asked.record(unanswered);
        Err(wasmtime::Error::msg("the call asks its user"))
    }
}

/// Links the capability; `ask` finds the invocation's state in the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    ask: fn(&mut T) -> &mut Ask,
) -> wasmtime::Result<()> {
    struct HasAsk;
    impl HasData for HasAsk {
        type Data<'a> = &'a mut Ask;
    }
    ask::add_to_linker::<T, HasAsk>(linker, ask)
}
