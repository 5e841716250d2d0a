//! Signs a person in to Kitbag's own pages, without an OAuth client.

use kitbag_base::visible::has_hidden;
use tracing::{info, warn};

use super::authorize::lock;
use super::{AuthorizationServer, CodePrompt};

/// Maximum length of a user's name.
const MAX_USER_NAME_CHARS: usize = 64;

/// Why a person is not signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInError {
    /// The name is empty, too long, or has characters that nobody sees.
    UserName,
    /// The code is missing, wrong, or was not looked at.
    Code(CodePrompt),
}

impl AuthorizationServer {
    /// Checks the user's name and the sign-in code that a person has typed. Returns the user's id.
    pub fn sign_in(&self, user: &str, code: &str) -> Result<String, SignInError> {
        let user = user.trim();
        if !is_user_name(user) {
            return Err(SignInError::UserName);
        }
        if let Err(prompt) = lock(&self.code_check).check(code) {
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
