//! Answers of users on their way to the process whose call waits for them: a client sends its response to any process.

use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

use super::store;
use super::{Hint, Hints, Subject};
use crate::Database;

/// How often whoever waits looks, unless a process says that there is an answer.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long an answer that nobody takes stays, in milliseconds.
const MAX_AGE: i64 = 15 * 60 * 1000;

/// Passes answers between the processes of a service.
#[derive(Clone)]
pub struct Mailbox {
    /// `None` if there is no other process.
    database: Option<Database>,
    hints: Hints,
}

impl Mailbox {
    /// A mailbox of the processes that share this database.
    pub fn new(database: &Database, hints: Hints) -> Self {
        Self { database: database.server().is_some().then(|| database.clone()), hints }
    }

    /// Whether answers may come to another process.
    pub fn is_shared(&self) -> bool {
        self.database.is_some()
    }

    /// Passes an answer on to whoever waits for it.
    pub async fn put(&self, subject: Subject, answer: &str) -> crate::Result<()> {
        let Some(database) = &self.database else { return Ok(()) };
        store::pass_answer(database, &subject.name(), answer, MAX_AGE).await?;
        self.hints.tell_others(Hint::Answer(subject));
        Ok(())
    }

    /// Waits until another process passes the answer on.
    pub async fn taken(&self, subject: Subject) -> String {
        let Some(database) = &self.database else { return std::future::pending().await };
        let (mut listening, name) = (self.hints.listen(), subject.name());
        loop {
            let hinted = listening.until(|hint| *hint == Hint::Answer(subject));
            // Without a hint it is time to look, too.
            let _ = timeout(POLL_INTERVAL, hinted).await;
            match store::take_answer(database, &name).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => {}
                Err(cause) => warn!(%cause, "an answer cannot be read"),
            }
        }
    }
}
