//! Health checks of the parts of a server.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio::join;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::warn;

use super::Access;

/// Time limit for the check of each part.
const PART_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a result is cached, so that frequent requests cost no more.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Which parts work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The database can be read and written.
    pub database: bool,
    /// Secrets can be read, and their master key is available.
    pub vault: bool,
    /// The deployed toolkits can be read.
    pub registry: bool,
}

/// The last result, and its time.
pub(super) type LastHealth = Mutex<Option<(Instant, Health)>>;

impl Health {
    /// Whether all parts work.
    pub fn is_good(self) -> bool {
        self.database && self.vault && self.registry
    }
}

impl Access {
    /// Checks all parts. Needs no user.
    pub async fn health(&self) -> Health {
        let mut last = self.0.last_health.lock().await;
        if let Some((at, health)) = *last
            && at.elapsed() < MAX_AGE
        {
            return health;
        }
        let stores = self.stores();
        let (database, vault, registry) = join!(
            answers("database", stores.database.check()),
            answers("vault", stores.vault.check()),
            answers("registry", stores.toolkits.check()),
        );
        let health = Health { database, vault, registry };
        *last = Some((Instant::now(), health));
        health
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
