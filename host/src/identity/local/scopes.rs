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

    /// Reads names separated by spaces. An unknown one is refused.
    pub(super) fn parse(text: &str) -> Result<Self, OAuthError> {
        let asked: Vec<_> = text.split(' ').filter(|name| !name.is_empty()).collect();
        if asked.is_empty() || !asked.iter().all(|name| SCOPES.contains(name)) {
            return Err(ErrorCode::InvalidScope.because("scopes are profile, email and offline_access"));
        }
        Ok(Self(SCOPES.into_iter().filter(|scope| asked.contains(scope)).collect()))
    }

    /// Reads what a client wants of `self`; nothing said means all of it.
    pub(super) fn narrowed(&self, asked: Option<&str>) -> Result<Self, OAuthError> {
        let asked = asked.map_or_else(|| Ok(self.clone()), Self::parse)?;
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
