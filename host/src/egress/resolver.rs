//! Names into addresses.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::lookup_host;

type Lookup = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Where the connector gets addresses from; a clone asks the same source.
#[derive(Clone)]
pub(super) struct Resolver(Arc<Lookup>);

impl Resolver {
    /// The operating system's.
    pub(super) fn system() -> Self {
        Self(Arc::new(|name, port| async move { Ok(lookup_host((name, port)).await?.collect()) }.boxed()))
    }

    /// Answers each question with what `answer` returns for the name.
    #[cfg(test)]
    pub(super) fn answering<F>(answer: F) -> Self
    where
        F: Fn(&str) -> Vec<std::net::IpAddr> + Send + Sync + 'static,
    {
        Self(Arc::new(move |name, port| {
            let addresses = answer(&name).into_iter().map(|address| SocketAddr::new(address, port)).collect();
            std::future::ready(Ok(addresses)).boxed()
        }))
    }

    /// Never answers.
    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Self(Arc::new(|_, _| std::future::pending().boxed()))
    }

    /// Asks once.
    pub(super) async fn lookup(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (self.0)(name.to_owned(), port).await
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
