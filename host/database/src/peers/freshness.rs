//! Checks, before each request, whether this process's copies of database content are current.
//!
//! The number of concurrent queries is small: requests that arrive meanwhile share the next query. A query
//! that is already in flight does not count, as it may have been answered before a change that the request
//! has to see.
//!
//! Invariant: revisions are compared by equality. If the database loses its last changes, they may decrease.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kitbag_base::tasks::to_its_end;
use thiserror::Error;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::store::{self, Revisions};
use crate::{Database, DatabaseError, EVERYONE, Server, Session};

/// Time limit of a request's check, and of a query.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent queries.
const MAX_IN_FLIGHT: usize = 2;
/// Pause before the next query after one that failed (not after a timeout).
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Copies of database content in the memory of a process.
pub trait Copies: Send + Sync + 'static {
    /// Reloads the registry unless it has this generation.
    fn registry(&self, generation: i64) -> BoxFuture<'_, Result<(), String>>;

    /// Reloads the collections unless they are of this generation.
    fn collections(&self, generation: i64) -> BoxFuture<'_, Result<(), String>>;

    /// Reloads the users whose access was ended, unless their number of ends is this.
    fn user_ends(&self, number: i64) -> BoxFuture<'_, Result<(), String>>;

    /// Discards the cached secrets of a user unless they have this revision. An empty id means the secrets
    /// for everyone.
    fn secrets<'a>(&'a self, user: &'a str, revision: i64) -> BoxFuture<'a, ()>;

    /// Discards the cached secrets of all users.
    fn all_secrets(&self);

    /// Discards all copies, regardless of their revisions.
    fn everything(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// Error: the database did not confirm in time whether copies are current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the database did not answer in time")]
pub struct NoAnswer;

/// Updates the copies of this process as requests need them. Does nothing if the process is the only one.
pub struct Freshness(Option<Shared>);

struct Shared {
    questions: Arc<Questions>,
    copies: Arc<dyn Copies>,
    known: Arc<Known>,
    /// Stops the query tasks when dropped.
    _stopped: DropGuard,
}

/// Queue of questions that are not sent yet.
#[derive(Default)]
struct Questions {
    waiting: Mutex<Vec<Question>>,
    came: Notify,
}

struct Question {
    user: Box<str>,
    answer: oneshot::Sender<Arc<Revisions>>,
}

/// State from which copies without a revision of their own were made.
#[derive(Default)]
struct Known {
    /// Timeline and number of removals.
    seen: Mutex<Option<(String, i64)>>,
    /// Locked while copies are discarded.
    dropping: tokio::sync::Mutex<()>,
}

impl Freshness {
    /// Starts the query tasks if other processes may use the database.
    pub fn start(database: &Database, copies: impl Copies) -> Self {
        let Some(server) = database.server() else { return Self(None) };
        let questions = Arc::new(Questions::default());
        let stopped = CancellationToken::new();
        for _ in 0..MAX_IN_FLIGHT {
            let questions = questions.clone();
            let server = server.clone();
            let stopped = stopped.clone();
            tokio::spawn(async move { stopped.run_until_cancelled(questions.ask(server)).await });
        }
        let copies = Arc::new(copies);
        let known = Arc::default();
        Self(Some(Shared { questions, copies, known, _stopped: stopped.drop_guard() }))
    }

    /// Updates all copies that a request of this user may use.
    pub async fn catch_up(&self, user: &str) -> Result<(), NoAnswer> {
        match &self.0 {
            None => Ok(()),
            Some(shared) => timeout(TIMEOUT, Box::pin(shared.catch_up(user))).await.unwrap_or(Err(NoAnswer)),
        }
    }
}

impl Shared {
    async fn catch_up(&self, user: &str) -> Result<(), NoAnswer> {
        let revisions = self.questions.put(user).await.map_err(|_dropped| NoAnswer)?;
        // First: nothing else that fails or takes long keeps an end from taking effect.
        self.copies.user_ends(revisions.user_ends).await.map_err(|cause| failed(&cause))?;
        if !self.known.is(&revisions) {
            // Not cancelled with the request, as the next one would have to start again.
            let known = self.known.clone();
            let copies = self.copies.clone();
            let revisions = revisions.clone();
            let dropped = to_its_end(async move { known.replace(&*copies, &revisions).await }).await;
            dropped
                .map_err(|interrupted| interrupted.to_string())
                .flatten()
                .map_err(|cause| failed(&cause))?;
        }
        self.copies.registry(revisions.generation).await.map_err(|cause| failed(&cause))?;
        self.copies.collections(revisions.collections).await.map_err(|cause| failed(&cause))?;
        for of in [user, EVERYONE] {
            let revision = revisions.secrets.get(of).copied().unwrap_or_default();
            self.copies.secrets(of, revision).await;
        }
        Ok(())
    }
}

fn failed(cause: &str) -> NoAnswer {
    warn!(%cause, "what other processes have changed cannot be read");
    NoAnswer
}

impl Questions {
    /// Queues a question about a user. The answer reflects a state after this call; on failure, the sender is
    /// dropped.
    fn put(&self, user: &str) -> oneshot::Receiver<Arc<Revisions>> {
        let (answer, answered) = oneshot::channel();
        self.waiting().push(Question { user: user.into(), answer });
        self.came.notify_one();
        answered
    }

    /// Sends all queued questions as one query, repeatedly. Never returns.
    async fn ask(&self, server: Server) {
        let mut session = None;
        loop {
            self.came.notified().await;
            let mut questions = take(&mut *self.waiting());
            // Skips requests that have timed out.
            questions.retain(|question| !question.answer.is_closed());
            if questions.is_empty() {
                continue;
            }
            let asked = questions.iter().map(|question| &*question.user);
            let users: HashSet<_> = asked.chain([EVERYONE]).collect();
            let users: Vec<_> = users.into_iter().collect();
            let answer = timeout(TIMEOUT, send(&mut session, &server, &users)).await;
            match answer {
                Ok(Ok(revisions)) => {
                    let revisions = Arc::new(revisions);
                    for question in questions {
                        // The request may have timed out.
                        let _ = question.answer.send(revisions.clone());
                    }
                }
                Ok(Err(error)) => {
                    let requests = questions.len();
                    warn!(%error, requests, "requests are refused: the database cannot say what has changed");
                    session = None;
                    drop(questions);
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(_elapsed) => {
                    warn!(
                        requests = questions.len(),
                        "requests are refused: the database does not say what has changed"
                    );
                    session = None;
                }
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Question>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a query over a reused session, and reconnects if the server has closed it.
async fn send(session: &mut Option<Session>, server: &Server, users: &[&str]) -> crate::Result<Revisions> {
    if let Some(kept) = session {
        match Box::pin(store::revisions(kept, users)).await {
            Ok(revisions) => return Ok(revisions),
            Err(error) => log_ended(&error),
        }
    }
    *session = None;
    let fresh = session.insert(server.connect().await?);
    Box::pin(store::revisions(fresh, users)).await
}

fn log_ended(error: &DatabaseError) {
    info!(%error, "connecting to the database again");
}

impl Known {
    /// Returns whether copies were made from this state.
    fn is(&self, revisions: &Revisions) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().is_some_and(|(timeline, removals)| {
            *timeline == revisions.timeline && *removals == revisions.removals
        })
    }

    /// Discards copies that were made from another state.
    async fn replace(&self, copies: &dyn Copies, revisions: &Revisions) -> Result<(), String> {
        let _dropping = self.dropping.lock().await;
        if self.is(revisions) {
            return Ok(());
        }
        let is_same_timeline = {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.as_ref().is_some_and(|(timeline, _)| *timeline == revisions.timeline)
        };
        if is_same_timeline {
            copies.all_secrets();
        } else {
            // Also at the start: copies may have been made before a failover.
            copies.everything().await?;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Some((revisions.timeline.clone(), revisions.removals));
        Ok(())
    }
}
