//! Which clients are registered and what they may renew: all SQL of the local issuer.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::{FromRow, SqliteConnection};

use crate::database::{self, Database};
use crate::sha256::Digest;

/// The tables of the local issuer.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

#[derive(Clone, Debug, FromRow)]
pub(super) struct ClientRow {
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// JSON array of strings.
    pub(super) redirect_uris: String,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct GrantRow {
    pub(super) id: String,
    pub(super) client_id: String,
    pub(super) user_id: String,
    /// Separated by spaces.
    pub(super) scopes: String,
    pub(super) refresh_digest: Vec<u8>,
}

/// Registrations that are kept.
pub(super) const MAX_CLIENTS: u32 = 500;

/// Grants of one client that are kept.
const MAX_GRANTS_OF_CLIENT: u32 = 50;

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Keeps a registration. Beyond [`MAX_CLIENTS`] the one that was not used for longest goes, clients
    /// that hold a grant last: registering is open to anybody and must not sign anybody out.
    pub(super) async fn insert_client(&self, client: &ClientRow) -> database::Result<()> {
        let mut transaction = self.0.begin().await?;
        delete_expired(&mut transaction).await?;
        sqlx::query(
            "DELETE FROM oauth_clients WHERE id IN (
                 SELECT c.id FROM oauth_clients c
                 ORDER BY EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id) DESC,
                          c.used_at DESC, c.rowid DESC
                 LIMIT -1 OFFSET ?)",
        )
        .bind(MAX_CLIENTS - 1)
        .execute(&mut *transaction)
        .await?;
        sqlx::query("INSERT INTO oauth_clients (id, name, redirect_uris, used_at) VALUES (?, ?, ?, ?)")
            .bind(&client.id)
            .bind(&client.name)
            .bind(&client.redirect_uris)
            .bind(now())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    pub(super) async fn client(&self, id: &str) -> database::Result<Option<ClientRow>> {
        Ok(sqlx::query_as("SELECT id, name, redirect_uris FROM oauth_clients WHERE id = ?")
            .bind(id)
            .fetch_optional(self.0.readers())
            .await?)
    }

    /// Keeps a grant for `lifetime`. Beyond the limit, the client's oldest goes.
    pub(super) async fn insert_grant(&self, grant: &GrantRow, lifetime: Duration) -> database::Result<()> {
        let mut transaction = self.0.begin().await?;
        delete_expired(&mut transaction).await?;
        sqlx::query(
            "DELETE FROM oauth_grants WHERE id IN (
                 SELECT id FROM oauth_grants WHERE client_id = ?
                 ORDER BY expires_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
        )
        .bind(&grant.client_id)
        .bind(MAX_GRANTS_OF_CLIENT - 1)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO oauth_grants (id, client_id, user_id, scopes, refresh_digest, expires_at)
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(&grant.id)
        .bind(&grant.client_id)
        .bind(&grant.user_id)
        .bind(&grant.scopes)
        .bind(&grant.refresh_digest)
        .bind(after(lifetime))
        .execute(&mut *transaction)
        .await?;
        mark_used(&mut transaction, &grant.client_id).await?;
        transaction.commit().await
    }

    /// The grant, unless it has expired.
    pub(super) async fn grant(&self, id: &str) -> database::Result<Option<GrantRow>> {
        Ok(sqlx::query_as(
            "SELECT id, client_id, user_id, scopes, refresh_digest FROM oauth_grants
             WHERE id = ? AND expires_at > ?",
        )
        .bind(id)
        .bind(now())
        .fetch_optional(self.0.readers())
        .await?)
    }

    /// Puts the digest of a new refresh token in the place of `grant`'s, which then lasts for another
    /// `lifetime`. Returns false, and changes nothing, where the grant has moved on since it was read.
    pub(super) async fn rotate(
        &self,
        grant: &GrantRow,
        new: &Digest,
        lifetime: Duration,
    ) -> database::Result<bool> {
        let mut transaction = self.0.begin().await?;
        let rotated = sqlx::query(
            "UPDATE oauth_grants SET refresh_digest = ?, expires_at = ? WHERE id = ? AND refresh_digest = ?",
        )
        .bind(new.as_slice())
        .bind(after(lifetime))
        .bind(&grant.id)
        .bind(&grant.refresh_digest)
        .execute(&mut *transaction)
        .await?
        .rows_affected();
        mark_used(&mut transaction, &grant.client_id).await?;
        transaction.commit().await?;
        Ok(rotated == 1)
    }

    /// Ends a grant: none of its refresh tokens is good any more.
    pub(super) async fn revoke(&self, grant_id: &str) -> database::Result<()> {
        let mut transaction = self.0.begin().await?;
        sqlx::query("DELETE FROM oauth_grants WHERE id = ?")
            .bind(grant_id)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Ends every grant.
    pub(super) async fn revoke_all(&self) -> database::Result<()> {
        let mut transaction = self.0.begin().await?;
        sqlx::query("DELETE FROM oauth_grants").execute(&mut *transaction).await?;
        transaction.commit().await
    }
}

async fn delete_expired(connection: &mut SqliteConnection) -> database::Result<()> {
    sqlx::query("DELETE FROM oauth_grants WHERE expires_at <= ?").bind(now()).execute(connection).await?;
    Ok(())
}

async fn mark_used(connection: &mut SqliteConnection, client_id: &str) -> database::Result<()> {
    sqlx::query("UPDATE oauth_clients SET used_at = ? WHERE id = ?")
        .bind(now())
        .bind(client_id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Milliseconds since 1970.
fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn after(lifetime: Duration) -> i64 {
    now().saturating_add(i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX))
}
