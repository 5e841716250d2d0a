//! Settings of token verification.

use super::algorithms::Algorithms;

/// The operator's settings for token verification.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// The public base URL as it is published, with or without a trailing slash.
    pub base_url: String,
    /// Accepted signature algorithms.
    pub algorithms: Algorithms,
    /// Origins whose pages may use the session cookie, such as `https://app.example.com`.
    /// The origin of `base_url` is always one of them.
    pub allowed_origins: Vec<String>,
    /// Treatment of session tokens without `aud`.
    pub session_audience: SessionAudience,
    /// Additional accepted audiences. A token without `aud` is accepted if its client's identifier is listed
    /// here.
    pub audiences: Vec<String>,
    /// Treatment of tokens whose header has no `typ`.
    pub untyped_tokens: UntypedTokens,
    /// Scopes advertised to clients. Empty: the provider's scopes that this service knows.
    pub scopes: Vec<String>,
    /// Client that MCP clients of users sign in as, at a provider that lets none register.
    pub mcp_client_id: Option<String>,
    /// Claim with the user's groups: a name, or a dotted path of names. `None`: users have no groups.
    pub groups_claim: Option<String>,
    /// Claim with the user's id.
    pub user_id_claim: UserIdClaim,
}

/// Claim with the user's id. Only claims that neither users nor administrators can change: who can give oneself the id of
/// another is the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserIdClaim {
    /// `sub`.
    #[default]
    Sub,
    /// `oid`, of Entra: the id of the user in the directory. Its `sub` is another one for each application.
    Oid,
}

/// Treatment of tokens whose JWS header has no `typ`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UntypedTokens {
    /// A token without `typ` is refused.
    #[default]
    Refused,
    /// A token without `typ` is accepted if its claims show that it is an access token.
    Accepted,
}

/// Treatment of session tokens that have no `aud`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAudience {
    /// A token without `aud` is refused.
    #[default]
    Required,
    /// A token without `aud` is accepted, for providers that send none. An `aud` that is present must still
    /// match. Without `aud`, an `azp` that is an origin must be an allowed origin.
    Optional,
}
