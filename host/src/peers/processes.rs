//! This process among those that use the database: a row there, which is deleted when nobody has heard of the process
//! for a while. With the row go its claims ([why so](../../../docs/decisions/0034-jobs-belong-to-processes.md)).
//!
//! Invariants:
//! - an id that has been lost is never used again, so nothing that it had claimed can be written any more;
//! - times are those of the database's clock.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{error, warn};

use super::store::{Heartbeat, Processes, Turn};
use crate::database::{self, Database, Server, Session};

/// How often a process is heard of, and how long that may take.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a process stays that nobody hears of.
pub(super) const EXPIRY: Duration = Duration::from_secs(30);

/// This process. Clones share it.
#[derive(Clone)]
pub struct Process(Arc<Registered>);

struct Registered {
    processes: Processes,
    job_settings: String,
    id: watch::Receiver<Arc<str>>,
    /// Ends the heartbeat.
    stopped: CancellationToken,
    _stopped_with_it: DropGuard,
}

impl Process {
    /// Registers this process. `job_settings` says what it does jobs with.
    pub async fn register(database: &Database, job_settings: &str) -> database::Result<Self> {
        let processes = Processes::new(database.clone());
        if database.is_exclusive() {
            processes.remove_all().await?;
        }
        let id = new_id();
        let started_at = processes.insert(&id, job_settings, None).await?;
        let (sender, receiver) = watch::channel(id);
        let stopped = CancellationToken::new();
        if let Some(server) = database.server() {
            let (processes, settings) = (processes.clone(), job_settings.to_owned());
            let stopped = stopped.clone();
            let beating = async move { beat(&processes, &server, &settings, started_at, &sender).await };
            tokio::spawn(async move { stopped.run_until_cancelled(beating).await });
        }
        Ok(Self(Arc::new(Registered {
            processes,
            job_settings: job_settings.to_owned(),
            id: receiver,
            _stopped_with_it: stopped.clone().drop_guard(),
            stopped,
        })))
    }

    /// Its id, and the next one when it is lost.
    pub(crate) fn id(&self) -> watch::Receiver<Arc<str>> {
        self.0.id.clone()
    }

    /// Whether there can be no other process.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.processes.are_exclusive()
    }

    /// Whether it does jobs: those whose settings differ from the newest process's leave them to it.
    pub(crate) async fn does_jobs(&self) -> database::Result<bool> {
        self.0.processes.newest_has(&self.0.job_settings).await
    }

    /// Begins to adapt all jobs to the settings of this process, unless it is another one's turn. `is_start` when the
    /// process has just started: where it is alone, jobs are adapted at each start.
    pub(crate) async fn begin_to_adapt(&self, is_start: bool) -> database::Result<Turn> {
        let id = self.0.id.borrow().clone();
        self.0.processes.take_turn(&id, &self.0.job_settings, is_start).await
    }

    /// Notes that all jobs are adapted.
    pub(crate) async fn has_adapted(&self) -> database::Result<()> {
        let id = self.0.id.borrow().clone();
        self.0.processes.end_turn(&id, &self.0.job_settings).await
    }

    /// Removes it; what it has claimed is free.
    pub async fn leave(&self) {
        self.0.stopped.cancel();
        let id = self.0.id.borrow().clone();
        if let Err(error) = self.0.processes.remove(&id).await {
            warn!(%error, "this process could not be removed from the database; others take its jobs in half a minute");
        }
    }
}

/// Says that the process lives, and removes those that do not, for ever.
async fn beat(
    processes: &Processes,
    server: &Server,
    settings: &str,
    started_at: i64,
    id: &watch::Sender<Arc<str>>,
) {
    let mut session = None;
    loop {
        sleep(HEARTBEAT_INTERVAL).await;
        let current = id.borrow().clone();
        let heartbeat = match timeout(HEARTBEAT_TIMEOUT, heartbeat(&mut session, server, &current)).await {
            Ok(Ok(heartbeat)) => heartbeat,
            Ok(Err(error)) => {
                warn!(%error, "the database does not know that this process lives");
                session = None;
                continue;
            }
            Err(_elapsed) => {
                warn!("the database does not know that this process lives: it does not answer");
                session = None;
                continue;
            }
        };
        let done = match heartbeat {
            Heartbeat::Lost => {
                error!("others believed that this process had ended: it stops its jobs and begins anew");
                let new = new_id();
                let inserted = processes.insert(&new, settings, Some(started_at)).await.map(drop);
                if inserted.is_ok() {
                    id.send_replace(new);
                }
                inserted
            }
            Heartbeat::Alive { expired: true } => processes.remove_expired().await,
            Heartbeat::Alive { expired: false } => Ok(()),
        };
        if let Err(error) = done {
            warn!(%error, "processes could not be counted");
        }
    }
}

async fn heartbeat(session: &mut Option<Session>, server: &Server, id: &str) -> database::Result<Heartbeat> {
    let session = match session {
        Some(session) => session,
        None => session.insert(server.connect().await?),
    };
    Heartbeat::send(session, id).await
}

fn new_id() -> Arc<str> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes).into()
}
