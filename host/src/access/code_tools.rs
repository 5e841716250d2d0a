//! Tools that may change something, and that code of a user may call all the same.

use super::{AccessError, VisibleToolkit};

impl VisibleToolkit {
    /// The names of those of its tools. Tools that read need no permission.
    pub async fn code_tools(&self) -> Result<Vec<String>, AccessError> {
        Ok(self.user.stores().toolkits.code_tools(self.user.id(), &self.definition().id).await?)
    }

    /// Lets the user's code call a tool, or no longer. A program cannot, since it may be what runs the code.
    pub async fn set_in_code(&self, tool: &str, is_allowed: bool) -> Result<(), AccessError> {
        if self.user.is_program() {
            return Err(AccessError::ProgramsCannotAllow);
        }
        let id = &self.definition().id;
        if is_allowed {
            self.user.expect_tool(id, tool)?;
        }
        self.user.admit_own_act()?;
        self.user.stores().disk.room_for_a_little()?;
        Ok(self.user.stores().toolkits.set_in_code(&self.user.actor(), id, tool, is_allowed).await?)
    }
}
