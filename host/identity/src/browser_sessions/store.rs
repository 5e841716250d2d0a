//! All SQL about browser sessions. Times are milliseconds since 1970.

mod grants;

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, sql};

pub(super) use self::grants::{GrantRow, of_user as granted_to};
use crate::users::is_ended_since;

/// Maximum number of sessions per user.
pub(super) const MAX_SESSIONS_OF_USER: i64 = 20;

/// The sessions of one issuer's users.
#[derive(Clone, Debug)]
pub(super) struct Store {
    database: Database,
    issuer: String,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct SessionRow {
    pub(super) digest: Vec<u8>,
    pub(super) user_id: String,
    pub(super) agent: String,
    pub(super) created_at: i64,
    pub(super) used_at: i64,
}

/// A session created at or before `created`, or last used at or before `used`, has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) created: i64,
    pub(super) used: i64,
}

/// Ends the sessions of all users.
pub(crate) async fn end_all_sessions(transaction: &mut Transaction) -> kitbag_database::Result<u64> {
    sql("DELETE FROM browser_sessions").execute(transaction).await
}

/// Ends the sessions of a user, with the provider's grants.
pub(crate) async fn end_sessions_of(
    transaction: &mut Transaction,
    user: &str,
) -> kitbag_database::Result<u64> {
    sql("DELETE FROM browser_sessions WHERE user_id = $1").bind(user).execute(transaction).await
}

impl Store {
    pub(super) fn new(database: Database, issuer: String) -> Self {
        Self { database, issuer }
    }

    /// Stores a session, with the provider's grant if there is one. Deletes all users' sessions that have
    /// ended or belong to another issuer, and the user's least recently used ones beyond
    /// [`MAX_SESSIONS_OF_USER`]. Returns `false`, and stores nothing, if the user's access was ended at or after
    /// `since`.
    pub(super) async fn insert(
        &self,
        session: &SessionRow,
        grant: Option<&GrantRow>,
        ends: Ends,
        since: i64,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        if is_ended_since(&mut transaction, &session.user_id, since).await? {
            return Ok(false);
        }
        sql("DELETE FROM browser_sessions WHERE created_at <= $1 OR used_at <= $2 OR issuer <> $3")
            .bind(ends.created)
            .bind(ends.used)
            .bind(&self.issuer)
            .execute(&mut transaction)
            .await?;
        sql("DELETE FROM browser_sessions WHERE user_id = $1 AND digest NOT IN (
                 SELECT digest FROM browser_sessions WHERE user_id = $1
                 ORDER BY used_at DESC, created_at DESC, digest LIMIT $2)")
        .bind(&session.user_id)
        .bind(MAX_SESSIONS_OF_USER - 1)
        .execute(&mut transaction)
        .await?;
        sql("INSERT INTO browser_sessions (digest, issuer, user_id, agent, created_at, used_at)
             VALUES ($1, $2, $3, $4, $5, $6)")
        .bind(&session.digest)
        .bind(&self.issuer)
        .bind(&session.user_id)
        .bind(&session.agent)
        .bind(session.created_at)
        .bind(session.used_at)
        .execute(&mut transaction)
        .await?;
        if let Some(grant) = grant {
            grants::insert(&mut transaction, grant).await?;
        }
        let by = Actor::user_only(&session.user_id);
        let id = shown_id(&session.digest);
        audit::append(&mut transaction, &Entry::new(Act::SessionSignedIn, &by).name(&id)).await?;
        transaction.commit().await?;
        Ok(true)
    }

    pub(super) async fn find(
        &self,
        digest: &[u8],
        ends: Ends,
    ) -> kitbag_database::Result<Option<SessionRow>> {
        sql("SELECT digest, user_id, agent, created_at, used_at FROM browser_sessions
             WHERE digest = $1 AND issuer = $2 AND created_at > $3 AND used_at > $4")
        .bind(digest)
        .bind(&self.issuer)
        .bind(ends.created)
        .bind(ends.used)
        .fetch_optional(self.database.readers())
        .await
    }

    pub(super) async fn of_user(&self, user: &str, ends: Ends) -> kitbag_database::Result<Vec<SessionRow>> {
        sql("SELECT digest, user_id, agent, created_at, used_at FROM browser_sessions
             WHERE user_id = $1 AND issuer = $2 AND created_at > $3 AND used_at > $4
             ORDER BY used_at DESC, created_at DESC, digest")
        .bind(user)
        .bind(&self.issuer)
        .bind(ends.created)
        .bind(ends.used)
        .fetch_all(self.database.readers())
        .await
    }

    pub(super) async fn mark_used(&self, digest: &[u8], now: i64) -> kitbag_database::Result<()> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        sql("UPDATE browser_sessions SET used_at = $1 WHERE digest = $2")
            .bind(now)
            .bind(digest)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    pub(super) async fn delete(&self, by: &Actor, user: &str, digest: &[u8]) -> kitbag_database::Result<()> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let ended = sql("DELETE FROM browser_sessions WHERE user_id = $1 AND digest = $2")
            .bind(user)
            .bind(digest)
            .execute(&mut transaction)
            .await?;
        if ended > 0 {
            let id = shown_id(digest);
            let entry = Entry::new(Act::SessionEnded, by).name(&id);
            let entry = if by.user() == user { entry } else { entry.affects(user) };
            audit::append(&mut transaction, &entry).await?;
        }
        transaction.commit().await
    }

    pub(super) async fn delete_all(&self, user: &str) -> kitbag_database::Result<()> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let ended = sql("DELETE FROM browser_sessions WHERE user_id = $1")
            .bind(user)
            .execute(&mut transaction)
            .await?;
        if ended > 0 {
            let by = Actor::user_only(user);
            audit::append(&mut transaction, &Entry::new(Act::SessionEnded, &by).name("all")).await?;
        }
        transaction.commit().await
    }
}

/// First 16 hexadecimal digits of a session's id, for the audit log.
fn shown_id(digest: &[u8]) -> String {
    hex::encode(&digest[..digest.len().min(8)])
}
