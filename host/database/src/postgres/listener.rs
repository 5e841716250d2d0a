//! Notifications (`LISTEN`) from other database sessions.

use std::io;
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::Server;
use crate::{DatabaseError, Result};

/// Interval of connection checks on a silent session, and the time limit of a check.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// A session that receives the notifications of one channel.
pub(crate) struct Listener(PgListener);

impl Server {
    /// Opens a session and listens to a channel.
    pub(crate) async fn listen(&self, channel: &str) -> Result<Listener> {
        // A separate pool: listening takes no connection from other work.
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&pool.connect_lazy_with((*self.0).clone())).await?;
        // No silent reconnect: the caller must learn that notifications may have been lost.
        listener.eager_reconnect(false);
        listener.listen(channel).await?;
        Ok(Listener(listener))
    }
}

impl Listener {
    /// Returns the payload of the next notification. Fails when the session is lost; notifications may be
    /// lost then.
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
