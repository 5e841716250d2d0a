//! Client-credentials grant (RFC 6749, section 4.4): tokens of a toolkit, cached per user.

use std::sync::Arc;
use std::time::Instant;

use http::StatusCode;
use kitbag_base::sha256::Sha256;
use kitbag_manifest::reply::{Failure, TokenProblem};
use kitbag_manifest::{ClientAuth, OAuth2ClientCredentials};
use kitbag_net::egress::{Egress, Policy};
use secrecy::{ExposeSecret, SecretString};

use super::cache::{Cache, Key, Slot};
use super::request::{Client, host_of};
use super::token::Token;
use super::{Principal, SignInError, answer, missing};

/// One call's grant. No token is requested before the first use.
#[derive(Debug)]
pub(super) struct ClientCredentials {
    declaration: Arc<OAuth2ClientCredentials>,
    /// `None` if the user has not set it.
    client_id: Option<SecretString>,
    /// `None` if the user has not set it.
    client_secret: Option<SecretString>,
    /// Looked up once: a long call whose credentials have changed since keeps its own slot, and does not
    /// affect calls with the new ones. `None` if a credential is missing.
    slot: Option<Arc<Slot>>,
}

impl ClientCredentials {
    pub(super) fn new(
        cache: &Cache,
        principal: &Principal,
        declaration: &OAuth2ClientCredentials,
        [client_id, client_secret]: [Option<SecretString>; 2],
    ) -> Self {
        let slot = client_id.as_ref().zip(client_secret.as_ref()).map(|(id, secret)| {
            let fingerprint = fingerprint([
                &declaration.token_url,
                declaration.scope.as_deref().unwrap_or_default(),
                &declaration.api_host,
                id.expose_secret(),
                secret.expose_secret(),
            ]);
            let Principal { user_id, toolkit_id } = principal.clone();
            let api_host = declaration.api_host.as_str().into();
            cache.slot(Key { user_id, toolkit_id, api_host }, fingerprint)
        });
        Self { declaration: Arc::new(declaration.clone()), client_id, client_secret, slot }
    }

    pub(super) fn token_url(&self) -> &str {
        &self.declaration.token_url
    }

    /// Returns the token to attach, requesting one unless a valid one other than `refused` is cached.
    pub(super) async fn token(
        &self,
        principal: &Principal,
        refused: Option<&Token>,
        egress: &Egress,
        policy: &Policy,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Token, SignInError> {
        let (Some(id), Some(secret), Some(slot)) = (&self.client_id, &self.client_secret, &self.slot) else {
            return Err(missing(principal, self.names()));
        };
        let mint = async {
            if !may_send() {
                return Err(SignInError::NoRequestLeft);
            }
            self.mint(id, secret, egress, policy).await
        };
        slot.token(refused, mint).await
    }

    /// Removes a token that the API has refused from the cache, so that the next call requests another one.
    pub(super) async fn forget(&self, refused: &Token) {
        if let Some(slot) = &self.slot {
            slot.forget(refused).await;
        }
    }

    /// Returns the failure to report to the model if the token endpoint has refused the credentials.
    pub(super) fn refusal(
        &self,
        principal: &Principal,
        host: &str,
        status: StatusCode,
        code: &str,
    ) -> Failure {
        let OAuth2ClientCredentials { client_id_secret, client_secret_secret, .. } = &*self.declaration;
        let names = [client_id_secret.clone(), client_secret_secret.clone()];
        Failure::refused_credentials(&principal.toolkit_id, &names, host, status.as_u16(), code)
    }

    /// Requests a token, without retries.
    pub(super) async fn mint(
        &self,
        id: &SecretString,
        secret: &SecretString,
        egress: &Egress,
        policy: &Policy,
    ) -> Result<Token, SignInError> {
        let requested_at = Instant::now();
        let client = Client { id, secret: Some(secret), auth: ClientAuth::Basic };
        let mut form = vec![("grant_type", "client_credentials")];
        if let Some(scope) = self.declaration.scope.as_deref().filter(|scope| !scope.is_empty()) {
            form.push(("scope", scope));
        }
        let url = &self.declaration.token_url;
        let response = client.post(url, &form, egress, policy).await?;
        let host = host_of(url);
        let granted = answer::read(&host, &response)?;
        Token::new(granted.access_token, requested_at, granted.lifetime)
            .ok_or_else(|| SignInError::Unusable { host, reason: TokenProblem::NotAHeaderValue.reason() })
    }

    /// Returns the names of the credentials, each with whether it is set.
    fn names(&self) -> [(&str, bool); 2] {
        [
            (&self.declaration.client_id_secret, self.client_id.is_some()),
            (&self.declaration.client_secret_secret, self.client_secret.is_some()),
        ]
    }
}

/// Hashes a list of texts. Each has a length prefix, so that different lists are different inputs.
fn fingerprint<const N: usize>(parts: [&str; N]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finish()
}
