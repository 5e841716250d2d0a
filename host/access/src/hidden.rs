//! Tools that a user hides from models.

use std::sync::Arc;

use kitbag_toolkits::Hidden;

use super::error::AccessError;
use super::user::User;

impl User {
    /// Returns the tools and toolkits that the user hides.
    pub async fn hidden(&self) -> Result<Arc<Hidden>, AccessError> {
        Ok(self.stores().toolkits.hidden.of_user(self.id()).await?)
    }

    /// Hides a tool that the user may call, or all tools of a toolkit.
    pub async fn hide(&self, toolkit: &str, tool: Option<&str>) -> Result<(), AccessError> {
        match tool {
            Some(tool) => self.expect_tool(toolkit, tool)?,
            None => drop(self.tools_of(toolkit)?),
        }
        Ok(self.stores().toolkits.hidden.hide(self.id(), toolkit, tool).await?)
    }
}
