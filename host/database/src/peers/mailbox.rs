//! Passes answers of users to the process whose call waits for them, as a client may send its response to any
//! process.

use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

use super::store;
use super::{Hint, Hints, Subject};
use crate::Database;

/// Polling interval of a waiting call, if no hint arrives.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Lifetime of an answer that no call fetches, in milliseconds.
const MAX_AGE: i64 = 15 * 60 * 1000;

/// Passes answers between the processes of a service. Clones share the mailbox.
#[derive(Clone)]
pub struct Mailbox {
    /// `None` if there can be no other process.
    database: Option<Database>,
    hints: Hints,
}

impl Mailbox {
    /// Creates a mailbox shared by the processes that use this database.
    pub fn new(database: &Database, hints: Hints) -> Self {
        Self { database: database.server().is_some().then(|| database.clone()), hints }
    }

    /// Returns whether answers may arrive at another process.
    pub fn is_shared(&self) -> bool {
        self.database.is_some()
    }

    /// Stores an answer for the process that waits for it, and notifies the others.
    pub async fn put(&self, subject: Subject, answer: &str) -> crate::Result<()> {
        let Some(database) = &self.database else { return Ok(()) };
        store::pass_answer(database, &subject.name(), answer, MAX_AGE).await?;
        self.hints.tell_others(Hint::Answer(subject));
        Ok(())
    }

    /// Waits until another process has stored the answer, then removes and returns it. Never returns if there
    /// is no other process.
    pub async fn taken(&self, subject: Subject) -> String {
        let Some(database) = &self.database else { return std::future::pending().await };
        let mut listening = self.hints.listen();
        let name = subject.name();
        loop {
            let hinted = listening.until(|hint| *hint == Hint::Answer(subject));
            // Polls after a timeout, too.
            let _ = timeout(POLL_INTERVAL, hinted).await;
            match store::take_answer(database, &name).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => {}
                Err(cause) => warn!(%cause, "an answer cannot be read"),
            }
        }
    }
}
