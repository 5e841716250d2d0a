//! All SQL of the local issuer: registered clients and their grants.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_base::sha256::Digest;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, sql};

use crate::browser_sessions::end_all_sessions;
use crate::program_keys::{revoke_all_keys, revoke_keys_made_by};
use crate::users::is_ended_since;

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
    /// Scope names, separated by spaces.
    pub(super) scopes: String,
    pub(super) refresh_digest: Vec<u8>,
    pub(super) seed: Vec<u8>,
    /// JSON array: times of the latest replacements in milliseconds since 1970, the last one first.
    pub(super) replaced_at: String,
}

/// Actor who revokes a grant.
#[derive(Clone, Copy, Debug)]
pub(super) enum RevokedBy {
    /// The client, on behalf of its user (RFC 7009).
    Client,
    /// The server, because a code or refresh token was reused.
    Server,
}

/// A client with grants of one user.
#[derive(Clone, Debug, FromRow)]
pub(super) struct GrantedClientRow {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) grants: i64,
    pub(super) expires_at: i64,
}

/// Maximum number of registered clients.
pub(super) const MAX_CLIENTS: u32 = 500;

/// Maximum number of grants per client.
const MAX_GRANTS_OF_CLIENT: u32 = 50;

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Stores a registration. Beyond [`MAX_CLIENTS`], deletes the least recently used client (any of those
    /// with the same millisecond), clients with grants last: registration is open to anybody and must not
    /// sign out other clients.
    pub(super) async fn insert_client(&self, client: &ClientRow) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        delete_expired(&mut transaction).await?;
        sql("DELETE FROM oauth_clients WHERE id NOT IN (
                 SELECT c.id FROM oauth_clients c
                 ORDER BY EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id) DESC, c.used_at DESC
                 LIMIT $1)")
        .bind(MAX_CLIENTS - 1)
        .execute(&mut transaction)
        .await?;
        record(&mut transaction, client).await?;
        transaction.commit().await
    }

    pub(super) async fn client(&self, id: &str) -> kitbag_database::Result<Option<ClientRow>> {
        sql("SELECT id, name, redirect_uris FROM oauth_clients WHERE id = $1")
            .bind(id)
            .fetch_optional(self.0.readers())
            .await
    }

    /// Stores a grant for `lifetime`, and its client, which may have a metadata document instead of a
    /// registration. Beyond [`MAX_GRANTS_OF_CLIENT`], deletes the client's grants that expire first. Returns `false`,
    /// and stores nothing, if the user's access was ended at or after `since`.
    pub(super) async fn insert_grant(
        &self,
        grant: &GrantRow,
        client: &ClientRow,
        lifetime: Duration,
        since: i64,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        if is_ended_since(&mut transaction, &grant.user_id, since).await? {
            return Ok(false);
        }
        delete_expired(&mut transaction).await?;
        record(&mut transaction, client).await?;
        sql("DELETE FROM oauth_grants WHERE client_id = $1 AND id NOT IN (
                 SELECT id FROM oauth_grants WHERE client_id = $1 ORDER BY expires_at DESC LIMIT $2)")
        .bind(&grant.client_id)
        .bind(MAX_GRANTS_OF_CLIENT - 1)
        .execute(&mut transaction)
        .await?;
        sql("INSERT INTO oauth_grants (id, client_id, user_id, scopes, refresh_digest, seed, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)")
        .bind(&grant.id)
        .bind(&grant.client_id)
        .bind(&grant.user_id)
        .bind(&grant.scopes)
        .bind(&grant.refresh_digest)
        .bind(&grant.seed)
        .bind(after(lifetime))
        .execute(&mut transaction)
        .await?;
        mark_used(&mut transaction, &grant.client_id).await?;
        let by = Actor::with(&grant.user_id, Some(&grant.client_id), None);
        audit::append(&mut transaction, &Entry::new(Act::ClientGranted, &by)).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Returns whether a user's access was ended at or after `since`, in milliseconds since 1970.
    pub(super) async fn is_ended_since(&self, user: &str, since: i64) -> kitbag_database::Result<bool> {
        is_ended_since(self.0.readers(), user, since).await
    }

    /// Returns the grant with this id, unless it has expired.
    pub(super) async fn grant(&self, id: &str) -> kitbag_database::Result<Option<GrantRow>> {
        sql("SELECT id, client_id, user_id, scopes, refresh_digest, seed, replaced_at
             FROM oauth_grants WHERE id = $1 AND expires_at > $2")
        .bind(id)
        .bind(now())
        .fetch_optional(self.0.readers())
        .await
    }

    /// Replaces the refresh token of `grant` by `new`, and extends the grant to `lifetime` from now. Returns
    /// `false`, and leaves the grant unchanged, if another request has replaced the token meanwhile.
    pub(super) async fn rotate(
        &self,
        grant: &GrantRow,
        new: &Digest,
        lifetime: Duration,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        let rotated = sql("UPDATE oauth_grants
             SET refresh_digest = $1, expires_at = $2, replaced_at = $3
             WHERE id = $4 AND refresh_digest = $5")
        .bind(new.as_slice())
        .bind(after(lifetime))
        .bind(grant.replaced_again(now()))
        .bind(&grant.id)
        .bind(&grant.refresh_digest)
        .execute(&mut transaction)
        .await?;
        mark_used(&mut transaction, &grant.client_id).await?;
        transaction.commit().await?;
        Ok(rotated == 1)
    }

    /// Deletes a grant, which invalidates its refresh tokens.
    pub(super) async fn revoke(&self, grant_id: &str, by: RevokedBy) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        let revoked: Option<(String, String)> =
            sql("DELETE FROM oauth_grants WHERE id = $1 RETURNING user_id, client_id")
                .bind(grant_id)
                .fetch_optional(&mut transaction)
                .await?;
        if let Some((user, client)) = revoked {
            let by = match by {
                RevokedBy::Client => Actor::with(&user, Some(&client), None),
                RevokedBy::Server => Actor::server(),
            };
            let entry = Entry::new(Act::ClientRevoked, &by).name(&client);
            let entry = if by == Actor::server() { entry.affects(&user) } else { entry };
            audit::append(&mut transaction, &entry).await?;
        }
        transaction.commit().await
    }

    /// Revokes all grants, browser sessions and program keys.
    pub(super) async fn revoke_all(&self) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        let ended = sql("DELETE FROM oauth_grants").execute(&mut transaction).await?
            + end_all_sessions(&mut transaction).await?
            + revoke_all_keys(&mut transaction).await?;
        if ended > 0 {
            audit::append(&mut transaction, &Entry::new(Act::SignInCodeChanged, &Actor::server())).await?;
        }
        transaction.commit().await
    }

    /// Returns the clients with grants of a user, those with the latest expiry (last granted or renewed)
    /// first; at most 200.
    pub(super) async fn granted_clients(&self, user: &str) -> kitbag_database::Result<Vec<GrantedClientRow>> {
        sql("SELECT c.id, c.name, count(*) AS grants, max(g.expires_at) AS expires_at
             FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
             WHERE g.user_id = $1 AND g.expires_at > $2 GROUP BY c.id ORDER BY expires_at DESC LIMIT 200")
        .bind(user)
        .bind(now())
        .fetch_all(self.0.readers())
        .await
    }

    /// Revokes the grants of a user to a client, and the keys that the user created with it.
    pub(super) async fn revoke_client(&self, user: &str, client: &str) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        let ended = sql("DELETE FROM oauth_grants WHERE user_id = $1 AND client_id = $2")
            .bind(user)
            .bind(client)
            .execute(&mut transaction)
            .await?
            + revoke_keys_made_by(&mut transaction, user, client).await?;
        if ended > 0 {
            let by = Actor::user_only(user);
            audit::append(&mut transaction, &Entry::new(Act::ClientRevoked, &by).name(client)).await?;
        }
        transaction.commit().await
    }
}

/// Revokes the grants of a user to all clients.
pub(crate) async fn revoke_grants_of(
    transaction: &mut Transaction,
    user: &str,
) -> kitbag_database::Result<u64> {
    sql("DELETE FROM oauth_grants WHERE user_id = $1").bind(user).execute(transaction).await
}

async fn delete_expired(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("DELETE FROM oauth_grants WHERE expires_at <= $1").bind(now()).execute(transaction).await?;
    Ok(())
}

/// Stores a client; updates the name of an existing one.
async fn record(transaction: &mut Transaction, client: &ClientRow) -> kitbag_database::Result<()> {
    sql("INSERT INTO oauth_clients (id, name, redirect_uris, used_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name")
    .bind(&client.id)
    .bind(&client.name)
    .bind(&client.redirect_uris)
    .bind(now())
    .execute(transaction)
    .await?;
    Ok(())
}

async fn mark_used(transaction: &mut Transaction, client_id: &str) -> kitbag_database::Result<()> {
    sql("UPDATE oauth_clients SET used_at = $1 WHERE id = $2")
        .bind(now())
        .bind(client_id)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Current time in milliseconds since 1970.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn after(lifetime: Duration) -> i64 {
    now().saturating_add(milliseconds(lifetime))
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
