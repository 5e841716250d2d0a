//! Recent answers of the name servers. The number of entries and the size of each are bounded.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache as Entries;

use super::LookupError;

/// Maximum number of cached names. An entry with its addresses takes less than 1 KiB.
const MAX_ENTRIES: u64 = 4096;

/// The result of a look-up.
pub(super) type Outcome = Result<Arc<[IpAddr]>, LookupError>;

/// Answers by name.
#[derive(Debug)]
pub(super) struct Cache(Entries<Box<str>, CachedLookup>);

#[derive(Clone, Debug)]
struct CachedLookup {
    outcome: Outcome,
    lifetime: Duration,
}

struct ByLifetime;

impl Expiry<Box<str>, CachedLookup> for ByLifetime {
    fn expire_after_create(&self, _: &Box<str>, entry: &CachedLookup, _: Instant) -> Option<Duration> {
        Some(entry.lifetime)
    }

    fn expire_after_update(
        &self,
        _: &Box<str>,
        entry: &CachedLookup,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(entry.lifetime)
    }
}

impl Cache {
    pub(super) fn new() -> Self {
        Self(Entries::builder().max_capacity(MAX_ENTRIES).expire_after(ByLifetime).build())
    }

    pub(super) async fn get(&self, name: &str) -> Option<Outcome> {
        Some(self.0.get(name).await?.outcome)
    }

    pub(super) async fn keep(&self, name: &str, outcome: Outcome, lifetime: Duration) {
        self.0.insert(name.into(), CachedLookup { outcome, lifetime }).await;
    }
}
