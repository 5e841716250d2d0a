//! Verification of tokens: (headers) → caller.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_net::egress::Egress;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::algorithms::Algorithms;
use super::caller::{Caller, TokenProfile};
use super::claims::{LEEWAY, Rules, Verified};
use super::clock::now;
use super::credential::{Credential, Source};
use super::error::{AuthError, InvalidSettings, invalid};
use super::groups::{Groups, GroupsClaim};
use super::jwks::Provider;
use super::keys::KeySet;
use super::local::{LocalIssuer, SCOPES};
use super::logout_token::{self, Logout};
use super::origins::{Origins, is_origin};
use super::program_keys::{ProgramKeys, is_key};
use super::settings::{IdentitySettings, UntypedTokens};
use super::token::Token;
use super::token_cache::TokenCache;

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
pub(super) enum Issuer {
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

    pub(super) fn new(
        settings: IdentitySettings,
        issuer_name: &str,
        issuer: Issuer,
    ) -> Result<Self, InvalidSettings> {
        let origins = Origins::new(&settings.base_url, &settings.allowed_origins)?;
        let IdentitySettings { base_url, audiences, session_audience, untyped_tokens, scopes, .. } =
            &settings;
        // The local issuer has the same clock.
        let skew = if matches!(issuer, Issuer::Provider(_)) { LEEWAY } else { 0.0 };
        let rules = Rules::new(issuer_name, base_url, audiences, *session_audience, skew)
            .naming_users_by(settings.user_id_claim);
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
        if matches!(credential.source, Source::Header) && is_key(credential.token) {
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

    /// Verifies a logout token of the provider. Whether it is for this server's client is the caller's to check.
    pub(crate) async fn verify_logout(&self, token: &str) -> Result<Logout, AuthError> {
        let token = Token::parse_kind(token, &self.algorithms, logout_token::expect_typ)?;
        self.verify_signature(&token, self.keys().await?).await?;
        logout_token::accept(&self.rules, token.payload()?, now())
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
            Issuer::Local { .. } => Some(SCOPES.map(str::to_owned).into()),
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
        Some(SCOPES.into_iter().filter(is_supported).map(str::to_owned).collect())
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
        keys: Arc<KeySet>,
    ) -> Result<Arc<Verified>, AuthError> {
        let token = Token::parse(presented, &self.algorithms, self.untyped_tokens)?;
        let keys = self.verify_signature(&token, keys).await?;
        let now = now();
        let groups = match &self.groups_claim {
            Some(claim) => claim.read(&token.payload()?),
            None => Groups::default(),
        };
        let verified = self.rules.accept(token.kind, token.payload()?, groups, &self.origins, now)?;
        let verified = Arc::new(verified);
        self.tokens.insert(digest, keys.generation(), Arc::clone(&verified), now);
        Ok(verified)
    }

    /// Verifies a token's signature. Returns the keys that it was verified with.
    async fn verify_signature<K>(
        &self,
        token: &Token<'_, K>,
        keys: Arc<KeySet>,
    ) -> Result<Arc<KeySet>, AuthError> {
        let Err(refused) = keys.verify(token) else { return Ok(keys) };
        // The provider may have rotated its keys, or given another key the same id.
        let Issuer::Provider(provider) = &self.issuer else { return Err(refused) };
        let newer = provider.keys_after_refusal(&keys).await;
        if newer.generation() == keys.generation() {
            return Err(refused);
        }
        newer.verify(token)?;
        Ok(newer)
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
            (_, Some(party)) if is_origin(party) && !self.origins.contains(party) => {
                Err(invalid("a cookie with an azp that is not allowed"))
            }
            _ => Ok(()),
        }
    }
}
