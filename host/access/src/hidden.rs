//! Tools that a user hides from models.

use std::sync::Arc;

use kitbag_toolkits::Hidden;

use super::{AccessError, User};

impl User {
    /// Returns the tools and toolkits that the user hides.
    pub async fn hidden(&self) -> Result<Arc<Hidden>, AccessError> {
        Ok(self.stores().toolkits.hidden(self.id()).await?)
    }

    /// Hides a tool that the user may call, or all tools of a toolkit.
    pub async fn hide(&self, toolkit: &str, tool: Option<&str>) -> Result<(), AccessError> {
        match tool {
            Some(tool) => self.expect_tool(toolkit, tool)?,
            None => drop(self.tools_of(toolkit)?),
        }
        Ok(self.stores().toolkits.hide(self.id(), toolkit, tool).await?)
    }

    /// Shows a tool again, or all hidden tools of a toolkit, even if the user can no longer see the toolkit.
    pub async fn show_again(&self, toolkit: &str, tool: Option<&str>) -> Result<(), AccessError> {
        let hidden = self.hidden().await?;
        let is_hidden = match tool {
            Some(_) if hidden.has_all_of(toolkit) => {
                return Err(AccessError::HiddenAsAWhole(toolkit.to_owned()));
            }
            Some(tool) => hidden.has(toolkit, tool),
            None => hidden.has_any_of(toolkit),
        };
        if !is_hidden {
            self.tools_of(toolkit)?;
            return Ok(());
        }
        Ok(self.stores().toolkits.show_again(self.id(), toolkit, tool).await?)
    }
}
