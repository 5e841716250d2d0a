//! All SQL about the provider's grants for sessions.

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Executor, FromRow, Scope, Transaction, sql};

use super::Store;

#[derive(Clone, Debug, FromRow)]
pub(in crate::browser_sessions) struct GrantRow {
    pub(in crate::browser_sessions) digest: Vec<u8>,
    pub(in crate::browser_sessions) expires_at: i64,
    /// JSON array of group names.
    pub(in crate::browser_sessions) groups: String,
    pub(in crate::browser_sessions) master_key: Option<String>,
    pub(in crate::browser_sessions) wrapped_key: Option<Vec<u8>>,
    pub(in crate::browser_sessions) refresh_token: Option<Vec<u8>>,
}

impl Store {
    pub(in crate::browser_sessions) async fn grant(
        &self,
        digest: &[u8],
    ) -> kitbag_database::Result<Option<GrantRow>> {
        sql("SELECT * FROM browser_session_grants WHERE digest = $1")
            .bind(digest)
            .fetch_optional(self.database.readers())
            .await
    }

    pub(in crate::browser_sessions) async fn grants_of_user(
        &self,
        user: &str,
    ) -> kitbag_database::Result<Vec<GrantRow>> {
        of_user(self.database.readers(), user).await
    }

    /// Deletes the sessions of a user that began at or before a time, as the server's act. Returns their number, and their
    /// grants.
    pub(in crate::browser_sessions) async fn delete_begun_by(
        &self,
        user: &str,
        time: i64,
    ) -> kitbag_database::Result<(u64, Vec<GrantRow>)> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let grants =
            sql("SELECT g.* FROM browser_session_grants g JOIN browser_sessions s ON s.digest = g.digest
             WHERE s.user_id = $1 AND s.created_at <= $2")
            .bind(user)
            .bind(time)
            .fetch_all(&mut transaction)
            .await?;
        let ended = sql("DELETE FROM browser_sessions WHERE user_id = $1 AND created_at <= $2")
            .bind(user)
            .bind(time)
            .execute(&mut transaction)
            .await?;
        if ended > 0 {
            let by = Actor::server();
            let entry = Entry::new(Act::SessionEnded, &by).name("all").affects(user);
            audit::append(&mut transaction, &entry).await?;
        }
        transaction.commit().await?;
        Ok((ended, grants))
    }

    /// Replaces the grant of a session. Returns `false` if the session no longer exists.
    pub(in crate::browser_sessions) async fn replace_grant(
        &self,
        grant: &GrantRow,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let replaced = sql("UPDATE browser_session_grants
             SET expires_at = $1, groups = $2, master_key = $3, wrapped_key = $4, refresh_token = $5 WHERE digest = $6")
        .bind(grant.expires_at)
        .bind(&grant.groups)
        .bind(&grant.master_key)
        .bind(&grant.wrapped_key)
        .bind(&grant.refresh_token)
        .bind(&grant.digest)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(replaced > 0)
    }

    /// Claims the renewal of a grant at the time `now`. Returns `false` if it was claimed after `ended` and not
    /// released, or if the session no longer exists.
    pub(in crate::browser_sessions) async fn claim_renewal(
        &self,
        digest: &[u8],
        now: i64,
        ended: i64,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let claimed = sql("INSERT INTO session_renewals (digest, claimed_at)
             SELECT digest, $1 FROM browser_session_grants WHERE digest = $2
             ON CONFLICT (digest) DO UPDATE SET claimed_at = excluded.claimed_at
             WHERE session_renewals.claimed_at < $3")
        .bind(now)
        .bind(digest)
        .bind(ended)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(claimed > 0)
    }

    pub(in crate::browser_sessions) async fn release_renewal(
        &self,
        digest: &[u8],
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        sql("DELETE FROM session_renewals WHERE digest = $1").bind(digest).execute(&mut transaction).await?;
        transaction.commit().await
    }
}

pub(in crate::browser_sessions) async fn of_user(
    executor: impl Into<Executor<'_>>,
    user: &str,
) -> kitbag_database::Result<Vec<GrantRow>> {
    sql("SELECT g.* FROM browser_session_grants g JOIN browser_sessions s ON s.digest = g.digest
         WHERE s.user_id = $1")
    .bind(user)
    .fetch_all(executor)
    .await
}

pub(super) async fn insert(transaction: &mut Transaction, grant: &GrantRow) -> kitbag_database::Result<()> {
    sql("INSERT INTO browser_session_grants (digest, expires_at, groups, master_key, wrapped_key, refresh_token)
         VALUES ($1, $2, $3, $4, $5, $6)")
    .bind(&grant.digest)
    .bind(grant.expires_at)
    .bind(&grant.groups)
    .bind(&grant.master_key)
    .bind(&grant.wrapped_key)
    .bind(&grant.refresh_token)
    .execute(transaction)
    .await?;
    Ok(())
}
