//! All SQL about toolkits and tools that users hide.

use kitbag_database::{Database, Scope, Transaction, refuse_ended, sql};

use super::revisions;
use crate::error::ToolkitError;
use crate::hidden::Hidden;

/// Maximum number of tools and toolkits that one user may hide.
const MAX_PER_USER: i64 = 1000;
/// Value of the column `tool` if the whole toolkit is hidden.
const WHOLE: &str = "";

/// Toolkits and tools that users hide from models.
#[derive(Clone, Debug)]
pub(crate) struct HiddenStore(Database);

impl HiddenStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the toolkits and tools that a user hides.
    pub(crate) async fn of_user(&self, user: &str) -> kitbag_database::Result<Hidden> {
        let rows: Vec<(String, String)> = sql("SELECT toolkit_id, tool FROM hidden_tools WHERE user_id = $1")
            .bind(user)
            .fetch_all(self.0.readers())
            .await?;
        Ok(Hidden::of(
            rows.into_iter().map(|(toolkit, tool)| (toolkit, Some(tool).filter(|tool| tool != WHOLE))),
        ))
    }

    /// Hides a tool or a whole toolkit. Returns whether anything has changed.
    pub(crate) async fn hide(
        &self,
        user: &str,
        toolkit: &str,
        tool: Option<&str>,
    ) -> Result<bool, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, user).await?;
        let covered = sql("DELETE FROM hidden_tools
             WHERE user_id = $1 AND toolkit_id = $2 AND CAST($3 AS TEXT) IS NULL AND tool <> ''")
        .bind(user)
        .bind(toolkit)
        .bind(tool)
        .execute(&mut transaction)
        .await?;
        let added = sql(
            "INSERT INTO hidden_tools (user_id, toolkit_id, tool) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        )
        .bind(user)
        .bind(toolkit)
        .bind(tool.unwrap_or(WHOLE))
        .execute(&mut transaction)
        .await?;
        let count: i64 = sql("SELECT COUNT(*) FROM hidden_tools WHERE user_id = $1")
            .bind(user)
            .fetch_value(&mut transaction)
            .await?;
        if added > 0 && count > MAX_PER_USER {
            return Err(ToolkitError::TooManyHidden);
        }
        if added + covered > 0 {
            revisions::count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(added + covered > 0)
    }

    /// Shows a hidden tool again, or everything hidden of a toolkit. Returns whether anything has changed.
    pub(crate) async fn show_again(
        &self,
        user: &str,
        toolkit: &str,
        tool: Option<&str>,
    ) -> Result<bool, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let removed = sql("DELETE FROM hidden_tools
             WHERE user_id = $1 AND toolkit_id = $2 AND (CAST($3 AS TEXT) IS NULL OR tool = $3)")
        .bind(user)
        .bind(toolkit)
        .bind(tool)
        .execute(&mut transaction)
        .await?;
        if removed > 0 {
            revisions::count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(removed > 0)
    }
}

/// Deletes the entries of a toolkit that is removed: a later one with the same id is another toolkit.
pub(super) async fn forget(transaction: &mut Transaction, toolkit: &str) -> kitbag_database::Result<()> {
    sql("DELETE FROM hidden_tools WHERE toolkit_id = $1").bind(toolkit).execute(transaction).await?;
    Ok(())
}
