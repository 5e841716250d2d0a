//! Tools that may have side effects, and that a user allows code of models to call anyway.

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, Scope, Transaction, refuse_ended, sql};

use crate::error::ToolkitError;

/// Tools that may have side effects, and that users allow code of models to call anyway.
#[derive(Clone, Debug)]
pub struct CodeTools(Database);

impl CodeTools {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the tools of a toolkit that a user's code may call.
    pub async fn of_user(&self, user: &str, toolkit: &str) -> Result<Vec<String>, ToolkitError> {
        let tools = sql("SELECT tool FROM code_tools WHERE user_id = $1 AND toolkit_id = $2 ORDER BY tool")
            .bind(user)
            .bind(toolkit)
            .fetch_values(self.0.readers())
            .await?;
        Ok(tools)
    }

    /// Allows a user's code to call a tool of an existing toolkit.
    pub async fn allow(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let added = sql("INSERT INTO code_tools (user_id, toolkit_id, tool, allowed_at)
             SELECT $1, id, $3, $4 FROM toolkits WHERE id = $2 ON CONFLICT DO NOTHING")
        .bind(by.user())
        .bind(toolkit)
        .bind(tool)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        conclude(transaction, added, Entry::new(Act::CodeAllowed, by).toolkit(toolkit).name(tool)).await
    }

    /// Disallows a user's code to call a tool.
    pub async fn disallow(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        let removed = sql("DELETE FROM code_tools WHERE user_id = $1 AND toolkit_id = $2 AND tool = $3")
            .bind(by.user())
            .bind(toolkit)
            .bind(tool)
            .execute(&mut transaction)
            .await?;
        conclude(transaction, removed, Entry::new(Act::CodeDisallowed, by).toolkit(toolkit).name(tool)).await
    }
}

/// Commits, with an audit log entry if rows have changed.
async fn conclude(mut transaction: Transaction, changed: u64, entry: Entry<'_>) -> Result<(), ToolkitError> {
    if changed > 0 {
        audit::append(&mut transaction, &entry).await?;
    }
    Ok(transaction.commit().await?)
}

/// Deletes the permissions for a toolkit that is removed, or gets another owner.
pub(super) async fn forget(transaction: &mut Transaction, toolkit: &str) -> kitbag_database::Result<()> {
    sql("DELETE FROM code_tools WHERE toolkit_id = $1").bind(toolkit).execute(transaction).await?;
    Ok(())
}
