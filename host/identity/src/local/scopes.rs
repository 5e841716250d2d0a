//! What can be granted.

use std::fmt;

use super::{ErrorCode, OAuthError, SCOPES};

/// Granted scopes, in the order in which they are published, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<&'static str>);

impl Scopes {
    /// All that there are.
    pub(super) fn all() -> Self {
        Self(SCOPES.to_vec())
    }

    /// Reads names separated by spaces. Unknown ones are ignored, and the client is told what it is granted
    /// (RFC 6749, section 3.3): many ask for `openid`. One that asks for unknown ones alone is granted the least.
    pub(super) fn parse(text: &str) -> Self {
        let known = Self::known(text);
        if known.0.is_empty() { Self(vec!["profile"]) } else { known }
    }

    fn known(text: &str) -> Self {
        let asked: Vec<_> = text.split(' ').collect();
        Self(SCOPES.into_iter().filter(|scope| asked.contains(scope)).collect())
    }

    /// Reads what a client wants of `self`; nothing that is known means all of it.
    pub(super) fn narrowed(&self, asked: Option<&str>) -> Result<Self, OAuthError> {
        let asked =
            asked.map(Self::known).filter(|asked| !asked.0.is_empty()).unwrap_or_else(|| self.clone());
        if asked.0.iter().all(|scope| self.0.contains(scope)) {
            Ok(asked)
        } else {
            Err(ErrorCode::InvalidScope.because("a scope was not granted"))
        }
    }

    /// Whether a refresh token belongs to the grant.
    pub fn last_beyond_access_token(&self) -> bool {
        self.0.contains(&"offline_access")
    }

    pub(super) fn names(&self) -> &[&'static str] {
        &self.0
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(" "))
    }
}
