//! Registration of this process in the database: a row with a heartbeat, which other processes delete when
//! the heartbeat stops. The claims of the process are deleted with the row
//! ([why](../../../docs/decisions/0034-jobs-belong-to-processes.md)). A process that starts in the data
//! directory of a killed one deletes the row of that process at once.
//!
//! Invariants:
//! - an id whose row was deleted is never used again, so nothing can be written to what it had claimed;
//! - times are those of the database's clock.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kitbag_base::private_file;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{error, warn};

use super::profile::{JoinError, Profile};
use super::store::{Heartbeat, Processes, Turn};
use crate::{Database, Server, Session};

/// Interval of heartbeats, and the time limit of one.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without a heartbeat after which a process is removed.
pub(super) const EXPIRY: Duration = Duration::from_secs(30);
/// Time without a heartbeat after which a process is not ready.
const MAX_SILENCE: Duration = Duration::from_secs(5);
/// Clock difference between process and database from which it is logged, and from which the process is not
/// ready.
const NOTED_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_mins(1);

/// Name of the file in the data directory that contains the process id.
const FILE: &str = "process";

/// Registration of this process. Clones share it.
#[derive(Clone)]
pub struct Process(Arc<Registered>);

struct Registered {
    processes: Processes,
    profile: Profile,
    id: watch::Receiver<Arc<str>>,
    /// `None` if the process is the only one.
    pulse: Option<Arc<Pulse>>,
    /// Stops the heartbeat.
    stopped: CancellationToken,
    _stopped_with_it: DropGuard,
}

/// Health of this process among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether the last heartbeat is recent and the clocks of process and database agree.
    pub is_good: bool,
    /// Names of the settings that differ between this process and others.
    pub differing_settings: Vec<String>,
}

/// Result of the last heartbeat.
struct Pulse(Mutex<LastBeat>);

#[derive(Clone, Copy)]
struct LastBeat {
    at: Instant,
    clock_difference: Duration,
}

/// State of the heartbeat task.
struct Beating {
    processes: Processes,
    server: Server,
    profile: Profile,
    started_at: i64,
    file: PathBuf,
    id: watch::Sender<Arc<str>>,
    pulse: Arc<Pulse>,
}

impl Process {
    /// Registers this process if it is compatible with those that use the database. `data` is its data
    /// directory, which no other process uses: the previous process of that directory has ended.
    pub async fn register(database: &Database, profile: Profile, data: &Path) -> Result<Self, JoinError> {
        let processes = Processes::new(database.clone());
        let file = data.join(FILE);
        if database.is_exclusive() {
            processes.remove_all().await?;
        } else {
            if let Ok(predecessor) = std::fs::read_to_string(&file) {
                processes.remove(predecessor.trim()).await?;
            }
            processes.remove_expired().await?;
        }
        let id = new_id();
        remember(&file, &id);
        let started_at = processes.join(&id, &profile, None).await?;
        let (sender, receiver) = watch::channel(id);
        let stopped = CancellationToken::new();
        let pulse = database.server().map(|server| {
            let pulse = Arc::new(Pulse::now());
            let beating = Beating {
                processes: processes.clone(),
                server,
                profile: profile.clone(),
                started_at,
                file,
                id: sender,
                pulse: pulse.clone(),
            };
            let stopped = stopped.clone();
            tokio::spawn(async move { stopped.run_until_cancelled(beating.beat()).await });
            pulse
        });
        let process = Self(Arc::new(Registered {
            processes,
            profile,
            id: receiver,
            pulse,
            _stopped_with_it: stopped.clone().drop_guard(),
            stopped,
        }));
        let differing = process.differing_settings().await?;
        if !differing.is_empty() {
            warn!(settings = ?differing, "other processes have other settings than this one");
        }
        Ok(process)
    }

    /// Returns the health of this process; `None` if there can be no other process.
    pub async fn standing(&self) -> crate::Result<Option<Standing>> {
        let Some(pulse) = &self.0.pulse else { return Ok(None) };
        let is_good = pulse.is_good();
        Ok(Some(Standing { is_good, differing_settings: self.differing_settings().await? }))
    }

    /// Returns whether all processes have the same release.
    pub async fn is_of_the_only_release(&self) -> crate::Result<bool> {
        let others = self.others().await?;
        Ok(others.iter().all(|other| other.release == self.0.profile.release))
    }

    /// Returns the name of a master key other than `ours` with which another process encrypts, if any.
    pub async fn other_sealing_key(&self, ours: &str) -> crate::Result<Option<String>> {
        let others = self.others().await?;
        let other = others.iter().filter_map(Profile::sealing_key).find(|&key| key != ours);
        Ok(other.map(str::to_owned))
    }

    async fn differing_settings(&self) -> crate::Result<Vec<String>> {
        let others = self.others().await?;
        let names: BTreeSet<_> = others.iter().flat_map(|other| self.0.profile.differing(other)).collect();
        Ok(names.into_iter().cloned().collect())
    }

    /// Returns the profiles of the other processes.
    async fn others(&self) -> crate::Result<Vec<Profile>> {
        let id = self.0.id.borrow().clone();
        self.0.processes.others(&id).await
    }

    /// Returns the id of this process, as a channel: it changes when the process has to register again.
    pub fn id(&self) -> watch::Receiver<Arc<str>> {
        self.0.id.clone()
    }

    /// Returns whether there can be no other process.
    pub fn is_alone(&self) -> bool {
        self.0.processes.are_exclusive()
    }

    /// Returns whether this process may run jobs: its job settings have to equal those of the newest process.
    pub async fn does_jobs(&self) -> crate::Result<bool> {
        self.0.processes.newest_has(&self.0.profile.job_settings).await
    }

    /// Begins to adapt all jobs to the settings of this process, unless it is another process's turn.
    /// `is_start`: the process has just started. A process that is alone adapts jobs at each start.
    pub async fn begin_to_adapt(&self, is_start: bool) -> crate::Result<Turn> {
        let id = self.0.id.borrow().clone();
        self.0.processes.take_turn(&id, &self.0.profile.job_settings, is_start).await
    }

    /// Records that all jobs are adapted.
    pub async fn has_adapted(&self) -> crate::Result<()> {
        let id = self.0.id.borrow().clone();
        self.0.processes.end_turn(&id, &self.0.profile.job_settings).await
    }

    /// Removes the registration of this process, which releases its claims.
    pub async fn leave(&self) {
        self.0.stopped.cancel();
        let id = self.0.id.borrow().clone();
        if let Err(error) = self.0.processes.remove(&id).await {
            warn!(%error, "this process could not be removed from the database; others take its jobs in half a minute");
        }
    }
}

impl Beating {
    /// Sends heartbeats and removes expired processes; never returns.
    async fn beat(self) {
        let mut session = None;
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            let id = self.id.borrow().clone();
            let heartbeat = match timeout(HEARTBEAT_TIMEOUT, heartbeat(&mut session, &self.server, &id)).await
            {
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
            match heartbeat {
                Heartbeat::Lost => {
                    error!("others believed that this process had ended: it stops its jobs and begins anew");
                    if let Err(error) = self.join_again().await {
                        error!(%error, "this process cannot work beside the others now");
                    }
                }
                Heartbeat::Alive { expired, now } => {
                    self.pulse.beats(now);
                    if expired && let Err(error) = self.processes.remove_expired().await {
                        warn!(%error, "processes that have ended could not be removed");
                    }
                }
            }
        }
    }

    async fn join_again(&self) -> Result<(), JoinError> {
        let id = new_id();
        remember(&self.file, &id);
        self.processes.join(&id, &self.profile, Some(self.started_at)).await?;
        self.id.send_replace(id);
        Ok(())
    }
}

impl Pulse {
    fn now() -> Self {
        Self(Mutex::new(LastBeat { at: Instant::now(), clock_difference: Duration::ZERO }))
    }

    /// Records a successful heartbeat at this time of the database's clock, in milliseconds since 1970.
    fn beats(&self, database_time: i64) {
        let difference = Timestamp::now().as_millisecond().abs_diff(database_time);
        let clock_difference = Duration::from_millis(difference);
        let last = {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, LastBeat { at: Instant::now(), clock_difference })
        };
        if clock_difference > NOTED_CLOCK_DIFFERENCE && last.clock_difference <= NOTED_CLOCK_DIFFERENCE {
            warn!(?clock_difference, "the clock of this machine differs from that of the database");
        }
    }

    fn is_good(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.at.elapsed() < MAX_SILENCE && last.clock_difference <= MAX_CLOCK_DIFFERENCE
    }
}

/// Writes the process id to the data directory, before the id is used.
fn remember(file: &Path, id: &str) {
    if let Err(error) = private_file::replace(file, id.as_bytes()) {
        warn!(%error, path = %file.display(), "if this process is killed, its jobs wait for half a minute");
    }
}

async fn heartbeat(session: &mut Option<Session>, server: &Server, id: &str) -> crate::Result<Heartbeat> {
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
