//! All SQL about secrets.

use jiff::Timestamp;
use secrecy::SecretString;
use sqlx::FromRow;

use super::SecretSlot;
use super::master_key::MasterKeys;
use super::seal::{self, Broken, Place, Sealed};
use crate::database::Database;

/// The table of sealed values.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

/// One sealed value of a user.
#[derive(FromRow)]
pub(super) struct Row {
    pub(super) user_id: String,
    pub(super) toolkit_id: String,
    pub(super) name: String,
    pub(super) master_key: String,
    #[sqlx(flatten)]
    pub(super) sealed: Sealed,
}

impl Row {
    pub(super) fn place(&self) -> Place<'_> {
        Place { user: &self.user_id, toolkit: &self.toolkit_id, name: &self.name }
    }

    pub(super) fn open(&self, keys: &MasterKeys) -> Result<SecretString, Broken> {
        seal::open(keys.named(&self.master_key).ok_or(Broken)?, self.place(), &self.sealed)
    }
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    #[cfg(test)]
    pub(super) fn database(&self) -> &Database {
        &self.0
    }

    /// Everything that a user has set.
    pub(super) async fn of_user(&self, user: &str) -> sqlx::Result<Vec<Row>> {
        sqlx::query_as("SELECT * FROM secrets WHERE user_id = ?").bind(user).fetch_all(&self.0.readers).await
    }

    /// Names that a user has set for a toolkit, with when, in milliseconds since 1970.
    pub(super) async fn names(&self, user: &str, toolkit: &str) -> sqlx::Result<Vec<(String, i64)>> {
        sqlx::query_as("SELECT name, updated_at FROM secrets WHERE user_id = ? AND toolkit_id = ?")
            .bind(user)
            .bind(toolkit)
            .fetch_all(&self.0.readers)
            .await
    }

    /// Writes a sealed value over whatever stood at its place, if the toolkit is still its owner's; says whether
    /// it is. Between the check of whoever calls and this statement another may have taken it over.
    pub(super) async fn put(
        &self,
        slot: &SecretSlot,
        master_key: &str,
        sealed: Sealed,
    ) -> sqlx::Result<bool> {
        sqlx::query(
            "INSERT INTO secrets (user_id, toolkit_id, name, master_key, wrapped_key, sealed, updated_at)
             SELECT ?, id, ?, ?, ?, ?, ? FROM toolkits WHERE id = ? AND owner = ?
             ON CONFLICT DO UPDATE SET master_key = excluded.master_key, wrapped_key = excluded.wrapped_key,
                 sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(&slot.user)
        .bind(&slot.name)
        .bind(master_key)
        .bind(sealed.wrapped_key)
        .bind(sealed.value)
        .bind(Timestamp::now().as_millisecond())
        .bind(&slot.toolkit)
        .bind(&slot.owner)
        .execute(&self.0.writer)
        .await
        .map(|written| written.rows_affected() > 0)
    }

    /// Removes a value; says whether there was one.
    pub(super) async fn delete(&self, place: Place<'_>) -> sqlx::Result<bool> {
        let deleted = sqlx::query("DELETE FROM secrets WHERE user_id = ? AND toolkit_id = ? AND name = ?")
            .bind(place.user)
            .bind(place.toolkit)
            .bind(place.name)
            .execute(&self.0.writer)
            .await?;
        Ok(deleted.rows_affected() > 0)
    }

    /// Names of the master keys that records refer to, each with how many.
    pub(super) async fn master_keys(&self) -> sqlx::Result<Vec<(String, i64)>> {
        sqlx::query_as("SELECT master_key, count(*) FROM secrets GROUP BY master_key")
            .fetch_all(&self.0.readers)
            .await
    }

    /// The name of a master key that a record refers to, if there is a record.
    pub(super) async fn any_master_key(&self) -> sqlx::Result<Option<String>> {
        sqlx::query_scalar("SELECT master_key FROM secrets LIMIT 1").fetch_optional(&self.0.readers).await
    }

    /// Up to `most` records behind `after` that another key than `current` wraps, by place.
    pub(super) async fn not_under(
        &self,
        current: &str,
        after: Place<'_>,
        most: u32,
    ) -> sqlx::Result<Vec<Row>> {
        sqlx::query_as(
            "SELECT * FROM secrets
             WHERE master_key <> ? AND (user_id, toolkit_id, name) > (?, ?, ?)
             ORDER BY user_id, toolkit_id, name LIMIT ?",
        )
        .bind(current)
        .bind(after.user)
        .bind(after.toolkit)
        .bind(after.name)
        .bind(most)
        .fetch_all(&self.0.readers)
        .await
    }

    /// Replaces the wrapping of records, all or none. A value that was written meanwhile stays.
    pub(super) async fn rewrap(&self, rewrapped: &[(&Row, Vec<u8>)], current: &str) -> sqlx::Result<()> {
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await?;
        for (row, wrapped_key) in rewrapped {
            sqlx::query(
                "UPDATE secrets SET master_key = ?, wrapped_key = ?
                 WHERE user_id = ? AND toolkit_id = ? AND name = ? AND wrapped_key = ?",
            )
            .bind(current)
            .bind(wrapped_key)
            .bind(&row.user_id)
            .bind(&row.toolkit_id)
            .bind(&row.name)
            .bind(&row.sealed.wrapped_key)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await
    }
}
