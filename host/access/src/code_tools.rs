//! Tools that are not read-only and that the user allows code to call.

use super::error::AccessError;
use super::toolkits::VisibleToolkit;
use super::user::User;

impl VisibleToolkit {
    /// Returns the names of the toolkit's tools that the user allows in code. Read-only tools need no
    /// permission.
    pub async fn code_tools(&self) -> Result<Vec<String>, AccessError> {
        Ok(self.user.stores().toolkits.code_tools.of_user(self.user.id(), &self.definition().id).await?)
    }
}

impl User {
    /// Lets the user's code call a tool that they may call. Refused for a program's key: that program may run
    /// the code.
    pub async fn allow_in_code(&self, toolkit: &str, tool: &str) -> Result<(), AccessError> {
        if self.is_program() {
            return Err(AccessError::ProgramsCannotAllow);
        }
        self.expect_tool(toolkit, tool)?;
        self.admit_own_act()?;
        self.stores().disk.room_for_a_little()?;
        Ok(self.stores().toolkits.code_tools.allow(&self.actor(), toolkit, tool).await?)
    }
}
