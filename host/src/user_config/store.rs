//! All SQL about users' settings.

use serde_json::{Map, Value};

use super::UserConfigError;
use crate::database::{self, Database, DatabaseError};

/// The settings of all users.
pub(super) struct Store(Database);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// The keys that a user has set for a toolkit, with their values as JSON.
    pub(super) async fn values(&self, user: &str, toolkit: &str) -> database::Result<Vec<(String, String)>> {
        let values =
            sqlx::query_as("SELECT key, value FROM user_config WHERE user_id = ? AND toolkit_id = ?");
        Ok(values.bind(user).bind(toolkit).fetch_all(self.0.readers()).await?)
    }

    /// Sets the values in `changes`, and unsets those that are `null`, if the toolkit's owner is still
    /// `owner` and `check` does not refuse. `check` receives the keys that the user has set.
    pub(super) async fn change(
        &self,
        user: &str,
        (toolkit, owner): (&str, &str),
        changes: &Map<String, Value>,
        check: impl FnOnce(&[String]) -> Result<(), UserConfigError>,
    ) -> Result<(), UserConfigError> {
        let mut transaction = self.0.begin().await?;
        let has: Vec<String> =
            sqlx::query_scalar("SELECT key FROM user_config WHERE user_id = ? AND toolkit_id = ?")
                .bind(user)
                .bind(toolkit)
                .fetch_all(&mut *transaction)
                .await?;
        check(&has)?;
        let is_owners: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM toolkits WHERE id = ? AND owner = ?)")
                .bind(toolkit)
                .bind(owner)
                .fetch_one(&mut *transaction)
                .await?;
        if !is_owners {
            return Err(UserConfigError::ToolkitChanged);
        }
        for (key, value) in changes {
            let change = if value.is_null() {
                sqlx::query("DELETE FROM user_config WHERE user_id = ? AND toolkit_id = ? AND key = ?")
                    .bind(user)
                    .bind(toolkit)
                    .bind(key)
            } else {
                sqlx::query(
                    "INSERT INTO user_config (user_id, toolkit_id, key, value) VALUES (?, ?, ?, ?)
                     ON CONFLICT (user_id, toolkit_id, key) DO UPDATE SET value = excluded.value",
                )
                .bind(user)
                .bind(toolkit)
                .bind(key)
                .bind(value.to_string())
            };
            change.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}

impl From<sqlx::Error> for UserConfigError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}
