//! All SQL about cached values, except deletion together with other data: `toolkits/store` with their toolkit
//! and at a take-over, `vault/cached` with secrets and master keys.

use kitbag_database::{Database, Executor, Scope, Transaction, refuse_ended, sql};
use kitbag_manifest::cache::{MAX_TOTAL_BYTES, MAX_VALUES};

use super::{CacheSlot, CacheUsage};
use crate::SealedValue;

/// Access to the table of cached values.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

/// A value to store.
pub(super) struct NewValue {
    pub(super) digest: [u8; 32],
    /// Size of key and value, in bytes.
    pub(super) size: usize,
    pub(super) sealed: SealedValue,
    /// Time of the write, in milliseconds since 1970; `expires_at` has the same unit.
    pub(super) written_at: i64,
    pub(super) expires_at: i64,
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    #[cfg(test)]
    pub(super) fn database(&self) -> &Database {
        &self.0
    }

    /// Returns a value that has not expired at `now`.
    pub(super) async fn get(
        &self,
        slot: &CacheSlot,
        digest: &[u8],
        now: i64,
    ) -> kitbag_database::Result<Option<SealedValue>> {
        let row: Option<(String, Vec<u8>, Vec<u8>)> =
            sql("SELECT master_key, wrapped_key, sealed FROM cached_values
             WHERE user_id = $1 AND toolkit_id = $2 AND digest = $3 AND expires_at > $4")
            .bind(&*slot.user)
            .bind(&*slot.toolkit)
            .bind(digest)
            .bind(now)
            .fetch_optional(self.0.readers())
            .await?;
        Ok(row.map(|(master_key, wrapped_key, value)| SealedValue { master_key, wrapped_key, value }))
    }

    /// Inserts or replaces a value, and deletes expired values and the oldest ones beyond the limits. Fails
    /// if the toolkit no longer exists.
    pub(super) async fn set(&self, slot: &CacheSlot, new: NewValue) -> kitbag_database::Result<()> {
        let NewValue { digest, size, sealed, written_at, expires_at } = new;
        let mut transaction = self.begin(&slot.user, &slot.toolkit).await?;
        refuse_ended(&mut transaction, &slot.user).await?;
        sql("INSERT INTO cached_values
                 (user_id, toolkit_id, digest, size, written_at, expires_at, master_key, wrapped_key, sealed)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (user_id, toolkit_id, digest) DO UPDATE
             SET size = excluded.size, written_at = excluded.written_at, expires_at = excluded.expires_at,
                 master_key = excluded.master_key, wrapped_key = excluded.wrapped_key, sealed = excluded.sealed")
        .bind(&*slot.user)
        .bind(&*slot.toolkit)
        .bind(&digest[..])
        .bind(bound(size))
        .bind(written_at)
        .bind(expires_at)
        .bind(sealed.master_key)
        .bind(sealed.wrapped_key)
        .bind(sealed.value)
        .execute(&mut transaction)
        .await?;
        for digest in too_many(&mut transaction, slot, &digest, written_at).await? {
            delete(&mut transaction, slot, &digest).await?;
        }
        transaction.commit().await
    }

    pub(super) async fn delete(&self, slot: &CacheSlot, digest: &[u8]) -> kitbag_database::Result<()> {
        let mut transaction = self.begin(&slot.user, &slot.toolkit).await?;
        delete(&mut transaction, slot, digest).await?;
        transaction.commit().await
    }

    pub(super) async fn usage(&self, user: &str, toolkit: &str) -> kitbag_database::Result<CacheUsage> {
        usage(self.0.readers(), user, toolkit).await
    }

    /// Deletes all values of a toolkit for a user. Returns their amount.
    pub(super) async fn clear(&self, user: &str, toolkit: &str) -> kitbag_database::Result<CacheUsage> {
        let mut transaction = self.begin(user, toolkit).await?;
        let before = usage(&mut transaction, user, toolkit).await?;
        sql("DELETE FROM cached_values WHERE user_id = $1 AND toolkit_id = $2")
            .bind(user)
            .bind(toolkit)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(before)
    }

    /// Deletes up to `limit` values that have expired at `now`. Returns their number.
    pub(super) async fn remove_expired(&self, now: i64, limit: u32) -> kitbag_database::Result<u64> {
        let mut transaction = self.0.begin(Scope::AllCached).await?;
        let removed = sql("DELETE FROM cached_values WHERE (user_id, toolkit_id, digest) IN (
                 SELECT user_id, toolkit_id, digest FROM cached_values WHERE expires_at <= $1
                 ORDER BY expires_at LIMIT $2)")
        .bind(now)
        .bind(limit)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(removed)
    }

    async fn begin(&self, user: &str, toolkit: &str) -> kitbag_database::Result<Transaction> {
        self.0.begin(Scope::Cached { user, toolkit }).await
    }
}

/// Returns the digests of the values to delete after storing the one with the digest `new`: expired ones, and
/// the oldest ones beyond the limits. `new` counts as the newest even if others were written in the same
/// millisecond, or by a process whose clock is ahead.
async fn too_many(
    transaction: &mut Transaction,
    slot: &CacheSlot,
    new: &[u8],
    now: i64,
) -> kitbag_database::Result<Vec<Vec<u8>>> {
    // A separate query: in a `DELETE`, PostgreSQL joins each row with all others.
    sql("SELECT digest FROM (
             SELECT digest, expires_at, sum(size) OVER newest AS bytes, row_number() OVER newest AS position
             FROM cached_values WHERE user_id = $1 AND toolkit_id = $2
             WINDOW newest AS (
                 ORDER BY CASE WHEN digest = $3 THEN 0 ELSE 1 END, written_at DESC, digest
                 ROWS UNBOUNDED PRECEDING)
         ) AS ranked WHERE bytes > $4 OR position > $5 OR expires_at <= $6")
    .bind(&*slot.user)
    .bind(&*slot.toolkit)
    .bind(new)
    .bind(bound(MAX_TOTAL_BYTES))
    .bind(bound(MAX_VALUES))
    .bind(now)
    .fetch_values(transaction)
    .await
}

async fn delete(
    transaction: &mut Transaction,
    slot: &CacheSlot,
    digest: &[u8],
) -> kitbag_database::Result<()> {
    sql("DELETE FROM cached_values WHERE user_id = $1 AND toolkit_id = $2 AND digest = $3")
        .bind(&*slot.user)
        .bind(&*slot.toolkit)
        .bind(digest)
        .execute(transaction)
        .await?;
    Ok(())
}

async fn usage(
    executor: impl Into<Executor<'_>>,
    user: &str,
    toolkit: &str,
) -> kitbag_database::Result<CacheUsage> {
    let (values, bytes): (i64, i64) =
        sql("SELECT count(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM cached_values
         WHERE user_id = $1 AND toolkit_id = $2")
        .bind(user)
        .bind(toolkit)
        .fetch_one(executor)
        .await?;
    let count = |count| u64::try_from(count).unwrap_or_default();
    Ok(CacheUsage { values: count(values), bytes: count(bytes) })
}

fn bound(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
