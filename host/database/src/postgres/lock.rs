//! Advisory locks, each with a session of its own.

use crate::{Result, Server, Session, sql};

/// An exclusive named lock among all processes. Ends with its session: dropping it releases it after a
/// moment.
pub struct Lock(Option<(Session, String)>);

impl Lock {
    /// Creates the lock of a process that has the database to itself; it locks nothing.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Releases the lock, and waits until that is done.
    pub async fn release(self) -> Result<()> {
        if let Some((mut session, name)) = self.0 {
            let unlock = sql("SELECT pg_advisory_unlock(hashtextextended($1, 1))");
            unlock.bind(&name).execute(&mut session).await?;
        }
        Ok(())
    }
}

impl Server {
    /// Tries to acquire the named lock; `None` if another session holds it.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        let mut session = self.connect().await?;
        // The seed differs from the one of scopes, so a scope of the same name is a different lock.
        let is_ours: bool = sql("SELECT pg_try_advisory_lock(hashtextextended($1, 1))")
            .bind(name)
            .fetch_value(&mut session)
            .await?;
        Ok(is_ours.then(|| Lock(Some((session, name.to_owned())))))
    }
}
