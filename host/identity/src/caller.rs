//! The authenticated caller of a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::groups::Groups;

/// Authenticated user of a request, and the permissions of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The provider's `sub`, opaque and never empty.
    pub user_id: String,
    /// Kind of the presented token.
    pub profile: TokenProfile,
    /// The OAuth client; always present for access tokens.
    pub client_id: Option<String>,
    /// The presented key of a program; `None` for other tokens.
    pub key: Option<CallerKey>,
    /// Granted OAuth scopes, as listed in the token.
    pub scopes: Vec<String>,
    /// Toolkits that the caller is limited to: it may only call their tools. `None`: all permissions of the
    /// user.
    pub toolkits: Option<Arc<BTreeSet<String>>>,
    /// Time at which the credential was issued, in milliseconds since 1970: a lower bound, as the provider's clock
    /// may be ahead of this server's. [`i64::MIN`] if the token does not say.
    pub issued_at: i64,
    /// The user's groups at the provider: from the token's claim; for keys of programs, those that count for them
    /// ([`KeyGroups`](crate::KeyGroups)).
    pub groups: Groups,
}

impl Caller {
    /// Returns the id of the presented key of a program, if any.
    pub fn key_id(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }
}

/// The key of a program that a request was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerKey {
    /// Id of the key.
    pub id: String,
    /// Name that its user gave it.
    pub name: String,
}

/// Kind of an accepted token. The JWS header `typ` distinguishes the first two; an accepted token without
/// `typ` is an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenProfile {
    /// `JWT`: a session token of the provider's front end.
    Session,
    /// `at+jwt` or `application/at+jwt`: an OAuth access token (RFC 9068).
    Access,
    /// A key of a program, which is not a JWT.
    Key,
}
