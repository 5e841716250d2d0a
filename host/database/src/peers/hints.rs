//! Hints: notifications of changes to other processes, which shorten their polling delay. Nothing depends on
//! them: receivers also poll, at a longer interval.
//!
//! ```text
//! payload = sender hint hint …        hint = registry | records | jobs:<kind> | secret:<hash> | cancel:<hash>
//!                                      | answer:<hash>
//! ```
//!
//! Invariants:
//! - a payload names no user and no secret: names of what belongs to a user are hashed;
//! - a process sends a bounded number of statements per second, each in a transaction of its own: the server
//!   commits notifications one after the other. Hints that come too fast are merged or dropped;
//! - a listener that may have missed hints is told that everything may have changed.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kitbag_base::sha256::Sha256;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::store;
use crate::{Database, Server, Session};

/// Pause between two statements: at most twenty a second.
const SEND_INTERVAL: Duration = Duration::from_millis(50);
/// Time limit of sending a payload, and of starting to listen.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Pause before listening again after a failure.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of queued hints, beyond which those about single users are dropped.
const MAX_WAITING: usize = 1000;
/// Maximum size of a payload in bytes. PostgreSQL allows less than 8000.
const MAX_PAYLOAD_BYTES: usize = 7000;
/// Maximum number of unread hints of a slow listener.
const MAX_UNREAD: usize = 1024;

/// A possible change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// Live versions of toolkits.
    Registry,
    /// Records of calls were written.
    Records,
    /// Jobs of this kind are available.
    Jobs(String),
    /// This secret was set.
    Secret(Subject),
    /// This call was cancelled.
    Cancel(Subject),
    /// This question was answered.
    Answer(Subject),
}

/// Hashed name of the subject of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject([u8; 32]);

/// Event received by a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A hint.
    Hint(Hint),
    /// Hints may have been missed.
    Everything,
}

/// Sends hints to other processes and receives theirs. Clones share one instance.
#[derive(Clone)]
pub struct Hints(Arc<Inner>);

struct Inner {
    heard: broadcast::Sender<Heard>,
    /// `None` if there can be no other process.
    outbox: Option<Arc<Outbox>>,
    /// Stops the tasks when dropped.
    _stopped: DropGuard,
}

/// Subscription to hints that are sent after its creation.
pub struct Listening(broadcast::Receiver<Heard>);

/// Queue of hints to be sent.
#[derive(Default)]
struct Outbox {
    waiting: Mutex<BTreeSet<Hint>>,
    came: Notify,
}

impl Hints {
    /// Starts to send and to receive hints if other processes may use the database.
    pub fn start(database: &Database) -> Self {
        let Some(server) = database.server() else { return Self::off() };
        let heard = broadcast::Sender::new(MAX_UNREAD);
        let stopped = CancellationToken::new();
        let outbox = Arc::new(Outbox::default());
        let me = Arc::<str>::from(new_name());
        let sending = send(outbox.clone(), server.clone(), me.clone());
        let listening = Box::pin(listen(server, me, heard.clone()));
        let until = stopped.clone();
        tokio::spawn(async move { until.run_until_cancelled(sending).await });
        let until = stopped.clone();
        tokio::spawn(async move { until.run_until_cancelled(listening).await });
        Self(Arc::new(Inner { heard, outbox: Some(outbox), _stopped: stopped.drop_guard() }))
    }

    /// Creates hints that stay inside this process.
    pub fn off() -> Self {
        let heard = broadcast::Sender::new(MAX_UNREAD);
        Self(Arc::new(Inner { heard, outbox: None, _stopped: CancellationToken::new().drop_guard() }))
    }

    /// Sends a hint to the other processes.
    pub fn tell_others(&self, hint: Hint) {
        if let Some(outbox) = &self.0.outbox {
            outbox.put(hint);
        }
    }

    /// Sends a hint to the other processes and to the listeners of this one.
    pub fn tell_all(&self, hint: Hint) {
        // Nobody may be listening.
        let _ = self.0.heard.send(Heard::Hint(hint.clone()));
        self.tell_others(hint);
    }

    /// Subscribes to hints.
    pub fn listen(&self) -> Listening {
        Listening(self.0.heard.subscribe())
    }
}

impl Listening {
    /// Returns the next event. Never returns if none can come any more.
    pub async fn next(&mut self) -> Heard {
        match self.0.recv().await {
            Ok(heard) => heard,
            Err(RecvError::Lagged(_)) => Heard::Everything,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    /// Waits until a matching hint is received or may have been missed.
    pub async fn until(&mut self, is_wanted: impl Fn(&Hint) -> bool) {
        loop {
            match self.next().await {
                Heard::Hint(hint) if !is_wanted(&hint) => {}
                Heard::Hint(_) | Heard::Everything => return,
            }
        }
    }
}

impl Subject {
    /// Returns the hash of a sequence of names that together identify the subject.
    pub fn of(names: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for name in names {
            // A length prefix for each name makes the sequence unambiguous.
            hash.update((name.len() as u64).to_be_bytes());
            hash.update(name);
        }
        Self(hash.finish())
    }

    /// Returns the hash in hexadecimal.
    pub(super) fn name(&self) -> String {
        hex::encode(self.0)
    }
}

impl Hint {
    fn is_of_one_user(&self) -> bool {
        matches!(self, Self::Secret(_) | Self::Cancel(_) | Self::Answer(_))
    }

    /// Parses a hint; `None` for an unknown one, which a later version may send.
    fn parse(text: &str) -> Option<Self> {
        let subject = |hash| {
            let mut subject = Subject(Default::default());
            hex::decode_to_slice(hash, &mut subject.0).ok()?;
            Some(subject)
        };
        Some(match text.split_once(':') {
            None if text == "registry" => Self::Registry,
            None if text == "records" => Self::Records,
            Some(("jobs", kind)) => Self::Jobs(kind.to_owned()),
            Some(("secret", hash)) => Self::Secret(subject(hash)?),
            Some(("cancel", hash)) => Self::Cancel(subject(hash)?),
            Some(("answer", hash)) => Self::Answer(subject(hash)?),
            _ => return None,
        })
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry => f.write_str("registry"),
            Self::Records => f.write_str("records"),
            Self::Jobs(kind) => write!(f, "jobs:{kind}"),
            Self::Secret(Subject(hash)) => write!(f, "secret:{}", hex::encode(hash)),
            Self::Cancel(Subject(hash)) => write!(f, "cancel:{}", hex::encode(hash)),
            Self::Answer(Subject(hash)) => write!(f, "answer:{}", hex::encode(hash)),
        }
    }
}

impl Outbox {
    fn put(&self, hint: Hint) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_WAITING || !hint.is_of_one_user() {
            waiting.insert(hint);
            self.came.notify_one();
        }
    }

    /// Removes and returns the next payload; `None` if the queue is empty.
    fn take(&self, me: &str) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut payload = me.to_owned();
        while let Some(hint) = waiting.first().map(ToString::to_string)
            && payload.len() + 1 + hint.len() <= MAX_PAYLOAD_BYTES
        {
            waiting.pop_first();
            payload.push(' ');
            payload.push_str(&hint);
        }
        (payload.len() > me.len()).then_some(payload)
    }
}

/// Sends queued hints; never returns. Hints that cannot be sent are dropped: receivers also poll.
async fn send(outbox: Arc<Outbox>, server: Server, me: Arc<str>) {
    let mut session = None;
    let mut has_failed = false;
    loop {
        outbox.came.notified().await;
        while let Some(payload) = outbox.take(&me) {
            let sent = timeout(TIMEOUT, send_one(&mut session, &server, &payload)).await;
            let failure = match sent {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_elapsed) => Some("the database does not answer".to_owned()),
            };
            if let Some(cause) = &failure {
                session = None;
                if !has_failed {
                    warn!(%cause, "other processes hear of changes later: hints cannot be sent");
                }
            }
            has_failed = failure.is_some();
            sleep(SEND_INTERVAL).await;
        }
    }
}

/// Sends a payload over a reused session, and reconnects if the server has closed it.
async fn send_one(session: &mut Option<Session>, server: &Server, payload: &str) -> crate::Result<()> {
    if let Some(kept) = session {
        match Box::pin(store::notify(kept, payload)).await {
            Ok(()) => return Ok(()),
            Err(error) => info!(%error, "connecting to the database again"),
        }
    }
    *session = None;
    let fresh = session.insert(server.connect().await?);
    Box::pin(store::notify(fresh, payload)).await
}

/// Forwards the hints of other processes to the listeners of this one; never returns.
async fn listen(server: Server, me: Arc<str>, heard: broadcast::Sender<Heard>) {
    let mut has_failed = false;
    loop {
        let lost = match timeout(TIMEOUT, server.listen(store::CHANNEL)).await {
            Ok(Ok(mut listener)) => {
                has_failed = false;
                // Nobody may be listening.
                let _ = heard.send(Heard::Everything);
                loop {
                    match listener.next().await {
                        Ok(payload) => pass_on(&payload, &me, &heard),
                        Err(error) => break error.to_string(),
                    }
                }
            }
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "the database does not answer".to_owned(),
        };
        if !has_failed {
            warn!(cause = %lost, "changes by other processes are noticed later: hints cannot be heard");
        }
        has_failed = true;
        sleep(RECONNECT_PAUSE).await;
    }
}

pub(super) fn pass_on(payload: &str, me: &str, heard: &broadcast::Sender<Heard>) {
    let mut words = payload.split_ascii_whitespace();
    if words.next().is_none_or(|sender| sender == me) {
        return;
    }
    for hint in words.filter_map(Hint::parse) {
        // Nobody may be listening.
        let _ = heard.send(Heard::Hint(hint));
    }
}

fn new_name() -> String {
    let mut bytes = [0; 8];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes)
}
