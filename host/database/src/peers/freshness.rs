//! Asks the database, before each request, whether this process's copies are still what is there.
//!
//! Few questions are in flight at a time: whoever comes while all are shares the next one. A question that is in flight
//! already does not count, because it may have been answered before the change that the request has to see.
//!
//! Invariant: revisions are compared by equality. After the loss of a database's last changes they may be smaller.

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

/// How long a request waits.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Questions in flight.
const MAX_IN_FLIGHT: usize = 2;
/// How long the next question waits after one that failed at once.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What a process keeps in memory of the database.
pub trait Copies: Send + Sync + 'static {
    /// Brings the registry up to date, unless it is of this generation.
    fn registry(&self, generation: i64) -> BoxFuture<'_, Result<(), String>>;

    /// Forgets the secrets of a user, or with an empty id those for everyone, unless they are of this revision.
    fn secrets<'a>(&'a self, user: &'a str, revision: i64) -> BoxFuture<'a, ()>;

    /// Forgets the secrets of all users.
    fn all_secrets(&self);

    /// Forgets everything, whatever revisions it has.
    fn everything(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// The database did not say in time whether copies are still what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the database did not answer in time")]
pub struct NoAnswer;

/// Keeps this process's copies as fresh as the requests that use them. Does nothing where the process is alone.
pub struct Freshness(Option<Shared>);

struct Shared {
    questions: Arc<Questions>,
    copies: Arc<dyn Copies>,
    known: Arc<Known>,
    /// Ends the tasks that ask.
    _stopped: DropGuard,
}

/// Questions that nobody has sent yet.
#[derive(Default)]
struct Questions {
    waiting: Mutex<Vec<Question>>,
    came: Notify,
}

struct Question {
    user: Box<str>,
    answer: oneshot::Sender<Arc<Revisions>>,
}

/// What the copies that have no revision of their own were made from.
#[derive(Default)]
struct Known {
    /// Timeline and removals.
    seen: Mutex<Option<(String, i64)>>,
    /// Held while copies are dropped.
    dropping: tokio::sync::Mutex<()>,
}

impl Freshness {
    /// Begins to ask, if the database may have other users.
    pub fn start(database: &Database, copies: impl Copies) -> Self {
        let Some(server) = database.server() else { return Self(None) };
        let (questions, stopped) = (Arc::new(Questions::default()), CancellationToken::new());
        for _ in 0..MAX_IN_FLIGHT {
            let (questions, server, stopped) = (questions.clone(), server.clone(), stopped.clone());
            tokio::spawn(async move { stopped.run_until_cancelled(questions.ask(server)).await });
        }
        let (copies, known) = (Arc::new(copies), Arc::default());
        Self(Some(Shared { questions, copies, known, _stopped: stopped.drop_guard() }))
    }

    /// Brings all copies up to date that a request of this user may use.
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
        if !self.known.is(&revisions) {
            // To its end, because the next request would have to begin again.
            let (known, copies, revisions) = (self.known.clone(), self.copies.clone(), revisions.clone());
            let dropped = to_its_end(async move { known.replace(&*copies, &revisions).await }).await;
            dropped
                .map_err(|interrupted| interrupted.to_string())
                .flatten()
                .map_err(|cause| failed(&cause))?;
        }
        self.copies.registry(revisions.generation).await.map_err(|cause| failed(&cause))?;
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
    /// Asks about a user. The answer is from after this call; without one, the sender is dropped.
    fn put(&self, user: &str) -> oneshot::Receiver<Arc<Revisions>> {
        let (answer, answered) = oneshot::channel();
        self.waiting().push(Question { user: user.into(), answer });
        self.came.notify_one();
        answered
    }

    /// Sends questions, all that wait in one, for ever.
    async fn ask(&self, server: Server) {
        let mut session = None;
        loop {
            self.came.notified().await;
            let mut questions = take(&mut *self.waiting());
            // Those who have waited for too long.
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
                        // Nobody may be waiting any more.
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

/// Asks over a session that is kept. One that the server has ended since is replaced.
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
    /// Whether this is what copies were made from.
    fn is(&self, revisions: &Revisions) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().is_some_and(|(timeline, removals)| {
            *timeline == revisions.timeline && *removals == revisions.removals
        })
    }

    /// Drops what was made from anything else.
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
            // At the start too: copies may have been made before a failover.
            copies.everything().await?;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Some((revisions.timeline.clone(), revisions.removals));
        Ok(())
    }
}
