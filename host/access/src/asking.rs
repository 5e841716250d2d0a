//! Questions of tools to the user who called them. The server keeps nothing of a call that asks: what was answered travels
//! with the client, sealed.
//!
//! Invariant: a state opens for the same user, tool, owner of the toolkit and arguments.

use std::sync::Arc;

use kitbag_base::sha256::Sha256;
use kitbag_database::peers::{Mailbox, Subject};
use kitbag_manifest::SCOPE_ASK;
use kitbag_toolkits::dispatch::{Answers, Callee, QuestionId, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Stores, User};

/// How long a user may take for an answer that their client brings back, in seconds.
const STATE_SECONDS: i64 = 3600;
/// How long a response to a question of a call that waits is passed on, in seconds: for longer than the call waits.
const QUESTION_SECONDS: i64 = 900;

/// What was answered in a call, and what is asked now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    answers: Arc<Answers>,
    waiting: Option<QuestionId>,
}

impl Asked {
    /// What was answered.
    pub fn answers(&self) -> Arc<Answers> {
        self.answers.clone()
    }

    /// Whether nothing was asked yet.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.waiting.is_none()
    }

    /// Waits for the answer to a question.
    pub fn ask(&mut self, question: QuestionId) {
        self.waiting = Some(question);
    }

    /// The key of the question that has no answer yet.
    pub fn waiting(&self) -> Option<&str> {
        self.waiting.as_ref().map(|question| question.key.as_str())
    }

    /// Takes the answer to the question that waits for one.
    pub fn answer(&mut self, response: Response) {
        if let Some(question) = self.waiting.take() {
            Arc::make_mut(&mut self.answers).add(question, response);
        }
    }
}

impl User {
    /// Whether a callee is a tool that may ask its user.
    pub fn may_be_asked(callee: &Callee) -> bool {
        matches!(callee, Callee::Toolkit(_)) && callee.toolkit().has_scope(SCOPE_ASK)
    }

    /// Seals what was asked in a call, for the client to bring back.
    pub fn seal_asked(&self, callee: &Callee, arguments: &Map<String, Value>, asked: &Asked) -> String {
        let text = serde_json::to_vec(asked).expect("JSON always serialises");
        let bound_to = self.bound_to(callee, arguments);
        self.stores().vault.seal_state(&text, &bound_to.each_ref().map(Vec::as_slice), STATE_SECONDS)
    }

    /// Opens what the client has brought back; `None` if it is of another call, or too old.
    pub fn open_asked(&self, callee: &Callee, arguments: &Map<String, Value>, state: &str) -> Option<Asked> {
        let bound_to = self.bound_to(callee, arguments);
        let text = self.stores().vault.open_state(state, &bound_to.each_ref().map(Vec::as_slice))?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns the id of a new question that a process has to a client of the user. No other client can respond to it.
    pub fn new_question(&self, client: &str, process: &[u8; 16]) -> String {
        self.stores().vault.seal_state(
            process,
            &[b"question", self.id().as_bytes(), client.as_bytes()],
            QUESTION_SECONDS,
        )
    }

    /// Passes the response to a question on to the process whose call waits for it. Nothing is stored of one to a question that
    /// was made up, or whose call was one of this `process` and has ended.
    pub async fn pass_answer_on(
        &self,
        client: &str,
        (question, process): (&str, &[u8; 16]),
        answer: &str,
    ) -> kitbag_database::Result<()> {
        let (vault, mailbox) = (&self.stores().vault, self.mailbox());
        let bound_to: [&[u8]; 3] = [b"question", self.id().as_bytes(), client.as_bytes()];
        if !mailbox.is_shared() {
            return Ok(());
        }
        let asked_by = vault.open_state(question, &bound_to);
        if asked_by.is_none_or(|asked_by| asked_by == process) {
            return Ok(());
        }
        let sealed = vault.seal_state(answer.as_bytes(), &self.answer_to(client, question), QUESTION_SECONDS);
        mailbox.put(self.subject_of(client, question), &sealed).await
    }

    /// Waits for a response that another process passes on.
    pub async fn passed_answer(&self, client: &str, question: &str) -> String {
        let (vault, mailbox) = (&self.stores().vault, self.mailbox());
        loop {
            let sealed = mailbox.taken(self.subject_of(client, question)).await;
            let answer = vault.open_state(&sealed, &self.answer_to(client, question));
            if let Some(answer) = answer.and_then(|answer| String::from_utf8(answer).ok()) {
                return answer;
            }
        }
    }

    fn mailbox(&self) -> Mailbox {
        let Stores { database, hints, .. } = self.stores();
        Mailbox::new(database, hints.clone())
    }

    fn subject_of(&self, client: &str, question: &str) -> Subject {
        Subject::of(&["answer", self.id(), client, question])
    }

    /// What a response that is passed on is bound to.
    fn answer_to<'a>(&'a self, client: &'a str, question: &'a str) -> [&'a [u8]; 4] {
        [b"answer", self.id().as_bytes(), client.as_bytes(), question.as_bytes()]
    }

    fn bound_to(&self, callee: &Callee, arguments: &Map<String, Value>) -> [Vec<u8>; 6] {
        let arguments = serde_json::to_vec(arguments).expect("JSON always serialises");
        let (toolkit, tool) = (&callee.toolkit().id, callee.record_name());
        [
            b"asked".to_vec(),
            self.id().into(),
            toolkit.as_str().into(),
            callee.owner().into(),
            tool.as_bytes().into(),
            Sha256::digest(arguments).to_vec(),
        ]
    }
}
