//! All SQL about keys of programs. Times are milliseconds since 1970.

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, is_ended, list, sql};

use super::{KeyError, MAX_KEYS_OF_USER, id};
use crate::groups::Groups;
use crate::provisioning::groups_of;

/// The keys of one issuer's users.
#[derive(Clone, Debug)]
pub(super) struct Store {
    database: Database,
    issuer: String,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct KeyRow {
    /// SHA-256 of the key.
    pub(super) digest: Vec<u8>,
    pub(super) user_id: String,
    pub(super) name: String,
    pub(super) client_id: Option<String>,
    /// Toolkit ids, separated by spaces.
    pub(super) toolkits: Option<String>,
    pub(super) created_at: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) used_at: Option<i64>,
    /// Last sign-in of the user, if recorded.
    pub(super) signed_in_at: Option<i64>,
}

/// Selection of keys that have not expired.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    pub(super) expires_after: i64,
    pub(super) created_after: i64,
}

impl Validity {
    /// All keys, expired ones too.
    pub(super) const ANY: Self = Self { expires_after: i64::MIN, created_after: i64::MIN };
}

/// Revokes the keys of all users.
pub(crate) async fn revoke_all_keys(transaction: &mut Transaction) -> kitbag_database::Result<u64> {
    sql("DELETE FROM program_keys").execute(transaction).await
}

/// Revokes the keys of a user.
pub(crate) async fn revoke_keys_of(
    transaction: &mut Transaction,
    user: &str,
) -> kitbag_database::Result<u64> {
    sql("DELETE FROM program_keys WHERE user_id = $1").bind(user).execute(transaction).await
}

/// Revokes all keys that are limited to a set of toolkits with this one. Called when the toolkit is removed
/// or changes its owner.
pub async fn revoke_keys_for(transaction: &mut Transaction, toolkit: &str) -> kitbag_database::Result<()> {
    sql("DELETE FROM program_keys WHERE ' ' || toolkits || ' ' LIKE '% ' || $1 || ' %'")
        .bind(toolkit)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Revokes the keys that a user created with this OAuth client.
pub(crate) async fn revoke_keys_made_by(
    transaction: &mut Transaction,
    user: &str,
    client: &str,
) -> kitbag_database::Result<u64> {
    sql("DELETE FROM program_keys WHERE user_id = $1 AND client_id = $2")
        .bind(user)
        .bind(client)
        .execute(transaction)
        .await
}

impl Store {
    pub(super) fn new(database: Database, issuer: String) -> Self {
        Self { database, issuer }
    }

    /// Stores a key. Deletes the keys of all users that have expired, were created at or before `earliest`, or
    /// belong to another issuer.
    pub(super) async fn insert(&self, key: &KeyRow, earliest: i64) -> Result<(), KeyError> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        // The request may have been admitted before.
        if is_ended(&mut transaction, &key.user_id).await? {
            return Err(KeyError::UserEnded);
        }
        sql("DELETE FROM program_keys WHERE expires_at <= $1 OR created_at <= $2 OR issuer <> $3")
            .bind(key.created_at)
            .bind(earliest)
            .bind(&self.issuer)
            .execute(&mut transaction)
            .await?;
        let names: Vec<String> = sql("SELECT name FROM program_keys WHERE user_id = $1")
            .bind(&key.user_id)
            .fetch_values(&mut transaction)
            .await?;
        if names.contains(&key.name) {
            return Err(KeyError::NameTaken(key.name.clone()));
        }
        if i64::try_from(names.len()).is_ok_and(|count| count >= MAX_KEYS_OF_USER) {
            return Err(KeyError::TooMany);
        }
        sql("INSERT INTO program_keys (digest, issuer, user_id, client_id, name, toolkits, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
        .bind(&key.digest)
        .bind(&self.issuer)
        .bind(&key.user_id)
        .bind(&key.client_id)
        .bind(&key.name)
        .bind(&key.toolkits)
        .bind(key.created_at)
        .bind(key.expires_at)
        .execute(&mut transaction)
        .await?;
        let by = Actor::with(&key.user_id, key.client_id.as_deref(), None);
        audit::append(&mut transaction, &Entry::new(Act::KeyCreated, &by).name(&id(&key.digest))).await?;
        Ok(transaction.commit().await?)
    }

    /// Returns the key with this digest, unless it has expired.
    pub(super) async fn find(
        &self,
        digest: &[u8],
        valid: Validity,
    ) -> kitbag_database::Result<Option<KeyRow>> {
        sql("SELECT k.digest, k.user_id, k.name, k.client_id, k.toolkits, k.created_at, k.expires_at, k.used_at,
                 u.signed_in_at
             FROM program_keys k LEFT JOIN users u ON u.user_id = k.user_id
             WHERE k.digest = $1 AND k.issuer = $2 AND (k.expires_at IS NULL OR k.expires_at > $3)
                 AND k.created_at > $4")
        .bind(digest)
        .bind(&self.issuer)
        .bind(valid.expires_after)
        .bind(valid.created_after)
        .fetch_optional(self.database.readers())
        .await
    }

    /// Returns the groups that the identity provider maintains here.
    pub(super) async fn provisioned_groups(&self, user: &str) -> kitbag_database::Result<Groups> {
        groups_of(self.database.readers(), user).await
    }

    /// Returns the groups of a user's last sign-in, if that was at `since` or later and the access was not ended after it.
    pub(super) async fn groups_since(&self, user: &str, since: i64) -> kitbag_database::Result<Groups> {
        let groups: Option<String> = sql("SELECT groups FROM users
             WHERE user_id = $1 AND signed_in_at >= $2 AND (ended_at IS NULL OR signed_in_at > ended_at)")
        .bind(user)
        .bind(since)
        .fetch_optional_value(self.database.readers())
        .await?;
        Ok(groups.and_then(|groups| serde_json::from_str(&groups).ok()).unwrap_or_default())
    }

    /// Returns the user's keys that have not expired, newest first.
    pub(super) async fn of_user(&self, user: &str, valid: Validity) -> kitbag_database::Result<Vec<KeyRow>> {
        sql("SELECT k.digest, k.user_id, k.name, k.client_id, k.toolkits, k.created_at, k.expires_at, k.used_at,
                 u.signed_in_at
             FROM program_keys k LEFT JOIN users u ON u.user_id = k.user_id
             WHERE k.user_id = $1 AND k.issuer = $2 AND (k.expires_at IS NULL OR k.expires_at > $3)
                 AND k.created_at > $4
             ORDER BY k.created_at DESC, k.digest")
        .bind(user)
        .bind(&self.issuer)
        .bind(valid.expires_after)
        .bind(valid.created_after)
        .fetch_all(self.database.readers())
        .await
    }

    /// Returns the numbers of these users' keys that have not expired, of each who has any.
    pub(super) async fn count_of(
        &self,
        users: &[&str],
        valid: Validity,
    ) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT user_id, COUNT(*) FROM program_keys
             WHERE user_id IN (SELECT value FROM json_each($1)) AND issuer = $2
                 AND (expires_at IS NULL OR expires_at > $3) AND created_at > $4
             GROUP BY user_id")
        .bind(list(users))
        .bind(&self.issuer)
        .bind(valid.expires_after)
        .bind(valid.created_after)
        .fetch_all(self.database.readers())
        .await
    }

    pub(super) async fn mark_used(&self, digest: &[u8], now: i64) -> kitbag_database::Result<()> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        sql("UPDATE program_keys SET used_at = $1 WHERE digest = $2")
            .bind(now)
            .bind(digest)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    /// Deletes a key of `user`. Returns whether it existed.
    pub(super) async fn delete(
        &self,
        by: &Actor,
        user: &str,
        digest: &[u8],
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let deleted = sql("DELETE FROM program_keys WHERE user_id = $1 AND digest = $2")
            .bind(user)
            .bind(digest)
            .execute(&mut transaction)
            .await?;
        if deleted > 0 {
            let id = id(digest);
            let entry = Entry::new(Act::KeyRevoked, by).name(&id);
            let entry = if by.user() == user { entry } else { entry.affects(user) };
            audit::append(&mut transaction, &entry).await?;
        }
        transaction.commit().await?;
        Ok(deleted > 0)
    }
}
