//! Locks that last as long as a session of their own.

use crate::{Result, Server, Session, sql};

/// A lock that no other process has at the same time. The end of its session releases it too, so dropping it does, a moment
/// later.
pub struct Lock(Option<(Session, String)>);

impl Lock {
    /// The lock of a process that is alone.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Lets others have it.
    pub async fn release(self) -> Result<()> {
        if let Some((mut session, name)) = self.0 {
            let unlock = sql("SELECT pg_advisory_unlock(hashtextextended($1, 1))");
            unlock.bind(&name).execute(&mut session).await?;
        }
        Ok(())
    }
}

impl Server {
    /// Takes the lock of this name; `None` if another session has it.
    pub async fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        let mut session = self.connect().await?;
        // Another seed than that of scopes: a scope of the same name is another lock.
        let is_ours: bool = sql("SELECT pg_try_advisory_lock(hashtextextended($1, 1))")
            .bind(name)
            .fetch_value(&mut session)
            .await?;
        Ok(is_ours.then(|| Lock(Some((session, name.to_owned())))))
    }
}
