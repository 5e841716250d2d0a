//! Sign-in to Kitbag's own pages with the sign-in code, without an OAuth client.

use kitbag_base::visible::has_hidden;
use tracing::{info, warn};

use super::authorization_server::AuthorizationServer;
use super::code_check::CodePrompt;

/// Maximum length of a user's name, in characters.
const MAX_USER_NAME_CHARS: usize = 64;

/// Error of a sign-in to the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInError {
    /// The name is empty, too long, or has invisible characters.
    UserName,
    /// The code is missing or wrong.
    Code(CodePrompt),
}

impl AuthorizationServer {
    /// Checks a typed user name and sign-in code. Returns the user's id.
    pub fn sign_in(&self, user: &str, code: &str) -> Result<String, SignInError> {
        let user = user.trim();
        if !is_user_name(user) {
            return Err(SignInError::UserName);
        }
        if let Err(prompt) = self.code_check().check(code) {
            if prompt == CodePrompt::Wrong {
                warn!("a sign-in of a browser with a wrong code");
            }
            return Err(SignInError::Code(prompt));
        }
        info!(user.id = user, "a browser has signed in");
        Ok(user.to_owned())
    }
}

/// Whether the text can be the name of a user of local mode.
pub(super) fn is_user_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_USER_NAME_CHARS && !has_hidden(text)
}
