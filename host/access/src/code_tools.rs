//! Tools that may change something, and that code of a user may call all the same.

use super::{AccessError, User, VisibleToolkit};

impl VisibleToolkit {
    /// The names of those of its tools. Tools that only read need no permission.
    pub async fn code_tools(&self) -> Result<Vec<String>, AccessError> {
        Ok(self.user.stores().toolkits.code_tools(self.user.id(), &self.definition().id).await?)
    }
}

impl User {
    /// Lets the user's code call a tool that they may call. A key of a program cannot: it may be what runs the code.
    pub async fn allow_in_code(&self, toolkit: &str, tool: &str) -> Result<(), AccessError> {
        if self.is_program() {
            return Err(AccessError::ProgramsCannotAllow);
        }
        self.expect_tool(toolkit, tool)?;
        self.admit_own_act()?;
        self.stores().disk.room_for_a_little()?;
        Ok(self.stores().toolkits.allow_in_code(&self.actor(), toolkit, tool).await?)
    }

    /// No longer lets the user's code call a tool; also of a toolkit that they no longer see.
    pub async fn disallow_in_code(&self, toolkit: &str, tool: &str) -> Result<(), AccessError> {
        Ok(self.stores().toolkits.disallow_in_code(&self.actor(), toolkit, tool).await?)
    }
}
