//! Health checks of the parts of a server.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use kitbag_base::disk::Disk;
use tokio::join;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::warn;

use super::Access;

/// Time limit for the check of each part.
const PART_TIMEOUT: Duration = Duration::from_secs(3);
/// Time during which a result is cached, so that frequent requests cause no more checks.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Health of each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The database can be read and written.
    pub database: bool,
    /// Secrets can be read, and their master key is available.
    pub vault: bool,
    /// The deployed toolkits can be read.
    pub registry: bool,
    /// State of this process among the others; `None` if it is the only one.
    pub peers: Option<PeersHealth>,
    /// Places without room to store anything, `data` and `objects`. Does not affect readiness: everything else
    /// is served.
    pub full: Vec<&'static str>,
}

/// State of this process relative to others that serve the same users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersHealth {
    /// The last heartbeat is recent, and the clocks of this process and the database agree.
    pub is_heard: bool,
    /// The code of the toolkits in use is loaded.
    pub is_prepared: bool,
    /// Names of settings that differ in other processes. Does not affect readiness.
    pub differing_settings: Vec<String>,
}

/// Last result, and its time.
pub(super) type LastHealth = Mutex<Option<(Instant, Health)>>;

impl Health {
    /// Whether all parts work.
    pub fn is_good(&self) -> bool {
        let among_peers = self.peers.as_ref().is_none_or(|peers| peers.is_heard && peers.is_prepared);
        self.database && self.vault && self.registry && among_peers
    }
}

impl Access {
    /// Checks all parts. Needs no user.
    pub async fn health(&self) -> Health {
        let mut last = self.0.last_health.lock().await;
        if let Some((at, health)) = &*last
            && at.elapsed() < MAX_AGE
        {
            return health.clone();
        }
        let stores = self.stores();
        let (database, vault, registry, peers) = join!(
            answers("database", stores.database.check()),
            answers("vault", stores.vault.check()),
            answers("registry", stores.toolkits.registry.check()),
            self.peers_health(),
        );
        let disks = [("data", Some(&stores.disk)), ("objects", stores.objects_disk.as_ref())].into_iter();
        let is_full = |disk: Option<&Disk>| disk.is_some_and(|disk| disk.has_reserve().is_err());
        let full = disks.filter(|(_, disk)| is_full(*disk)).map(|(place, _)| place).collect();
        let health = Health { database, vault, registry, peers, full };
        *last = Some((Instant::now(), health.clone()));
        health
    }

    async fn peers_health(&self) -> Option<PeersHealth> {
        let is_prepared = self.0.preparation.is_over();
        let standing = timeout(PART_TIMEOUT, self.stores().process.standing()).await;
        let (is_heard, differing_settings) = match standing.map(Result::ok).ok().flatten() {
            Some(standing) => standing.map(|standing| (standing.is_good, standing.differing_settings))?,
            None => (false, Vec::new()),
        };
        Some(PeersHealth { is_heard, is_prepared, differing_settings })
    }
}

async fn answers<E: Display>(part: &str, check: impl Future<Output = Result<(), E>>) -> bool {
    match timeout(PART_TIMEOUT, check).await {
        Ok(Ok(())) => true,
        Ok(Err(cause)) => {
            warn!(part, %cause, "not ready: a part of the server fails");
            false
        }
        Err(_elapsed) => {
            warn!(part, "not ready: a part of the server does not answer");
            false
        }
    }
}
