//! What other sessions notify of.

use std::io;
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::Server;
use crate::{DatabaseError, Result};

/// How often a session on which nothing comes is asked whether it is still there, and how long it may take to answer.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// A session that hears what others send to one channel.
pub(crate) struct Listener(PgListener);

impl Server {
    /// Begins to listen to a channel.
    pub(crate) async fn listen(&self, channel: &str) -> Result<Listener> {
        // A pool of its own: listening takes no connection from those who work.
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&pool.connect_lazy_with((*self.0).clone())).await?;
        // Whoever listens has to know that something may have been missed.
        listener.eager_reconnect(false);
        listener.listen(channel).await?;
        Ok(Listener(listener))
    }
}

impl Listener {
    /// The next message. Fails once the session is lost: then some may have been missed.
    pub(crate) async fn next(&mut self) -> Result<String> {
        loop {
            match timeout(PING_INTERVAL, self.0.try_recv()).await {
                Ok(Ok(Some(notification))) => return Ok(notification.payload().to_owned()),
                Ok(Ok(None)) => return Err(sqlx::Error::Io(io::ErrorKind::ConnectionReset.into()).into()),
                Ok(Err(error)) => return Err(error.into()),
                Err(_silence) => {
                    let answered = timeout(PING_TIMEOUT, self.0.execute("SELECT 1")).await;
                    answered.map_err(|_elapsed| DatabaseError::timed_out())??;
                }
            }
        }
    }
}
