//! The traffic of one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts one call's traffic. Clones share the counters, and may outlive the store.
#[derive(Clone, Debug, Default)]
pub struct Usage(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
}

/// Traffic counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSnapshot {
    /// Number of requests, including redirects, retries and token requests.
    pub requests: u64,
    /// Bytes of request bodies, counted each time they are sent, without those of token requests.
    pub bytes_out: u64,
    /// Bytes of received response bodies, whether or not the guest has read them.
    pub bytes_in: u64,
}

impl Usage {
    /// Returns the counts so far.
    pub fn snapshot(&self) -> UsageSnapshot {
        let Counters { requests, bytes_out, bytes_in } = &*self.0;
        UsageSnapshot {
            requests: requests.load(Ordering::Relaxed),
            bytes_out: bytes_out.load(Ordering::Relaxed),
            bytes_in: bytes_in.load(Ordering::Relaxed),
        }
    }

    /// Counts one more request, unless `limit` is reached. Returns whether the request is allowed.
    pub(crate) fn admit(&self, limit: usize) -> bool {
        let one_more = |count: u64| (count < limit as u64).then(|| count + 1);
        self.0.requests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.0.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.0.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
