//! Tools that may have side effects, and that a user allows code of models to call anyway.

use kitbag_database::audit::Actor;

use super::{ToolkitError, Toolkits};

impl Toolkits {
    /// Returns the names of a toolkit's tools that the user allows code to call.
    pub async fn code_tools(&self, user: &str, toolkit: &str) -> Result<Vec<String>, ToolkitError> {
        Ok(self.store.code_tools(user, toolkit).await?)
    }

    /// Allows the user's code to call a tool.
    pub async fn allow_in_code(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        Ok(self.store.allow_in_code(by, toolkit, tool).await?)
    }

    /// Disallows the user's code to call a tool.
    pub async fn disallow_in_code(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        Ok(self.store.disallow_in_code(by, toolkit, tool).await?)
    }
}
