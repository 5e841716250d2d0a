//! The parameters of a query or a form.

use super::{ErrorCode, OAuthError};
use url::form_urlencoded;

/// Decoded parameters. Unknown ones are ignored, as RFC 6749, section 3.1 says.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads `application/x-www-form-urlencoded`; every text is some.
    pub(super) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The parameter's value; without one, it is absent. A repeated one is refused, since whoever
    /// checks the request elsewhere may have seen the other value.
    pub(super) fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.next().is_some() {
            return Err(ErrorCode::InvalidRequest.because("a parameter is repeated"));
        }
        Ok(first.filter(|value| !value.is_empty()))
    }

    /// As [`Self::get`]; an absent one is refused, saying `description`.
    pub(super) fn require(&self, name: &str, description: &'static str) -> Result<&str, OAuthError> {
        self.get(name)?.ok_or(ErrorCode::InvalidRequest.because(description))
    }
}
