//! Resolves names to addresses.
//!
//! Names from the operator are resolved by the operating system, as in every other program. Untrusted
//! names (from a toolkit, or a URL to capture) are resolved by [`dns`], which asks the name servers
//! itself: it has a timeout, blocks no thread, and limits each user to a share.
//!
//! Invariant: an untrusted name blocks no thread, and uses at most its user's share of the look-ups.

mod cache;
mod config;
mod dns;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::sync::Arc;

use kitbag_base::tasks::off_thread;
use tokio::sync::Semaphore;

pub(super) use self::config::Source;
use self::dns::Dns;

/// Maximum number of concurrent look-ups by the operating system. Each blocks a thread until the system gives
/// up: an unreachable name server must not occupy all blocking threads, which also write files.
const MAX_SYSTEM_LOOKUPS: usize = 8;

/// Error of a name look-up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LookupError {
    /// NXDOMAIN, or no address records.
    #[error("there is no such name, or it has no address")]
    NotFound,
    /// The name is not a valid DNS name; for instance it, or one of its labels, is too long.
    #[error("it cannot be a name")]
    InvalidName,
    /// No name server answered in time.
    #[error("no name server answered in time")]
    Timeout,
    /// The name servers answered with a failure.
    #[error("the name servers failed")]
    Failed,
    /// No name server is configured.
    #[error("this server knows no name server (/etc/resolv.conf names none)")]
    NoNameServer,
    /// The network's NAT64 prefixes could not be discovered, so an IPv6 address could not be checked.
    #[error("the name servers did not say whether this network has NAT64, and it has IPv6 addresses alone")]
    UnknownNat64,
    /// The operating system's resolver failed.
    #[error("{0}")]
    System(Arc<io::Error>),
}

/// Source of IP addresses for the connector. Clones share it.
#[derive(Clone)]
pub(super) enum Resolver {
    /// The operating system, for names from the operator.
    System(Arc<Semaphore>),
    /// The name servers, for untrusted names.
    Dns(Arc<Dns>),
    /// Answers given by a test.
    #[cfg(test)]
    Test(Arc<tests::Answer>),
}

impl Resolver {
    pub(super) fn system() -> Self {
        Self::System(Arc::new(Semaphore::new(MAX_SYSTEM_LOOKUPS)))
    }

    pub(super) fn dns(source: Source) -> Self {
        Self::Dns(Arc::new(Dns::new(source)))
    }

    /// Resolves a name, on behalf of `user`.
    pub(super) async fn lookup(&self, name: &str, user: &Arc<str>) -> Result<Vec<IpAddr>, LookupError> {
        match self {
            Self::System(semaphore) => ask_system(semaphore.clone(), name.to_owned()).await,
            Self::Dns(dns) => dns.lookup(name, user).await,
            #[cfg(test)]
            Self::Test(answer) => answer(name).await,
        }
    }

    /// Resolves the IPv6 addresses of `ipv4only.arpa`. It has only those that the name server of a network
    /// with NAT64 synthesises (RFC 7050).
    pub(super) async fn ipv4_only(&self) -> Result<Vec<Ipv6Addr>, LookupError> {
        match self {
            Self::Dns(dns) => dns.ipv4_only().await,
            // The system resolver is used with the open guard only, which needs no prefixes.
            Self::System(_) => Ok(Vec::new()),
            #[cfg(test)]
            Self::Test(_) => Ok(Vec::new()),
        }
    }
}

async fn ask_system(semaphore: Arc<Semaphore>, name: String) -> Result<Vec<IpAddr>, LookupError> {
    let permit = semaphore.acquire_owned().await.expect("the semaphore is never closed");
    let answer = off_thread(move || {
        // The permit is released when the system answers, even if the caller no longer waits.
        let _permit = permit;
        (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
    });
    answer.await.map_err(|error| LookupError::System(Arc::new(error)))
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
