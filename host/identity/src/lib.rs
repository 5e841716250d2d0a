//! Authentication: turns request headers into a [`Caller`], so that no handler sees a token. Also sign-in,
//! browser sessions, and keys of programs.
//!
//! A request goes `headers → one credential → cache of verified tokens, or (JWS header → key → signature →
//! claims) → rules for header or cookie → Caller`.
//!
//! Invariants:
//! - no claim is read before the signature over it was verified;
//! - the rules that depend on the request (cookie, `Origin`) are checked for every request, also
//!   when the token itself is cached;
//! - an error never contains the token or its signature. Reasons are fixed texts; [`AuthError::Unexpected`]
//!   also quotes a verified claim, clipped, for the log.
//!
//! # Modules
//!
//! - `issuer_record`: issuer whose users a data directory contains
//! - `client`: the OAuth client of `kitbag login` and of the pages: discovery, registration, codes,
//!   refresh tokens
//! - `program_keys`: keys of programs that act for a user (docs/decisions/0063)
//! - `browser_sessions`: sessions of browsers on the pages of `web`
//! - `provider_sign_in`: sign-in of browsers with an external provider, and the renewal and the end of
//!   their sessions (docs/decisions/0026)
//! - `local`: authorization server of local mode: registration → consent, with the sign-in code →
//!   authorization code → tokens → revocation; `web/oauth` has its HTTP routes

mod algorithms;
mod browser_sessions;
mod claims;
pub mod client;
mod credential;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod issuer_record;
mod jwks;
mod keys;
mod local;
mod origins;
mod program_keys;
mod provider_sign_in;
#[cfg(test)]
mod tests;
mod token;
mod token_cache;
mod well_known;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::HeaderMap;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_net::egress::Egress;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub use self::algorithms::Algorithms;
pub use self::browser_sessions::{BrowserSession, BrowserSessions, SessionLifetime};
pub use self::claims::MAX_SUBJECT_BYTES;
pub use self::error::{AuthError, InvalidSettings};
pub use self::groups::Groups;
pub use self::issuer_record::{IssuerChange, bind_issuer, record_issuer, recorded_issuer};
pub use self::local::{
    AccessGrant, AuthorizationServer, AuthorizeError, ClientSource, CodePrompt, Consent, Destination,
    EndpointError, ErrorCode, GrantedClient, Lifetimes, LocalIssuer, LocalIssuerError, OAuthError,
    RedirectUri, Registration, Scopes, SignInCode, SignInError, Step, TicketRequest, Tokens, paths,
    random_text,
};
pub use self::program_keys::{KeyError, NewKey, ProgramKey, ProgramKeys, revoke_keys_for};
pub use self::provider_sign_in::{
    Arrival, Departure, ProviderError, ProviderSignIn, SessionState, WebClient,
};

use self::claims::{Rules, Verified};
use self::credential::{Credential, Source};
use self::error::invalid;
use self::groups::GroupsClaim;
use self::jwks::Provider;
use self::keys::KeySet;
use self::origins::Origins;
use self::token::Token;
use self::token_cache::TokenCache;
pub(crate) use self::well_known::metadata_urls;

/// Authenticated user of a request, and the permissions of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The provider's `sub`, opaque and never empty.
    pub user_id: String,
    /// Kind of the presented token.
    pub profile: TokenProfile,
    /// The OAuth client; always present for access tokens.
    pub client_id: Option<String>,
    /// Id of the presented program key; `None` for other tokens.
    pub key_id: Option<String>,
    /// Granted OAuth scopes, as listed in the token.
    pub scopes: Vec<String>,
    /// Toolkits that the caller is limited to: it may only call their tools. `None`: all permissions of the
    /// user.
    pub toolkits: Option<Arc<BTreeSet<String>>>,
    /// The user's groups at the provider, from the token's claim; empty for keys of programs.
    pub groups: Groups,
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

/// Verifies tokens of one issuer.
#[derive(Debug)]
pub struct Identity {
    issuer: Issuer,
    algorithms: Algorithms,
    origins: Origins,
    rules: Rules,
    untyped_tokens: UntypedTokens,
    groups_claim: Option<GroupsClaim>,
    /// Scopes advertised to clients; empty if the operator sets none.
    scopes: Vec<String>,
    mcp_client_id: Option<String>,
    tokens: TokenCache,
    /// Keys of programs; `None` if the operator disables them.
    keys: Option<ProgramKeys>,
}

#[derive(Debug)]
enum Issuer {
    Provider(Provider),
    Local { issuer: Arc<LocalIssuer>, keys: Arc<KeySet> },
}

impl Identity {
    /// Trusts the external provider with the issuer identifier `issuer`, compared letter by letter.
    ///
    /// Nothing is fetched before the first request.
    pub fn with_provider(
        settings: IdentitySettings,
        issuer: &str,
        egress: Egress,
    ) -> Result<Self, InvalidSettings> {
        let provider = Provider::new(issuer, egress)?;
        Self::new(settings, issuer, Issuer::Provider(provider))
    }

    /// Trusts only the local issuer. Its key is in memory, so nothing is fetched.
    pub fn with_local_issuer(
        settings: IdentitySettings,
        local: Arc<LocalIssuer>,
    ) -> Result<Self, InvalidSettings> {
        let keys = Arc::new(local.key_set());
        let issuer = local.issuer().to_owned();
        Self::new(settings, &issuer, Issuer::Local { issuer: local, keys })
    }

    fn new(settings: IdentitySettings, issuer_name: &str, issuer: Issuer) -> Result<Self, InvalidSettings> {
        let origins = Origins::new(&settings.base_url, &settings.allowed_origins)?;
        let IdentitySettings { base_url, audiences, session_audience, untyped_tokens, scopes, .. } =
            &settings;
        let rules = Rules::new(issuer_name, base_url, audiences, *session_audience);
        Ok(Self {
            issuer,
            origins,
            rules,
            untyped_tokens: *untyped_tokens,
            groups_claim: settings.groups_claim.as_deref().map(GroupsClaim::new),
            scopes: scopes.clone(),
            mcp_client_id: settings.mcp_client_id.clone(),
            algorithms: settings.algorithms,
            tokens: TokenCache::new(),
            keys: None,
        })
    }

    /// Sets the keys of programs that are accepted as bearer tokens; `None` disables them.
    #[must_use]
    pub fn accepting(self, keys: Option<ProgramKeys>) -> Self {
        Self { keys, ..self }
    }

    /// Authenticates a request by its headers.
    ///
    /// A cached token costs one SHA-256 and one look-up.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Caller>, AuthError> {
        let credential = Credential::from_headers(headers, &self.origins)?;
        if matches!(credential.source, Source::Header) && program_keys::is_key(credential.token) {
            let keys =
                self.keys.as_ref().ok_or(invalid("a key, and this server takes none (setting `keys`)"))?;
            return keys.caller(credential.token).await;
        }
        self.establish(credential).await
    }

    /// Authenticates a browser's page visit by its session cookie alone.
    ///
    /// A browser sends no `Origin` when it opens a page, and may come from a link on another site. Use only
    /// for pages that no other page can read or frame, and that change no state when opened.
    pub async fn recognise_visitor(&self, headers: &HeaderMap) -> Result<Arc<Caller>, AuthError> {
        self.establish(Credential::of_visit(headers)?).await
    }

    /// Verifies a token that was issued to this server's own OAuth client, by the rules for a bearer token.
    /// Returns the user and the token's expiry in seconds since 1970.
    pub(crate) async fn verify_issued(&self, token: &SecretString) -> Result<(Arc<Caller>, f64), AuthError> {
        let credential = Credential::issued(token.expose_secret())?;
        let verified = self.verified(credential.token).await?;
        Ok((verified.caller.clone(), verified.expires))
    }

    async fn establish(&self, credential: Credential<'_>) -> Result<Arc<Caller>, AuthError> {
        let verified = self.verified(credential.token).await?;
        self.check_presentation(&credential.source, &verified)?;
        Ok(verified.caller.clone())
    }

    async fn verified(&self, token: &str) -> Result<Arc<Verified>, AuthError> {
        let keys = self.keys().await?;
        let digest = Sha256::digest(token);
        match self.tokens.get(&digest, keys.generation(), now()) {
            Some(verified) => Ok(verified),
            None => self.verify(token, digest, keys).await,
        }
    }

    /// The issuer identifier, exactly as it appears in `iss`.
    pub fn issuer(&self) -> &str {
        self.rules.issuer()
    }

    /// Client that MCP clients of users sign in as; `None` if they register themselves.
    pub fn mcp_client_id(&self) -> Option<&str> {
        self.mcp_client_id.as_deref()
    }

    /// Scopes advertised to clients, if known without the provider's metadata.
    pub fn known_scopes(&self) -> Option<Vec<String>> {
        match &self.issuer {
            _ if !self.scopes.is_empty() => Some(self.scopes.clone()),
            Issuer::Local { .. } => Some(local::SCOPES.map(str::to_owned).into()),
            Issuer::Provider(_) => None,
        }
    }

    /// Scopes advertised to clients: those that the operator lists, or the provider's `scopes_supported` that
    /// this service uses. `None` if the provider does not list them or cannot be reached.
    pub async fn scopes(&self) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct Metadata {
            scopes_supported: Vec<String>,
        }

        if let Some(scopes) = self.known_scopes() {
            return Some(scopes);
        }
        let metadata = self.authorization_server_metadata().await.ok()?;
        let Metadata { scopes_supported } = serde_json::from_slice(&metadata).ok()?;
        let is_supported = |scope: &&str| scopes_supported.iter().any(|supported| supported == scope);
        Some(local::SCOPES.into_iter().filter(is_supported).map(str::to_owned).collect())
    }

    /// The authorization server's metadata (RFC 8414): JSON, at most ten minutes old while the provider is up.
    pub async fn authorization_server_metadata(&self) -> Result<Bytes, AuthError> {
        match &self.issuer {
            Issuer::Provider(provider) => provider.metadata().await,
            Issuer::Local { issuer, .. } => Ok(issuer.metadata().to_string().into()),
        }
    }

    async fn keys(&self) -> Result<Arc<KeySet>, AuthError> {
        match &self.issuer {
            Issuer::Provider(provider) => provider.keys().await,
            Issuer::Local { keys, .. } => Ok(Arc::clone(keys)),
        }
    }

    async fn verify(
        &self,
        presented: &str,
        digest: Digest,
        mut keys: Arc<KeySet>,
    ) -> Result<Arc<Verified>, AuthError> {
        let token = Token::parse(presented, &self.algorithms, self.untyped_tokens)?;
        if let Err(refused) = keys.verify(&token) {
            // The provider may have rotated its keys, or given another key the same id.
            let Issuer::Provider(provider) = &self.issuer else { return Err(refused) };
            let newer = provider.keys_after_refusal(&keys).await;
            if newer.generation() == keys.generation() {
                return Err(refused);
            }
            keys = newer;
            keys.verify(&token)?;
        }
        let now = now();
        let groups = match &self.groups_claim {
            Some(claim) => claim.read(&token.payload()?),
            None => Groups::default(),
        };
        let verified = self.rules.accept(token.kind, (token.payload()?, groups), &self.origins, now)?;
        let verified = Arc::new(verified);
        self.tokens.insert(digest, keys.generation(), Arc::clone(&verified), now);
        Ok(verified)
    }

    /// Checks whether the token may be presented from its source (header, cookie or visit).
    fn check_presentation(&self, source: &Source<'_>, verified: &Verified) -> Result<(), AuthError> {
        if matches!(source, Source::Header) {
            return Ok(());
        }
        if verified.caller.profile != TokenProfile::Session {
            return Err(invalid("an access token in a cookie"));
        }
        match (source, verified.authorized_party.as_deref()) {
            (Source::Cookie { origin: None }, None) => Err(invalid("a cookie with neither Origin nor azp")),
            (Source::Cookie { origin: None }, Some(party)) if !self.origins.contains(party) => {
                Err(invalid("a cookie without Origin and with an azp that is not allowed"))
            }
            // A sibling application on the same domain and provider sets the same cookie.
            (_, Some(party)) if origins::is_origin(party) && !self.origins.contains(party) => {
                Err(invalid("a cookie with an azp that is not allowed"))
            }
            _ => Ok(()),
        }
    }
}

/// Seconds since 1970; 0 for an earlier system clock, which makes `nbf` and `iat` fail.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}
