//! Tools that may change something, and that code of a user may call all the same.

use kitbag_database::audit::Actor;

use super::{ToolkitError, Toolkits};

impl Toolkits {
    /// The names of those of a toolkit.
    pub async fn code_tools(&self, user: &str, toolkit: &str) -> Result<Vec<String>, ToolkitError> {
        Ok(self.store.code_tools(user, toolkit).await?)
    }

    /// Lets the user's code call a tool.
    pub async fn allow_in_code(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        Ok(self.store.allow_in_code(by, toolkit, tool).await?)
    }

    /// No longer lets the user's code call a tool.
    pub async fn disallow_in_code(&self, by: &Actor, toolkit: &str, tool: &str) -> Result<(), ToolkitError> {
        Ok(self.store.disallow_in_code(by, toolkit, tool).await?)
    }
}
