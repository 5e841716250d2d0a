//! Outbound authentication: the host attaches the credentials declared in `auth` to requests. The guest never
//! sees them.
//!
//! Invariants:
//! - only the declared `apiHost` receives credentials ([`SignIns::for_request`]): not after a redirect by
//!   another host, and not where the handler has set the header or parameter itself;
//! - a token is for one user, one toolkit, one declaration and one pair of credentials: if any of them
//!   differs, it is not used;
//! - requests for tokens are checked by the toolkit's own policy and follow no redirect;
//! - a token of a client-credentials grant is removed from memory within minutes after its expiry or last
//!   use;
//! - no error contains a credential's value, a token, or free text from the token endpoint.

mod account_name;
mod accounts;
mod answer;
mod attached;
mod attachment;
mod cache;
mod client_credentials;
mod error;
mod request;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use http::{Method, Request, StatusCode, Uri};
use kitbag_manifest::reply::Failure;
use kitbag_manifest::{ApiKey, Auth, BasicAuth, OAuth2AuthorizationCode, ToolkitDefinition};
use kitbag_net::egress::{ApiHost, Egress, Policy};
use secrecy::SecretString;

use self::accounts::AccountSignIn;
pub use self::accounts::{Accounts, ConnectError, Departure, Response, Revocation};
pub use self::attached::AttachedTokens;
pub use self::attachment::Attachment;
use self::attachment::Place;
use self::cache::Cache;
use self::client_credentials::ClientCredentials;
pub use self::error::SignInError;
use crate::UserSecrets;

/// Outbound authentication for the calls of all users. Clones share the tokens.
#[derive(Clone)]
pub struct OutboundAuth {
    egress: Egress,
    cache: Arc<Cache>,
    accounts: Option<Accounts>,
}

/// The calling user and the called toolkit.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Id of the calling user.
    pub user_id: String,
    /// Id of the called toolkit.
    pub toolkit_id: Arc<str>,
}

/// All sign-ins of one call, one per API host. No token is requested before the first use.
#[derive(Default)]
pub struct SignIns(Vec<SignIn>);

/// Authentication of one call at one API host.
pub struct SignIn {
    egress: Egress,
    principal: Principal,
    policy: Policy,
    api_host: ApiHost,
    host: String,
    place: Place,
    means: Means,
    attached: AttachedTokens,
}

/// Authentication method, with its credentials.
enum Means {
    ClientCredentials(ClientCredentials),
    Account(AccountSignIn),
    ApiKey(ApiKey, Option<SecretString>),
    Basic(BasicAuth, [Option<SecretString>; 2]),
}

impl OutboundAuth {
    /// Creates an instance with an empty token cache and without accounts. Token requests are sent through
    /// `egress`.
    pub fn new(egress: Egress) -> Self {
        let cache = Arc::<Cache>::default();
        egress.spawn_on_runtime(Cache::sweep_regularly(Arc::downgrade(&cache)));
        Self { egress, cache, accounts: None }
    }

    /// Adds support for accounts.
    #[must_use]
    pub fn with_accounts(self, accounts: Accounts) -> Self {
        Self { accounts: Some(accounts), ..self }
    }

    /// Prepares the sign-ins of a call. Values that are attached to requests are recorded in `attached`.
    pub fn sign_ins(
        &self,
        user_id: &str,
        definition: &ToolkitDefinition,
        secrets: &UserSecrets,
        policy: &Policy,
        attached: &AttachedTokens,
    ) -> SignIns {
        if definition.auth.is_empty() {
            return SignIns::default();
        }
        let principal = Principal { user_id: user_id.to_owned(), toolkit_id: definition.id.as_str().into() };
        let grants: Arc<[_]> = account_grants(definition).into();
        let value = |name: &str| secrets.get(&definition.id, name).cloned();
        let of = |auth: &Auth| {
            let authorization = Place::authorization;
            let (place, means) = match auth {
                Auth::ClientCredentials(it) => {
                    let credentials = [value(&it.client_id_secret), value(&it.client_secret_secret)];
                    let grant = ClientCredentials::new(&self.cache, &principal, it, credentials);
                    (authorization(), Means::ClientCredentials(grant))
                }
                Auth::AuthorizationCode(it) => {
                    let accounts = self.accounts.as_ref()?;
                    let account = accounts.sign_in(&principal, grants.clone(), &it.api_host, secrets)?;
                    (authorization(), Means::Account(account))
                }
                Auth::ApiKey(it) => (Place::of_key(it)?, Means::ApiKey(it.clone(), value(&it.secret))),
                Auth::Basic(it) => {
                    let pair = [value(&it.username_secret), value(&it.password_secret)];
                    (authorization(), Means::Basic(it.clone(), pair))
                }
            };
            // Validation of the declaration refuses an invalid host.
            let api_host = ApiHost::parse(auth.api_host()).ok()?;
            Some(SignIn {
                egress: self.egress.clone(),
                principal: principal.clone(),
                policy: policy.clone(),
                api_host,
                host: auth.api_host().to_owned(),
                place,
                means,
                attached: attached.clone(),
            })
        };
        SignIns(definition.auth.iter().filter_map(of).collect())
    }
}

/// Returns the authorization-code grants of a toolkit, in the order of its declaration. One account covers
/// all.
pub fn account_grants(definition: &ToolkitDefinition) -> Vec<OAuth2AuthorizationCode> {
    let grants = definition.auth.iter().filter_map(|auth| match auth {
        Auth::AuthorizationCode(grant) => Some(grant.clone()),
        _ => None,
    });
    grants.collect()
}

impl SignIns {
    /// Returns the sign-in for the host of a request, with its index.
    pub fn for_request<B>(&self, request: &Request<B>) -> Option<(usize, &SignIn)> {
        // TRACE echoes the request (RFC 9110, section 9.3.8), and CONNECT is for proxies.
        let may_carry = ![Method::TRACE, Method::CONNECT].contains(request.method());
        let matching = |(_, it): &(usize, &SignIn)| may_carry && it.api_host.is(request.uri());
        self.0.iter().enumerate().find(matching)
    }
}

impl SignIn {
    /// Returns whether the handler has set the header or query parameter itself.
    pub fn is_set_in<B>(&self, request: &Request<B>) -> bool {
        self.place.is_taken(request)
    }

    /// Returns the URI of the token endpoint, if the method has one.
    pub fn token_uri(&self) -> Option<Uri> {
        match &self.means {
            Means::ClientCredentials(grant) => grant.token_url().parse().ok(),
            Means::Account(account) => account.token_url()?.parse().ok(),
            Means::ApiKey(..) | Means::Basic(..) => None,
        }
    }

    /// Returns whether a request is repeated with another token after a response with this status.
    pub fn renews_after(&self, status: StatusCode) -> bool {
        match &self.means {
            Means::ClientCredentials(_) => {
                [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
            }
            // Many APIs respond with 403 to an account that lacks a permission.
            Means::Account(_) => status == StatusCode::UNAUTHORIZED,
            Means::ApiKey(..) | Means::Basic(..) => false,
        }
    }

    /// Returns the credentials to attach, and requests a token unless a valid one is cached. `may_send` is
    /// called before a token request is sent; concurrent calls share one request.
    pub async fn attachment(&self, may_send: impl FnOnce() -> bool) -> Result<Attachment, SignInError> {
        self.obtain(None, may_send).await
    }

    /// Returns other credentials after the API has refused some. If a concurrent request has already replaced
    /// the token, returns that one and sends nothing.
    pub async fn replace(
        &self,
        refused: &Attachment,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Attachment, SignInError> {
        self.obtain(Some(refused), may_send).await
    }

    /// Removes a token that the API has refused from the cache, so that the next call requests another one.
    pub async fn forget(&self, refused: &Attachment) {
        if let (Means::ClientCredentials(grant), Some(token)) = (&self.means, &refused.token) {
            grant.forget(token).await;
        }
    }

    /// Returns the failure to report to the model if a call fails with `error`: with what the user can do
    /// about it, or as one that a retry may mend. `None` if neither helps.
    pub fn for_model(&self, error: &SignInError) -> Option<Failure> {
        let toolkit = &self.principal.toolkit_id;
        match error {
            SignInError::MissingCredentials { names, .. } => {
                Some(Failure::missing_credentials(toolkit, names))
            }
            SignInError::UnusableCredential { name, reason } => {
                Some(Failure::unusable_credential(toolkit, name, reason))
            }
            SignInError::NoAccount { host } => Some(Failure::no_account(toolkit, host)),
            SignInError::AccountEnded { host, reason } => Some(Failure::account_ended(toolkit, host, reason)),
            SignInError::Refused { host, status, .. } if error.is_passing() => {
                Some(Failure::token_endpoint_down(host, Some(status.as_u16())))
            }
            SignInError::Egress(_) if error.is_passing() => {
                let url = self.token_uri();
                let host = url.as_ref().and_then(Uri::host).unwrap_or("of `auth`");
                Some(Failure::token_endpoint_down(host, None))
            }
            SignInError::Unavailable | SignInError::Busy => Some(Failure::sign_in_busy()),
            SignInError::Refused { host, status, code } => match &self.means {
                Means::ClientCredentials(grant) => {
                    Some(grant.refusal(&self.principal, host, *status, code.unwrap_or_default()))
                }
                Means::Account(account) => account.client_refusal(host, *status, code.unwrap_or_default()),
                Means::ApiKey(..) | Means::Basic(..) => None,
            },
            SignInError::Unusable { host, reason } => Some(Failure::unusable_token(host, reason)),
            SignInError::NoRequestLeft | SignInError::Egress(_) => None,
        }
    }

    /// Returns the failure to report to the model after the API has refused the credentials with this status.
    /// `None` unless an account was refused with 401, which its user can connect again.
    pub fn refusal(&self, status: StatusCode) -> Option<Failure> {
        let is_accounts = matches!(self.means, Means::Account(_)) && status == StatusCode::UNAUTHORIZED;
        is_accounts.then(|| Failure::account_refused(&self.principal.toolkit_id, &self.host, status.as_u16()))
    }

    async fn obtain(
        &self,
        refused: Option<&Attachment>,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Attachment, SignInError> {
        let refused = refused.and_then(|it| it.token.as_ref());
        match &self.means {
            Means::ClientCredentials(grant) => {
                let token =
                    grant.token(&self.principal, refused, &self.egress, &self.policy, may_send).await?;
                self.attached.add(&token.value());
                Ok(Attachment::bearer(token))
            }
            Means::Account(account) => {
                let token = account.token(refused, &self.policy, may_send).await?;
                self.attached.add(&token.value());
                Ok(Attachment::bearer(token))
            }
            Means::ApiKey(key, value) => {
                let value =
                    value.as_ref().ok_or_else(|| missing(&self.principal, [(key.secret.as_str(), false)]))?;
                // Not recorded: as a secret of the call, it is redacted already.
                Attachment::key(key, value)
            }
            Means::Basic(auth, [username, password]) => {
                let (Some(username), Some(password)) = (username, password) else {
                    let names = [
                        (auth.username_secret.as_str(), username.is_some()),
                        (auth.password_secret.as_str(), password.is_some()),
                    ];
                    return Err(missing(&self.principal, names));
                };
                let (attachment, pair) = Attachment::basic(auth, username, password)?;
                self.attached.add(&pair);
                Ok(attachment)
            }
        }
    }
}

/// Creates the error for missing credentials. Each name comes with whether it is set.
fn missing<'a>(principal: &Principal, names: impl IntoIterator<Item = (&'a str, bool)>) -> SignInError {
    let names: Vec<_> =
        names.into_iter().filter(|(_, is_set)| !is_set).map(|(name, _)| name.to_owned()).collect();
    let commands: Vec<_> = names
        .iter()
        .map(|name| format!("kitbag secret set {} {name} --from-stdin", principal.toolkit_id))
        .collect();
    SignInError::MissingCredentials { names, commands: commands.join(" and ") }
}
