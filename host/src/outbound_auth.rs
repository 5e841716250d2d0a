//! Outbound sign-in: the host performs a toolkit's client-credentials grant (RFC 6749, section
//! 4.4), and the guest never sees the token.
//!
//! Invariants:
//! - a token is removed from memory within minutes after its expiry, or after its last call;
//! - a token is for one user, one toolkit, one declaration and one pair of credentials: if any of them
//!   differs, a new token is requested;
//! - only the declared `apiHost` receives it ([`SignIn::applies_to`]);
//! - the token request is checked by the toolkit's own policy and follows no redirect;
//! - no error contains a credential's value, a token, or free text from the token endpoint.

mod cache;
mod mint;
#[cfg(test)]
mod tests;
mod token;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{StatusCode, Uri};
use kitbag_manifest::OAuth2ClientCredentials;
use kitbag_manifest::reply::Failure;
use secrecy::{ExposeSecret, SecretString};

pub use self::mint::SignInError;
pub use self::token::Token;

use self::cache::{Cache, Key, Slot};
use self::mint::Grant;
use crate::egress::{ApiHost, Egress, Policy};
use crate::redaction::Redactor;
use crate::sha256::Sha256;
use crate::vault::UserSecrets;

/// The tokens of all users and toolkits. Clones share them.
#[derive(Clone, Debug)]
pub struct OutboundAuth {
    egress: Egress,
    cache: Arc<Cache>,
}

/// The values of the two secrets that the declaration names for the grant.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// `None` if the user has not set it.
    pub client_id: Option<SecretString>,
    /// `None` if the user has not set it.
    pub client_secret: Option<SecretString>,
}

/// The caller and the called toolkit.
#[derive(Clone, Debug)]
pub struct Account {
    /// The calling user.
    pub user_id: String,
    /// The called toolkit.
    pub toolkit_id: Arc<str>,
}

/// One call's sign-in. No token is requested before the first use.
#[derive(Debug)]
pub struct SignIn {
    service: OutboundAuth,
    account: Account,
    declaration: Arc<OAuth2ClientCredentials>,
    api_host: ApiHost,
    credentials: Credentials,
    policy: Policy,
    attached: AttachedTokens,
    /// Looked up once: a long call whose credentials have changed since keeps its own slot, and does not
    /// affect calls with the new ones. `None` if a credential is missing.
    slot: Option<Arc<Slot>>,
}

/// The tokens that were sent with a call's requests. Clones share the list.
///
/// An API may echo what it received, so all output of the sandbox is searched for these.
#[derive(Clone, Debug, Default)]
pub struct AttachedTokens(Arc<Mutex<Attached>>);

#[derive(Debug, Default)]
struct Attached {
    /// Without duplicates.
    tokens: Vec<SecretString>,
    /// Finds them and the secrets of the call's user, once that was asked for.
    redactor: Option<Arc<Redactor>>,
}

impl OutboundAuth {
    /// Creates an empty cache. Token requests are sent through `egress`.
    pub fn new(egress: Egress) -> Self {
        let cache = Arc::<Cache>::default();
        egress.spawn_on_runtime(Cache::sweep_regularly(Arc::downgrade(&cache)));
        Self { egress, cache }
    }

    /// Prepares a call's sign-in. `None` if `apiHost` is not a valid host, which validation of the
    /// declaration refuses.
    pub fn sign_in(
        &self,
        account: Account,
        declaration: Arc<OAuth2ClientCredentials>,
        credentials: Credentials,
        policy: Policy,
    ) -> Option<SignIn> {
        let api_host = ApiHost::parse(&declaration.api_host).ok()?;
        let (service, attached) = (self.clone(), AttachedTokens::default());
        let slot = self.slot(&account, &declaration, &credentials);
        Some(SignIn { service, account, declaration, api_host, credentials, policy, attached, slot })
    }

    /// Returns the cache slot of these credentials; `None` if one is missing.
    fn slot(
        &self,
        account: &Account,
        declaration: &OAuth2ClientCredentials,
        credentials: &Credentials,
    ) -> Option<Arc<Slot>> {
        let Credentials { client_id: Some(client_id), client_secret: Some(client_secret) } = credentials
        else {
            return None;
        };
        let Account { user_id, toolkit_id } = account.clone();
        let fingerprint = fingerprint([
            &declaration.token_url,
            declaration.scope.as_deref().unwrap_or_default(),
            &declaration.api_host,
            client_id.expose_secret(),
            client_secret.expose_secret(),
        ]);
        Some(self.cache.slot(Key { user_id, toolkit_id }, fingerprint))
    }
}

impl SignIn {
    /// Whether a request to `uri` carries the token.
    pub fn applies_to(&self, uri: &Uri) -> bool {
        self.api_host.is(uri)
    }

    /// Where tokens are requested, as it is declared.
    pub fn token_uri(&self) -> Option<Uri> {
        self.declaration.token_url.parse().ok()
    }

    /// Returns the token to attach, requesting one unless a valid one is cached. `may_send` is called
    /// before a token request is sent; concurrent calls share one request.
    pub async fn token(&self, may_send: impl FnOnce() -> bool) -> Result<Token, SignInError> {
        self.obtain(None, may_send).await
    }

    /// Returns a token other than the one that the API has refused. If a concurrent request has already
    /// replaced it, that one is returned and nothing is sent.
    pub async fn replace(
        &self,
        refused: &Token,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Token, SignInError> {
        self.obtain(Some(refused), may_send).await
    }

    /// Removes the token that the API has refused, so that the next [`token`](Self::token) is another one.
    pub async fn forget(&self, refused: &Token) {
        if let Some(slot) = &self.slot {
            slot.forget(refused).await;
        }
    }

    /// The failure that the model is told if a call fails with `error`. `None` if a retry may help, or
    /// if the user cannot fix it.
    pub fn for_model(&self, error: &SignInError) -> Option<Failure> {
        let toolkit = &self.account.toolkit_id;
        match error {
            SignInError::MissingCredentials { names, .. } => {
                Some(Failure::missing_credentials(toolkit, names))
            }
            SignInError::Refused { host, status, code } if !is_transient(*status) => {
                let OAuth2ClientCredentials { client_id_secret, client_secret_secret, .. } =
                    &*self.declaration;
                let names = [client_id_secret.clone(), client_secret_secret.clone()];
                let (status, code) = (status.as_u16(), code.unwrap_or_default());
                Some(Failure::refused_credentials(toolkit, &names, host, status, code))
            }
            SignInError::Unusable { host, reason } => Some(Failure::unusable_token(host, reason)),
            SignInError::Refused { .. } | SignInError::NoRequestLeft | SignInError::Egress(_) => None,
        }
    }

    /// Records every token it returns in `attached`.
    #[must_use]
    pub fn recording_in(self, attached: AttachedTokens) -> Self {
        Self { attached, ..self }
    }

    async fn obtain(
        &self,
        refused: Option<&Token>,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Token, SignInError> {
        let (grant, slot) = self.grant()?;
        let mint = async {
            if !may_send() {
                return Err(SignInError::NoRequestLeft);
            }
            grant.mint(&self.service.egress, &self.policy).await
        };
        let token = slot.token(refused, mint).await?;
        self.attached.add(&token);
        Ok(token)
    }

    /// Returns the grant and its cache slot. Fails if a credential is missing.
    fn grant(&self) -> Result<(Grant<'_>, &Slot), SignInError> {
        let Credentials { client_id, client_secret } = &self.credentials;
        match (client_id, client_secret, &self.slot) {
            (Some(client_id), Some(client_secret), Some(slot)) => {
                Ok((Grant { declaration: &self.declaration, client_id, client_secret }, slot))
            }
            _ => Err(self.missing()),
        }
    }

    fn missing(&self) -> SignInError {
        let names = [
            (&self.credentials.client_id, &self.declaration.client_id_secret),
            (&self.credentials.client_secret, &self.declaration.client_secret_secret),
        ];
        let names: Vec<_> =
            names.into_iter().filter(|(value, _)| value.is_none()).map(|(_, name)| name.clone()).collect();
        let commands: Vec<_> = names
            .iter()
            .map(|name| format!("kitbag secret set {} {name} --from-stdin", self.account.toolkit_id))
            .collect();
        SignInError::MissingCredentials { names, commands: commands.join(" and ") }
    }
}

fn is_transient(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

/// Hashes a list of texts. Each is preceded by its length, so that different lists are different inputs.
fn fingerprint<const N: usize>(parts: [&str; N]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finish()
}

impl AttachedTokens {
    /// A list with one given token.
    #[cfg(test)]
    pub(crate) fn of(token: SecretString) -> Self {
        Self(Arc::new(Mutex::new(Attached { tokens: vec![token], redactor: None })))
    }

    /// The tokens.
    #[cfg(test)]
    pub(crate) fn values(&self) -> Vec<SecretString> {
        self.lock().tokens.clone()
    }

    /// A redactor for the tokens and for `secrets`, those of the call's user. It is made anew only after another token was
    /// attached: a guest has it used as often as it likes.
    pub fn redactor_with(&self, secrets: &UserSecrets) -> Arc<Redactor> {
        let mut attached = self.lock();
        let Attached { tokens, redactor } = &mut *attached;
        redactor.get_or_insert_with(|| secrets.redactor_with(tokens)).clone()
    }

    fn add(&self, token: &Token) {
        let mut attached = self.lock();
        if !attached.tokens.iter().any(|known| known.expose_secret() == token.expose()) {
            attached.tokens.push(token.value());
            attached.redactor = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Attached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
