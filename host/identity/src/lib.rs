//! Who sends a request: turns its headers into a [`Caller`], so that no handler sees a token; sign-in, sessions, and keys of
//! programs.
//!
//! A request goes `headers → one credential → cache of verified tokens, or (JWS header →
//! key → signature → claims) → how it was presented → Caller`.
//!
//! Invariants:
//! - no claim is read before the signature over it was verified;
//! - the rules that depend on the request (cookie, `Origin`) are checked for every request, also
//!   when the token itself is remembered;
//! - an error never holds any part of a token: its reasons are fixed texts.
//!
//! # Modules
//!
//! - `issuer_record`: whose users a data directory holds
//! - `client`: the OAuth client of `kitbag login` and of the pages: discovery, registration, codes,
//!   refresh tokens
//! - `program_keys`: keys of programs that act for a user (docs/decisions/0063)
//! - `browser_sessions`: sessions of browsers on the pages of `web`
//! - `provider_sign_in`: sign-in of browsers with an external provider, and the renewal and the end of
//!   their sessions (docs/decisions/0026)
//! - `local`: sign-in of local mode: register → consent, with the sign-in code → code → tokens →
//!   revocation; `web/oauth` has its HTTP routes

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
    AccessGrant, AuthorizationServer, AuthorizeError, CodePrompt, Consent, Destination, EndpointError,
    ErrorCode, GrantedClient, Lifetimes, LocalIssuer, LocalIssuerError, OAuthError, RedirectUri,
    Registration, Scopes, SignInCode, SignInError, Step, TicketRequest, Tokens, paths, random_text,
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

/// Who makes a request, and what their token allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The provider's `sub`, opaque and never empty.
    pub user_id: String,
    /// Which kind of token was presented.
    pub profile: TokenProfile,
    /// The OAuth client; always there for access tokens.
    pub client_id: Option<String>,
    /// The id of the key of a program, if it was one that was presented.
    pub key_id: Option<String>,
    /// Granted OAuth scopes, as listed in the token.
    pub scopes: Vec<String>,
    /// The toolkits whose tools the caller may call, and nothing else; `None` if it may do what its user may.
    pub toolkits: Option<Arc<BTreeSet<String>>>,
    /// The user's groups at the provider, by their token; keys of programs have none.
    pub groups: Groups,
}

/// The kinds of token that are accepted. The first two are told apart by the JWS header `typ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenProfile {
    /// `JWT`: a session token of the provider's front end.
    Session,
    /// `at+jwt` or `application/at+jwt`: an OAuth access token (RFC 9068).
    Access,
    /// A key of a program.
    Key,
}

/// What the operator decides about tokens.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// The public base URL as it is published, with or without a trailing slash.
    pub base_url: String,
    /// Signature algorithms that are accepted.
    pub algorithms: Algorithms,
    /// Origins whose pages may use the session cookie, such as `https://app.example.com`.
    /// The origin of `base_url` is always one of them.
    pub allowed_origins: Vec<String>,
    /// What becomes of session tokens that name no audience.
    pub session_audience: SessionAudience,
    /// Audiences besides the base URL for which tokens are accepted; of tokens without an audience, identifiers of clients.
    pub audiences: Vec<String>,
    /// What becomes of tokens whose header has no `typ`.
    pub untyped_tokens: UntypedTokens,
    /// Scopes that clients are told to ask for; if empty, those of the provider that this service knows.
    pub scopes: Vec<String>,
    /// The claim with the user's groups: a name, or a path of names with dots between them. `None`: users have no groups.
    pub groups_claim: Option<String>,
}

/// Whether a token must say in its header what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UntypedTokens {
    /// A token without `typ` is refused.
    #[default]
    Refused,
    /// It passes if its claims show that it is an access token.
    Accepted,
}

/// Whether a session token must say that it is meant for this service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAudience {
    /// A token without `aud` is refused.
    #[default]
    Required,
    /// A token without `aud` passes, for providers that send none. An `aud` that is there must still
    /// be right, and an `azp` that is an origin must then be an allowed one: it stands in for `aud`.
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
    /// What clients are told to ask for, if the operator says so.
    scopes: Vec<String>,
    tokens: TokenCache,
    /// Keys of programs, unless the operator forbids them.
    keys: Option<ProgramKeys>,
}

#[derive(Debug)]
enum Issuer {
    Provider(Provider),
    Local { issuer: Arc<LocalIssuer>, keys: Arc<KeySet> },
}

impl Identity {
    /// Trusts the external provider whose issuer identifier is `issuer`, spelled as it spells itself.
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

    /// Trusts the local issuer and nobody else; its key is at hand, so nothing is ever fetched.
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
            algorithms: settings.algorithms,
            tokens: TokenCache::new(),
            keys: None,
        })
    }

    /// Accepts keys of programs where a token is expected in the header.
    #[must_use]
    pub fn accepting(self, keys: Option<ProgramKeys>) -> Self {
        Self { keys, ..self }
    }

    /// Establishes who makes the request with these headers.
    ///
    /// A token that was verified before costs one hash and one look-up.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Caller>, AuthError> {
        let credential = Credential::from_headers(headers, &self.origins)?;
        if matches!(credential.source, Source::Header) && program_keys::is_key(credential.token) {
            let keys =
                self.keys.as_ref().ok_or(invalid("a key, and this server takes none (setting `keys`)"))?;
            return keys.caller(credential.token).await;
        }
        self.establish(credential).await
    }

    /// Establishes whose browser opens a page, by its session cookie alone.
    ///
    /// A browser names no origin when it opens a page, and may come from a link on another site. So this
    /// is for pages that no other page can read or frame, and whose opening changes nothing.
    pub async fn recognise_visitor(&self, headers: &HeaderMap) -> Result<Arc<Caller>, AuthError> {
        self.establish(Credential::of_visit(headers)?).await
    }

    /// Verifies a token that was issued to this server's own OAuth client, as if it had come in the header. Returns the
    /// user, and when the token expires, in seconds since 1970.
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

    /// The scopes that clients are told to ask for, where they are known without asking the provider.
    pub fn known_scopes(&self) -> Option<Vec<String>> {
        match &self.issuer {
            _ if !self.scopes.is_empty() => Some(self.scopes.clone()),
            Issuer::Local { .. } => Some(local::SCOPES.map(str::to_owned).into()),
            Issuer::Provider(_) => None,
        }
    }

    /// The scopes that clients are told to ask for: those that the operator lists, or those of the provider that this
    /// service has a use for. `None` if the provider does not say, or cannot be reached.
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
        if !keys.suits(&token)
            && let Issuer::Provider(provider) = &self.issuer
        {
            // The provider may have a new key since.
            keys = provider.keys_after_unknown(&keys).await;
        }
        keys.verify(&token)?;
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

    /// Checks what the token alone cannot say: whether it may be presented in this way.
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

/// Seconds since 1970. A clock before that is a machine without a clock: it makes `nbf` and `iat` fail.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64())
}
