//! Server-to-client requests that wait for a response. A response that reaches another process is forwarded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kitbag_access::values::database::DatabaseError;
use kitbag_access::{ForwardedAnswer, User};
use tokio::sync::oneshot;

use super::calls::ClientLabel;

/// Waiting requests of this process by id, each with its user and client. Clones share them.
#[derive(Clone)]
pub(super) struct Questions {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
    /// Identifies this process in request ids.
    process: Arc<[u8; 16]>,
}

struct Waiting {
    user: String,
    client: ClientLabel,
    response: oneshot::Sender<String>,
}

/// A waiting request; once dropped, its response is ignored.
pub(super) struct Expected {
    pub(super) id: String,
    questions: Questions,
    user: User,
    client: ClientLabel,
    response: oneshot::Receiver<String>,
}

impl Questions {
    /// Creates an empty set.
    pub(super) fn new() -> Self {
        let mut process = [0; 16];
        aws_lc_rs::rand::fill(&mut process).expect("the system has random numbers");
        Self { waiting: Arc::default(), process: Arc::new(process) }
    }

    /// Creates a new request to a client, whose response can be awaited.
    pub(super) fn expect(&self, user: &User, client: &ClientLabel) -> Expected {
        let (sender, response) = oneshot::channel();
        let id = user.new_question(client.as_str(), &self.process);
        let waiting = Waiting { user: user.id().to_owned(), client: client.clone(), response: sender };
        self.lock().insert(id.clone(), waiting);
        Expected { id, questions: self.clone(), user: user.clone(), client: client.clone(), response }
    }

    /// Delivers a response: the result of the request, as JSON text. A response without a waiting request is
    /// ignored. Fails if it must be forwarded to another process and the database is unavailable.
    pub(super) async fn respond(
        &self,
        user: &User,
        client: &ClientLabel,
        id: &str,
        response: String,
    ) -> Result<(), DatabaseError> {
        let is_of = |it: &Waiting| it.user == user.id() && it.client == *client;
        let waiting = {
            let mut waiting = self.lock();
            if waiting.get(id).is_some_and(is_of) { waiting.remove(id) } else { None }
        };
        let Some(waiting) = waiting else {
            let answer = ForwardedAnswer { question: id, process: &self.process, text: &response };
            return user.pass_answer_on(client.as_str(), &answer).await;
        };
        let _ = waiting.response.send(response);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected {
    /// Waits for the response, from this process or another one.
    pub(super) async fn received(mut self) -> String {
        let passed = self.user.passed_answer(self.client.as_str(), &self.id);
        tokio::select! {
            Ok(response) = &mut self.response => response,
            response = passed => response,
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}
