//! Questions of tools to the calling user (MCP elicitation). The server stores no state of a call that asks:
//! earlier answers travel with the client, sealed.
//!
//! Invariants:
//! - sealed state opens only for the same user and client or key, tool, arguments, and version and owner of the
//!   toolkit;
//! - a call runs to its end with an answer once, on whichever process: it is claimed before it runs, and the
//!   claim stays unless the call asks further or may be made again.

mod resumption;

use std::sync::Arc;

use kitbag_base::sha256::Sha256;
use kitbag_database::peers::{Mailbox, Subject};
use kitbag_identity::random_text;
use kitbag_manifest::SCOPE_ASK;
use kitbag_toolkits::dispatch::{Answers, Callee, QuestionId, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::stores::Stores;
use super::user::User;
pub use resumption::{ResumedCall, Resumption};

/// Lifetime of sealed state, and so the time for an answer that the client sends with a new request, in
/// seconds.
const STATE_SECONDS: i64 = 3600;
/// Time during which a response is forwarded to a waiting call, in seconds; longer than the call waits.
const QUESTION_SECONDS: i64 = 900;

/// Earlier answers of a call, and its open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Random id of the call, the same in all its runs.
    call: String,
    answers: Arc<Answers>,
    waiting: Option<QuestionId>,
}

/// The answer of a client to a question whose call may wait in another process.
#[derive(Clone, Copy, Debug)]
pub struct ForwardedAnswer<'a> {
    /// Id of the question.
    pub question: &'a str,
    /// Id of this process in its questions.
    pub process: &'a [u8; 16],
    /// The client's response.
    pub text: &'a str,
}

/// A new call, which has asked nothing yet.
impl Default for Asked {
    fn default() -> Self {
        Self { call: random_text::<16>(), answers: Arc::default(), waiting: None }
    }
}

impl Asked {
    /// Earlier answers of the call.
    pub fn answers(&self) -> Arc<Answers> {
        self.answers.clone()
    }

    /// Whether the call has asked nothing yet.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.waiting.is_none()
    }

    /// Sets the open question.
    pub fn ask(&mut self, question: QuestionId) {
        self.waiting = Some(question);
    }

    /// Returns the key of the open question.
    pub fn waiting(&self) -> Option<&str> {
        self.waiting.as_ref().map(|question| question.key.as_str())
    }

    /// Stores the answer to the open question.
    pub fn answer(&mut self, response: Response) {
        if let Some(question) = self.waiting.take() {
            Arc::make_mut(&mut self.answers).add(question, response);
        }
    }
}

impl User {
    /// Whether the callee is a tool that may ask its user.
    pub fn may_be_asked(callee: &Callee) -> bool {
        matches!(callee, Callee::Toolkit(_)) && callee.toolkit().has_scope(SCOPE_ASK)
    }

    /// Seals the state of a call's questions, for the client to send back.
    pub fn seal_asked(&self, callee: &Callee, arguments: &Map<String, Value>, asked: &Asked) -> String {
        let text = serde_json::to_vec(asked).expect("JSON always serialises");
        self.stores().vault.seal_state(&text, &slices(&bound_to(self, callee, arguments)), STATE_SECONDS)
    }

    /// Opens state that the client sent back; `None` if it belongs to another call, or has expired.
    pub fn open_asked(&self, callee: &Callee, arguments: &Map<String, Value>, state: &str) -> Option<Asked> {
        let text = self.stores().vault.open_state(state, &slices(&bound_to(self, callee, arguments)))?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns the id of a new question of this process to a client of the user. No other client can respond
    /// to it.
    pub fn new_question(&self, client: &str, process: &[u8; 16]) -> String {
        self.stores().vault.seal_state(
            process,
            &[b"question", self.id().as_bytes(), client.as_bytes()],
            QUESTION_SECONDS,
        )
    }

    /// Forwards the answer to a question to the process whose call waits for it. Stores nothing if the
    /// question id is forged, or was created by this process, whose call has then ended.
    pub async fn pass_answer_on(
        &self,
        client: &str,
        answer: &ForwardedAnswer<'_>,
    ) -> kitbag_database::Result<()> {
        let vault = &self.stores().vault;
        let mailbox = mailbox(self);
        let bound_to: [&[u8]; 3] = [b"question", self.id().as_bytes(), client.as_bytes()];
        if !mailbox.is_shared() {
            return Ok(());
        }
        let ForwardedAnswer { question, process, text } = answer;
        let asked_by = vault.open_state(question, &bound_to);
        if asked_by.is_none_or(|asked_by| asked_by == *process) {
            return Ok(());
        }
        let sealed = vault.seal_state(text.as_bytes(), &answer_to(self, client, question), QUESTION_SECONDS);
        mailbox.put(subject_of(self, client, question), &sealed).await
    }

    /// Waits for a response that another process forwards.
    pub async fn passed_answer(&self, client: &str, question: &str) -> String {
        let vault = &self.stores().vault;
        let mailbox = mailbox(self);
        loop {
            let sealed = mailbox.taken(subject_of(self, client, question)).await;
            let answer = vault.open_state(&sealed, &answer_to(self, client, question));
            if let Some(answer) = answer.and_then(|answer| String::from_utf8(answer).ok()) {
                return answer;
            }
        }
    }
}

fn mailbox(user: &User) -> Mailbox {
    let Stores { database, hints, .. } = user.stores();
    Mailbox::new(database, hints.clone())
}

fn subject_of(user: &User, client: &str, question: &str) -> Subject {
    Subject::of(&["answer", user.id(), client, question])
}

/// Additional authenticated data of a forwarded response.
fn answer_to<'a>(user: &'a User, client: &'a str, question: &'a str) -> [&'a [u8]; 4] {
    [b"answer", user.id().as_bytes(), client.as_bytes(), question.as_bytes()]
}

fn bound_to(user: &User, callee: &Callee, arguments: &Map<String, Value>) -> Vec<Vec<u8>> {
    let arguments = serde_json::to_vec(arguments).expect("JSON always serialises");
    let toolkit = &callee.toolkit().id;
    let tool = callee.record_name();
    vec![
        b"asked".to_vec(),
        user.id().into(),
        user.client().unwrap_or_default().into(),
        user.caller.key_id().unwrap_or_default().into(),
        toolkit.as_str().into(),
        callee.owner().into(),
        callee.digest().into(),
        tool.as_bytes().into(),
        Sha256::digest(arguments).to_vec(),
    ]
}

fn slices(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}
