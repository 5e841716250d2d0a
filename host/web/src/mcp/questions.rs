//! Requests of the server that wait for the response of a client. One that comes to another process is passed on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kitbag_access::User;
use kitbag_access::values::database::DatabaseError;
use tokio::sync::oneshot;

use super::calls::ClientLabel;

/// The requests of this process that wait, by their ids, each with its user and client. Clones share them.
#[derive(Clone)]
pub(super) struct Questions {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
    /// Names this process in the ids.
    process: Arc<[u8; 16]>,
}

struct Waiting {
    user: String,
    client: ClientLabel,
    response: oneshot::Sender<String>,
}

/// A request that waits; dropped, its response is ignored.
pub(super) struct Expected {
    pub(super) id: String,
    questions: Questions,
    user: User,
    client: ClientLabel,
    response: oneshot::Receiver<String>,
}

impl Questions {
    /// No request waits.
    pub(super) fn new() -> Self {
        let mut process = [0; 16];
        aws_lc_rs::rand::fill(&mut process).expect("the system has random numbers");
        Self { waiting: Arc::default(), process: Arc::new(process) }
    }

    /// Waits for the response to a new request to a client.
    pub(super) fn expect(&self, user: &User, client: &ClientLabel) -> Expected {
        let (sender, response) = oneshot::channel();
        let id = user.new_question(client.as_str(), &self.process);
        let waiting = Waiting { user: user.id().to_owned(), client: client.clone(), response: sender };
        self.lock().insert(id.clone(), waiting);
        Expected { id, questions: self.clone(), user: user.clone(), client: client.clone(), response }
    }

    /// Passes a response on: the result of the request, as JSON text. One that nobody waits for is ignored. Fails if the database
    /// cannot be reached, over which it would have to go.
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
            return user.pass_answer_on(client.as_str(), (id, &self.process), &response).await;
        };
        let _ = waiting.response.send(response);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected {
    /// Waits for the response.
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
