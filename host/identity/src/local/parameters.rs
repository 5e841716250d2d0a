//! Parameters of a query or a form.

use super::oauth_error::{ErrorCode, OAuthError};
use url::form_urlencoded;

/// Decoded parameters. Unknown ones are ignored (RFC 6749, section 3.1).
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses `application/x-www-form-urlencoded`; cannot fail.
    pub(super) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Returns the parameter's value; `None` if it is absent or empty. A repeated parameter is refused:
    /// another component may have checked the other value.
    pub(super) fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(ErrorCode::InvalidRequest.because("a parameter is repeated"));
        }
        Ok(first.filter(|value| !value.is_empty()))
    }

    /// Like [`Self::get`]; an absent parameter is an error with `description`.
    pub(super) fn require(&self, name: &str, description: &'static str) -> Result<&str, OAuthError> {
        self.get(name)?.ok_or(ErrorCode::InvalidRequest.because(description))
    }
}
