//! Names into addresses.
//!
//! Names that the operator chose are asked of the operating system, as every other program does. Names
//! that strangers choose (a toolkit, a URL to capture) are asked of the name servers by [`dns`], which
//! gives up in time, holds no thread meanwhile, and gives each user a share.
//!
//! Invariant: a name that a stranger chose holds no thread, nor more than its user's share of the look-ups.

mod cache;
mod config;
mod dns;
#[cfg(test)]
mod tests;
mod turns;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;

pub(super) use self::config::Source;
use self::dns::Dns;
use crate::tasks::off_thread;

/// Names that the operating system is asked for at the same time, each on a thread of its own until the
/// system gives up: a name server that is away must not take the threads that files are written on.
const MAX_SYSTEM_LOOKUPS: usize = 8;

tokio::task_local! {
    /// The user on whose behalf a connection is opened. The connector learns nothing but the URI, and is
    /// called within the request's own future.
    pub(super) static ON_BEHALF_OF: Arc<str>;
}

/// Why a name has no address here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LookupError {
    /// The name servers say so.
    #[error("there is no such name, or it has no address")]
    NotFound,
    /// It is longer than a name can be, or one of its parts is.
    #[error("it cannot be a name")]
    InvalidName,
    /// Nobody answered.
    #[error("no name server answered in time")]
    Timeout,
    /// Those that answered could not say.
    #[error("the name servers failed")]
    Failed,
    /// There is nobody to ask.
    #[error("this server knows no name server (/etc/resolv.conf names none)")]
    NoNameServer,
    /// The name servers did not say which IPv6 addresses stand for IPv4 addresses.
    #[error("the name servers did not say whether this network has NAT64, and it has IPv6 addresses alone")]
    UnknownNat64,
    /// The operating system's resolver failed.
    #[error("{0}")]
    System(Arc<io::Error>),
}

/// Where the connector gets addresses from; a clone asks the same source.
#[derive(Clone)]
pub(super) enum Resolver {
    /// The operating system, for names that the operator chose.
    System(Arc<Semaphore>),
    /// The name servers, for names that strangers choose.
    Dns(Arc<Dns>),
    /// What a test says.
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

    /// Asks for the addresses of a name, on behalf of `user`.
    pub(super) async fn lookup(&self, name: &str, user: &Arc<str>) -> Result<Vec<IpAddr>, LookupError> {
        match self {
            Self::System(turns) => ask_system(turns.clone(), name.to_owned()).await,
            Self::Dns(dns) => dns.lookup(name, user).await,
            #[cfg(test)]
            Self::Test(answer) => answer(name).await,
        }
    }

    /// Asks for the IPv6 addresses of `ipv4only.arpa`, which has none but those that a name server makes
    /// for a network with NAT64 (RFC 7050).
    pub(super) async fn ipv4_only(&self) -> Result<Vec<Ipv6Addr>, LookupError> {
        match self {
            Self::Dns(dns) => dns.ipv4_only().await,
            // The guard of whoever asks the system is open.
            Self::System(_) => Ok(Vec::new()),
            #[cfg(test)]
            Self::Test(_) => Ok(Vec::new()),
        }
    }
}

async fn ask_system(turns: Arc<Semaphore>, name: String) -> Result<Vec<IpAddr>, LookupError> {
    let turn = turns.acquire_owned().await.expect("nobody closes the semaphore");
    let answer = off_thread(move || {
        // Until the system answers, also when nobody waits for it any more.
        let _turn = turn;
        (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
    });
    answer.await.map_err(|error| LookupError::System(Arc::new(error)))
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
