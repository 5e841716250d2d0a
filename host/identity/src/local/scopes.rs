//! OAuth scopes of the local issuer.

use std::fmt;

use super::oauth_error::{ErrorCode, OAuthError};

/// Supported scopes.
pub(crate) const SCOPES: [&str; 3] = ["profile", "email", "offline_access"];

/// Granted scopes, without duplicates, in the order of `scopes_supported`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<&'static str>);

impl Scopes {
    /// All supported scopes.
    pub(super) fn all() -> Self {
        Self(SCOPES.to_vec())
    }

    /// Parses scope names separated by spaces. Unknown ones are ignored, since many clients request `openid`;
    /// the response states the granted scopes (RFC 6749, section 3.3). A request with only unknown scopes
    /// gets `profile`.
    pub(super) fn parse(text: &str) -> Self {
        let known = Self::known(text);
        if known.0.is_empty() { Self(vec!["profile"]) } else { known }
    }

    fn known(text: &str) -> Self {
        let asked: Vec<_> = text.split(' ').collect();
        Self(SCOPES.into_iter().filter(|scope| asked.contains(scope)).collect())
    }

    /// Returns the requested subset of `self`, or all of `self` if no known scope is requested. Fails if a
    /// requested scope was not granted.
    pub(super) fn narrowed(&self, asked: Option<&str>) -> Result<Self, OAuthError> {
        let asked =
            asked.map(Self::known).filter(|asked| !asked.0.is_empty()).unwrap_or_else(|| self.clone());
        if asked.0.iter().all(|scope| self.0.contains(scope)) {
            Ok(asked)
        } else {
            Err(ErrorCode::InvalidScope.because("a scope was not granted"))
        }
    }

    /// Whether the grant includes a refresh token (scope `offline_access`).
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
