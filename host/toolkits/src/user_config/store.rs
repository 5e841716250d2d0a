//! All SQL about users' settings.

use kitbag_database::{Database, Scope, refuse_ended, sql};
use serde_json::{Map, Value};

use super::{OwnedToolkit, UserConfigError};

/// The database table of users' settings.
pub(super) struct Store(Database);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the keys that a user has set for a toolkit, with their values as JSON.
    pub(super) async fn values(
        &self,
        user: &str,
        toolkit: &str,
    ) -> kitbag_database::Result<Vec<(String, String)>> {
        sql("SELECT key, value FROM user_config WHERE user_id = $1 AND toolkit_id = $2")
            .bind(user)
            .bind(toolkit)
            .fetch_all(self.0.readers())
            .await
    }

    /// Sets the values in `changes`, and unsets those that are `null`, if the toolkit has
    /// still this owner and `check` succeeds. `check` receives the keys that the user has set.
    pub(super) async fn change(
        &self,
        user: &str,
        toolkit: OwnedToolkit<'_>,
        changes: &Map<String, Value>,
        check: impl FnOnce(&[String]) -> Result<(), UserConfigError>,
    ) -> Result<(), UserConfigError> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        refuse_ended(&mut transaction, user).await?;
        let has: Vec<String> = sql("SELECT key FROM user_config WHERE user_id = $1 AND toolkit_id = $2")
            .bind(user)
            .bind(toolkit.id)
            .fetch_values(&mut transaction)
            .await?;
        check(&has)?;
        let is_owners: bool = sql("SELECT EXISTS (SELECT 1 FROM toolkits WHERE id = $1 AND owner = $2)")
            .bind(toolkit.id)
            .bind(toolkit.owner)
            .fetch_value(&mut transaction)
            .await?;
        if !is_owners {
            return Err(UserConfigError::ToolkitChanged);
        }
        for (key, value) in changes {
            let change = if value.is_null() {
                sql("DELETE FROM user_config WHERE user_id = $1 AND toolkit_id = $2 AND key = $3")
                    .bind(user)
                    .bind(toolkit.id)
                    .bind(key)
            } else {
                sql("INSERT INTO user_config (user_id, toolkit_id, key, value) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (user_id, toolkit_id, key) DO UPDATE SET value = excluded.value")
                .bind(user)
                .bind(toolkit.id)
                .bind(key)
                .bind(value.to_string())
            };
            change.execute(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}
