//! Connected accounts (RFC 6749, section 4.1): the tokens of a user at the API of a toolkit.
//!
//! Invariants:
//! - an account is valid for the grants that its user agreed to, as declared then, and for a toolkit of the
//!   same owner;
//! - of concurrent calls with an expired token, in any process, one renews it;
//! - an unreachable or failing token endpoint ends no account; the error `invalid_grant` does.

mod connect;
mod renewal_locks;
mod revoke;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use jiff::Timestamp;
use kitbag_base::tasks::to_its_end;
use kitbag_manifest::OAuth2AuthorizationCode;
use kitbag_manifest::reply::{Failure, TokenProblem};
use kitbag_net::egress::{Egress, Policy};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{sleep, timeout};
use tracing::{error, warn};

use super::answer::{self, Granted};
use super::request::{Client, host_of};
use super::token::{Token, usable_for};
use super::{Principal, SignInError, missing};
use crate::{Account, AccountState, Tokens, UserSecrets, Vault, VaultError};
pub use connect::{ConnectError, Departure, Response};
use renewal_locks::RenewalLocks;
pub use revoke::Revocation;

/// Time limit for waiting until another process has renewed a token.
const WAIT_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit for storing new tokens, and the pause between attempts. Together with the token request, less
/// than the time limit of a renewal (`renewal_locks`).
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Polling interval while another process renews a token.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Error codes of token endpoints that end an account: the one of RFC 6749, section 5.2, and those of GitHub
/// and Slack.
const ENDED: [&str; 5] =
    ["invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_expired", "token_revoked"];

/// Accounts of all users. Clones share the locks for renewing tokens.
#[derive(Clone)]
pub struct Accounts {
    egress: Egress,
    vault: Arc<Vault>,
    locks: RenewalLocks,
}

/// Use of a user's account by one call.
#[derive(Clone)]
pub(super) struct AccountSignIn {
    accounts: Accounts,
    principal: Principal,
    /// Grants as declared by the toolkit. They differ only in their hosts.
    grants: Arc<[OAuth2AuthorizationCode]>,
    api_host: Arc<str>,
    client_id: Option<SecretString>,
    client_secret: Option<SecretString>,
}

impl Accounts {
    /// Creates an instance that sends requests through `egress` and stores accounts in `vault`.
    pub fn new(egress: Egress, vault: Arc<Vault>) -> Self {
        Self { egress, vault, locks: RenewalLocks::default() }
    }

    /// Prepares the use of an account in one call, for requests to `api_host`. `None` without grants.
    pub(super) fn sign_in(
        &self,
        principal: &Principal,
        grants: Arc<[OAuth2AuthorizationCode]>,
        api_host: &str,
        secrets: &UserSecrets,
    ) -> Option<AccountSignIn> {
        let grant = grants.first()?;
        let value = |name: &str| secrets.get(&principal.toolkit_id, name).cloned();
        let client_id = value(&grant.client_id_secret);
        let client_secret = grant.client_secret_secret.as_deref().and_then(value);
        let accounts = self.clone();
        let principal = principal.clone();
        let api_host = api_host.into();
        Some(AccountSignIn { accounts, principal, grants, api_host, client_id, client_secret })
    }
}

impl AccountSignIn {
    pub(super) fn token_url(&self) -> Option<&str> {
        Some(&self.grants.first()?.token_url)
    }

    /// Returns the token to attach, and renews it if it has expired or is the `refused` one.
    pub(super) async fn token(
        &self,
        refused: Option<&Token>,
        policy: &Policy,
        may_send: impl FnOnce() -> bool,
    ) -> Result<Token, SignInError> {
        if let Some(token) = self.known(refused).await? {
            return Ok(token);
        }
        let Principal { user_id, toolkit_id } = &self.principal;
        let asked = Instant::now();
        let lock = self.accounts.locks.wait(user_id, toolkit_id).await;
        if let Some(error) = lock.failed_since(asked) {
            return Err(error);
        }
        // A concurrent call may have renewed the token.
        if let Some(token) = self.known(refused).await? {
            return Ok(token);
        }
        if !may_send() {
            return Err(SignInError::NoRequestLeft);
        }
        let sign_in = self.clone();
        let refused = refused.cloned();
        let policy = policy.clone();
        // Not cancelled with the call: a renewed token that is not stored would be lost.
        let renewed = to_its_end(async move {
            let renewed = sign_in.renew(refused.as_ref(), &policy).await;
            lock.ended_with(renewed.as_ref().err());
            renewed
        });
        renewed.await.unwrap_or(Err(SignInError::Unavailable))
    }

    /// Returns the cached token, unless it has to be renewed.
    async fn known(&self, refused: Option<&Token>) -> Result<Option<Token>, SignInError> {
        let Principal { user_id, toolkit_id } = &self.principal;
        let account = self.accounts.vault.account(user_id, toolkit_id).await.map_err(unavailable)?;
        let tokens = self.usable(account.as_deref())?;
        current(tokens, refused).map(token_of).transpose()
    }

    /// Renews the token, or waits for another process that renews it.
    async fn renew(&self, refused: Option<&Token>, policy: &Policy) -> Result<Token, SignInError> {
        let Principal { user_id, toolkit_id } = &self.principal;
        let vault = &self.accounts.vault;
        let holder = random_text::<16>();
        let until = Instant::now() + WAIT_TIMEOUT;
        loop {
            let account = vault.stored_account(user_id, toolkit_id).await.map_err(unavailable)?;
            if let Some(token) = current(self.usable(account.as_ref())?, refused) {
                vault.forget(user_id).await;
                return token_of(token);
            }
            let other = vault.refresh_holder(user_id, toolkit_id).await.map_err(unavailable)?;
            let ended =
                other.as_deref().filter(|other| self.accounts.locks.is_over(user_id, toolkit_id, other));
            if (other.is_none() || ended.is_some())
                && vault.begin_refresh(user_id, toolkit_id, &holder, ended).await.map_err(unavailable)?
            {
                break;
            }
            if Instant::now() > until {
                return Err(SignInError::Busy);
            }
            sleep(POLL_INTERVAL).await;
        }
        let renewed = self.renew_locked(refused, policy).await;
        let _ = vault.end_refresh(user_id, toolkit_id, &holder).await.map_err(unavailable);
        renewed
    }

    async fn renew_locked(&self, refused: Option<&Token>, policy: &Policy) -> Result<Token, SignInError> {
        let Principal { user_id, toolkit_id } = &self.principal;
        let vault = &self.accounts.vault;
        // Checked again: another process may have stored new tokens before this one claimed the renewal.
        let account = vault.stored_account(user_id, toolkit_id).await.map_err(unavailable)?;
        let tokens = self.usable(account.as_ref())?.clone();
        let Some(account) = account else { return Err(self.none()) };
        if let Some(token) = current(&tokens, refused) {
            vault.forget(user_id).await;
            return token_of(token);
        }
        let Some(refresh_token) = &tokens.refresh_token else {
            let reason = "its token has expired or was refused, and the provider has given none to renew it";
            return Err(self.end(&account, reason.to_owned()).await?);
        };
        let grant = self.grant()?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose_secret())];
        let requested_at = Timestamp::now();
        let response = self.client()?.post(&grant.token_url, &form, &self.accounts.egress, policy).await?;
        match answer::read(&host_of(&grant.token_url), &response) {
            Ok(granted) => {
                let tokens = tokens_of(granted, requested_at, Some(&tokens));
                let access_token = tokens.access_token.clone();
                let renewed = Account { state: AccountState::Connected(tokens), ..account.clone() };
                self.replace(&account, &renewed).await?;
                token_of(&access_token)
            }
            Err(SignInError::Refused { code: Some(code), .. }) if ENDED.contains(&code) => {
                Err(self.end(&account, format!("the provider has ended it ({code})")).await?)
            }
            Err(other) => Err(other),
        }
    }

    /// Stores that an account has ended, and returns the corresponding error.
    async fn end(&self, account: &Account, reason: String) -> Result<SignInError, SignInError> {
        let ended = Account { state: AccountState::Ended { reason: reason.clone() }, ..account.clone() };
        self.replace(account, &ended).await?;
        Ok(SignInError::AccountEnded { host: self.api_host.to_string(), reason })
    }

    async fn replace(&self, before: &Account, after: &Account) -> Result<(), SignInError> {
        let Principal { user_id, toolkit_id } = &self.principal;
        let attempts = async {
            loop {
                match self.accounts.vault.replace_account(user_id, toolkit_id, before, after).await {
                    // A rotated token exists only here: storing it is retried.
                    Err(VaultError::Storage(cause)) => {
                        warn!(%cause, "the tokens of an account are not stored yet");
                    }
                    stored => return stored,
                }
                sleep(RETRY_PAUSE).await;
            }
        };
        match timeout(STORE_TIMEOUT, attempts).await {
            Ok(Ok(())) => Ok(()),
            // The user has ended the account meanwhile, or was ended, with its former tokens.
            Ok(Err(VaultError::ToolkitChanged | VaultError::UserEnded)) => {
                self.accounts.revoke_later(vec![self.revocation(after)]);
                Err(self.none())
            }
            Ok(Err(cause)) => Err(unavailable(cause)),
            Err(_elapsed) => Err(SignInError::Unavailable),
        }
    }

    fn revocation(&self, account: &Account) -> Revocation {
        let id = self.client_id.clone();
        let secret = self.client_secret.clone();
        Revocation::new(self.principal.clone(), account.clone(), id, secret)
    }

    /// Returns the failure to report to the model if the token endpoint has refused the client.
    pub(super) fn client_refusal(&self, host: &str, status: StatusCode, code: &str) -> Option<Failure> {
        let grant = self.grants.first()?;
        let names: Vec<_> = names(grant, true, true).map(|(name, _)| name.to_owned()).collect();
        Some(Failure::refused_credentials(&self.principal.toolkit_id, &names, host, status.as_u16(), code))
    }

    /// Returns the tokens of an account that is valid for the toolkit's grants.
    fn usable<'a>(&self, account: Option<&'a Account>) -> Result<&'a Tokens, SignInError> {
        let account = account.ok_or_else(|| self.none())?;
        let ended = |reason: &str| SignInError::AccountEnded {
            host: self.api_host.to_string(),
            reason: reason.to_owned(),
        };
        match (account.misfit(&self.grants), &account.state) {
            (Some(reason), _) => Err(ended(reason)),
            (None, AccountState::Connected(tokens)) => Ok(tokens),
            (None, AccountState::Ended { reason }) => Err(ended(reason)),
        }
    }

    fn none(&self) -> SignInError {
        SignInError::NoAccount { host: self.api_host.to_string() }
    }

    fn grant(&self) -> Result<&OAuth2AuthorizationCode, SignInError> {
        self.grants.first().ok_or_else(|| self.none())
    }

    fn client(&self) -> Result<Client<'_>, SignInError> {
        let grant = self.grant()?;
        client_of(grant, self.client_id.as_ref(), self.client_secret.as_ref()).ok_or_else(|| {
            missing(&self.principal, names(grant, self.client_id.is_some(), self.client_secret.is_some()))
        })
    }
}

/// Returns the OAuth client of a grant; `None` if one of its credentials is not set.
fn client_of<'a>(
    grant: &OAuth2AuthorizationCode,
    id: Option<&'a SecretString>,
    secret: Option<&'a SecretString>,
) -> Option<Client<'a>> {
    let is_whole = grant.client_secret_secret.is_none() || secret.is_some();
    id.filter(|_| is_whole).map(|id| Client { id, secret, auth: grant.client_auth })
}

/// Returns random bytes in base64url.
fn random_text<const BYTES: usize>() -> String {
    let mut bytes = [0; BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the names of a grant's credentials, each with whether it is set.
fn names(
    grant: &OAuth2AuthorizationCode,
    has_id: bool,
    has_secret: bool,
) -> impl Iterator<Item = (&str, bool)> {
    let secret = grant.client_secret_secret.as_deref().map(|name| (name, has_secret));
    [(grant.client_id_secret.as_str(), has_id)].into_iter().chain(secret)
}

/// Returns the access token, unless it is the refused one or has to be renewed. Without a refresh token, it
/// is used until it expires.
fn current<'a>(tokens: &'a Tokens, refused: Option<&Token>) -> Option<&'a SecretString> {
    let until = if tokens.refresh_token.is_some() { tokens.renew_at } else { tokens.expires_at };
    let is_fresh = until.is_none_or(|until| Timestamp::now().as_second() < until);
    let is_refused = refused.is_some_and(|it| it.expose() == tokens.access_token.expose_secret());
    (is_fresh && !is_refused).then_some(&tokens.access_token)
}

/// Returns the tokens to store after a response to a request of the time `requested_at`; `before` are the
/// former tokens.
fn tokens_of(granted: Granted, requested_at: Timestamp, before: Option<&Tokens>) -> Tokens {
    let Granted { access_token, refresh_token, lifetime, scope, name: _ } = granted;
    let after = |duration: Duration| {
        requested_at.as_second().saturating_add(i64::try_from(duration.as_secs()).unwrap_or(i64::MAX))
    };
    Tokens {
        access_token,
        // Providers that do not rotate refresh tokens send none.
        refresh_token: refresh_token.or_else(|| before.and_then(|it| it.refresh_token.clone())),
        expires_at: lifetime.map(after),
        renew_at: lifetime.map(|lifetime| after(usable_for(Some(lifetime)))),
        scope: scope.or_else(|| before.and_then(|it| it.scope.clone())),
    }
}

fn token_of(value: &SecretString) -> Result<Token, SignInError> {
    Token::new(value.clone(), Instant::now(), None).ok_or_else(|| SignInError::Unusable {
        host: "of `auth.tokenUrl`".to_owned(),
        reason: TokenProblem::NotAHeaderValue.reason(),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unavailable(cause: VaultError) -> SignInError {
    error!(%cause, "an account cannot be used: the vault failed");
    SignInError::Unavailable
}
